"""Our solution for gaze-prediction-v1: a small estimator that corrects itself, and a forecaster that knows saccades.

    python -m train.gaze_palestra --data FOLDER --out OUT

1. The estimator tells where an eye's optical axis points before its camera, and learns that from pictures without end
   of people and devices of its own (train.eye_world) as well as from the data set's training people. Where a person
   looks differs from the axis by a few degrees that no single picture tells; so for each training eye (found by looks
   alone, gaze_groups.py) an offset is learnt beside the network, which then need not learn people by heart.
2. Sequences of one eye are found by their looks, and as everybody watches the same patterns, each eye's offset is told
   by where its estimates lie as a whole (gaze_places.py). No label of a validation or test person is used.
3. The forecaster is a GRU that learns from people who are simulated (worlds/gaze.py) and have the estimator's noise,
   as it is measured on training and validation people's estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.solutions import gaze_rule
from palestra.solutions.gaze_groups import grouped
from palestra.solutions.gaze_own import LOOKED_AT, SMALL, Floats, Known, known_of
from train.eye_world import World
from train.gaze_common import (
    GIVEN,
    SIZE,
    STEPS,
    Course,
    Seen,
    Settings,
    errors_deg,
    estimates,
    half,
    learn,
    lit,
    on,
    parameters,
    run,
    to_angles,
    to_vectors,
    validation_pe,
    write_estimator,
    write_network,
    write_predictions,
)
from train.gaze_traces import Watching

NAME = "palestra"
SETTINGS = Settings(train_s=100.0, forecast_s=35.0, epochs=100, batch=512, rate=2e-3, decay=0.02)
WORLD_PEOPLE, SMALL_WORLD = 1536, 4
OPEN = 0.3  # how far an eye is open at least, for its axis to be seen
WIDTHS, LITTLE = (16, 32, 64, 128, 128), (4, 4, 8, 8, 8)
HIDDEN = 128
JOBS = 6000  # of traces; those that are not done in time are left


# ── The estimator. ────────────────────────────────────────────────────────────────────────────────────────────────────


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
        self.camera = nn.Linear(5, 2)  # from the axis before the camera to the data set's axes
        with torch.no_grad():
            self.camera.weight.copy_(torch.eye(2, 5))
            self.camera.bias.zero_()

    def axis(self, pictures: Tensor) -> Tensor:
        """As the camera sees it: (n, 2) in degrees, to the picture's right and up."""
        mean = pictures.mean((1, 2, 3), keepdim=True)
        spread = (pictures - mean).square().mean((1, 2, 3), keepdim=True).sqrt()
        seen = self.see((pictures - mean) / (spread + 8.0))
        return 10 * self.tell(functional.relu(self.know(seen.flatten(1))))

    def before(self, axis: Tensor) -> Tensor:
        """In the data set's axes."""
        x, y = axis[:, :1], axis[:, 1:]
        found: Tensor = self.camera(torch.cat([x, y, x * x / 20, x * y / 20, y * y / 20], 1))
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


def little(pictures: Tensor) -> Floats:
    """(sequences, frames, *SMALL) of the frames LOOKED_AT, grey levels."""
    chosen = pictures[:, list(LOOKED_AT)].float()
    return functional.adaptive_avg_pool2d(chosen, SMALL).cpu().numpy()


