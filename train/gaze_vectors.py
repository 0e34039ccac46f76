"""How EyMazing's, Konovalov's and random_b's estimators learn: vectors from single pictures, varied as they come."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from train.gaze_common import (
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
    some_frames,
)
from train.learning import on

SHIFT_PX = 4.0

Varied = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # pictures (n, 1, *SIZE) and gaze (n, 3), both otherwise
Loss = Callable[[Tensor, Tensor], Tensor]  # of vectors found and true ones


def learn_vectors(
    name: str, network: nn.Module, seen: Seen, varied: Varied, far: Loss, settings: Settings
) -> tuple[nn.Module, dict[str, float]]:
    """The trained network, its mean error on validation people in degrees, and after how many epochs."""
    device = seen.device
    pictures, labels = seen.pictures["train"].flatten(0, 1), seen.labels["train"].flatten(0, 1)
    network = on(network, device)
    seeing = compiled(network, device)
    best = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=settings.decay, fused=True)
    told, known = some_frames(seen, "validation")

    def loss_of(rows: Tensor) -> Tensor:
        shown, true = varied(pictures[rows][:, None].float(), labels[rows])
        with half(device):
            found = seeing(shown)
        return far(found.float(), true)

    def error() -> float:
        return float(errors_deg(estimates(network, told), known).mean())

    course = Course.of(name, settings)
    epochs = learn(network, best, len(pictures), loss_of, lambda: f"validation {error():.2f}°", course)
    return network, {"estimation_deg": error(), "epochs": epochs}


def slipped(pictures: Tensor, gaze: Tensor) -> tuple[Tensor, Tensor]:
    """In other light, and as if the headset had slipped a little: neither changes where an eye looks."""
    return lit(moved(pictures, SHIFT_PX * (2 * torch.rand(len(pictures), 2, device=pictures.device) - 1))), gaze
