"""Remote gaze by geometry: the iris is found, brought onto the eyeball, and the eyeball is fitted to each person."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import UnknownName
from palestra.records import Material
from palestra.text import say
from palestra.tracks.remote_gaze.eyediap import Which
from palestra.tracks.remote_gaze.solutions.eye_pair import Pair
from palestra.tracks.remote_gaze.solutions.eyeball_fit import (
    Eyeball,
    Sight,
    fit_eyeball,
    head_in_picture,
    looks,
    mean_of,
)
from palestra.tracks.remote_gaze.solutions.iris import IRISES, trust_in_eyes
from palestra.tracks.remote_gaze.solutions.samples import Rows, answers, no_answers, to_learn_from, tracked
from palestra.tracks.remote_gaze.solutions.video_cache import Seen, look
from palestra.tracks.remote_gaze.solutions.virtual_camera import LEFT, RIGHT, angles_of, directions_of

CAMERAS: dict[str, Which] = {"vga": "rgb_vga", "hd": "rgb_hd"}


class EyeModel:
    """An eyeball for each eye of everybody who was seen, and a usual one for everybody else."""

    def fit(self, training: Material) -> None:
        rows = to_learn_from(training)
        seen, sights = look(training.data, rows, IRISES, _camera(training)), rows.sights()
        true, trusted = angles_of(sights, seen.axes), trust_in_eyes(seen) > 0.5
        self._pair = Pair.of(sights)
        self._balls: dict[str, tuple[Eyeball, Eyeball]] = {}
        for person in rows.everybody:
            mine = [(rows.people == person) & trusted[:, which] for which in (LEFT, RIGHT)]
            left, right = (fit_eyeball(_sight(rows, seen, w, mine[w]), true[mine[w], w]) for w in (LEFT, RIGHT))
            self._balls[person] = left, right
        usual = mean_of([ball for balls in self._balls.values() for ball in balls])
        self._usual = usual, usual

    def predict(self, test: Material) -> pl.DataFrame:
        rows = tracked(test)
        if not len(rows):
            return no_answers(rows)
        seen = look(test.data, rows, IRISES, _camera(test))
        found = np.zeros((len(rows), 2, 2))
        for person in rows.everybody:
            mine = rows.people == person
            for which, ball in enumerate(self._balls.get(person, self._usual)):
                found[mine, which] = looks(_sight(rows, seen, which, mine), ball)
        return answers(rows, self._pair.joined(directions_of(found, seen.axes), trust_in_eyes(seen)))


def _camera(material: Material) -> Which:
    name = material.options.get("camera", "vga")
    if name not in CAMERAS:
        raise UnknownName(say("camera"), name, CAMERAS)
    return CAMERAS[name]


def _sight(rows: Rows, seen: Seen, which: int, mine: NDArray[np.bool_]) -> Sight:
    lenses = np.array([camera.pose.translation for camera in seen.cameras])[seen.camera_of[mine]]
    far_mm = 1000 * np.linalg.norm(rows.eyes[mine, which] - lenses, axis=1)
    heads = head_in_picture(rows.heads[mine], seen.axes[mine], which)
    return Sight(seen.found[mine, which, :2].astype(np.float64), far_mm, heads)
