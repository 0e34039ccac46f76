"""A family of heads: the skin's distance from an upright axis, by direction and height, with modes of deformation.

A head's frame has its origin on that axis at the height of the eyes: x to the person's left, y up, z forward. Lengths
are in metres. All of it was made up from common measures of faces; no statistical model of anybody's is behind it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

MOST_DEG, STEP_DEG = 110.0, 2.0  # directions, from the face to behind the ears
LOW_M, HIGH_M, STEP_M = -0.115, 0.105, 0.0025  # from the chin to where the skull bends inwards
DEGREES = np.arange(-MOST_DEG, MOST_DEG + STEP_DEG / 2, STEP_DEG)
HEIGHTS = np.arange(LOW_M, HIGH_M + STEP_M / 2, STEP_M)
SHAPE = (len(HEIGHTS), len(DEGREES))
ROUND = 2.2  # of a cross-section: 2 is an ellipse, more is squarer


@dataclass(frozen=True)
class Mode:
    """One way in which heads differ."""

    name: str
    sd: float  # over people, in the unit of the mode


MODES = (
    Mode("width", 0.06),  # shares
    Mode("depth", 0.06),
    Mode("height", 0.05),
    Mode("jaw", 0.08),
    Mode("nose", 0.003),  # metres, from here on
    Mode("nose_low", 0.003),
    Mode("nose_wide", 0.0015),
    Mode("brow", 0.002),
    Mode("socket", 0.002),
    Mode("eyes_apart", 0.0025),
    Mode("eyes_high", 0.003),
    Mode("cheek", 0.003),
    Mode("mouth", 0.003),
    Mode("chin", 0.004),
    Mode("forehead", 0.004),
    Mode("temple", 0.003),
)
NAMES = {mode.name: at for at, mode in enumerate(MODES)}
SDS = np.array([mode.sd for mode in MODES])
EYE_M = (0.0315, 0.0)  # of a mean head: from the middle, and high

_PHI = np.radians(DEGREES)[None, :]
_SIN, _COS = np.sin(_PHI), np.cos(_PHI)


def surface(values: Floats) -> Floats:
    """(heights, directions) how far the skin is from the axis, of a head with such values of its modes."""
    one = dict(zip(NAMES, values.tolist(), strict=True))
    y = HEIGHTS[:, None] / (1 + one["height"])
    radius = _skull(y, one)
    x = radius * _SIN
    front = np.clip(_COS, 0, 1) ** 0.5
    grown = _nose(np.abs(x), y, one)
    for side in (-1.0, 1.0):
        eye = side * (EYE_M[0] + one["eyes_apart"]), EYE_M[1] + one["eyes_high"]
        grown -= (0.006 + one["socket"]) * _spot(x, y, eye, (0.017, 0.011))
        grown += (0.003 + one["brow"]) * _spot(x, y, (side * 0.027, eye[1] + 0.020), (0.024, 0.009))
        grown += (0.003 + one["cheek"]) * _spot(x, y, (side * 0.045, -0.030), (0.019, 0.018))
        grown -= (0.002 + one["temple"]) * _spot(x, y, (side * 0.066, 0.030), (0.020, 0.030))
    grown += (0.005 + one["mouth"]) * _spot(x, y, (0.0, -0.066), (0.026, 0.018))
    grown += (0.006 + one["chin"]) * _spot(x, y, (0.0, -0.096), (0.024, 0.014))
    grown += one["forehead"] * _spot(x, y, (0.0, 0.060), (0.045, 0.030))
    return np.asarray(radius + front * grown)


def _skull(y: Floats, one: dict[str, float]) -> Floats:
    above = np.sqrt(np.clip(1 - ((y - 0.02) / 0.118).clip(0) ** 2, 0.05, 1))
    down = np.clip((0.01 - y) / 0.11, 0, 1)
    wide = 0.074 * (1 + one["width"]) * above * (1 - (0.30 - one["jaw"]) * down**1.3)
    deep = 0.088 * (1 + one["depth"]) * above * (1 - 0.03 * down)
    return np.asarray(((np.abs(_SIN) / wide) ** ROUND + (np.abs(_COS) / deep) ** ROUND) ** (-1 / ROUND))


def _nose(x: Floats, y: Floats, one: dict[str, float]) -> Floats:
    low = one["nose_low"]
    rows = np.array([-0.052 + low, -0.047 + low, -0.040 + low, -0.030 + low, -0.012 + low / 2, 0.004, 0.018])
    high = np.array([0.0, 0.010, 0.021, 0.019, 0.010, 0.003, 0.0])
    share = np.array([0.0, 0.6, 1.0, 0.9, 0.5, 0.2, 0.0])
    wide = np.array([0.016, 0.016, 0.0145, 0.013, 0.010, 0.009, 0.010]) + one["nose_wide"]
    ridge = np.interp(y, rows, high + one["nose"] * share)
    return np.asarray(ridge * np.exp(-((x / np.interp(y, rows, wide)) ** 2)))


def _spot(x: Floats, y: Floats, at: tuple[float, float], size: tuple[float, float]) -> Floats:
    return np.asarray(np.exp(-0.5 * (((x - at[0]) / size[0]) ** 2 + ((y - at[1]) / size[1]) ** 2)))


def fitted_values(radius: Floats, weight: Floats, start: Floats, noise_m: float = 0.002) -> Floats:
    """The values whose surface is nearest to a map that was seen, with what is usual among people for the rest."""
    values, steps = start.copy(), SDS * 0.05
    root = np.sqrt(weight) / noise_m
    for _ in range(4):
        now = surface(values)
        columns = []
        for at, step in enumerate(steps):
            other = values.copy()
            other[at] += step
            columns.append((root * (surface(other) - now) / step).ravel())
        slopes = np.stack(columns, axis=1)
        missing = (root * np.clip(radius - now, -0.012, 0.012)).ravel()  # hair and ears are not to bend a face
        square = slopes.T @ slopes + np.diag(len(MODES) / SDS**2)
        values = values + np.linalg.solve(square, slopes.T @ missing - len(MODES) * values / SDS**2)
    return np.asarray(np.clip(values, -3 * SDS, 3 * SDS))
