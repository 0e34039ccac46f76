"""The lids' margins as smooth curves: sclera that a network saw beyond them is skin.

Each margin is a polynomial over the columns of the eye, fitted so that what juts out counts little. Iris and pupil are
left as they are: only sclera leaks, into burnt-out cheeks and shaded corners.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import IRIS, SCLERA, Mask

DEGREE = 4
LEAST_COLUMNS = 24
ROUNDS = 12
SOFT = 0.012  # of the eye's width, from here on a place of the margin counts less
TOLERANCE = 0.022  # of the eye's width, how far sclera may lie beyond a margin
MOST_CUT = 0.35  # of the sclera: who would cut more has not found the lids
IRIS_WEIGHT = 3.0  # where an iris ends at a lid, that is the lid
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lids:
    """Both margins over columns first … last of a picture, in rows."""

    first: int
    upper: Floats
    lower: Floats
    uneven: float  # how far the mask's margin is from the curves at the median, of the eye's width

    @property
    def width(self) -> int:
        return len(self.upper)


def lids_of(mask: Mask) -> Lids | None:
    """Curves along the margins of the one eye in a mask, where enough of it shows."""
    eye = mask > 0
    columns = np.flatnonzero(eye.any(axis=0))
    if len(columns) < LEAST_COLUMNS:
        return None
    first, last = int(columns[0]), int(columns[-1])
    part, classes = eye[:, first : last + 1], mask[:, first : last + 1]
    filled = part.any(axis=0)
    width, height = last + 1 - first, len(mask)
    place = np.linspace(-1, 1, width)
    curves, offs = [], []
    for sign in (-1, 1):
        rows = (part.argmax(axis=0) if sign < 0 else height - 1 - part[::-1].argmax(axis=0)).astype(np.float64)
        known = filled & (rows > 0) & (rows < height - 1)  # what the picture cuts off ends at no lid
        if known.sum() < LEAST_COLUMNS:
            return None
        of_iris = classes[rows.astype(int), np.arange(width)] >= IRIS
        curve = _fitted(place, sign * rows, known, np.where(of_iris, IRIS_WEIGHT, 1.0), SOFT * width)
        offs.append(float(np.median(np.abs(sign * rows - curve)[known])) / width)
        curves.append(sign * curve)
    return Lids(first, curves[0], curves[1], max(offs))


def _fitted(place: Floats, outward: Floats, known: NDArray[np.bool_], weight: Floats, soft: float) -> Floats:
    """A polynomial through rows that are counted outwards; places beyond it count less in every round."""
    design = np.polynomial.chebyshev.chebvander(place, DEGREE)
    trust = weight * known
    curve = np.full_like(outward, np.median(outward[known]))
    for round_ in range(ROUNDS):
        scaled = np.sqrt(trust)[:, None]
        # A little of a ridge on the higher terms: a margin of which a half is known must not swing out.
        ridge = np.diag([0, 0, 0, 0.3, 0.6][: DEGREE + 1])
        left, right = np.vstack([design * scaled, ridge]), np.append(outward * scaled[:, 0], np.zeros(DEGREE + 1))
        curve = design @ np.linalg.lstsq(left, right, rcond=None)[0]
        off = (outward - curve) / (soft * max(3.0 - 0.4 * round_, 1.0))
        trust = weight * known / (1 + np.where(off > 0, off**2, 0.25 * off**2)) ** 2
    return np.asarray(curve)


def within_lids(mask: Mask, lids: Lids | None) -> Mask:
    """The mask without sclera beyond the lids."""
    if lids is None:
        return mask
    rows = np.arange(len(mask))[:, None]
    spare = TOLERANCE * lids.width + 1
    beyond = (rows < lids.upper - spare) | (rows > lids.lower + spare)
    part = mask[:, lids.first : lids.first + lids.width]
    leaked = beyond & (part == SCLERA)
    if leaked.sum() > MOST_CUT * max(int((part == SCLERA).sum()), 1):
        return mask
    kept = mask.copy()
    kept[:, lids.first : lids.first + lids.width][leaked] = 0
    return kept
