"""The network behind `palestra` for both near-eye tracks: a picture of a left eye in, where it looks and how surely.

    python -m train.near_eye_palestra --work FOLDER --out OUT/near_eye_palestra.onnx

It learns from the world alone (train/eye_world.py): every person has a device of their own, so it must read the gaze
from pupil, cornea and glints and not from where they are in one headset's picture. Solutions that know a data set's
device, or five frames of a person, correct what it tells. It keeps FOLDER/looker-SEED.pt after every 150 batches;
started again, it goes on from there.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.simulator.torch_renderer import HEIGHT, WIDTH
from train import command, eye_settings
from train.eye_world import Spoiling, World, angles, normalised, spoilt, world_and_others
from train.learning import DEVICE, learn, on
from train.networks import Block

SIZE = (160, 256)
MILD = Spoiling(gamma=0.25, contrast=0.3, blur_px=0.9, noise=4.0)
# What it tells, in radians: yaw and pitch of the visual axis in the headset with the logarithm of their variance, and
# of the optical axis before the camera. Then, from -1 to 1 across the picture, where the pupil is, with the logarithm
# of its variance; and the logit that the lids are open.
TOLD = ("yaw", "pitch", "log_variance", "axis_yaw", "axis_pitch", "pupil_x", "pupil_y", "pupil_log_variance", "open")
OPEN = 0.3  # lids that are open no further show nothing
SHARPEST = 1e-7  # of a variance: nobody can be surer, and the rest must count, too
TAILS = 4.0  # degrees of freedom
WHAT = "A small residual network at 256 × 160 for visual axis, optical axis and the pupil's place, on drawn pictures"


@dataclass(frozen=True)
class Settings(eye_settings.Settings):
    features: int = 32


USUAL = Settings(people=3072, steps=9000, train_s=140.0, decay=2e-2, widths=(40, 64, 112, 176))
SMALL = Settings(people=4, batch=4, steps=2, epoch=1, train_s=1e6, decay=2e-2, widths=(8, 8, 8, 8))


class Looker(nn.Module):
    """Convolutions, then layers over all places: where in the picture something is matters here.

    The pupil's place is the middle of a map, which is finer than any list of numbers that layers come to: a gaze that
    five frames have corrected is as good as that place.
    """

    def __init__(self, widths: tuple[int, ...], features: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, widths[0], 5, 2, 2, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU())
        self.blocks = nn.ModuleList(Block(a, b, 2) for a, b in zip((widths[0], *widths), widths, strict=False))
        self.squeeze = nn.Conv2d(widths[-1], 24, 1)
        places = 24 * (SIZE[0] // 32) * (SIZE[1] // 32)
        self.hidden = nn.Sequential(nn.Linear(places, 128), nn.ReLU(), nn.Linear(128, features), nn.ReLU())
        self.facts = nn.Linear(features, len(TOLD) - 2)
        self.sides = nn.ModuleList(nn.Conv2d(width, widths[0], 1) for width in widths[1:])
        self.joint = nn.Sequential(
            nn.Conv2d(widths[0], widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()
        )
        self.where = nn.Conv2d(widths[0], 1, 1)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """(n, 9) as TOLD, and (n, features) what it comes from."""
        seen, x = [], self.stem(pictures)
        for block in self.blocks:
            x = block(x)
            seen.append(x)
        features = self.hidden(functional.relu(self.squeeze(x)).flatten(1))
        facts = self.facts(features).float()
        near = seen[0]
        for level, (side, deeper) in enumerate(zip(self.sides, seen[1:], strict=True)):
            near = near + functional.interpolate(side(deeper), scale_factor=2.0 ** (level + 1), mode="bilinear")
        pupil = _middle(self.where(self.joint(near)).float())
        return torch.cat([facts[:, :5], pupil, facts[:, 5:]], 1), features


def _middle(heat: Tensor) -> Tensor:
    """(n, 2) the middle of maps (n, 1, H, W), from -1 to 1."""
    rows, columns = heat.shape[2:]
    share = heat.flatten(1).softmax(1).view(-1, rows, columns)
    x = (2 * torch.arange(columns, device=heat.device) + 1) / columns - 1
    y = (2 * torch.arange(rows, device=heat.device) + 1) / rows - 1
    return torch.stack([(share.sum(1) * x).sum(1), (share.sum(2) * y).sum(1)], 1)


class Lessons(World):
    """A world that also tells where pupils are."""

    @torch.no_grad()
    def lesson(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures, what they show (n, 6) as TOLD has it without variances, and whether the lids are open."""
        looks = self.looks(count)
        drawn = self._render(self.plates, looks)
        image = spoilt(self, drawn.image, MILD)
        small = functional.interpolate(image[:, None], SIZE, mode="bilinear", antialias=True)[:, 0]
        whole = torch.tensor([2.0 * WIDTH, 2.0 * HEIGHT], device=self.device)
        pupil = (2 * drawn.pupil_px + 1) / whole - 1
        shown = torch.cat([angles(looks.gaze), angles(self._axis(looks)), pupil], 1)
        return normalised(small), shown, (looks.opening > OPEN).float()


