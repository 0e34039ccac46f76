"""Angles between directions, in degrees (lower is better): the error of every gaze track.

atan2(|a×b|, a·b) in float64 is exact to the last digits at every angle, where arccos(a·b) loses small angles (in
float32 it calls most directions 0.01° apart equal). Vectors need no unit length. A direction compared with itself
gives exactly 0.0, because both products of each difference in a×a are the same number.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra.parallel import usable_cores

Floats = NDArray[np.float64]

CHUNK_ROWS = 65_536  # nine scratch rows of float64 fit the shared cache; threads take turns at the GIL seldom enough
THREADED_ROWS = 200_000  # below this, starting threads costs more than it saves
# |a||b| within these bounds: no product of the kernel overflows, and what underflows is far below the last digit.
SMALLEST_SIZE, LARGEST_SIZE = 1e-120, 1e120
DEG_PER_RAD = 180 / np.pi


def angles_deg(a: ArrayLike, b: ArrayLike) -> Floats:
    """The angle between row i of `a` and row i of `b`, both (n, 3).

    NaN where a vector has no direction (zero or not finite): what such an answer costs is the track's rule.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or a.shape[1] != 3 or a.shape != b.shape:
        raise ValueError(f"expected two arrays of shape (n, 3), found {a.shape} and {b.shape}")
    return angles_deg_columns(a[:, 0], a[:, 1], a[:, 2], b[:, 0], b[:, 1], b[:, 2])


def angles_deg_columns(
    ax: ArrayLike, ay: ArrayLike, az: ArrayLike, bx: ArrayLike, by: ArrayLike, bz: ArrayLike
) -> Floats:
    """The same for columns, each a 1-D array or one number for all rows: a table's columns need no stacking."""
    columns = [np.asarray(column) for column in (ax, ay, az, bx, by, bz)]
    out = np.empty(_rows(columns))
    starts = deque(range(0, len(out), CHUNK_ROWS))  # shared, so that a thread that is held up leaves work to the others
    if len(out) <= THREADED_ROWS:
        _fill(columns, out, starts)
        return out
    threads = usable_cores()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: _fill(columns, out, starts), range(threads)))
    return out


def _rows(columns: Sequence[NDArray[np.generic]]) -> int:
    lengths = {len(column) for column in columns if column.ndim == 1}
    if len(lengths) > 1 or any(column.ndim > 1 for column in columns):
        raise ValueError(f"expected numbers or 1-D arrays of one length, found shapes {[c.shape for c in columns]}")
    return lengths.pop() if lengths else 1


def _fill(columns: Sequence[NDArray[np.generic]], out: Floats, starts: deque[int]) -> None:
    scratch = np.empty((9, min(CHUNK_ROWS, len(out))))
    # Sizes out of bounds are found and computed again, so a warning would only confuse. Set here: it is per thread.
    with np.errstate(all="ignore"):
        for start in _taken(starts):
            stop = min(start + CHUNK_ROWS, len(out))
            chunk = [column[start:stop] if column.ndim else column for column in columns]
            _fill_chunk(chunk, out[start:stop], scratch[:, : stop - start])


def _taken(starts: deque[int]) -> Iterator[int]:
    while True:
        try:
            start = starts.popleft()
        except IndexError:  # asking first would race with the other threads
            return
        yield start


def _fill_chunk(columns: Sequence[NDArray[np.generic]], out: Floats, scratch: Floats) -> None:
    _load(columns, scratch)
    if _angles_into(out, scratch):
        return
    _load(columns, scratch)
    usable_a, usable_b = _rescale(scratch[:3]), _rescale(scratch[3:6])
    _angles_into(out, scratch)
    out[~(usable_a & usable_b)] = np.nan


def _load(columns: Sequence[NDArray[np.generic]], scratch: Floats) -> None:
    for row, column in zip(scratch, columns, strict=False):  # the rows left over are for the kernel
        np.copyto(row, column, casting="same_kind")


def _rescale(vectors: Floats) -> NDArray[np.bool_]:
    """Brings each vector's largest component into [½, 1) by a power of two, which is exact; says which can be used."""
    largest = np.abs(vectors).max(axis=0)
    np.ldexp(vectors, -np.frexp(largest)[1], out=vectors)
    usable: NDArray[np.bool_] = np.isfinite(largest) & (largest > 0)
    return usable


def _angles_into(out: Floats, scratch: Floats) -> bool:
    """Writes the angles of the vectors in the first six rows, which it uses up; False if any size is out of bounds."""
    x, y, z, u, v, w, cross, dot, spare = scratch
    np.multiply(x, u, out=dot)
    np.multiply(y, v, out=spare)
    dot += spare
    np.multiply(z, w, out=spare)
    dot += spare

    np.multiply(y, w, out=cross)
    np.multiply(z, v, out=spare)
    cross -= spare
    cross *= cross
    z *= u
    w *= x
    z -= w
    z *= z
    cross += z
    x *= v
    y *= u
    x -= y
    x *= x
    cross += x
    np.sqrt(cross, out=cross)

    np.arctan2(cross, dot, out=out)
    out *= DEG_PER_RAD
    # |a×b| + |a·b| is |a||b| to within √2, so this also finds vectors without a direction.
    np.abs(dot, out=spare)
    spare += cross
    return bool(spare.min() > SMALLEST_SIZE and spare.max() < LARGEST_SIZE)  # NaN compares false


def to_angles(vectors: Floats) -> tuple[Floats, Floats]:
    """Yaw (positive to +X) and pitch (positive up) in degrees, of vectors of any length."""
    x, y, z = np.moveaxis(np.asarray(vectors, dtype=np.float64), -1, 0)
    return np.degrees(np.arctan2(x, z)), np.degrees(np.arctan2(y, np.hypot(x, z)))


def to_vectors(yaw_deg: ArrayLike, pitch_deg: ArrayLike) -> Floats:
    """Unit vectors (..., 3) that look along these angles."""
    yaw, pitch = np.radians(np.asarray(yaw_deg, float)), np.radians(np.asarray(pitch_deg, float))
    return np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1)
