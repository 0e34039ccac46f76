"""The winners of 2020, rebuilt: a network tells a vector for each picture, and another or a rule the next five."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import model_cards
from palestra.metrics.angles import to_angles
from palestra.tracks.gaze_prediction.solutions.history import answers
from palestra.tracks.gaze_prediction.solutions.networks import ask, histories, unit

STEPS = 5
LOOKED_BACK = 7  # frames over which the speed is taken
MEANT = 3  # frames whose mean an axis stays at
# Of a unit vector per frame: 3.7°, the middle of a large saccade. Any lower one is worse on the training part, whether
# estimates are noisy or not: a pursuit is 40 times slower than this and drowns in noise, and a saccade is soon over.
FAST = 0.064
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Winner:
    """Names of its networks. Without a forecaster, a rule draws on what moves fast."""

    estimator: str
    forecaster: str | None = None

    def fit(self, data: Path, options: Mapping[str, str]) -> None:
        """Nothing is learnt here; what is not shipped is told at once."""
        for name in filter(None, (self.estimator, self.forecaster)):
            model_cards.session(name)

    def predict(self, data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
        sequences = trials["sequence"].unique(maintain_order=True).to_list()
        past = histories(data, sequences, self.estimator)
        future = ask(self.forecaster, past) if self.forecaster else ahead(unit(past))
        return answers(trials, sequences, np.stack(to_angles(future), axis=-1))


def ahead(past: Array, fast: float = FAST) -> Array:
    """(sequences, 5, axes) from (sequences, frames, axes), each axis by itself."""
    since = np.arange(LOOKED_BACK) - (LOOKED_BACK - 1) / 2
    speed = np.einsum("t,sta->sa", since / (since @ since), past[:, -LOOKED_BACK:])
    still = np.repeat(past[:, -MEANT:].mean(axis=1)[:, None], STEPS, axis=1)
    moving = past[:, -1:] + speed[:, None] * np.arange(1, STEPS + 1)[:, None]
    return np.where(np.abs(speed)[:, None] > fast, moving, still)


# How each is trained: train/gaze_NAME.py. Their weights are not shipped.
RANDOM_B = Winner("gaze_prediction_random_b")
EYMAZING = Winner("gaze_prediction_eymazing", "gaze_prediction_eymazing_forecast")
KONOVALOV = Winner("gaze_prediction_konovalov", "gaze_prediction_konovalov_forecast")
