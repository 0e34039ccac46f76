"""How far a line of sight passes by what was looked at (EYEDIAP, Eq. 6–10). Lower is better everywhere.

Points and directions are (n, 3), in metres and in one frame; directions need no unit length.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra.metrics.angles import angles_deg

Floats = NDArray[np.float64]

CHUNK_ROWS = 8_192  # the scratch of a chunk fits the cache
DEG_PER_RAD = 180 / np.pi


def distances_m(origins: ArrayLike, directions: ArrayLike, targets: ArrayLike) -> Floats:
    """Eq. 6: how near the ray passes by the target. A ray begins at its origin, so one that points away is that far."""
    o, v, p = (np.asarray(points, np.float64) for points in (origins, directions, targets))
    out = np.empty(len(o))
    scratch = np.empty((9, min(CHUNK_ROWS, len(out))))
    # A direction of no length divides by zero; what comes of it is not a number, which is what is meant.
    with np.errstate(invalid="ignore", divide="ignore"):
        for rows in _chunks(len(out)):
            _distances_into(out[rows], o[rows], v[rows], p[rows], scratch)
    return out


def passing_angles_deg(distance_m: ArrayLike, targets: ArrayLike, eyes: ArrayLike) -> Floats:
    """Eq. 7: the distance as an angle seen from the given eye. At most 90°, also for a ray that points away."""
    near = np.asarray(distance_m, np.float64)
    p, e = np.asarray(targets, np.float64), np.asarray(eyes, np.float64)
    out = np.empty(len(near))
    scratch = np.empty((3, min(CHUNK_ROWS, len(out))))
    with np.errstate(invalid="ignore", divide="ignore"):
        for rows in _chunks(len(out)):
            ratio = out[rows]
            _lengths_into(ratio, p[rows], e[rows], scratch)
            np.divide(near[rows], ratio, out=ratio)
            np.minimum(ratio, 1.0, out=ratio)
            np.arcsin(ratio, out=ratio)
            ratio *= DEG_PER_RAD
    return out


def sight_angles_deg(directions: ArrayLike, targets: ArrayLike, eyes: ArrayLike) -> Floats:
    """Eq. 8: the angle between a direction and the one from the given eye to the target."""
    return angles_deg(directions, np.asarray(targets, np.float64) - np.asarray(eyes, np.float64))


def pixel_distances(points: ArrayLike, targets: ArrayLike) -> Floats:
    """Eq. 9: how many pixels of the screen are between two points, both (n, 2)."""
    found, true = np.asarray(points, np.float64), np.asarray(targets, np.float64)
    out = np.empty(len(found))
    scratch = np.empty((2, min(CHUNK_ROWS, len(out))))
    for rows in _chunks(len(out)):
        _lengths_into(out[rows], found[rows], true[rows], scratch)
    return out


def sensitivity(harder: ArrayLike, easier: ArrayLike) -> Floats:
    """Eq. 10 as read: by what share an error grows under harder conditions, never below 0; NaN where it was 0."""
    hard, easy = np.asarray(harder, np.float64), np.asarray(easier, np.float64)
    growth = np.divide(hard - easy, easy, out=np.full(np.broadcast(hard, easy).shape, np.nan), where=easy > 0)
    shares: Floats = np.maximum(growth, 0.0)  # NaN stays
    return shares


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK_ROWS) for start in range(0, rows, CHUNK_ROWS))


def _distances_into(out: Floats, o: Floats, v: Floats, p: Floats, scratch: Floats) -> None:
    """|w × v| / |v| where the target, w away from the origin, is before it; |w| where it is behind."""
    wx, wy, wz, vx, vy, vz, one, other, along = scratch[:, : len(out)]
    np.subtract(p.T, o.T, out=scratch[:3, : len(out)])
    np.copyto(scratch[3:6, : len(out)], v.T)
    np.multiply(wx, vx, out=along)
    for w_axis, v_axis in ((wy, vy), (wz, vz)):
        np.multiply(w_axis, v_axis, out=one)
        along += one
    _cross_squared(out, (wy, vz, wz, vy), one, other)
    for corner in ((wz, vx, wx, vz), (wx, vy, wy, vx)):
        _cross_squared(other, corner, one, other)
        out += other
    _squares_into(one, (vx, vy, vz), vx)  # what is not needed any more is room for the next
    out /= one
    _squares_into(one, (wx, wy, wz), wx)
    np.copyto(out, one, where=along <= 0)
    np.sqrt(out, out=out)


def _cross_squared(out: Floats, corner: tuple[Floats, Floats, Floats, Floats], one: Floats, other: Floats) -> None:
    """(a·b − c·d)², in scratch of which one may be `out`."""
    a, b, c, d = corner
    np.multiply(a, b, out=one)
    np.multiply(c, d, out=other)
    np.subtract(one, other, out=out)
    out *= out


def _squares_into(out: Floats, axes: Iterable[Floats], scratch: Floats) -> None:
    """The sum of squares; the scratch may be the first axis."""
    first, *others = axes
    np.multiply(first, first, out=out)
    for axis in others:
        np.multiply(axis, axis, out=scratch)
        out += scratch


def _lengths_into(out: Floats, a: Floats, b: Floats, scratch: Floats) -> None:
    """|a − b| of each row."""
    apart = scratch[:, : len(out)]
    np.subtract(a.T, b.T, out=apart)
    _squares_into(out, apart, apart[0])
    np.sqrt(out, out=out)
