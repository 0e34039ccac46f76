"""Ours: a small network for each frame, then the whole sequence with its labels (sequence.py)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import model_cards
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.solutions.edges import HEIGHT, WIDTH
from palestra.tracks.eye_segmentation.solutions.published import answers, read_frame
from palestra.tracks.eye_segmentation.solutions.sequence import agreed

WEIGHTS = "eye_segmentation_palestra"
BATCH = 8
Array = NDArray[Any]


def fit(data: Path, options: Mapping[str, str]) -> None:
    """Nothing is learnt across sequences; better to hear now than in every process that the weights are not there."""
    model_cards.weights(WEIGHTS)


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
    some = (files[at : at + BATCH] for at in range(0, len(files), BATCH))
    return np.concatenate([told(np.stack([read_frame(file) for file in part])) for part in some])


def told(pictures: Array) -> Array:
    """The network's logits for pictures (n, 400, 640)."""
    return logits_of(np.stack([_halved(picture) for picture in pictures]))


def logits_of(halves: Array) -> NDArray[np.float32]:
    """The network's logits for pictures in its own size, (n, 200, 320)."""
    return np.asarray(model_cards.session(WEIGHTS).run(None, {"pictures": halves[:, None]})[0], np.float32)


def classes_of(logits: Array) -> NDArray[np.uint8]:
    """(400, 640) from the logits of one frame alone, without what its sequence adds."""
    full = (cv2.resize(part, openeds.SHAPE[::-1], interpolation=cv2.INTER_LINEAR) > 0 for part in logits)
    is_open, iris, pupil = (part.astype(np.uint8) for part in full)
    return np.asarray(is_open * (1 + iris * (1 + pupil)), np.uint8)


def _halved(image: Array) -> Array:
    return np.asarray(cv2.resize(image.astype(np.float32), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA))
