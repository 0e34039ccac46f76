"""Remote gaze by a small network that learnt from drawn heads of other people, corrected by what a fold is given."""

import numpy as np
import polars as pl

from palestra import model_cards
from palestra.records import Material
from palestra.tracks.remote_gaze.solutions.eye_pair import Pair
from palestra.tracks.remote_gaze.solutions.iris import IRISES, trust_in_eyes
from palestra.tracks.remote_gaze.solutions.robust_regression import Linear, fit_linear
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

WEIGHTS = "remote_gaze_network"
BATCH = 256
OWN_PENALTY, SHARED_PENALTY = 100.0, 3000.0  # rows' worth of trust in the network as it is


class Network:
    """What the network tells, and for each eye of everybody who was seen, how that is to be corrected."""

    def __init__(self) -> None:
        self._session = model_cards.session(WEIGHTS)

    def fit(self, training: Material) -> None:
        rows = to_learn_from(training)
        seen, sights = look(training.data, rows, EYES), rows.sights()
        told, known = self._ask(rows, seen)
        off = angles_of(sights, seen.axes) - told
        self._pair = Pair.of(sights)
        both = known.reshape(2 * len(rows), -1), off.reshape(-1, 2)
        self._shared = fit_linear(*both, SHARED_PENALTY)
        self._own: dict[tuple[str, int], Linear] = {}
        for person in rows.everybody:
            mine = rows.people == person
            for which in (LEFT, RIGHT):
                self._own[person, which] = fit_linear(known[mine, which], off[mine, which], OWN_PENALTY)

    def predict(self, test: Material) -> pl.DataFrame:
        rows = tracked(test)
        if not len(rows):
            return no_answers(rows)
        seen = look(test.data, rows, EYES)
        told, known = self._ask(rows, seen)
        for person in rows.everybody:
            mine = rows.people == person
            for which in (LEFT, RIGHT):
                told[mine, which] += self._own.get((person, which), self._shared)(known[mine, which])
        trust = trust_in_eyes(look(test.data, rows, IRISES))
        return answers(rows, self._pair.joined(directions_of(told, seen.axes), trust))

    def _ask(self, rows: Rows, seen: Seen) -> tuple[Floats, Floats]:
        """(n, 2, 2) angles and (n, 2, numbers) what a correction may depend on: these, and what they came from."""
        heads = head_angles(rows.heads, seen.axes).astype(np.float32)
        told, known = [], []
        for at in range(0, len(rows), BATCH):
            some = {"pictures": seen.found[at : at + BATCH].astype(np.float32), "heads": heads[at : at + BATCH]}
            looks, features = self._session.run(None, some)
            told.append(looks.astype(np.float64))
            known.append(features.astype(np.float64))
        angles = np.concatenate(told)
        return angles, np.concatenate([angles, np.concatenate(known)], axis=2)
