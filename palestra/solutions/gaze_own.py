"""Estimates of many eyes corrected: for the data set's camera by training labels, for each eye by no label at all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from palestra.solutions.gaze_groups import grouped
from palestra.solutions.gaze_places import Correction, fit_correction, fit_places

Array = NDArray[np.float64]
Floats = NDArray[np.float32]
Each = Callable[[Callable[[Array], Correction], Iterable[Array]], Iterable[Correction]]

LOOKED_AT = (2, 14, 25, 37, 49)  # frames of a sequence that tell whose it is and how far its eye is off
SMALL = (20, 32)  # of pictures that tell sequences apart
TRUST = 2000.0  # squared degrees' worth of trust that the estimator knows the camera


@dataclass(frozen=True)
class Camera:
    """How estimates before this data set's camera differ from those before the one that the estimator learnt with."""

    weights: Array  # (6, 2), what is to be added

    def __call__(self, angles_deg: Array) -> Array:
        return np.asarray(angles_deg + _bent(angles_deg) @ self.weights)


def _bent(angles_deg: Array) -> Array:
    x, y = angles_deg[..., 0], angles_deg[..., 1]
    return np.stack([np.ones_like(x), x, y, x * x / 20, x * y / 20, y * y / 20], axis=-1)


def fit_camera(angles_deg: Array, labels_deg: Array, groups: NDArray[np.int64]) -> Camera:
    """From the training part: (sequences, frames, 2) each. What one eye is off by is not the camera's doing."""
    bent, off = _bent(angles_deg), labels_deg - angles_deg
    inner, outer = np.zeros_like(bent), np.zeros_like(off)
    for group in np.unique(groups):
        mine = groups == group
        inner[mine] = bent[mine] - bent[mine].mean(axis=(0, 1))
        outer[mine] = off[mine] - off[mine].mean(axis=(0, 1))
    inner, outer = inner[..., 1:].reshape(-1, 5), outer.reshape(-1, 2)
    slopes = np.linalg.solve(inner.T @ inner + TRUST * np.eye(5), inner.T @ outer)
    means = [(off - bent[..., 1:] @ slopes)[groups == group].mean(axis=(0, 1)) for group in np.unique(groups)]
    return Camera(np.vstack([np.mean(means, axis=0), slopes]))


@dataclass(frozen=True)
class Known:
    """What is known of a data set once its training part and all its sequences were looked at."""

    camera: Camera
    corrections: dict[str, Correction]  # by sequence

    def __call__(self, sequence: str, angles_deg: Array) -> Array:
        return self.corrections[sequence](self.camera(angles_deg))


def known_of(
    trained: tuple[Floats, Array, Array], names: list[str], seen: tuple[Floats, Array], each: Each = map
) -> Known:
    """From the training part (little pictures, estimates, labels) and the sequences asked for (pictures, estimates).

    Each is (sequences, frames, …), of the frames LOOKED_AT. `each` is `map`, or does as much in several processes.
    """
    views, angles_deg, labels_deg = trained
    camera = fit_camera(angles_deg, labels_deg, grouped(views))
    fit = partial(fit_correction, places=fit_places(labels_deg))
    groups = grouped(seen[0])
    eyes = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    found: dict[str, Correction] = {}
    for mine, one in zip(eyes, each(fit, [camera(seen[1][mine]) for mine in eyes]), strict=True):
        found |= {names[i]: one for i in mine}
    return Known(camera, found)
