"""Estimates of many eyes corrected: for the data set's camera by training labels, for each eye by no label at all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import erf

from palestra.tracks.gaze_prediction.solutions.same_eye import grouped

Array = NDArray[np.float64]

START = (0.0, 0.0, 20.0, 0.5)  # the ring that the search begins at: centre of a far one, radius, width
RING_SHARE = 0.5  # of all clips; the others are spread over the disc
STRAY_SHARE = 0.02  # of frames, anywhere
FIELD_DEG2 = 60.0 * 60.0
EYE_CM, DEPTHS_CM = 3.2, np.linspace(50.0, 600.0, 7)[:-1] + 275.0 / 6  # from the nose; of rings, all as likely
INWARDS_DEG = np.degrees(np.arctan(EYE_CM / DEPTHS_CM))
OFFSET_DEG = 2.0  # how far eyes' visual axes and headsets' seats are off, one standard deviation
STRETCH = 0.06  # and how far distances are, as a share
WORTH = 0.4  # of a frame: frames of one clip tell much the same
BLUR_DEG = 0.5  # of estimates
TRIES_DEG = np.arange(-6.0, 6.1, 1.5)


@dataclass(frozen=True)
class Places:
    """Rings and the disc that they enclose."""

    x: float
    y: float
    radius: float
    width: float  # standard deviation across a ring's line

    def logs(self, angles_deg: Array) -> Array:
        """Logarithm of how likely clips are, (…,) from angles (…, frames, 2)."""
        across, up = angles_deg[..., 0] - self.x, angles_deg[..., 1] - self.y
        off = (np.hypot(across[..., None] - INWARDS_DEG, up[..., None]) - self.radius) / self.width
        line = np.exp(-(off**2) / 2) / (self.width * (2 * np.pi) ** 1.5 * self.radius)
        rings = np.logaddexp.reduce(WORTH * _strayed(line).sum(axis=-2), axis=-1) - np.log(len(INWARDS_DEG))
        # Each place of the disc has a depth of its own, which makes its edge soft.
        edge = (np.hypot(across - INWARDS_DEG.mean(), up) - self.radius) / np.hypot(self.width, INWARDS_DEG.std())
        disc = (1 - erf(edge / np.sqrt(2))) / 2 / (np.pi * self.radius**2)
        whole = WORTH * _strayed(disc).sum(axis=-1)
        return np.asarray(np.logaddexp(np.log(RING_SHARE) + rings, np.log(1 - RING_SHARE) + whole))


def _strayed(density: Array) -> Array:
    return np.asarray(np.log((1 - STRAY_SHARE) * density + STRAY_SHARE / FIELD_DEG2))


def fit_places(labels_deg: Array) -> Places:
    """From labels (clips, frames, 2) of many people; where they are few, the ring stays near the one that is known."""

    def worse(at: Array) -> float:
        places = Places(at[0], at[1], at[2], float(np.exp(at[3])))
        kept = ((at - start) / (1.0, 1.0, 1.0, 0.5)) ** 2
        return float(-places.logs(labels_deg).sum() + 5 * kept.sum())

    start = np.array([*START[:3], np.log(START[3])])
    first = start + np.vstack([np.zeros(4), 0.5 * np.eye(4)])  # half a degree each way: it would begin with none
    rough = {"initial_simplex": first, "maxiter": 300, "xatol": 0.01, "fatol": 0.01}
    found = minimize(worse, start, method="Nelder-Mead", options=rough).x
    return Places(float(found[0]), float(found[1]), float(found[2]), float(np.exp(found[3])))


@dataclass(frozen=True)
class Correction:
    """What is done to the estimates of one eye: each axis stretched and moved."""

    stretch: Array  # (2,) about 1
    move_deg: Array  # (2,)

    def __call__(self, angles_deg: Array) -> Array:
        return angles_deg * self.stretch + self.move_deg


def fit_correction(angles_deg: Array, places: Places) -> Correction:
    """That under which estimates (clips, frames, 2) of one eye are most likely; few of them change little."""
    wide = Places(places.x, places.y, places.radius, float(np.hypot(places.width, BLUR_DEG)))
    worth = WORTH * angles_deg[..., 0].size  # a stretch that makes everything smaller is not for that more likely

    def worse(at: Array) -> float:
        told = wide.logs(angles_deg * np.exp(at[2:]) + at[:2]).sum() + worth * at[2:].sum()
        return float(-told + ((at[:2] / OFFSET_DEG) ** 2).sum() / 2 + ((at[2:] / STRETCH) ** 2).sum() / 2)

    tries = [np.array([x, y, 0.0, 0.0]) for x in TRIES_DEG for y in TRIES_DEG]
    # The best of a coarse grid first: half-filled rings have more than one place that they fit to.
    first = sorted(tries, key=worse)[:2]
    rough = {"ftol": 1e-6}
    ends = [minimize(worse, at, method="L-BFGS-B", options=rough) for at in first]
    found = min(ends, key=lambda end: float(end.fun)).x
    return Correction(np.exp(found[2:]), found[:2])


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
