"""Where people look in a whole recording, and how far an eye's estimates are off, told without a label of that eye.

Everybody watches the same two patterns: a ring, and places all over the disc within it. Where the many estimates of one
eye lie on another ring, they are off by as much. Angles are yaw and pitch in degrees.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import erf

Array = NDArray[np.float64]

START = (0.0, 0.0, 20.0, 1.0)  # the ring that the search begins at: centre, radius, width
RING_SHARE = 0.48  # of all frames; the rest are spread over the disc, but for a few anywhere
STRAY_SHARE = 0.02
FIELD_DEG2 = 60.0 * 60.0
OFFSET_DEG = 2.0  # how far eyes' visual axes and headsets' seats are off, one standard deviation
STRETCH = 0.04  # and how far distances are, as a share
WORTH = 0.1  # of a frame: frames of one clip tell much the same
BLUR_DEG = 0.5  # of estimates
TRIES_DEG = np.arange(-6.0, 6.1, 1.0)


@dataclass(frozen=True)
class Places:
    """A ring and the disc that it encloses."""

    x: float
    y: float
    radius: float
    width: float  # standard deviation across the ring's line

    def logs(self, angles_deg: Array) -> Array:
        """Logarithm of the density at places (…, 2)."""
        away = np.hypot(angles_deg[..., 0] - self.x, angles_deg[..., 1] - self.y)
        off = (away - self.radius) / self.width
        ring = np.exp(-(off**2) / 2) / (self.width * (2 * np.pi) ** 1.5 * self.radius)
        disc = (1 - erf(off / np.sqrt(2))) / 2 / (np.pi * self.radius**2)
        rest = 1 - RING_SHARE - STRAY_SHARE
        return np.asarray(np.log(RING_SHARE * ring + rest * disc + STRAY_SHARE / FIELD_DEG2))


def fit_places(labels_deg: Array) -> Places:
    """From labels (n, 2) of many people; where they are few, the ring stays near the one that is known."""

    def worse(at: Array) -> float:
        places = Places(at[0], at[1], at[2], float(np.exp(at[3])))
        kept = ((at - start) / (1.0, 1.0, 1.0, 0.5)) ** 2
        return float(-WORTH * places.logs(labels_deg).sum() + 5 * kept.sum())

    start = np.array([*START[:3], np.log(START[3])])
    found = minimize(worse, start, method="Nelder-Mead", options={"maxiter": 600}).x
    return Places(float(found[0]), float(found[1]), float(found[2]), float(np.exp(found[3])))


@dataclass(frozen=True)
class Correction:
    """What is done to the estimates of one eye: each axis stretched and moved."""

    stretch: Array  # (2,) about 1
    move_deg: Array  # (2,)

    def __call__(self, angles_deg: Array) -> Array:
        return angles_deg * self.stretch + self.move_deg


def fit_correction(angles_deg: Array, places: Places) -> Correction:
    """That under which estimates (n, 2) of one eye are most likely; few of them change little."""
    wide = Places(places.x, places.y, places.radius, float(np.hypot(places.width, BLUR_DEG)))

    def worse(at: Array) -> float:
        told = wide.logs(angles_deg * np.exp(at[2:]) + at[:2]).sum() + len(angles_deg) * at[2:].sum()
        return float(-WORTH * told + ((at[:2] / OFFSET_DEG) ** 2).sum() / 2 + ((at[2:] / STRETCH) ** 2).sum() / 2)

    tries = [np.array([x, y, 0.0, 0.0]) for x in TRIES_DEG for y in TRIES_DEG]
    # The best of a coarse grid first: half-filled rings have more than one place that they fit to.
    first = sorted(tries, key=worse)[:2]
    found = min((minimize(worse, at, method="L-BFGS-B") for at in first), key=lambda end: float(end.fun)).x
    return Correction(np.exp(found[2:]), found[:2])
