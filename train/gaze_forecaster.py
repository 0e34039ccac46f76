"""Where an eye will look: a small network that weighs simple rules and adds what it knows of saccades.

    python -m train.gaze_forecaster --work FOLDER --out OUT/gaze_forecaster.onnx

It learns from the world of train/gaze_forecaster_world.py alone, other windows in every batch. What it is built for:

- It never sees an absolute place: windows come in a plane around the last sample, and the network turns them so that
  the eye last went along the first axis, and mirrors them. Looking elsewhere or another way round changes nothing.
- Its answer is a weighted mean of what rules say (the last sample, means, lines, parabolas), so each of them is within
  reach exactly, and a correction in units of how unevenly the eye just moved. It need not learn to copy a line.
- It is told how noisy the samples are, by their second differences, and at what rate they come, and sees every movement
  against both: as a speed, and in units of the noise.
- Beside the answer it tells the radius that holds four of five errors. Errors count against that radius as well as in
  degrees: a still eye at a high rate is as worth forecasting as a saccade.

It keeps FOLDER/forecaster-SEED.pt after every epoch; started again, it goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train import command
from train.gaze_forecaster_world import GIVEN, STEPS, Windows, World
from train.learning import DEVICE, Schedule, learn

NAME = "gaze_forecaster"
SHARE = 0.8  # of errors that the radius holds
LAGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 49)  # samples between the last one and those whose places are shown
RECENT = 6  # second differences that tell how unevenly the eye just moved
FACING = 5  # samples whose way tells where "ahead" is
LEAST_DEG = 1e-3  # of noise
SPEED_DEG_S, PLACE_DEG = 10.0, 1.0  # what counts as large
WHAT = "A network of three layers on 50 samples in their own frame, on windows that are drawn as it learns"


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    train_s: float = 260.0  # it ends after so many seconds or `steps`, whichever comes first
    steps: int = 1_000_000  # batches
    batch: int = 16_384
    drawn: int = 8  # batches at once
    epoch: int = 2000  # batches between two lines
    rate: float = 2e-3
    decay: float = 1e-3
    hidden: int = 384
    degrees: float = 2.0  # what an error in degrees counts beside one against the radius
    checked: int = 65_536  # windows
    seed: int = 0

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.train_s, self.steps, self.rate, self.batch, self.decay, epoch=self.epoch, seed=self.seed)


USUAL = Settings()
SMALL = Settings(train_s=1e6, steps=2, batch=64, drawn=2, epoch=1, hidden=16, checked=256)


# ── Rules, each a weight for every sample and step. ───────────────────────────────────────────────────────────────────


def rules() -> Tensor:
    """(50, rules, 5): weights of samples whose sum is a forecast."""
    found = [_at(GIVEN - 1), _at(GIVEN - 2), _at(GIVEN - 3)]
    found += [_fitted(count, 0) for count in (2, 3, 5, 9, 17, 33, 50)]
    found += [_fitted(count, 1) for count in (2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 50)]
    found += [_drawn_on(apart) for apart in (2, 3, 4, 8)]
    found += [_fitted(count, 2) for count in (3, 5, 9, 17)]
    return torch.stack(found, 1).float()


def _at(index: int) -> Tensor:
    weights = torch.zeros(GIVEN, STEPS, dtype=torch.float64)
    weights[index] = 1
    return weights


def _fitted(count: int, degree: int) -> Tensor:
    """A polynomial through the last samples by least squares, drawn on."""
    powers = torch.arange(degree + 1, dtype=torch.float64)
    given = torch.arange(1 - count, 1, dtype=torch.float64)[:, None] ** powers
    ahead = torch.arange(1, STEPS + 1, dtype=torch.float64)[:, None] ** powers
    return torch.cat([torch.zeros(GIVEN - count, STEPS, dtype=torch.float64), (ahead @ torch.linalg.pinv(given)).T])


def _drawn_on(apart: int) -> Tensor:
    """A line through the last sample and one before."""
    steps = torch.arange(1, STEPS + 1, dtype=torch.float64) / apart
    weights = _at(GIVEN - 1)
    weights[-1] += steps
    weights[-1 - apart] -= steps
    return weights


def looks() -> Tensor:
    """(50, 49 + LAGS): steps from sample to sample, and places as seen from the last one."""
    eye = torch.eye(GIVEN)
    return torch.cat([eye[:, 1:] - eye[:, :-1], torch.stack([eye[:, -1 - lag] - eye[:, -1] for lag in LAGS], 1)], 1)


# ── The network. ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Forecaster(nn.Module):
    """Answers (n, 5, 2) and radii (n, 5) in degrees from windows (n, 50, 2) in a plane, at rates (n,) in Hz."""

    looks: Tensor
    rules: Tensor

    def __init__(self, hidden: int = USUAL.hidden) -> None:
        super().__init__()
        every = rules()
        self.count = every.shape[1]
        self.register_buffer("looks", looks(), persistent=False)
        self.register_buffer("rules", every.flatten(1), persistent=False)
        conditions = 6
        self.first = nn.Linear(4 * self.looks.shape[1] + conditions, hidden)
        self.tuned = nn.Linear(conditions, 2 * hidden)
        self.second, self.third = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.tell = nn.Linear(hidden, STEPS * (self.count + 3))
        with torch.no_grad():  # at the start no movement is corrected, and rules are about even
            self.tell.weight.mul_(0.1)
            self.tuned.weight.mul_(0.1)

    def forward(self, past: Tensor, hz: Tensor) -> tuple[Tensor, Tensor]:
        rows = past.transpose(1, 2)  # (n, 2, 50)
        step = past[:, 1:] - past[:, :-1]
        bend = length(step[:, 1:] - step[:, :-1])  # (n, 48)
        # Half of the second differences of white noise on two axes are below 1.1774 · √6 of its sd.
        noise = torch.topk(bend, 24, dim=1).values[:, 23:] / 2.884 + LEAST_DEG
        uneven = noise + bend[:, -RECENT:].mean(1, keepdim=True)  # (n, 1)
        ahead = past[:, -1] - past[:, -1 - FACING]
        ahead = ahead / (length(ahead)[:, None] + 1e-6)
        cosine, sine = ahead[:, :1], ahead[:, 1:]
        seen = rows @ self.looks  # (n, 2, looks)
        along, across = cosine * seen[:, 0] + sine * seen[:, 1], cosine * seen[:, 1] - sine * seen[:, 0]
        side = torch.where(across[:, -len(LAGS) :].sum(1, keepdim=True) >= 0, 1.0, -1.0)
        both = torch.cat([along, side * across], 1)

        rate = hz[:, None]
        places = along.shape[1] - len(LAGS)
        scale = torch.cat([rate.expand(-1, places) / SPEED_DEG_S, torch.full_like(along[:, places:], 1 / PLACE_DEG)], 1)
        conditions = torch.log(torch.cat([rate / 240, noise / 0.03, noise * rate / 7, uneven / 0.1,
                                          uneven * rate / 24, length(step).mean(1, keepdim=True) * rate / 20 + 1e-3],
                                         1))  # fmt: skip
        shown = torch.cat([squashed(torch.cat([both * torch.cat([scale, scale], 1), both / noise], 1)), conditions], 1)
        gain, shift = self.tuned(conditions).chunk(2, 1)
        known = functional.silu(self.first(shown) * (1 + gain) + shift)
        known = known + functional.silu(self.second(known))
        known = known + functional.silu(self.third(known))
        weights, right, up, wide = self.tell(known).split([STEPS * self.count, STEPS, STEPS, STEPS], 1)

        weights = weights.view(-1, self.count, STEPS).softmax(1)
        said = (rows @ self.rules).view(-1, 2, self.count, STEPS)
        agreed = (said * weights[:, None]).sum(2)  # (n, 2, 5)
        right, up = uneven * right, side * uneven * up
        found = agreed + torch.stack([cosine * right - sine * up, sine * right + cosine * up], 1)
        return found.transpose(1, 2), uneven * torch.exp(wide)


def squashed(numbers: Tensor) -> Tensor:
    """Small ones as they are, of large ones the logarithm."""
    return numbers.sign() * (numbers.abs() + 1).log()


def length(vectors: Tensor) -> Tensor:
    """Of (…, 2): with a gradient at nothing, and the same in every runtime."""
    return (vectors.square().sum(-1) + 1e-12).sqrt()


# ── Learning. ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def loss_of(told: tuple[Tensor, Tensor], drawn: Windows, degrees: float) -> Tensor:
    """Errors against the radius and in degrees, and how far the radius is from holding its share of them.

    Half of each error is of what is measured and half of what would be without noise: what is best for one is about the
    best for the other, and noise that nobody can foresee teaches slowly.
    """
    found, radius = told
    error = length(found - drawn.ahead)
    both = (error + length(found - drawn.clean)) / 2
    # The radius is told from the window alone, so dividing by it changes no window's best answer.
    fair = (both / (radius.detach() + LEAST_DEG)).mean()
    over = torch.log(error.detach() + LEAST_DEG) - torch.log(radius + LEAST_DEG)
    return fair + degrees * both.mean() + torch.maximum(SHARE * over, (SHARE - 1) * over).mean()


def lessons(world: World, settings: Settings) -> Iterator[Windows]:
    while True:
        drawn = world.batch(settings.batch * settings.drawn)
        parts = (part.split(settings.batch) for part in (drawn.past, drawn.ahead, drawn.clean, drawn.hz))
        yield from (Windows(*one) for one in zip(*parts, strict=True))


@torch.no_grad()
def tested(network: Forecaster, drawn: Windows, batch: int = 16_384) -> dict[str, float]:
    """Errors on windows that are not learnt from, beside those of rules; the share that the radius holds."""
    parts = zip(drawn.past.split(batch), drawn.hz.split(batch), strict=True)
    found, radius = (torch.cat(both) for both in zip(*(network(*one) for one in parts), strict=True))
    steps = torch.arange(1, STEPS + 1, device=found.device)[None, :, None]
    line = steps * (drawn.past[:, -1:] - drawn.past[:, -3:-2]) / 2
    error = length(found - drawn.ahead)
    return {
        "error_deg": float(error.mean()),
        "hold_deg": float(length(drawn.ahead).mean()),
        "line_deg": float(length(line - drawn.ahead).mean()),
        "median_deg": float(error.median()),
        "held": float((error <= radius).float().mean()),
    }


def train(settings: Settings, work: Path, device: str = DEVICE) -> tuple[Forecaster, dict[str, float]]:
    torch.manual_seed(settings.seed)
    network, world = Forecaster(settings.hidden).to(device), World(device)
    torch.manual_seed(settings.seed + 1)
    seen, taught = world.batch(settings.checked), lessons(world, settings)

    def loss() -> Tensor:
        drawn = next(taught)
        return loss_of(network(drawn.past, drawn.hz), drawn, settings.degrees)

    kept = work / f"forecaster-{settings.seed}.pt"
    learn(network, loss, settings.schedule, lambda: told(tested(network, seen)), kept)
    return network, tested(network, seen)


def told(checked: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in checked.items())


def write(network: Forecaster, file: Path) -> None:
    """For onnxruntime, any number of windows at a time."""
    axes = {name: {0: "n"} for name in ("past", "hz", "ahead", "radius")}
    example = torch.randn(3, GIVEN, 2), torch.full((3,), 100.0)
    names = {"input_names": ["past", "hz"], "output_names": ["ahead", "radius"], "dynamic_axes": axes}
    torch.onnx.export(network.cpu().eval().float(), example, str(file), dynamo=False, opset_version=17, **names)


if __name__ == "__main__":
    command.run(__doc__, USUAL, train, write, lambda asked: WHAT)
