"""Ours, live and without calibration: a network tells where each eye looks, and the surer eye counts for more.

Nobody says by how much the headset and these eyes are off, but people look all over a plane whose size is known. The
more points were seen, the surer the middle of what was told is off as all of it is, and that is taken back.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palestra.eyes.pupil import Image
from palestra.tracks.near_eye.solutions.networks import as_left, ask

Array = NDArray[np.float64]

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


class Palestra:
    """Answers every pair of pictures, with what earlier ones told; where neither eye can be seen, as it did before."""

    def __init__(self) -> None:
        self._point = np.zeros(2)  # straight ahead
        self._sum, self._count = np.zeros(2), 0.0

    def get_data(self, left: Image, right: Image) -> None:
        found = looked_at([tell(as_left(left, "left")), tell(as_left(right, "right"))])
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


def tell(image: Image) -> Told | None:
    """What the network tells of a left eye; None where it cannot be read."""
    seen = ask(image)
    if seen is None:
        return None
    yaw, pitch, log_variance, *_ = seen[0]
    return Told(np.array([np.tan(yaw), np.tan(pitch) / np.cos(yaw)]), float(np.exp(np.clip(log_variance, -15, 5))))
