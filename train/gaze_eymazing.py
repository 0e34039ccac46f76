"""EyMazing, second of the OpenEDS 2020 gaze prediction challenge, rebuilt.

    python -m train.gaze_eymazing --data FOLDER --out OUT

As published: a ResNet-18 whose output is scaled to length one and learnt with the cosine to the true direction; an LSTM
on its estimates, learnt with the cosine on the predicted frames alone. Scaled down: pictures of 256 × 160, as many of
30 epochs as 100 s of a GPU allow (7 in the run of the model card), no weights from other pictures to begin with. Not
told and chosen here: AdamW at 0.001 in batches of 512, light and small shifts varied (as when a headset slips), an LSTM
of 128 numbers that gives the turn from the last estimate.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train.gaze_common import (
    Course,
    Seen,
    Settings,
    compiled,
    errors_deg,
    estimates,
    half,
    learn,
    on,
    run,
    some_frames,
)
from train.gaze_forecast import forecast, varied
from train.networks import ResNet

NAME = "eymazing"
SETTINGS = Settings(train_s=100.0, forecast_s=15.0, epochs=30, batch=512, rate=1e-3, decay=0.01)
LITTLE = (8, 8, 16, 16)  # channels of the small form
HIDDEN = 128


class Network(nn.Module):
    """A unit vector from pictures of grey levels."""

    def __init__(self, small: bool) -> None:
        super().__init__()
        self.inner = ResNet(3, LITTLE) if small else ResNet(3)

    def forward(self, pictures: Tensor) -> Tensor:
        return functional.normalize(self.inner(pictures / 64 - 2), dim=1)


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    device = seen.device
    pictures, labels = seen.pictures["train"].flatten(0, 1), seen.labels["train"].flatten(0, 1)
    network = on(Network(settings.small), device)
    seeing = compiled(network, device)
    best = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=settings.decay)
    told, known = some_frames(seen, "validation")

    def loss_of(rows: Tensor) -> Tensor:
        shown = varied(pictures[rows][:, None].float())
        with half(device):
            found = seeing(shown)
        return 100 * (1 - functional.cosine_similarity(found.float(), labels[rows])).mean()

    def error() -> float:
        return float(errors_deg(estimates(network, told), known).mean())

    learn(network, best, len(pictures), loss_of, lambda: f"validation {error():.2f}°", Course.of(NAME, settings))
    return {"estimation_deg": error()} | forecast(NAME, network, seen, HIDDEN, out, settings)


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
