"""The paper's baseline forecaster: a straight line through the 50 past angles of each axis, drawn on."""

from pathlib import Path

import numpy as np
import polars as pl

from palestra.formats.openeds_gaze import GIVEN, STEPS
from palestra.records import Solution
from palestra.solutions.gaze_history import OPTIONS, answers, fit, histories
from palestra.solutions.regression import Ridge


def predict(data: Path, trials: pl.DataFrame, estimator: Ridge | None) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    past = histories(data, sequences, estimator)  # (sequences, 50, 2)
    design = np.column_stack([np.ones(GIVEN), np.arange(GIVEN)])
    ahead = np.column_stack([np.ones(len(STEPS)), GIVEN - 1 + np.array(STEPS)])
    line = ahead @ np.linalg.pinv(design)  # (5, 50): past angles in, future angles out
    return answers(trials, sequences, np.einsum("ft,sta->sfa", line, past))


SOLUTION = Solution(
    track="gaze-prediction-v1",
    name="linear",
    title="a line through 50 angles, as the paper's baseline",
    fit=fit,
    predict=predict,
    parts_by=("sequence",),
    options=OPTIONS,
)
