"""Ours: a small network for each frame, then the whole sequence with its labels (segment_time.py)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.formats import openeds_segmentation as openeds
from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.pupil import read_grey
from palestra.solutions.segment_dense import TRACK, answers
from palestra.solutions.segment_edges import HEIGHT, WIDTH
from palestra.solutions.segment_time import agreed

WEIGHTS = "eye_segmentation_palestra"
BATCH = 8
Array = NDArray[Any]


def fit(data: Path, options: Mapping[str, str]) -> None:
    """Nothing is learnt across sequences; better to hear now than in every process that the weights are not there."""
    cards.weights(WEIGHTS)


def predict(data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
    """Masks for the unlabelled frames of one sequence."""
    sequence = trials["sequence"][0]
    frames = openeds.read_frames(data).filter(pl.col("sequence") == sequence)
    numbers = frames["frame"].to_list()
    told = logits([openeds.image_file(data, sequence, number) for number in numbers])
    given = np.flatnonzero(frames["labelled"].to_numpy())
    labels = [openeds.read_label(data, sequence, numbers[at]) for at in given]
    masks = np.array(labels, np.uint8).reshape(-1, *openeds.SHAPE)
    wanted = np.array([numbers.index(number) for number in trials["frame"]])
    return answers(trials, list(agreed(told, given, masks, wanted)))


def logits(files: list[Path]) -> Array:
    """(n, 3, 200, 320): of being open, iris and pupil."""
    network, found = cards.session(WEIGHTS), []
    for at in range(0, len(files), BATCH):
        pictures = np.stack([halved(read_grey(file)) for file in files[at : at + BATCH]])
        found.append(network.run(None, {"pictures": pictures[:, None]})[0])
    return np.concatenate(found)


def halved(image: Array) -> Array:
    return np.asarray(cv2.resize(image.astype(np.float32), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA))


SOLUTION = Solution(
    track=TRACK,
    name="palestra",
    title="ours: a small network, then the sequence's own labels and frames",
    fit=fit,
    predict=predict,
    parts_by=("sequence",),
    weights=f"{WEIGHTS}.onnx",
)
