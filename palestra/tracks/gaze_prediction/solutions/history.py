"""The gaze in the 50 given frames of a sequence: estimated from the pictures, or the labels where somebody has them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import UnknownName
from palestra.eyes.pupil import features, find_pupil, read_grey
from palestra.eyes.regression import Ridge, fit_ridge
from palestra.metrics.angles import to_angles, to_vectors
from palestra.text import say
from palestra.tracks.gaze_prediction import format as openeds

MOST_TRAINING_FRAMES = 3000
Array = NDArray[np.float64]


def fit(data: Path, options: Mapping[str, str]) -> Ridge | None:
    """An estimator of the gaze angles from a picture; none where the labels themselves are used."""
    if options["angles"] == "truth":
        return None
    if options["angles"] != "estimated":
        raise UnknownName(say("kind of angles"), options["angles"], ("estimated", "truth"))
    labels = openeds.read_labels(data, "train")
    labels = labels.gather_every(max(labels.height // MOST_TRAINING_FRAMES, 1))
    seen = [_features(data, "train", *place) for place in labels.select("sequence", "frame").iter_rows()]
    return fit_ridge(np.array(seen), _angles(labels))


def histories(data: Path, sequences: list[str], estimator: Ridge | None) -> Array:
    """Yaw and pitch in degrees: (sequences, frames, 2)."""
    if estimator is None:
        labels = openeds.read_labels(data, "test", sequences).filter(pl.col("frame") < openeds.GIVEN)
        return _angles(labels).reshape(len(sequences), openeds.GIVEN, 2)
    return np.array([_estimated(data, sequence, estimator) for sequence in sequences])


def _estimated(data: Path, sequence: str, estimator: Ridge) -> Array:
    return estimator(np.array([_features(data, "test", sequence, frame) for frame in range(openeds.GIVEN)]))


def _features(data: Path, split: str, sequence: str, frame: int) -> list[float]:
    file = openeds.image_file(data, split, sequence, frame)
    image = read_grey(file)
    # Where the pupil is in the picture tells how the headset sits; against the glints, where the eye looks.
    return features(find_pupil(image))[2:]


def _angles(labels: pl.DataFrame) -> Array:
    return np.stack(to_angles(labels.select(openeds.VECTOR).to_numpy()), axis=-1)


def answers(trials: pl.DataFrame, sequences: list[str], angles: Array) -> pl.DataFrame:
    """Predicted angles (sequences, steps, 2) as answers."""
    vectors = to_vectors(angles[..., 0], angles[..., 1]).reshape(-1, 3)
    names = [f"{sequence}/{frame}" for sequence in sequences for frame in openeds.FRAMES]
    found = pl.DataFrame({"trial": names, **{name: vectors[:, i] for i, name in enumerate(openeds.VECTOR)}})
    return trials.select("trial").join(found, on="trial", how="left", maintain_order="left")
