"""A network that tells a vector for each picture, and one that tells the next five from 50: two of the winners."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.gaze_history import answers
from palestra.solutions.gaze_seen import ask, histories
from palestra.worlds.gaze import to_angles

TRACK = "gaze-prediction-v1"


@dataclass(frozen=True)
class Pair:
    """Names of the two networks."""

    estimator: str
    forecaster: str


def ready(pair: Pair, data: Path, options: Mapping[str, str]) -> Pair:
    """Nothing is learnt here; what is not shipped is told at once."""
    for name in (pair.estimator, pair.forecaster):
        cards.session(name)
    return pair


def predict(data: Path, trials: pl.DataFrame, pair: Pair) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    ahead = ask(pair.forecaster, histories(data, sequences, pair.estimator))
    return answers(trials, sequences, np.stack(to_angles(ahead), axis=-1))


def solution(name: str, title: str) -> Solution:
    """A solution whose networks are gaze_prediction_NAME.onnx and gaze_prediction_NAME_forecast.onnx."""
    estimator = f"gaze_prediction_{name}"
    return Solution(
        track=TRACK,
        name=name,
        title=title,
        fit=partial(ready, Pair(estimator, f"{estimator}_forecast")),
        predict=predict,
        parts_by=("sequence",),
        weights=f"{estimator}.onnx",
    )
