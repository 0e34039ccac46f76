"""How likely a pixel is the ball's, by its colour: learned where somebody pointed at the ball."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Map = NDArray[np.float32]
Picture = NDArray[np.uint8]  # (h, w, 3): blue, green, red

HUES, SATURATIONS, WRAP = 90, 64, 6  # bins: what a colour is, without how bright
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

    table: Map  # (HUES·SATURATIONS,)

    def likelihood(self, picture: Picture) -> Map:
        return self.table[_bins(picture)]


def learn(labelled: Sequence[tuple[Picture, Disc]]) -> BallColour:
    """From the ball's pixels in one or two pictures, and from all that is not the ball there."""
    ball, rest = np.zeros(HUES * SATURATIONS), np.zeros(HUES * SATURATIONS)
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
    whole = shares.reshape(HUES, SATURATIONS)
    around = np.concatenate([whole[-WRAP:], whole, whole[:WRAP]])  # red is at both ends
    return np.asarray(cv2.GaussianBlur(around, (0, 0), SMOOTH)[WRAP:-WRAP].ravel(), np.float64)


def _bins(picture: Picture) -> NDArray[np.int32]:
    tones = np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2HSV), np.uint8)
    return np.asarray((tones[..., 0] >> 1).astype(np.int32) * SATURATIONS + (tones[..., 1] >> 2), np.int32)