def learn_estimator(seen: Seen, world: World, settings: Settings) -> Network:
    device = seen.device
    pictures, labels = seen.pictures["train"].flatten(0, 1), to_angles(seen.labels["train"].flatten(0, 1))
    groups = grouped(little(seen.pictures["train"]))
    whose = torch.from_numpy(groups).to(device).repeat_interleave(seen.pictures["train"].shape[1])
    print(f"{NAME}: {groups.max() + 1} eyes among {len(groups)} training sequences", flush=True)
    network = on(Network(LITTLE if settings.small else WIDTHS), device)
    beside = Learning(network, int(groups.max()) + 1).to(device)
    axis = compiled_axis(network, device)
    best = torch.optim.AdamW(
        [
            {"params": network.parameters(), "weight_decay": settings.decay},
            {"params": beside.off.parameters(), "weight_decay": 0.0},
        ],
        settings.rate,
    )

    def loss_of(rows: Tensor) -> Tensor:
        drawn = world.batch(4 if settings.small else len(rows))
        ours = functional.interpolate(drawn.image[:, None], SIZE, mode="bilinear", antialias=True).flip(3)
        mine = len(ours)
        with half(device):
            found = axis(lit(torch.cat([ours, pictures[rows][:, None].float()]))).float()
        true = to_angles(drawn.axis * torch.tensor([-1.0, 1.0, 1.0], device=device))
        # A closed eye tells nothing.
        seen_open = (drawn.opening > OPEN).float()
        world_loss = (seen_open * distance(found[:mine], true)).sum() / seen_open.sum().clamp(min=1)
        off = beside.off(whose[rows]) * 10  # it is to move faster than weights do
        return world_loss + distance(network.before(found[mine:]) + off, labels[rows]).mean()

    apart = grouped(little(seen.pictures["validation"]))

    def check() -> str:
        alone, together = checked(network, seen, apart)
        return f"validation {alone:.2f}°, with each eye's mean error taken off {together:.2f}°"

    learn(beside, best, len(pictures), loss_of, check, Course.of(NAME, settings))
    with torch.no_grad():  # what all eyes are off by is the camera's
        network.camera.bias += 10 * beside.off.weight.mean(0)
    return network


def compiled_axis(network: Network, device: str) -> Callable[[Tensor], Tensor]:
    return torch.compile(network.axis, dynamic=False) if device == "cuda" else network.axis


def distance(found: Tensor, true: Tensor) -> Tensor:
    """Degrees, with a gradient at 0."""
    return (found - true).square().sum(1).add(0.01).sqrt()


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


def known(network: Network, seen: Seen, split: str) -> Known:
    """What is found out about a split's eyes, as palestra solve does."""
    angles = {part: _double(estimates(network, seen.pictures[part][:, list(LOOKED_AT)])) for part in ("train", split)}
    labels = _double(to_angles(seen.labels["train"][:, list(LOOKED_AT)]))
    trained = little(seen.pictures["train"]), angles["train"], labels
    return known_of(trained, seen.names[split], (little(seen.pictures[split]), angles[split]))


def _double(found: Tensor) -> np.ndarray:
    return found.cpu().numpy().astype(np.float64)


def _corrected(found: Tensor, known: Known, names: list[str]) -> Tensor:
    """Estimates (sequences, frames, 2) with what is known of their eyes."""
    better = [known(name, one) for name, one in zip(names, _double(found), strict=True)]
    return torch.from_numpy(np.array(better)).to(found)


# ── The forecaster. ───────────────────────────────────────────────────────────────────────────────────────────────────


class Forecaster(nn.Module):
    """The next five angles from 50 noisy ones: how far each lies from the mean of the last three."""

    def __init__(self, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.recall = nn.GRU(6, hidden, batch_first=True)
        self.tell = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2 * STEPS))

    def forward(self, past: Tensor) -> Tensor:
        """(n, 5, 2) from (n, 50, 2), degrees."""
        last = past[:, -3:].mean(1, keepdim=True)
        speed = torch.cat([torch.zeros_like(past[:, :1]), past[:, 1:] - past[:, :-1]], 1)
        known, _ = self.recall(torch.cat([past / 20, (past - last) / 5, speed], 2))
        return last + self.tell(known[:, -1]).reshape(-1, STEPS, 2)


def jitter_deg(found: Tensor) -> Tensor:
    """(2,) noise from frame to frame, by second differences; saccades are few and do not move a median."""
    bend = found[:, 2:] - 2 * found[:, 1:-1] + found[:, :-2]
    return 1.4826 * bend.abs().flatten(0, 1).median(0).values / 6**0.5


def slow_deg(found: Tensor, labels: Tensor) -> Tensor:
    """(2,) spread of what whole sequences are off by."""
    return (found - labels).mean(1).std(0)


def spoilt(true: Tensor, jitter: Tensor, slow: Tensor) -> Tensor:
    """Traces (n, frames, 2) as the estimator would see them: people differ in how well they are seen."""
    count = len(true)
    rough, off = (torch.exp(0.4 * torch.randn(count, 1, 1, device=true.device)) for _ in range(2))
    stretch = 1 + 0.02 * torch.randn(count, 1, 2, device=true.device)
    moved = true * stretch + off * slow * torch.randn(count, 1, 2, device=true.device)
    return moved + rough * jitter * torch.randn_like(true)