def loss_of(told: Tensor, shown: Tensor, seen: Tensor) -> Tensor:
    """How unlikely what is shown is by what was told, plus how far the axis before the camera is off."""
    told = told.float()
    gaze = _unlikely(told[:, :2] - shown[:, :2], told[:, 2])
    pupil = _unlikely(told[:, 5:7] - shown[:, 4:], told[:, 7])
    axis = 20 * ((told[:, 3:5] - shown[:, 2:4]) ** 2).sum(1)
    each = gaze + pupil + axis + 20 * (told[:, 5:7] - shown[:, 4:]).abs().sum(1)
    lids = functional.binary_cross_entropy_with_logits(told[:, 8], seen)
    return (each * seen).sum() / seen.sum().clamp(min=1) + 0.2 * lids


def _unlikely(off: Tensor, log_variance: Tensor) -> Tensor:
    """By Student's distribution: an eye behind a frame or lashes must not count for a thousand others."""
    variance = log_variance.exp() + SHARPEST
    return (TAILS + 2) / 2 * torch.log1p((off**2).sum(1) / variance / TAILS) + variance.log()


@torch.no_grad()
def tested(network: nn.Module, world: Lessons, settings: Settings, batches: int = 6) -> dict[str, float]:
    """How well it does on people and devices that it does not know."""
    apart = []
    for _ in range(batches):
        pictures, shown, seen = world.lesson(settings.batch)
        told = network(pictures)[0].float()
        off = (told[:, [0, 1, 3, 4, 5, 6]] - shown).view(-1, 3, 2)
        pupil_px = (off[:, 2] * torch.tensor([WIDTH, HEIGHT], device=off.device)).norm(dim=1)
        apart.append(torch.stack([*torch.rad2deg(off[:, :2].norm(dim=2)).unbind(1), pupil_px], 1)[seen > 0])
    every = torch.cat(apart)
    half, most = torch.quantile(every, torch.tensor([0.5, 0.95], device=every.device), dim=0).tolist()
    return {"gaze_deg": half[0], "gaze_p95_deg": most[0], "axis_deg": half[1], "pupil_px": half[2],
            "pupil_p95_px": most[2]}  # fmt: skip


def train(settings: Settings, work: Path) -> tuple[Looker, dict[str, float]]:
    """The network, and how well it does on people and devices left out."""
    torch.manual_seed(settings.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    world, others = world_and_others(settings.people, settings.seed, DEVICE, Lessons)
    network = on(Looker(settings.widths, settings.features))
    world.lesson(settings.batch)  # compiles, which is not training

    def loss() -> Tensor:
        pictures, shown, seen = world.lesson(settings.batch)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            told, _ = network(pictures.contiguous(memory_format=torch.channels_last))
        return loss_of(told, shown, seen)

    def check() -> str:
        return command.told(tested(network, others, settings))

    learn(network, loss, settings.schedule, check, work / f"looker-{settings.seed}.pt")
    return network, tested(network, others, settings)


def write(network: Looker, file: Path) -> None:
    """For onnxruntime, any number of pictures at a time."""
    names = {"input_names": ["pictures"], "output_names": ["told", "features"]}
    some = {name: {0: "n"} for name in ("pictures", "told", "features")}
    plain = network.cpu().eval().to(memory_format=torch.contiguous_format)
    example = (torch.zeros(2, 1, *SIZE),)
    torch.onnx.export(plain, example, str(file), dynamo=False, opset_version=17, dynamic_axes=some, **names)


if __name__ == "__main__":
    command.run(__doc__, USUAL, train, write, lambda asked: asked.told(WHAT))
