"""Ours, live and without calibration: a network tells where each eye looks, and the surer eye counts for more.

Nobody says by how much the headset and these eyes are off, but people look all over a plane whose size is known. The
more points were seen, the surer the middle of what was told is off as all of it is, and that is taken back.

Our own network (train/near_eye_palestra.py) tells the gaze by itself. As long as it is not trained, the network that
reads any eye takes its place, with a regression from what that one sees (train/near_eye_live_palestra.py).
"""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palestra.records import Solution
from palestra.solutions import cards
from palestra.solutions.near_eye_few import Anybody, Doubt, Spread
from palestra.solutions.near_eye_seen import NETWORKS, OURS, READER, as_left, best, told_by_ours
from palestra.solutions.pupil import Image

Array = NDArray[np.float64]

REGRESSION = "near_eye_live_palestra"
PLANE_MM = 1000.0
REACH_MM = np.array([364.0, 268.0])  # of the plane, to each side
APART_MM = 32.0  # half of what is between the eyes
TARGETS_MM2 = REACH_MM**2 / 3  # variance of points that are all over the plane
OFF_MM = 45.0  # how far a headset and an eye together usually are off, about 2.5°
KEPT = 0.97  # of what earlier points told of that: the next tester has other eyes


class Told(NamedTuple):
    """Where a left eye looks, against straight ahead of it, on a plane at distance 1, and the variance of that."""

    point: Array  # x to the person's left, y up
    variance: float


Teller = Callable[[Image], Told | None]  # None where the eye cannot be read


class Palestra:
    """Answers every pair of pictures, with what earlier ones told; where neither eye can be seen, as it did before."""

    def __init__(self, network: str = "") -> None:
        self._tell = teller(network or best().name)
        self._point = np.zeros(2)  # straight ahead
        self._sum, self._count = np.zeros(2), 0.0

    def get_data(self, left: Image, right: Image) -> None:
        found = looked_at([self._tell(as_left(left, "left")), self._tell(as_left(right, "right"))])
        if found is not None:
            self._sum, self._count = KEPT * self._sum + found, KEPT * self._count + 1
            self._point = np.clip(found - usually_off(self._sum, self._count), -REACH_MM, REACH_MM)

    def algorithm(self) -> list[float]:
        return [float(value) for value in self._point]


def looked_at(eyes: Sequence[Told | None]) -> Array | None:
    """The point in mm, x to the right and y up, by what was told of a left eye and of a right one in a mirror."""
    points, trust = list[Array](), list[float]()
    for told, side in zip(eyes, (-1.0, 1.0), strict=True):
        if told is not None:
            x, y = PLANE_MM * told.point
            points.append(np.clip([side * (x + APART_MM), y], -2 * REACH_MM, 2 * REACH_MM))
            trust.append(1 / told.variance)
    return np.average(points, axis=0, weights=trust) if points else None


def usually_off(total_mm: Array, count: float) -> Array:
    """How far answers are off as a whole, most likely, by the sum of some of them."""
    return np.asarray(total_mm * OFF_MM**2 / (count * OFF_MM**2 + TARGETS_MM2))


def teller(network: str) -> Teller:
    """What asks a network."""
    return _ours if network == OURS else _reader(regression(np.load(BytesIO(cards.weights(REGRESSION)))))


def _ours(image: Image) -> Told | None:
    (yaw, pitch, log_variance, *_, opened), _ = told_by_ours(image)
    if opened < 0:
        return None
    return Told(np.array([np.tan(yaw), np.tan(pitch) / np.cos(yaw)]), float(np.exp(np.clip(log_variance, -15, 5))))


def _reader(anybody: Anybody) -> Teller:
    reader = NETWORKS[READER]

    def tell(image: Image) -> Told | None:
        rows = reader.rows([image])
        if not np.isfinite(rows).all():
            return None
        points, variances = anybody(reader.frames(rows))
        return Told(points[0], float(variances[0, 0]))

    return tell


def arrays_of(anybody: Anybody) -> dict[str, Array]:
    """As a file keeps it."""
    spreads = {"places": anybody.places, "extras": anybody.extras, "looks": anybody.doubt.spread}
    kept = {f"{name}/{part}": value for name, spread in spreads.items() for part, value in vars(spread).items()}
    return {**kept, "weights": anybody.weights, "doubt": anybody.doubt.weights}


def regression(kept: Mapping[str, Array]) -> Anybody:
    """What `arrays_of` made of one."""
    places, extras, looks = (
        Spread(kept[f"{name}/middle"], kept[f"{name}/scale"]) for name in ("places", "extras", "looks")
    )
    return Anybody(places, extras, kept["weights"], Doubt(looks, kept["doubt"]))


SOLUTION = Solution(
    "near-eye-live-v1",
    "palestra",
    "a network's gaze of both eyes, corrected by where people look as a whole",
    plays="palestra.solutions.near_eye_live_palestra:Palestra",
    weights=f"{best().name}.onnx",
)
