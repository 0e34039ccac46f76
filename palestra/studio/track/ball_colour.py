"""How likely a pixel is the ball's, by its colour: learned where somebody pointed at the ball."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Map = NDArray[np.float32]
Picture = NDArray[np.uint8]  # (h, w, 3): blue, green, red

BITS = 6  # of each of the two numbers that say what a colour is, without how bright
INSIDE, OUTSIDE = 0.75, 1.4  # radii: what is surely the ball's, and what is surely not
SMOOTH = 1.2  # bins
RARE = 2e-4  # of the ball's pixels, or the picture's: a colour as rare as this says nothing
BALLS_SHARE = 1.0  # how much likelier than elsewhere a colour must be on the ball to count half


@dataclass(frozen=True)
class Disc:
    """Where somebody said that the ball is, in a colour picture."""

    x: float
    y: float
    radius_px: float


@dataclass(frozen=True)
class BallColour:
    """A likelihood, 0 to 1, for each colour."""

    table: Map  # (4096,)

    def likelihood(self, picture: Picture) -> Map:
        return self.table[_bins(picture)]


def learn(labelled: Sequence[tuple[Picture, Disc]]) -> BallColour:
    """From the ball's pixels in one or two pictures, and from all that is not the ball there."""
    ball, rest = np.zeros(1 << 2 * BITS), np.zeros(1 << 2 * BITS)
    for picture, disc in labelled:
        bins = _bins(picture)
        y, x = np.ogrid[: bins.shape[0], : bins.shape[1]]
        away = np.hypot(x - disc.x, y - disc.y) / disc.radius_px
        ball += np.bincount(bins[away < INSIDE], minlength=ball.size)
        rest += np.bincount(bins[away > OUTSIDE], minlength=rest.size)
    usual = [_smoothed(counts / max(counts.sum(), 1)) for counts in (ball, rest)]
    table = usual[0] / (usual[0] + BALLS_SHARE * usual[1] + RARE)
    return BallColour(table.astype(np.float32))


def _smoothed(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    side = 1 << BITS
    return np.asarray(cv2.GaussianBlur(shares.reshape(side, side), (0, 0), SMOOTH).ravel(), np.float64)


def _bins(picture: Picture) -> NDArray[np.int32]:
    tones = cv2.cvtColor(picture, cv2.COLOR_BGR2YCrCb)
    _, red, blue = cv2.split(tones)
    high: NDArray[np.int32] = np.left_shift(red >> (8 - BITS), BITS, dtype=np.int32)
    return high | (blue >> (8 - BITS))
