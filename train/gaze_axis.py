"""Our estimator for gaze-prediction-v1: where an eye's optical axis points before its camera, told by a small network.

It learns from drawn people before devices of their own (train.eye_world) and from the data set's training people. Where
a person looks differs from the axis by a few degrees that no single picture tells, so for each training eye (found by
its looks alone) an offset is learnt beside the network, which then need not learn people by heart.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.tracks.gaze_prediction.solutions.bias_correction import LOOKED_AT, SMALL, Floats
from palestra.tracks.gaze_prediction.solutions.same_eye import grouped
from train.eye_world import World
from train.gaze_common import (
    SIZE,
    Course,
    Seen,
    Settings,
    errors_deg,
    estimates,
    half,
    learn,
    lit,
    per,
    to_angles,
    to_vectors,
)
from train.learning import on

WIDTHS, LITTLE = (16, 32, 64, 128, 128), (4, 4, 8, 8, 8)
OPEN = 0.3  # how far an eye is open at least, for its axis to be seen
FOCAL_WIDTHS = 1.0  # focal length of headsets' cameras, in widths of the picture
TURN_DEG, ROLL_DEG, ZOOM = 6.0, 6.0, 0.1  # how far cameras are turned, at most, and made to see larger or smaller
# Weights move by thousandths in a step. What is counted in degrees is to move faster: a camera looks up from 20° below.
CAMERA_DEG, OFFSET_DEG = 60.0, 10.0
# Steps in which axes are learnt from drawn people alone, and the data set shows no more than where its camera is: a
# network that learnt both at once would take the data set's for a kind of its own, and learn little from the others.
FIRST_STEPS = 300


class _Block(nn.Module):
    """Two convolutions beside nothing but the picture itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, 1, 1, bias=False) for _ in range(2))
        self.first_norm, self.second_norm = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second_norm(self.second(functional.relu(self.first_norm(self.first(x)))))
        return functional.relu(x + inner)