def learn_forecaster(seen: Seen, past: Tensor, watching: Watching, settings: Settings) -> Forecaster:
    """On simulated people; validation people's estimates `past` (sequences, frames, 2) say how noisy those are."""
    every = torch.from_numpy(watching.collect()).to(past.device)
    labels = to_angles(seen.labels["validation"])
    # Labels have slow errors of their own, and so have simulated ones: only the rest is the estimator's.
    labelled = slow_deg(every[:, 0, :GIVEN], every[:, 1, :GIVEN])
    off = slow_deg(past, labels[:, :GIVEN])
    jitter, slow = jitter_deg(past), (off**2 - labelled**2).clamp(min=0.01).sqrt()
    print(f"{NAME}: {len(every):,} traces; noise {jitter.tolist()}°, off by {slow.tolist()}°", flush=True)
    network = Forecaster(8 if settings.small else HIDDEN).to(past.device)
    best = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=0.001)

    def loss_of(rows: Tensor) -> Tensor:
        true, labelled = every[rows].unbind(1)
        ahead = network(spoilt(true[:, :GIVEN], jitter, slow))
        return (ahead - labelled[:, GIVEN:]).square().sum(2).add(1e-4).sqrt().mean()

    def check() -> str:
        with torch.no_grad():
            return f"validation PE {validation_pe(seen, to_vectors(network(past))):.3f}°"

    course = Course.of(f"{NAME}-gru", replace(settings, train_s=settings.forecast_s, batch=2048, rate=2e-3))
    learn(network, best, len(every), loss_of, check, course)
    network.eval()
    return network


def compare(seen: Seen, past: Tensor) -> str:
    """What rules come to on the same estimates."""
    vectors = _double(to_vectors(past))
    held = np.repeat(vectors[:, -3:].mean(1)[:, None], STEPS, axis=1)
    rules = {"hold": held, "rule": gaze_rule.ahead(vectors)}
    errors = {name: validation_pe(seen, torch.from_numpy(found).to(past)) for name, found in rules.items()}
    return ", ".join(f"{name} {error:.3f}°" for name, error in errors.items())


# ── Both. ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    # The world first: it copies this process to paint people, which is best done while nothing else runs in it.
    world = World(SMALL_WORLD if settings.small else WORLD_PEOPLE, seen.device, settings.seed)
    with Watching(settings.seed, 1 if settings.small else JOBS) as watching:
        network = learn_estimator(seen, world, settings)
        return _forecast(seen, network, watching, out, settings)


def _forecast(seen: Seen, network: Network, watching: Watching, out: Path, settings: Settings) -> dict[str, float]:
    """What is left once pictures can be read: correct each eye, learn to forecast, predict, write."""
    own = {split: known(network, seen, split) for split in ("validation", "test")}
    raw = {split: estimates(network, seen.pictures[split][:, :GIVEN]) for split in own}
    past = {split: _corrected(raw[split], own[split], seen.names[split]) for split in own}
    eyes = {split: len({id(one) for one in own[split].corrections.values()}) for split in own}
    print(f"{NAME}: eyes found {eyes}; rules on the same estimates: {compare(seen, past['validation'])}", flush=True)
    forecaster = learn_forecaster(seen, past["validation"], watching, settings)
    with torch.no_grad():
        pe = validation_pe(seen, to_vectors(forecaster(past["validation"])))
        plain = validation_pe(seen, to_vectors(forecaster(raw["validation"])))
        write_predictions(out, NAME, seen.names["test"], to_vectors(forecaster(past["test"])))
    true = seen.labels["validation"][:, :GIVEN]
    found = {
        "estimation_deg": float(errors_deg(to_vectors(raw["validation"]), true).mean()),
        "calibrated_deg": float(errors_deg(to_vectors(past["validation"]), true).mean()),
        "validation_pe_deg": pe,
        "uncalibrated_pe_deg": plain,
        "parameters": parameters(network) + parameters(forecaster),
    }
    write_estimator(network, out / "gaze_prediction_palestra.onnx")
    file = out / "gaze_prediction_palestra_forecast.onnx"
    write_network(forecaster, torch.zeros(3, GIVEN, 2), file, ("past", "ahead"))
    return found


if __name__ == "__main__":
    run(train, SETTINGS, __doc__)
