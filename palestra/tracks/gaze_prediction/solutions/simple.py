"""Forecasts by rule: the eye stays where it is, or goes on along a straight line, as the paper's baseline has it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from palestra.eyes.regression import Ridge
from palestra.tracks.gaze_prediction.format import GIVEN, STEPS
from palestra.tracks.gaze_prediction.solutions import history
from palestra.tracks.gaze_prediction.solutions.history import Array


@dataclass(frozen=True)
class Rule:
    """Five angles from the 50 past ones, (sequences, 50, 2) → (sequences, 5, 2), and whether those are labels."""

    forecast: Callable[[Array, bool], Array]

    def fit(self, data: Path, options: Mapping[str, str]) -> Ridge | None:
        return history.fit(data, options)

    def predict(self, data: Path, trials: pl.DataFrame, estimator: Ridge | None) -> pl.DataFrame:
        sequences = trials["sequence"].unique(maintain_order=True).to_list()
        past = history.histories(data, sequences, estimator)
        return history.answers(trials, sequences, self.forecast(past, estimator is None))


def hold_last(past: Array, labels: bool) -> Array:
    # Labels are smooth, so the last one is best; estimates jitter, so the median of three is.
    last = past[:, -1] if labels else np.median(past[:, -3:], axis=1)
    return np.repeat(last[:, None], len(STEPS), axis=1)


def draw_on(past: Array, labels: bool) -> Array:
    """A straight line through the past angles of each axis, drawn on."""
    design = np.column_stack([np.ones(GIVEN), np.arange(GIVEN)])
    ahead = np.column_stack([np.ones(len(STEPS)), GIVEN - 1 + np.array(STEPS)])
    line = ahead @ np.linalg.pinv(design)  # (5, 50): past angles in, future angles out
    return np.asarray(np.einsum("ft,sta->sfa", line, past))


HOLD_LAST = Rule(hold_last)
LINEAR = Rule(draw_on)
