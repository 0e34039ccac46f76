"""EyMazing, second of the OpenEDS 2020 gaze prediction challenge, rebuilt.

    python -m train.gaze_eymazing --data FOLDER --out OUT

As published: a ResNet-18 whose output is scaled to length one and learnt with the cosine to the true direction; an LSTM
on its estimates, learnt with the cosine on the predicted frames alone. Scaled down: pictures of 256 × 160, as many of
30 epochs as 100 s of a GPU allow (the model card says how many), no weights from other pictures to begin with. Not
told and chosen here: AdamW at 0.001 in batches of 512, light and small shifts varied (as when a headset slips), an LSTM
of 128 numbers that gives the turn from the last estimate.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional

from train.gaze_common import (
    Seen,
    Settings,
    run,
)
from train.gaze_forecast import forecast
from train.gaze_vectors import learn_vectors, slipped
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


def far(found: Tensor, true: Tensor) -> Tensor:
    return 100 * (1 - functional.cosine_similarity(found, true)).mean()


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    network, found = learn_vectors(NAME, Network(settings.small), seen, slipped, far, settings)
    return found | forecast(NAME, network, seen, HIDDEN, out, settings)


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
