"""Which sequences show the same eye before the same camera, told by what does not move in their pictures."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

STILL_SHARE = 0.35  # of the picture, the part that moves least
ALIKE = 1.2  # grey levels, root mean square, under which two sequences show the same eye
AT_ONCE = 512
Floats = NDArray[np.float32]


def grouped(frames: Floats, alike: float = ALIKE) -> NDArray[np.int64]:
    """A number for each sequence, the same for those that look alike, from little pictures (sequences, frames, H, W).

    An eye moves, and the skin about it does not: two wearings of a headset differ there, two clips of one do not.
    """
    still = _still(frames)
    views = frames.mean(axis=1)[:, still].astype(np.float32)
    views -= views.mean(axis=0)
    size = (views**2).sum(axis=1)
    rows, columns = [], []
    for start in range(0, len(views), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        apart = (size[some, None] + size - 2 * views[some] @ views.T) / views.shape[1]
        near = np.nonzero(apart < alike**2)
        rows.append(near[0] + start)
        columns.append(near[1])
    edges = np.concatenate(rows), np.concatenate(columns)
    links = csr_array((np.ones(len(edges[0]), bool), edges), shape=(len(views), len(views)))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)


def _still(frames: Floats) -> NDArray[np.bool_]:
    """(H, W) where pictures of one sequence differ least."""
    moved = np.ptp(frames, axis=1).mean(axis=0)
    return np.asarray(moved <= np.quantile(moved, STILL_SHARE))
