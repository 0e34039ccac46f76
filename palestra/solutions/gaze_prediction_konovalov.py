"""Konovalov, third of the challenge: an EfficientNet-B0, and an LSTM on its estimates."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.gaze_history import answers
from palestra.solutions.gaze_seen import ask, histories
from palestra.worlds.gaze import to_angles

NETWORK, FORECASTER = "gaze_prediction_konovalov", "gaze_prediction_konovalov_forecast"


def fit(data: Path, options: Mapping[str, str]) -> None:
    for name in (NETWORK, FORECASTER):  # they are not shipped: say so at once
        cards.session(name)


def predict(data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    ahead = ask(FORECASTER, histories(data, sequences, NETWORK))
    return answers(trials, sequences, np.stack(to_angles(ahead), axis=-1))


SOLUTION = Solution(
    track="gaze-prediction-v1",
    name="konovalov",
    title="third of 2020 rebuilt: EfficientNet-B0 and an LSTM",
    fit=fit,
    predict=predict,
    parts_by=("sequence",),
    weights=f"{NETWORK}.onnx",
)
