"""Ours: a small network, each eye corrected by where it looks as a whole, and a forecaster that knows saccades."""

from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
import polars as pl

from palestra import model_cards
from palestra.errors import refuse
from palestra.text import say
from palestra.tracks.gaze_prediction import format as openeds
from palestra.tracks.gaze_prediction.solutions.bias_correction import LOOKED_AT, SMALL, Array, Floats, Known, known_of
from palestra.tracks.gaze_prediction.solutions.history import answers
from palestra.tracks.gaze_prediction.solutions.networks import angles_of, ask, histories, pictures

NETWORK, FORECASTER = "gaze_prediction_palestra", "gaze_prediction_palestra_forecast"
MOST_TRAINING_SEQUENCES = 640


def fit(data: Path, options: Mapping[str, str]) -> Known:
    """Look at a few frames of every sequence: whose eye it is, and by how much that eye is off."""
    model_cards.session(FORECASTER)
    labels = openeds.read_labels(data, "train").filter(pl.col("frame").is_in(LOOKED_AT))
    clips = labels.partition_by("sequence", maintain_order=True)
    clips = [clip for clip in clips if clip.height == len(LOOKED_AT)]
    if not clips:
        refuse(
            str(data),
            say("no training sequence with {value} labelled frames", value=max(LOOKED_AT) + 1),
            say("one or more to learn from"),
        )
    clips = clips[:: -(-len(clips) // MOST_TRAINING_SEQUENCES)]
    views, angles = _looked_at(data, "train", [clip["sequence"][0] for clip in clips])
    names = openeds.read_sequences(data)
    return known_of((views, angles, np.array([angles_of(clip) for clip in clips])), names,
                    _looked_at(data, "test", names))  # fmt: skip


def _looked_at(data: Path, split: str, sequences: list[str]) -> tuple[Floats, Array]:
    """Little pictures and estimates, (sequences, frames, …) each."""
    views, angles = [], []
    for sequence in sequences:
        seen = pictures(data, split, sequence, LOOKED_AT)
        views.append([cv2.resize(one, SMALL[::-1], interpolation=cv2.INTER_AREA) for one in seen[:, 0]])
        angles.append(ask(NETWORK, seen))
    return np.array(views, np.float32), np.array(angles)


def predict(data: Path, trials: pl.DataFrame, known: Known) -> pl.DataFrame:
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    raw = histories(data, sequences, NETWORK)
    past = np.array([known(name, one) for name, one in zip(sequences, raw, strict=True)])
    return answers(trials, sequences, ask(FORECASTER, past))
