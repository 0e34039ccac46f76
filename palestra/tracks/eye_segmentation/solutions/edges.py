"""Edges in what the segmentation network tells, to a fraction of a pixel: of the lids by column, of discs by angle.

Fields are half-size pictures (200, 320) that are positive inside; places are counted in their pixels.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
HEIGHT, WIDTH = 200, 320
ANGLES = 72
TURN = np.arange(ANGLES) * (2 * np.pi / ANGLES)
COSINE, SINE = np.cos(TURN), np.sin(TURN)
# Of a disc's edge: its mean radius, how far it lies to the right and below, and how it is drawn out.
WAVES = np.stack([np.ones(ANGLES), COSINE, SINE, np.cos(2 * TURN), np.sin(2 * TURN)], 1)
ROUNDS = 3


@dataclass(frozen=True)
class Rim:
    """The edge of a disc around a place: how far at each angle, and how well it is seen there (0 … 1)."""

    x: float
    y: float
    radius: Array  # (ANGLES,)
    seen: Array  # (ANGLES,)

    @property
    def share(self) -> float:
        """How much of it is seen."""
        return float(self.seen.mean())


def field_of(mask: Array, part: int) -> Array:
    """A label as a field: from −1 to 1, the share of each half-size pixel whose class is at least `part`."""
    inside = (mask >= part).astype(np.float32)
    return np.asarray(cv2.resize(inside, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA) * 2 - 1)


# --- lids


def lid_rows(field: Array) -> Array:
    """(2, 320): the rows of the upper and the lower edge in each column, NaN where the eye is not open."""
    inside = (field > 0).astype(np.uint8)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=4)
    rows = np.full((2, WIDTH), np.nan)
    if count < 2:
        return rows
    main = parts == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    columns = np.flatnonzero(main.any(0))
    first = main[:, columns].argmax(0)
    last = HEIGHT - 1 - main[::-1, columns].argmax(0)
    rows[0, columns] = _crossing(field, columns, first, -1)
    rows[1, columns] = _crossing(field, columns, last, 1)
    return rows


def _crossing(field: Array, columns: Array, inside: Array, step: int) -> Array:
    """Where the field is nothing between the last row inside and the next one."""
    outside = np.clip(inside + step, 0, HEIGHT - 1)
    high, low = field[inside, columns], np.minimum(field[outside, columns], -1e-6)
    return np.asarray(inside + step * high / (high - low))


# --- discs


def rim_of(field: Array, is_open: Array, reach: int) -> Rim | None:
    """The edge of the disc in a field, around its own middle; None where too little of it is to be seen."""
    visible = (field > 0) & (is_open > 0)
    if visible.sum() < 12:
        return None
    rows, columns = np.nonzero(visible)
    x, y = float(columns.mean()), float(rows.mean())
    for _ in range(ROUNDS):
        rim = rim_around(field, is_open, (x, y), reach)
        if rim.seen.sum() < ANGLES / 6:
            return None
        waves = fit_waves(rim, np.zeros(5), np.array([0.0, 0.02, 0.02, 1.0, 1.0]))
        x, y = x + float(np.clip(waves[1], -20, 20)), y + float(np.clip(waves[2], -20, 20))
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT):
            return None
    return rim_around(field, is_open, (x, y), reach)


def rim_around(field: Array, is_open: Array, centre: tuple[float, float], reach: int) -> Rim:
    """The edge as seen from a place: where most of what is nearer is inside and most of what is farther is not."""
    steps = 2 * reach  # half a pixel each
    size = (steps, ANGLES)
    flags = cv2.INTER_LINEAR | cv2.WARP_FILL_OUTLIERS
    rays = cv2.warpPolar(field, size, centre, reach, flags)
    covered = cv2.warpPolar(is_open, size, centre, reach, flags)
    total = np.cumsum(np.tanh(rays), axis=1)
    at = np.clip(total.argmax(axis=1), 1, steps - 3)
    angles = np.arange(ANGLES)
    high, low = rays[angles, at], rays[angles, at + 1]
    apart = high - low
    part = np.where((high > 0) & (low < 0), high / np.where(apart == 0, 1, apart), 0.5)
    # A lid that is near takes the edge with it; beyond the picture there is none.
    near = np.minimum(covered[angles, at - 1], covered[angles, np.minimum(at + 2, steps - 1)])
    inside = (rays[angles, np.minimum(at + 2, steps - 1)] != 0) & (total[angles, at] > 0)
    seen = np.clip(near, 0, 1) * inside
    # OpenCV's rays begin at the place itself; a step is reach / steps.
    return Rim(*centre, (at + part) * (reach / steps), seen)


def fit_waves(rim: Rim, usual: Array, trust: Array) -> Array:
    """The five numbers of a rim from where it is seen, held near the usual ones with a trust each (1 / px²)."""
    held = np.diag(trust * (ANGLES / 10) + 1e-6)
    left = (WAVES * rim.seen[:, None]).T @ WAVES + held
    waves = usual
    for _ in range(ROUNDS):
        right = WAVES.T @ (rim.seen * (rim.radius - _fourth(waves, COSINE, SINE))) + held @ usual
        waves = np.linalg.solve(left, right)
    return np.asarray(waves)


def _fourth(waves: Array, cosine: Array, sine: Array) -> Array:
    """What an ellipse's radius has of the fourth wave, as its second one tells (to the second order)."""
    a, b = waves[3], waves[4]
    twice, double = cosine**2 - sine**2, 2 * cosine * sine
    fourth = (a * a - b * b) * (twice**2 - double**2) + 4 * a * b * twice * double
    return np.asarray(0.75 * fourth / max(waves[0], 1.0))


def draw_disc(centre: tuple[float, float], waves: Array, bigger: int) -> Array:
    """Whether each pixel of a picture `bigger` times as large as fields lies on the disc."""
    out = np.zeros((bigger * HEIGHT, bigger * WIDTH), bool)
    x, y = ((at + 0.5) * bigger - 0.5 for at in centre)
    reach = int(np.ceil(bigger * np.abs(waves).sum())) + 1
    top, bottom = max(int(y) - reach, 0), min(int(y) + reach + 2, out.shape[0])
    left, right = max(int(x) - reach, 0), min(int(x) + reach + 2, out.shape[1])
    if top >= bottom or left >= right:
        return out
    down, across = np.arange(top, bottom)[:, None] - y, np.arange(left, right)[None] - x
    far = np.hypot(down, across)
    cosine, sine = across / np.maximum(far, 1e-9), down / np.maximum(far, 1e-9)
    edge = waves[0] + waves[1] * cosine + waves[2] * sine + _fourth(waves, cosine, sine)
    edge = edge + waves[3] * (cosine**2 - sine**2) + waves[4] * 2 * cosine * sine
    out[top:bottom, left:right] = far <= bigger * edge
    return out