class Network(nn.Module):
    """Yaw and pitch in degrees from pictures of grey levels, by the axis before the camera.

    Halved five times, and never averaged over all places: where something is tells where it points.
    """

    def __init__(self, widths: tuple[int, ...] = WIDTHS, features: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        into = 1
        for stage, width in enumerate(widths):
            kernel = 5 if stage == 0 else 3
            layers += [nn.Conv2d(into, width, kernel, 2, kernel // 2, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            layers += [_Block(width) for _ in range((0, 1, 2, 1, 1)[stage])]
            into = width
        self.see = nn.Sequential(*layers, nn.Conv2d(into, 32, 1), nn.ReLU())
        self.know = nn.Linear(32 * 5 * 8, features)
        self.tell = nn.Linear(features, 2)
        self.camera = nn.Linear(6, 2, bias=False)  # from the axis before the camera to the data set's axes
        with torch.no_grad():
            self.camera.weight.copy_(torch.eye(3, 6)[1:])

    def axis(self, pictures: Tensor) -> Tensor:
        """As the camera sees it: (n, 2) in degrees, to the picture's right and up."""
        mean = pictures.mean((1, 2, 3), keepdim=True)
        spread = (pictures - mean).square().mean((1, 2, 3), keepdim=True).sqrt()
        seen = self.see((pictures - mean) / (spread + 8.0))
        return 10 * self.tell(functional.relu(self.know(seen.flatten(1))))

    def before(self, axis: Tensor) -> Tensor:
        """In the data set's axes: squares follow a turned camera to 0.1°."""
        x, y = axis[:, :1], axis[:, 1:]
        terms = [torch.full_like(x, CAMERA_DEG), x, y, x * x / 20, x * y / 20, y * y / 20]
        found: Tensor = self.camera(torch.cat(terms, 1))
        return found

    def forward(self, pictures: Tensor) -> Tensor:
        return self.before(self.axis(pictures))


class Learning(nn.Module):
    """The network with what is learnt beside it: by how much each training eye is off."""

    def __init__(self, network: Network, eyes: int) -> None:
        super().__init__()
        self.network = network
        self.off = nn.Embedding(eyes, 2)
        nn.init.zeros_(self.off.weight)

    def off_deg(self, eyes: Tensor) -> Tensor:
        """(n, 2); what all eyes are off by is the camera's to learn."""
        return OFFSET_DEG * (self.off(eyes) - self.off.weight.mean(0))


def little(pictures: Tensor) -> Floats:
    """(sequences, frames, *SMALL) of the frames LOOKED_AT, grey levels."""
    chosen = pictures[:, list(LOOKED_AT)].float()
    return functional.adaptive_avg_pool2d(chosen, SMALL).cpu().numpy()


def distance(found: Tensor, true: Tensor) -> Tensor:
    """Degrees, with a gradient at 0."""
    return (found - true).square().sum(1).add(0.01).sqrt()


def turns(count: int, device: str) -> Tensor:
    """(n, 3, 3) from directions before a camera to those before the same camera, turned a little any way."""
    most = torch.deg2rad(torch.tensor([TURN_DEG, TURN_DEG, ROLL_DEG], device=device))
    about = most * (2 * torch.rand(count, 3, device=device) - 1)
    (x, y, z), none = about.unbind(1), torch.zeros(count, device=device)
    cross = torch.stack([none, -z, y, z, none, -x, -y, x, none], 1).view(count, 3, 3)
    angle = about.norm(dim=1)[:, None, None] / torch.pi
    # Rodrigues' formula; sinc(a / π) is sin(a) / a.
    return torch.eye(3, device=device) + torch.sinc(angle) * cross + torch.sinc(angle / 2) ** 2 / 2 * cross @ cross


@torch.no_grad()
def by_turned_camera(pictures: Tensor, turn: Tensor, zoom: Tensor) -> Tensor:
    """Pictures (n, 1, H, W) as their cameras would take them after a turn (n, 3, 3) and a zoom (n,).

    Nothing in sight moves, so this is exact but for what was beyond the edge: where an axis points before the turned
    camera is `turn` times where it pointed.
    """
    height, width = pictures.shape[2:]
    focal = FOCAL_WIDTHS * width
    right = torch.arange(width, device=pictures.device) - (width - 1) / 2
    down = torch.arange(height, device=pictures.device) - (height - 1) / 2
    # Rays (H · W, 3) to the right, up and back to the camera, as axes are counted.
    rays = torch.stack(torch.broadcast_tensors(right, -down[:, None], torch.tensor(-focal, device=right.device)), -1)
    scale = torch.stack([1 / zoom, 1 / zoom, torch.ones_like(zoom)], 1)[:, :, None]
    before = rays.view(1, -1, 3) @ (scale * turn)
    sides = torch.tensor([-2 * focal / width, 2 * focal / height], device=right.device)
    grid = (sides * before[..., :2] / before[..., 2:]).view(-1, height, width, 2)
    return functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)


def turned_back(axis_deg: Tensor, turn: Tensor) -> Tensor:
    """Axes (n, 2) before turned cameras, as they are before those that were not."""
    return to_angles((to_vectors(axis_deg)[:, None] @ turn)[:, 0])


def drawn_batch(world: World, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pictures (n, 1, *SIZE) mirrored as the data set's are, their axes in degrees, and which can be told (n,)."""
    drawn = world.batch(count)
    pictures = functional.interpolate(drawn.image[:, None], SIZE, mode="bilinear", antialias=True).flip(3)
    axis = to_angles(drawn.axis * torch.tensor([-1.0, 1.0, 1.0], device=drawn.axis.device))
    return pictures, axis, (drawn.opening > OPEN).float()  # a closed eye tells nothing


def learn_estimator(name: str, seen: Seen, world: World, settings: Settings) -> tuple[Network, int]:
    """The trained network, and after how many epochs."""
    device = seen.device
    pictures, labels = seen.pictures["train"].flatten(0, 1), to_angles(seen.labels["train"].flatten(0, 1))
    eyes = grouped(little(seen.pictures["train"]))
    whose = torch.from_numpy(eyes).to(device).repeat_interleave(seen.pictures["train"].shape[1])
    print(f"{name}: {eyes.max() + 1} eyes among {len(eyes)} training sequences", flush=True)
    network = Network(LITTLE if settings.small else WIDTHS)
    on(network, device)
    beside = Learning(network, int(eyes.max()) + 1).to(device)
    axis = compiled_axis(network, device)
    best = torch.optim.AdamW(
        [
            {"params": network.parameters(), "weight_decay": settings.decay},
            {"params": beside.off.parameters(), "weight_decay": 0.0},
        ],
        settings.rate,
    )

    left: int | None = 0 if settings.small else None  # of FIRST_STEPS, counted from where a stopped run was

    def loss_of(rows: Tensor) -> Tensor:
        nonlocal left
        ours, true, told = drawn_batch(world, 4 if settings.small else len(rows))
        both = torch.cat([ours, pictures[rows][:, None].float()])
        turn, zoom = turns(len(both), device), torch.exp(per(both, -ZOOM, ZOOM)).flatten()
        shown = lit(by_turned_camera(both, turn, zoom))  # in whole precision: half of it would blur places
        with half(device):
            found = axis(shown)
        found, mine = turned_back(found.float(), turn), len(ours)
        world_loss = (told * distance(found[:mine], true)).sum() / told.sum().clamp(min=1)
        left = FIRST_STEPS - int(network.see[1].num_batches_tracked) if left is None else left - 1
        theirs = found[mine:].detach() if left >= 0 else found[mine:]
        return world_loss + distance(network.before(theirs) + beside.off_deg(whose[rows]), labels[rows]).mean()

    apart = grouped(little(seen.pictures["validation"]))

    def check() -> str:
        alone, together = checked(network, seen, apart)
        return f"validation {alone:.2f}°, with each eye's mean error taken off {together:.2f}°"

    epochs = learn(beside, best, len(pictures), loss_of, check, Course.of(name, settings))
    return network, epochs


def compiled_axis(network: Network, device: str) -> Callable[[Tensor], Tensor]:
    return torch.compile(network.axis, dynamic=False) if device == "cuda" else network.axis


def checked(network: Network, seen: Seen, eyes: np.ndarray) -> tuple[float, float]:
    """Mean error on validation people as they are, and what would be left if each eye's offset were known."""
    found = estimates(network, seen.pictures["validation"][:, list(LOOKED_AT)])
    true = seen.labels["validation"][:, list(LOOKED_AT)]
    off = to_angles(true) - found
    better = found.clone()
    for eye in np.unique(eyes):
        mine = torch.from_numpy(eyes == eye).to(found.device)
        better[mine] += off[mine].mean((0, 1))
    return float(errors_deg(to_vectors(found), true).mean()), float(errors_deg(to_vectors(better), true).mean())
