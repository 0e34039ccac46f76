"""random_b, the challenge's winner: a ResNet-18 that tells a vector, and a rule that draws on what moves fast."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from palestra.records import Solution
from palestra.solutions import cards, gaze_rule
from palestra.solutions.gaze_history import answers
from palestra.solutions.gaze_seen import histories, unit
from palestra.worlds.gaze import to_angles

NETWORK = "gaze_prediction_random_b"


def fit(data: Path, options: Mapping[str, str]) -> None:
    cards.session(NETWORK)  # it is not shipped: say so at once


def predict(data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    ahead = gaze_rule.ahead(unit(histories(data, sequences, NETWORK)))
    return answers(trials, sequences, np.stack(to_angles(ahead), axis=-1))


SOLUTION = Solution(
    track="gaze-prediction-v1",
    name="random-b",
    title="the winner of 2020 rebuilt: ResNet-18 and a rule",
    fit=fit,
    predict=predict,
    parts_by=("sequence",),
    weights=f"{NETWORK}.onnx",
)
