"""Konovalov, third of the OpenEDS 2020 gaze prediction challenge, rebuilt.

    python -m train.gaze_konovalov --data FOLDER --out OUT

As published: an EfficientNet-B0 with a loss of its own as the estimator, an LSTM as the forecaster. Scaled down:
pictures of 256 × 160, as many of 30 epochs as 110 s of a GPU allow (the model card says how many), no weights from
other pictures to begin with, neither dropout nor stochastic depth. Not told
and chosen here: the loss, which is the angle itself between the two directions; AdamW at 0.002 in batches of 512; light
and small shifts varied (as when a headset slips); an LSTM of 64 numbers on cosines.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train.gaze_common import (
    Seen,
    Settings,
    errors_deg,
    run,
)
from train.gaze_forecast import forecast
from train.gaze_vectors import learn_vectors, slipped

NAME = "konovalov"
SETTINGS = Settings(train_s=110.0, forecast_s=15.0, epochs=30, batch=512, rate=2e-3, decay=0.01)
HIDDEN = 64
# Of EfficientNet-B0, stage by stage: how much wider inside, kernel, stride, channels, how often.
STAGES = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
          (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))  # fmt: skip
SMALL_STAGES = ((1, 3, 2, 8, 1), (2, 5, 2, 8, 1))


def _convolved(into: int, out: int, kernel: int, stride: int, groups: int = 1) -> list[nn.Module]:
    layer = nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return [layer, nn.BatchNorm2d(out)]


class _Attention(nn.Module):
    """Scales each channel by what all channels are on average (squeeze and excitation)."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.less, self.more = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.more(functional.silu(self.less(mean))))


class _Inverted(nn.Module):
    """Widened, filtered channel by channel, weighed, narrowed; beside a shortcut where the shape stays."""

    def __init__(self, into: int, out: int, wider: int, kernel: int, stride: int) -> None:
        super().__init__()
        inner = wider * into
        wide = [*_convolved(into, inner, 1, 1), nn.SiLU()] if wider > 1 else []
        filtered = [*_convolved(inner, inner, kernel, stride, inner), nn.SiLU()]
        self.layers = nn.Sequential(
            *wide, *filtered, _Attention(inner, max(into // 4, 1)), *_convolved(inner, out, 1, 1)
        )
        self.short = stride == 1 and into == out

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return x + found if self.short else found


class EfficientNet(nn.Module):
    """EfficientNet-B0 for grey pictures, without the layer that names classes."""

    def __init__(
        self, outputs: int, stages: tuple[tuple[int, ...], ...] = STAGES, first: int = 32, last: int = 1280
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [*_convolved(1, first, 3, 2), nn.SiLU()]
        into = first
        for wider, kernel, stride, out, times in stages:
            for k in range(times):
                layers.append(_Inverted(into, out, wider, kernel, stride if k == 0 else 1))
                into = out
        self.see = nn.Sequential(*layers, *_convolved(into, last, 1, 1), nn.SiLU())
        self.tell = nn.Linear(last, outputs)

    def forward(self, pictures: Tensor) -> Tensor:
        found: Tensor = self.tell(self.see(pictures).mean((2, 3)))
        return found


class Network(nn.Module):
    """A unit vector from pictures of grey levels."""

    def __init__(self, small: bool) -> None:
        super().__init__()
        self.inner = EfficientNet(3, SMALL_STAGES, 4, 32) if small else EfficientNet(3)

    def forward(self, pictures: Tensor) -> Tensor:
        return functional.normalize(self.inner(pictures / 64 - 2), dim=1)


def far(found: Tensor, true: Tensor) -> Tensor:
    return errors_deg(found, true).mean()


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    network, found = learn_vectors(NAME, Network(settings.small), seen, slipped, far, settings)
    return found | forecast(NAME, network, seen, HIDDEN, out, settings)


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
