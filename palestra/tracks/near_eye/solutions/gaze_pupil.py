"""Near-eye gaze from the pupils: ridge regression on training people, then a correction from five frames per group."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.eyes.pupil import features, find_pupil, read_grey
from palestra.eyes.regression import Ridge, fit_ridge
from palestra.tracks.near_eye import format as on_disk

MOST_TRAINING_FRAMES = 3000
PENALTY = 100.0  # on both eyes' features, which agree; less lets one misplaced pupil spoil the answer
PULL = 2.0  # frames' worth of trust in the uncorrected answer when the correction is fitted


def fit(data: Path, options: Mapping[str, str]) -> Ridge:
    rows = on_disk.read_points(data, "train")
    rows = rows.gather_every(max(rows.height // MOST_TRAINING_FRAMES, 1))
    keys = rows.select(on_disk.KEY).rows()
    return fit_ridge(_features(data, "train", keys), rows.select("x", "y").to_numpy(), PENALTY)


def predict(data: Path, trials: pl.DataFrame, model: Ridge) -> pl.DataFrame:
    """Answers for one group of one person."""
    found = model(_features(data, "test", trials.select(on_disk.KEY).rows()))
    known = trials.select(on_disk.KEY).with_row_index("row").join(_calibration(data, trials), on=on_disk.KEY)
    points = known.select("x", "y").to_numpy()
    found = corrected(found, known["row"].to_numpy(), points)
    return trials.select("trial").with_columns(x=found[:, 0], y=found[:, 1])


def corrected(found: NDArray[np.float64], rows: NDArray[np.uint32], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shift and stretch all answers so that the calibration frames come out right, as far as five can tell."""
    if not len(rows):
        return found
    middle = np.median(found[rows], axis=0)
    scale = np.abs(found[rows] - middle).mean() + 1e-9
    design = np.hstack([np.ones((len(rows), 1)), (found[rows] - middle) / scale])
    pull = np.diag([0.0, PULL, PULL])
    weights = np.linalg.solve(design.T @ design + pull, design.T @ (points - found[rows]))
    whole: NDArray[np.float64] = np.hstack([np.ones((len(found), 1)), (found - middle) / scale]) @ weights
    return found + whole


def _calibration(data: Path, trials: pl.DataFrame) -> pl.DataFrame:
    person, group = trials.select("person", "group").row(0)
    file = data / "test" / person / group / "calibration.csv"
    return on_disk.read_points_of([(person, group, file)])


def _features(data: Path, part: str, keys: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
    return np.array([_both(data, part, key) for key in keys])


def _both(data: Path, part: str, key: tuple[str, ...]) -> list[float]:
    return [number for eye in ("left", "right") for number in _eye(data, part, key, eye)]


def _eye(data: Path, part: str, key: tuple[str, ...], eye: str) -> list[float]:
    return features(find_pupil(read_grey(on_disk.image_file(data, part, key, eye))))
