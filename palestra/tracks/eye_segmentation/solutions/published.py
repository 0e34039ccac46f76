"""The paper's baseline and the winners of sparse segmentation, rebuilt: networks that tell the class of each pixel."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra import model_cards
from palestra.errors import refuse
from palestra.eyes.pupil import Image, read_grey
from palestra.text import say
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask

BATCH = 4
Array = NDArray[Any]


@dataclass(frozen=True)
class Dense:
    """A network that tells the class of each pixel, frame by frame, and whether the mirror image is asked as well."""

    weights: str
    mirrored: bool = False

    def fit(self, data: Path, options: Mapping[str, str]) -> None:
        """Nothing is learnt here; better to hear now than in every process that the weights are not there."""
        model_cards.weights(self.weights)

    def predict(self, data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
        """Masks for the unlabelled frames of one sequence."""
        files = [openeds.image_file(data, *place) for place in trials.select("sequence", "frame").iter_rows()]
        masks: list[Array] = []
        for at in range(0, len(files), BATCH):
            pictures = np.stack([read_frame(file) for file in files[at : at + BATCH]])
            masks += list(self.classes(pictures))
        return answers(trials, masks)

    def classes(self, pictures: Array) -> Array:
        """(n, 400, 640) from pictures of that size."""
        network = model_cards.session(self.weights)
        seen = pictures[:, None].astype(np.float32)
        (logits,) = network.run(None, {"pictures": seen})
        if self.mirrored:
            (other,) = network.run(None, {"pictures": np.ascontiguousarray(seen[..., ::-1])})
            logits = logits + other[..., ::-1]
        return np.asarray(logits.argmax(axis=1), np.uint8)


# How each is trained: train/segmentation_NAME.py. Only the baseline's weights are shipped.
BASELINE = Dense("eye_segmentation_baseline")
BTS_DIGITAL = Dense("eye_segmentation_bts_digital", mirrored=True)
TETELIAS = Dense("eye_segmentation_tetelias")
JHU = Dense("eye_segmentation_jhu")


def read_frame(file: Path) -> Image:
    """A picture of the size that masks have."""
    image = read_grey(file)
    if image.shape != openeds.SHAPE:
        found, expected = (f"{wide} × {high} pixels" for high, wide in (image.shape, openeds.SHAPE))
        refuse(
            str(file), found, say("{expected}, as every mask has. Resize pictures and labels alike", expected=expected)
        )
    return image


def answers(trials: pl.DataFrame, masks: list[Array]) -> pl.DataFrame:
    codes = pl.Series([encode_mask(mask) for mask in masks], dtype=pl.String)
    return trials.select("trial", mask_file=pl.lit(openeds.INLINE), mask_key=codes)
