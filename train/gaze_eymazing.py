"""EyMazing, second of the OpenEDS 2020 gaze prediction challenge, rebuilt.

    python -m train.gaze_eymazing --data FOLDER --out OUT

As published: a ResNet-18 whose output is scaled to length one and learnt with the cosine to the true direction; an LSTM
on its estimates, learnt with the cosine on the predicted frames alone. Scaled down: pictures of 256 × 160, as many of
30 epochs as the time allows, no weights from other pictures to begin with. Not told and chosen here: AdamW at 0.001 in
batches of 512, light and small shifts varied (a shift turns the gaze as a turn of the camera would), an LSTM of 128
numbers that gives the turn from the last estimate.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train.gaze_common import (
    GIVEN,
    SPLITS,
    Course,
    Seen,
    Settings,
    compiled,
    errors_deg,
    estimates,
    half,
    learn,
    lit,
    on,
    parameters,
    run,
    shifted,
    some_frames,
    validation_pe,
    write_estimator,
    write_network,
    write_predictions,
)
from train.gaze_forecast import learn_lstm
from train.networks import ResNet

NAME = "eymazing"
SETTINGS = Settings(train_s=75.0, forecast_s=15.0, epochs=30, batch=512, rate=1e-3, decay=0.01)
LITTLE = (8, 8, 16, 16)  # channels of the small form
HIDDEN = 128
FOCAL_PX, SHIFT_PX = 256.0, 4.0


class Network(nn.Module):
    """A unit vector from pictures of grey levels."""

    def __init__(self, small: bool) -> None:
        super().__init__()
        self.inner = ResNet(3, LITTLE) if small else ResNet(3)

    def forward(self, pictures: Tensor) -> Tensor:
        return functional.normalize(self.inner(pictures / 64 - 2), dim=1)


def varied(pictures: Tensor, gaze: Tensor) -> tuple[Tensor, Tensor]:
    move = SHIFT_PX * (2 * torch.rand(len(pictures), 2, device=pictures.device) - 1)
    pictures, gaze = shifted(pictures, gaze, move, FOCAL_PX)
    return lit(pictures), gaze


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    device = seen.device
    pictures, labels = seen.pictures["train"].flatten(0, 1), seen.labels["train"].flatten(0, 1)
    network = on(Network(settings.small), device)
    seeing = compiled(network, device)
    best = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=settings.decay)
    told, known = some_frames(seen, "validation")

    def loss_of(rows: Tensor) -> Tensor:
        picture, gaze = varied(pictures[rows][:, None].float(), labels[rows])
        with half(device):
            found = seeing(picture)
        return 100 * (1 - functional.cosine_similarity(found.float(), gaze)).mean()

    def error() -> float:
        return float(errors_deg(estimates(network, told), known).mean())

    learn(network, best, len(pictures), loss_of, lambda: f"validation {error():.2f}°", Course.of(NAME, settings))
    past = {split: estimates(network, seen.pictures[split]) for split in SPLITS}
    second = Course(f"{NAME}-lstm", settings.forecast_s, 1 if settings.small else 100, 1024, 2e-3, settings.seed,
                    settings.work)  # fmt: skip
    lstm = learn_lstm(seen, past, HIDDEN, second)
    with torch.no_grad():
        pe = validation_pe(seen, lstm(past["validation"][:, :GIVEN]))
        write_predictions(out, NAME, seen.names["test"], lstm(past["test"]))
    found = {
        "estimation_deg": error(),
        "validation_pe_deg": pe,
        "parameters": parameters(network) + parameters(lstm),
    }
    if settings.weights:
        write_estimator(network, out / "gaze_prediction_eymazing.onnx")
        write_network(lstm, torch.zeros(3, GIVEN, 3), out / "gaze_prediction_eymazing_forecast.onnx", ("past", "ahead"))
    return found


if __name__ == "__main__":
    run(train, SETTINGS, __doc__)
