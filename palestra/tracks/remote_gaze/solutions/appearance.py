"""Remote gaze by what eyes look like: edges in steadied pictures of them, and kernel ridge regression."""

import numpy as np
import polars as pl

from palestra.records import Material
from palestra.tracks.remote_gaze.solutions.eye_pair import Pair
from palestra.tracks.remote_gaze.solutions.hog import edges
from palestra.tracks.remote_gaze.solutions.kernel_regression import fit_kernel
from palestra.tracks.remote_gaze.solutions.samples import Rows, answers, no_answers, to_learn_from, tracked
from palestra.tracks.remote_gaze.solutions.video_cache import EYES, Seen, look
from palestra.tracks.remote_gaze.solutions.virtual_camera import (
    LEFT,
    RIGHT,
    Floats,
    angles_of,
    directions_of,
    head_angles,
)

HEAD = 0.3  # what a radian of the head's turn counts beside the edges, whose squares add up to 1
MOST_ROWS = 6000  # to learn from; of more, every so many-th


class Appearance:
    """One map for both eyes, since the right one is mirrored."""

    def fit(self, training: Material) -> None:
        rows = to_learn_from(training)
        rows = Rows.of(rows.table.gather_every(-(-len(rows) // MOST_ROWS)))
        seen, sights = look(training.data, rows, EYES), rows.sights()
        self._pair = Pair.of(sights)
        self._map = fit_kernel(_features(rows, seen), angles_of(sights, seen.axes).reshape(-1, 2))

    def predict(self, test: Material) -> pl.DataFrame:
        rows = tracked(test)
        if not len(rows):
            return no_answers(rows)
        seen = look(test.data, rows, EYES)
        found = self._map(_features(rows, seen)).reshape(-1, 2, 2)
        return answers(rows, self._pair.joined(directions_of(found, seen.axes)))


def _features(rows: Rows, seen: Seen) -> Floats:
    """(2n, numbers) left and right eye of each row in turn."""
    eyes = np.stack([edges(seen.found[:, which]) for which in (LEFT, RIGHT)], axis=1)
    heads = HEAD * head_angles(rows.heads, seen.axes)
    return np.concatenate([eyes, heads], axis=2).reshape(2 * len(rows), -1).astype(np.float64)
