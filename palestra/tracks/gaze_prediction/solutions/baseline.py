"""The paper's baseline: a small network that tells angles, and a linear regression over 50 of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import model_cards
from palestra.tracks.gaze_prediction.solutions.history import answers
from palestra.tracks.gaze_prediction.solutions.networks import histories, training_angles

GIVEN, STEPS = 50, 5
PENALTY = 1.0  # degrees squared, so that angles which hardly differ do not cancel with huge weights
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One linear map for each axis."""

    weights: Array  # (axes, 1 + 50, 5)

    def __call__(self, past_deg: Array) -> Array:
        """(sequences, 5, axes) from (sequences, 50, axes)."""
        return np.stack([_with_one(past_deg[..., i]) @ one for i, one in enumerate(self.weights)], axis=-1)


def fit_line(labels_deg: Array) -> Line:
    """From the angles (sequences, frames, axes) of the training part, all windows of 55 frames."""
    windows = np.lib.stride_tricks.sliding_window_view(labels_deg, GIVEN + STEPS, axis=1)  # (…, axes, 55)
    return Line(np.stack([_fitted(windows[:, :, i].reshape(-1, GIVEN + STEPS)) for i in range(labels_deg.shape[2])]))


def _fitted(windows: NDArray[np.floating]) -> Array:
    past = _with_one(windows[:, :GIVEN])
    ahead = windows[:, GIVEN:].astype(np.float64)
    normal = past.T @ past + PENALTY * np.eye(GIVEN + 1)
    return np.asarray(np.linalg.solve(normal, past.T @ ahead))


def _with_one(past: NDArray[np.floating]) -> Array:
    return np.concatenate([np.ones((len(past), 1)), past], axis=1, dtype=np.float64)


NETWORK = "gaze_prediction_baseline"


def fit(data: Path, options: Mapping[str, str]) -> Line:
    model_cards.session(NETWORK)  # told before the labels are read, where it is missing
    return fit_line(training_angles(data))


def predict(data: Path, trials: pl.DataFrame, line: Line) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    return answers(trials, sequences, line(histories(data, sequences, NETWORK)))
