"""Remote gaze by where the head is and points: what is left of the task when nobody looks at the eyes."""

import numpy as np
import polars as pl

from palestra.metrics.transforms import World
from palestra.records import Material
from palestra.tracks.remote_gaze.solutions.eye_pair import angles_of, directions_of
from palestra.tracks.remote_gaze.solutions.robust_regression import Floats, fit_linear
from palestra.tracks.remote_gaze.solutions.samples import Rows, answers, to_learn_from, tracked

PENALTIES = (10.0, 100.0, 1000.0, 1e4)  # rows' worth of trust in the constant
BLOCKS = 4  # in which they are tried: neighbours in time are too alike to be told apart


class HeadPose:
    """Yaw and pitch of each eye, as a smooth function of the head's turn and place."""

    def fit(self, training: Material) -> None:
        rows = to_learn_from(training)
        features, values = _features(rows), angles_of(rows.sights()).reshape(len(rows), 4)
        # How much of the gaze is in the head differs: next to nothing where it is held still.
        penalty = min(PENALTIES, key=lambda tried: _error(features, values, tried))
        self._map = fit_linear(features, values, penalty)

    def predict(self, test: Material) -> pl.DataFrame:
        rows = tracked(test)
        return answers(rows, directions_of(self._map(_features(rows)).reshape(-1, 2, 2)))


def _error(features: Floats, values: Floats, penalty: float) -> float:
    """How far what is learnt from the other blocks is off in each, in the mean."""
    blocks = np.arange(len(values)) * BLOCKS // len(values)
    total = 0.0
    for block in range(BLOCKS if len(values) >= 2 * BLOCKS else 0):
        there = blocks == block
        found = fit_linear(features[~there], values[~there], penalty)(features[there])
        total += float(np.abs(found - values[there]).sum())
    return total


def _features(rows: Rows) -> Floats:
    """Where the face points, how it is rolled, where the head is, and how the first two bend."""
    faces = rows.heads[:, :, 2]
    yaw, pitch = np.moveaxis(angles_of(World(faces)), -1, 0)
    roll = np.arctan2(rows.heads[:, 1, 0], rows.heads[:, 1, 1])
    return np.stack([yaw, pitch, roll, *rows.places.T, yaw**2, yaw * pitch, pitch**2], axis=1)
