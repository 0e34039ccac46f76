"""Our forecaster for gaze-prediction-v1: a GRU that learns from simulated people (eyes/simulator/movements.py) who look
about as people in recordings do, with the noise that an estimator has.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from train.gaze_common import GIVEN, STEPS, Course, Seen, Settings, learn, to_angles, to_vectors, validation_pe

HIDDEN = 128
BATCH, RATE = 2048, 2e-3


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


def learn_forecaster(name: str, seen: Seen, past: Tensor, every: Tensor, settings: Settings) -> Forecaster:
    """On simulated people's traces; validation people's estimates `past` (sequences, frames, 2) say how noisy."""
    labels = to_angles(seen.labels["validation"])
    # Labels have slow errors of their own, and so have simulated ones: only the rest is the estimator's.
    labelled = slow_deg(every[:, 0, :GIVEN], every[:, 1, :GIVEN])
    off = slow_deg(past, labels[:, :GIVEN])
    jitter, slow = jitter_deg(past), (off**2 - labelled**2).clamp(min=0.01).sqrt()
    print(f"{name}: {len(every):,} traces; noise {jitter.tolist()}°, off by {slow.tolist()}°", flush=True)
    network = Forecaster(8 if settings.small else HIDDEN).to(past.device)
    best = torch.optim.AdamW(network.parameters(), RATE, weight_decay=0.001)

    def loss_of(rows: Tensor) -> Tensor:
        true, labelled = every[rows].unbind(1)
        ahead = network(spoilt(true[:, :GIVEN], jitter, slow))
        return (ahead - labelled[:, GIVEN:]).square().sum(2).add(1e-4).sqrt().mean()

    def check() -> str:
        with torch.no_grad():
            return f"validation PE {validation_pe(seen, to_vectors(network(past))):.3f}°"

    course = Course.of(f"{name}-gru", replace(settings, train_s=settings.forecast_s, batch=BATCH, rate=RATE))
    learn(network, best, len(every), loss_of, check, course)
    network.eval()
    return network
