"""Remote gaze by a small network that learnt from drawn heads of other people, corrected by what a fold is given."""

from pathlib import Path

import numpy as np
import polars as pl

from palestra.records import Material, Solution
from palestra.solutions.remote_fitting import Linear, fit_linear
from palestra.solutions.remote_open import IRISES, trust_in_eyes
from palestra.solutions.remote_pair import Pair
from palestra.solutions.remote_rows import Rows, answers, no_answers, to_learn_from, tracked
from palestra.solutions.remote_seen import EYES, Seen, look
from palestra.solutions.remote_view import LEFT, RIGHT, Floats, angles_of, directions_of, head_angles

WEIGHTS = Path(__file__).parent / "weights" / "remote_gaze_network.onnx"
BATCH = 256
OWN_PENALTY, SHARED_PENALTY = 100.0, 3000.0  # rows' worth of trust in the network as it is


class Network:
    """What the network tells, and for each eye of everybody who was seen, how that is to be corrected."""

    def __init__(self) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # others need theirs
        self._session = onnxruntime.InferenceSession(WEIGHTS, options, providers=["CPUExecutionProvider"])

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


SOLUTION = Solution(
    track="remote-gaze-v1",
    name="network",
    title="a small network that learnt from drawn heads, corrected for each eye",
    learns="palestra.solutions.remote_gaze_network:Network",
    weights="remote_gaze_network.onnx",
)
