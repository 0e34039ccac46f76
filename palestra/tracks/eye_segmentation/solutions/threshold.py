"""Thresholds and ellipses: the pupil by darkness, the iris by its usual size, the lids from the sequence's labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.eyes.pupil import Pupil, find_pupil
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask
from palestra.tracks.eye_segmentation.solutions.published import read_frame

SCLERA, IRIS, PUPIL = 1, 2, 3
USUAL_IRIS_PX = 185.0  # where no label tells
Mask = NDArray[np.uint8]


@dataclass(frozen=True)
class Known:
    """What one labelled frame tells: the place of its pupil, its eye region, the size of its iris."""

    x: float
    y: float
    region: Mask
    iris_px: float  # diameter


def fit(data: Path, options: Mapping[str, str]) -> None:
    """Nothing is learnt across sequences: each brings its own labels."""


def predict(data: Path, trials: pl.DataFrame, model: None) -> pl.DataFrame:
    """Masks for the unlabelled frames of one sequence."""
    sequence = trials["sequence"][0]
    frames = openeds.read_frames(data).filter(pl.col("sequence") == sequence, pl.col("labelled"))["frame"]
    known = [learn(openeds.read_label(data, sequence, frame)) for frame in frames]
    masks = [_segment(read_frame(openeds.image_file(data, sequence, frame)), known) for frame in trials["frame"]]
    return trials.select("trial").with_columns(
        mask_file=pl.lit(openeds.INLINE), mask_key=pl.Series([encode_mask(mask) for mask in masks], dtype=pl.String)
    )


def learn(label: Mask) -> Known:
    rows, columns = np.nonzero(label >= IRIS)
    if not len(rows):
        return Known(np.nan, np.nan, (label >= SCLERA).astype(np.uint8), np.nan)
    pupil_rows, pupil_columns = np.nonzero(label == PUPIL)
    x, y = (pupil_columns.mean(), pupil_rows.mean()) if len(pupil_rows) else (columns.mean(), rows.mean())
    return Known(float(x), float(y), (label >= SCLERA).astype(np.uint8), float(np.ptp(columns) + 1))


def _segment(image: Mask, known: list[Known]) -> Mask:
    pupil = find_pupil(image, _often_open(known))
    seen = [label.iris_px for label in known if np.isfinite(label.iris_px)]
    iris_px = float(np.median(seen)) if seen else USUAL_IRIS_PX
    return drawn(pupil, _region(pupil, known), iris_px)


def drawn(pupil: Pupil, mask: Mask, iris_px: float) -> Mask:
    """The mask of where the eye is open, with the iris and the pupil in it."""
    shape = pupil.short_px / max(pupil.long_px, 1.0)
    iris = _ellipse(pupil, (iris_px, iris_px * max(shape, 0.8)))
    mask[(iris > 0) & (mask > 0)] = IRIS
    near = _ellipse(pupil, (pupil.long_px, pupil.short_px))
    mask[(near > 0) & (mask > 0)] = PUPIL
    return mask


def _often_open(known: list[Known]) -> Mask | None:
    """Where the eye is open in half of the labelled frames, less a rim: no pupil is found in the lashes."""
    if not known:
        return None
    share = np.mean([label.region for label in known], axis=0)
    return less_a_rim(share >= 0.5)


def less_a_rim(region: NDArray[np.bool_]) -> Mask:
    return np.asarray(cv2.erode(region.astype(np.uint8), np.ones((15, 31), np.uint8)))


def _region(pupil: Pupil, known: list[Known]) -> Mask:
    """Where the eye is open: as in the labelled frames whose pupils were nearest to this one's."""
    if not known:
        return np.ones(openeds.SHAPE, np.uint8)
    away = np.array([np.hypot(label.x - pupil.x, label.y - pupil.y) for label in known])
    weights = np.exp(-np.nan_to_num(away, nan=200.0) / 30)
    votes = np.tensordot(weights, np.array([label.region for label in known], np.float32), axes=1)
    return np.asarray(votes > weights.sum() / 2, np.uint8)


def _ellipse(pupil: Pupil, axes_px: tuple[float, float]) -> Mask:
    drawn = np.zeros(openeds.SHAPE, np.uint8)
    angle = pupil.angle_deg + 90  # fitEllipse counts from the short axis
    cv2.ellipse(drawn, ((pupil.x, pupil.y), axes_px, angle), 1, -1)
    return drawn
