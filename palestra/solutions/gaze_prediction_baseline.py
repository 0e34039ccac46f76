"""The paper's baseline: a small network that tells angles, and a linear regression over 50 of them."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.gaze_history import answers
from palestra.solutions.gaze_line import Line, fit_line
from palestra.solutions.gaze_seen import histories, training_angles

NETWORK = "gaze_prediction_baseline"


def fit(data: Path, options: Mapping[str, str]) -> Line:
    cards.session(NETWORK)  # told before the labels are read, where it is missing
    return fit_line(training_angles(data))


def predict(data: Path, trials: pl.DataFrame, line: Line) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    return answers(trials, sequences, line(histories(data, sequences, NETWORK)))


SOLUTION = Solution(
    track="gaze-prediction-v1",
    name="baseline",
    title="the paper's network of 206 K weights and linear regression, rebuilt",
    fit=fit,
    predict=predict,
    parts_by=("sequence",),
    weights="gaze_prediction_baseline.onnx",
)
