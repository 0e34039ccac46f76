"""Eyes by a network that tells the class of each pixel, frame by frame: how all rebuilt networks run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import refuse
from palestra.formats import openeds_segmentation as openeds
from palestra.formats.masks import encode_mask
from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.pupil import Image, read_grey

TRACK = "eye-segmentation-v1"
BATCH = 4
Array = NDArray[Any]


@dataclass(frozen=True)
class Dense:
    """Which network, and whether the mirror image is asked as well."""

    weights: str
    mirrored: bool = False


def ready(model: Dense, data: Path, options: Mapping[str, str]) -> Dense:
    """Nothing is learnt here; better to hear now than in every process that the weights are not there."""
    cards.weights(model.weights)
    return model


def predict(data: Path, trials: pl.DataFrame, model: Dense) -> pl.DataFrame:
    """Masks for the unlabelled frames of one sequence."""
    files = [openeds.image_file(data, *place) for place in trials.select("sequence", "frame").iter_rows()]
    masks: list[Array] = []
    for at in range(0, len(files), BATCH):
        pictures = np.stack([read_frame(file) for file in files[at : at + BATCH]])
        masks += list(classes(model, pictures))
    return answers(trials, masks)


def read_frame(file: Path) -> Image:
    """A picture of the size that masks have."""
    image = read_grey(file)
    if image.shape != openeds.SHAPE:
        found, expected = (f"{wide} × {high} pixels" for high, wide in (image.shape, openeds.SHAPE))
        refuse(str(file), found, f"{expected}, as every mask has. Resize pictures and labels alike")
    return image


def classes(model: Dense, pictures: Array) -> Array:
    """(n, 400, 640) from pictures of that size."""
    network = cards.session(model.weights)
    seen = pictures[:, None].astype(np.float32)
    (logits,) = network.run(None, {"pictures": seen})
    if model.mirrored:
        (other,) = network.run(None, {"pictures": np.ascontiguousarray(seen[..., ::-1])})
        logits = logits + other[..., ::-1]
    return np.asarray(logits.argmax(axis=1), np.uint8)


def answers(trials: pl.DataFrame, masks: list[Array]) -> pl.DataFrame:
    codes = pl.Series([encode_mask(mask) for mask in masks], dtype=pl.String)
    return trials.select("trial", mask_file=pl.lit(openeds.INLINE), mask_key=codes)


def solution(name: str, title: str, mirrored: bool = False) -> Solution:
    """A solution whose network is eye_segmentation_NAME.onnx."""
    weights = f"eye_segmentation_{name.replace('-', '_')}"
    return Solution(
        track=TRACK,
        name=name,
        title=title,
        fit=partial(ready, Dense(weights, mirrored)),
        predict=predict,
        parts_by=("sequence",),
        weights=f"{weights}.onnx",
    )
