"""Finds the iris in an eye's picture of known scale: the place that a disc of an iris's size is darkest against."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.tracks.remote_gaze.solutions.video_cache import Look, Seen
from palestra.tracks.remote_gaze.solutions.virtual_camera import LEFT, RIGHT, Floats, Frame, Picture, eye_picture

IRIS = Frame(88, 60, 2.2)  # finer than cameras see, so that parts of their pixels can be told
IRIS_MM = 5.9  # radius; grown-ups hardly differ
BESIDE_DEG = 50.0  # above and below these, lids hide the white
REACH_MM = (8.0, 6.5)  # from the eyeball's middle; an iris further away would not be seen
PEAK_PX = 4  # about the best place, a hill is fitted to how dark it is

Map = NDArray[np.float32]


def find_irises(picture: Picture, warp: Floats) -> Map:
    """(2, 3) of a picture in RGB: where each iris is, in mm to the temple and up, and how well it is told apart."""
    grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
    return np.stack([find_iris(eye_picture(grey, warp[which], which, IRIS)) for which in (LEFT, RIGHT)])


def find_iris(eye: Picture) -> Map:
    """(3,) of one eye. There is always an answer; the contrast, in grey levels, says how far to trust it."""
    worth = cv2.filter2D(eye.astype(np.float32), cv2.CV_32F, _disc(), borderType=cv2.BORDER_REPLICATE)
    row, column = divmod(int(np.where(_reach(), worth, -np.inf).argmax()), IRIS.width)
    contrast = worth[row, column]
    place = np.array([column, row]) + _peak(np.asarray(worth, np.float32), row, column)
    x, y = (place - IRIS.middle) / IRIS.pixels_per_mm
    return np.array([x, -y, contrast], np.float32)


@cache
def _disc() -> Map:
    """What an iris has and its surroundings have not: the mean beside it less the mean within it."""
    radius = IRIS_MM * IRIS.pixels_per_mm
    reach = int(np.ceil(1.5 * radius))
    x, y = np.meshgrid(*[np.arange(-reach, reach + 1)] * 2)
    far = np.hypot(x, y)
    within = np.clip(radius - far - 0.2, 0, 1)
    beside = np.clip(far - radius - 0.2, 0, 1) * np.clip(1.4 * radius - far + 0.5, 0, 1)
    beside *= np.degrees(np.arctan2(np.abs(y), np.abs(x))) < BESIDE_DEG
    return np.asarray(beside / beside.sum() - within / within.sum(), np.float32)


@cache
def _reach() -> NDArray[np.bool_]:
    x, y = np.meshgrid(np.arange(IRIS.width) - IRIS.middle[0], np.arange(IRIS.height) - IRIS.middle[1])
    across, down = (reach * IRIS.pixels_per_mm for reach in REACH_MM)
    return np.asarray((x / across) ** 2 + (y / down) ** 2 < 1)


def _peak(worth: Map, row: int, column: int) -> Floats:
    """Where the hill about the best pixel is highest, from that pixel."""
    near = worth[row - PEAK_PX : row + PEAK_PX + 1, column - PEAK_PX : column + PEAK_PX + 1]
    xx, yy, xy, x, y, _ = _hill() @ near.ravel()
    if xx >= 0 or 4 * xx * yy <= xy * xy:  # no hill, but a slope or a saddle
        return np.zeros(2)
    top = np.linalg.solve([[2 * xx, xy], [xy, 2 * yy]], [-x, -y])
    return np.clip(top, -PEAK_PX, PEAK_PX)


@cache
def _hill() -> Floats:
    """(6, pixels) least squares for the coefficients of x², y², xy, x, y and 1."""
    x, y = (part.ravel() for part in np.meshgrid(*[np.arange(-PEAK_PX, PEAK_PX + 1)] * 2))
    return np.linalg.pinv(np.stack([x * x, y * y, x * y, x, y, np.ones_like(x)], axis=1).astype(np.float64))


IRISES = Look("irises 1", IRIS, find_irises)  # (2, 3): mm to the temple and up, and the contrast
HALF = 0.45  # of the usual contrast: an eye that is open so far is half trusted
STEEP = 12.0


def trust_in_eyes(irises: Seen) -> Floats:
    """(n, 2) near 1 where an eye is open, near 0 in a blink."""
    contrast = irises.found[..., 2].astype(np.float64)
    usual = np.array([np.median(contrast[irises.camera_of == at], axis=0) for at in range(len(irises.cameras))])
    share = contrast / np.maximum(usual[irises.camera_of], 1e-3)
    return np.asarray(1 / (1 + np.exp(-np.clip(STEEP * (share - HALF), -30, 30))))
