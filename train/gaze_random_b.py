"""random_b, the winner of the OpenEDS 2020 gaze prediction challenge, rebuilt.

    python -m train.gaze_random_b --data FOLDER --out OUT

As published: pictures of 256 × 160 whose rows are scaled to length one, a one-channel ResNet-18 that gives x, y and z,
squared error, AdamW at 0.01 with batches of 450; pictures are turned, mirrored and shifted and the gaze with them, and
blurred, spoilt by noise and JPEG; a rule forecasts each axis: what moved fast over the last 7 frames goes on, else the
mean of the last 3. Scaled down: one network on all training people instead of five folds; as many of the 50 epochs as
100 s of a GPU allow (the model card says how many), the rate falling along a cosine instead of at plateaus; random
gamma in place of CLAHE. Read by us: a shift turns the gaze as a turn of the camera by as many pixels would. Not told:
how far pictures are turned and shifted, and the rule's threshold, which is the one that does best on the training part
(solutions/published.py).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from palestra.eyes.simulator.torch_renderer import compressed
from palestra.tracks.gaze_prediction.solutions import published
from train.gaze_common import (
    GIVEN,
    STEPS,
    Seen,
    Settings,
    errors_deg,
    estimates,
    lit,
    parameters,
    run,
    shifted,
    turned,
    validation_pe,
    write_estimator,
    write_predictions,
)
from train.gaze_vectors import learn_vectors
from train.networks import ResNet

NAME = "random-b"
SETTINGS = Settings(train_s=100.0, forecast_s=0.0, epochs=50, batch=450, rate=0.01, decay=0.01)
LITTLE = (8, 8, 16, 16)  # channels of the small form
FOCAL_PX = 256.0
TURN_DEG, SHIFT_PX, MIRRORED, PRESSED = 15.0, 4.0, 0.5, 0.3
SPEEDS = (0.001, 0.004, 0.016, published.FAST, 1.0)  # what the rule would come to with others


class Network(nn.Module):
    """x, y, z from pictures of grey levels, whose rows it scales to length one."""

    def __init__(self, small: bool) -> None:
        super().__init__()
        self.inner = ResNet(3, LITTLE) if small else ResNet(3)

    def forward(self, pictures: Tensor) -> Tensor:
        rows = pictures / pictures.square().sum(3, keepdim=True).sqrt().clamp(min=1.0)
        found: Tensor = self.inner(8 * rows)  # of about one: 256 numbers of a row share its length
        return found


def varied(pictures: Tensor, gaze: Tensor) -> tuple[Tensor, Tensor]:
    count, device = len(pictures), pictures.device
    turn = torch.deg2rad(TURN_DEG * (2 * torch.rand(count, device=device) - 1))
    mirror = torch.where(torch.rand(count, device=device) < MIRRORED, -1.0, 1.0)
    pictures, gaze = turned(pictures, gaze, turn, mirror)
    pictures, gaze = shifted(pictures, gaze, SHIFT_PX * (2 * torch.rand(count, 2, device=device) - 1), FOCAL_PX)
    quality = torch.where(torch.rand(count, device=device) < PRESSED, 30 + 60 * torch.rand(count, device=device), 0.0)
    return compressed(lit(pictures)[:, 0].round(), quality)[:, None], gaze


def train(seen: Seen, out: Path, settings: Settings) -> dict[str, float]:
    network, found = learn_vectors(NAME, Network(settings.small), seen, varied, functional.mse_loss, settings)
    print(f"{NAME}: thresholds on the training part: {speeds(network, seen)}", flush=True)
    pe = validation_pe(seen, ahead(estimates(network, seen.pictures["validation"][:, :GIVEN])))
    write_predictions(out, NAME, seen.names["test"], ahead(estimates(network, seen.pictures["test"])))
    if settings.weights:
        write_estimator(network, out / "gaze_prediction_random_b.onnx")
    return found | {"validation_pe_deg": pe, "parameters": parameters(network)}


def ahead(past: Tensor, fast: float = published.FAST) -> Tensor:
    vectors = functional.normalize(past, dim=-1).cpu().numpy().astype(np.float64)
    return torch.from_numpy(published.ahead(vectors, fast)).to(past.device)


def speeds(network: nn.Module, seen: Seen) -> dict[float, float]:
    """PE on the training part by the speed above which an axis is taken to move on."""
    past, true = estimates(network, seen.pictures["train"][:, :GIVEN]), seen.labels["train"][:, GIVEN : GIVEN + STEPS]
    return {fast: round(float(errors_deg(ahead(past, fast), true).mean()), 3) for fast in SPEEDS}


if __name__ == "__main__":
    run(NAME, train, SETTINGS, __doc__)
