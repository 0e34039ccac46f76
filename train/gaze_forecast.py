"""What EyMazing's and Konovalov's solutions share: an LSTM on an estimator's outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train.gaze_common import (
    GIVEN,
    SPLITS,
    STEPS,
    Course,
    Seen,
    Settings,
    estimates,
    learn,
    parameters,
    validation_pe,
    write_estimator,
    write_network,
    write_predictions,
)

APART = 2  # frames between the starts of two windows that are learnt from
BATCH, RATE, EPOCHS = 1024, 2e-3, 100


class LSTM(nn.Module):
    """50 vectors in, 5 out: each is the last one, turned a little."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.recall = nn.LSTM(6, hidden, batch_first=True)
        self.tell = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 3 * STEPS))

    def forward(self, past: Tensor) -> Tensor:
        """(n, 5, 3) unit vectors from (n, 50, 3)."""
        speed = torch.cat([torch.zeros_like(past[:, :1]), past[:, 1:] - past[:, :-1]], 1)
        known, _ = self.recall(torch.cat([past, 20 * speed], 2))
        steps = self.tell(known[:, -1]).reshape(-1, STEPS, 3)
        return functional.normalize(past[:, -1:] + 0.1 * steps, dim=-1)


def windows(found: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Estimates (n, 50, 3) and the five labels (n, 5, 3) that follow, of sequences of 100 frames."""
    starts = range(0, found.shape[1] - GIVEN - STEPS + 1, APART)
    past = torch.cat([found[:, start : start + GIVEN] for start in starts])
    ahead = torch.cat([labels[:, start + GIVEN : start + GIVEN + STEPS] for start in starts])
    return past, ahead


def learn_lstm(seen: Seen, found: dict[str, Tensor], hidden: int, course: Course) -> LSTM:
    """On the training part's estimates, with the cosine between predicted and true directions."""
    past, ahead = windows(found["train"], seen.labels["train"])
    network = LSTM(hidden).to(past.device)
    best = torch.optim.Adam(network.parameters(), course.rate)

    def loss_of(rows: Tensor) -> Tensor:
        # In units in which a degree is about one: a cosine alone is flat near its end.
        return 3283 * 2 * (1 - functional.cosine_similarity(network(past[rows]), ahead[rows], dim=-1)).mean()

    def check() -> str:
        with torch.no_grad():
            return f"validation PE {validation_pe(seen, network(found['validation'][:, :GIVEN])):.3f}°"

    learn(network, best, len(past), loss_of, check, course)
    network.eval()
    return network


def forecast(name: str, network: nn.Module, seen: Seen, hidden: int, out: Path, settings: Settings) -> dict[str, float]:
    """What is left once a network tells vectors: learn to forecast them, predict, write."""
    found = {split: estimates(network, seen.pictures[split]) for split in SPLITS}
    second = replace(settings, train_s=settings.forecast_s, epochs=EPOCHS, batch=BATCH, rate=RATE)
    lstm = learn_lstm(seen, found, hidden, Course.of(f"{name}-lstm", second))
    with torch.no_grad():
        pe = validation_pe(seen, lstm(found["validation"][:, :GIVEN]))
        write_predictions(out, name, seen.names["test"], lstm(found["test"]))
    told = {"validation_pe_deg": pe, "parameters": parameters(network) + parameters(lstm)}
    if settings.weights:
        write_estimator(network, out / f"gaze_prediction_{name}.onnx")
        file = out / f"gaze_prediction_{name}_forecast.onnx"
        write_network(lstm, torch.zeros(3, GIVEN, 3), file, ("past", "ahead"))
    return told
