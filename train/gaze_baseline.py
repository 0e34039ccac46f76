"""The paper's baseline for gaze prediction, rebuilt: 13 convolutions of few channels, then a linear regression.

    python -m train.gaze_baseline --data FOLDER --out OUT

As published: pictures of 160 × 100, residual blocks, a layer of 32 and two angles, 206 K parameters, examples weighted
by the inverse of a Gaussian that is fitted to their angles, Adam at 0.001, 75 % of the training data, pictures shifted,
turned and lit otherwise; then each axis's next five angles by linear regression over its last 50, fitted on labels.
Scaled down: batches of 256 instead of 32 and as many of the 50 epochs as 60 s of a GPU allow (the model card says how
many), with the rate falling to nothing. Not told there and chosen here: the widths (16, 32, 64), which 75 % (the first
three of every four), weights of at most 10, turns of 5° and shifts of 4 pixels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.resize import shrinking
from palestra.tracks.gaze_prediction.solutions.baseline import Line, fit_line
from train.gaze_common import (
    GIVEN,
    SIZE,
    Course,
    Seen,
    Settings,
    compiled,
    errors_deg,
    estimates,
    half,
    learn,
    lit,
    moved,
    parameters,
    run,
    some_frames,
    to_angles,
    to_vectors,
    turned,
    validation_pe,
    write_estimator,
    write_predictions,
)
from train.learning import on

NAME = "baseline"
SETTINGS = Settings(train_s=60.0, forecast_s=0.0, epochs=50, batch=256, rate=1e-3)
SMALLER = (100, 160)
WIDTHS, LITTLE = (16, 32, 64), (4, 4, 8)
MOST_WEIGHT = 10.0  # of an example far out, against one in the middle


class _Block(nn.Module):
    """Two convolutions beside a shortcut without weights."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - into

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second_norm(self.second(functional.relu(self.first_norm(self.first(x)))))
        if self.stride > 1:
            x = functional.max_pool2d(x, 3, self.stride, 1)
        return functional.relu(inner + functional.pad(x, (0, 0, 0, 0, 0, self.more)))


class Network(nn.Module):
    """Angles in degrees from pictures of grey levels, which it makes smaller first."""

    def __init__(self, widths: tuple[int, ...] = WIDTHS) -> None:
        super().__init__()
        for side, (large, little) in enumerate(zip(SIZE, SMALLER, strict=True)):
            self.register_buffer(f"shrink_{side}", torch.from_numpy(shrinking(large, little)), persistent=False)
        layers: list[nn.Module] = [nn.Conv2d(1, widths[0], 3, 2, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        into = widths[0]
        for stage, width in enumerate(widths):
            layers += [_Block(into, width, 1 + (stage > 0)), _Block(width, width, 1)]
            into = width
        self.see = nn.Sequential(*layers)
        self.know = nn.Linear(into * 16, 32)
        self.tell = nn.Linear(32, 2)

    def forward(self, pictures: Tensor) -> Tensor:
        small = self.shrink_0 @ pictures @ self.shrink_1.T
        seen = functional.avg_pool2d(self.see(small / 128 - 1), (3, 5))  # 13 × 20 → 4 × 4
        return 10 * self.tell(functional.relu(self.know(seen.flatten(1))))


def rarity(angles: Tensor) -> Tensor:
    """Inverse densities (n,) under a Gaussian fitted to angles (n, 2), of mean 1."""
    away = ((angles - angles.mean(0)) / angles.std(0)) ** 2
    weights = torch.exp(away.sum(1) / 2).clamp(max=MOST_WEIGHT)
    return weights / weights.mean()


def varied(pictures: Tensor, gaze: Tensor) -> tuple[Tensor, Tensor]:
    count, device = len(pictures), pictures.device
    turn = torch.deg2rad(5 * (2 * torch.rand(count, device=device) - 1))
    pictures, gaze = turned(pictures, gaze, turn, torch.ones(count, device=device))
    pictures = moved(pictures, 4 * (2 * torch.rand(count, 2, device=device) - 1))  # as when a headset slips
    return lit(pictures, gamma=0.2, noise=2.0), gaze


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    device = seen.device
    chosen = torch.arange(len(seen.names["train"]), device=device) % 4 != 3
    pictures, labels = (part[chosen].flatten(0, 1) for part in (seen.pictures["train"], seen.labels["train"]))
    weights = rarity(to_angles(labels))
    network = on(Network(LITTLE if settings.small else WIDTHS), device)
    seeing = compiled(network, device)
    best = torch.optim.Adam(network.parameters(), settings.rate)
    told, known = some_frames(seen, "validation")

    def loss_of(rows: Tensor) -> Tensor:
        picture, gaze = varied(pictures[rows][:, None].float(), labels[rows])
        with half(device):
            found = seeing(picture)
        return (weights[rows] * (found.float() - to_angles(gaze)).square().sum(1)).mean()

    def error() -> float:
        return float(errors_deg(to_vectors(estimates(network, told)), known).mean())

    course = Course.of(NAME, settings)
    epochs = learn(network, best, len(pictures), loss_of, lambda: f"validation {error():.2f}°", course)
    line = fit_line(to_angles(seen.labels["train"]).cpu().numpy())
    pe = validation_pe(seen, ahead(line, network, seen.pictures["validation"][:, :GIVEN]))
    write_predictions(out, NAME, seen.names["test"], ahead(line, network, seen.pictures["test"]))
    found = {"estimation_deg": error(), "validation_pe_deg": pe, "parameters": parameters(network), "epochs": epochs}
    write_estimator(network, out / "gaze_prediction_baseline.onnx")
    return found


def ahead(line: Line, network: nn.Module, pictures: Tensor) -> Tensor:
    """Vectors of the next five frames, from pictures of 50."""
    past = estimates(network, pictures).cpu().numpy().astype(np.float64)
    return to_vectors(torch.from_numpy(line(past)).to(pictures.device))


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
