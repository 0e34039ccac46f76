"""Reflections of the device's lights on the cornea: small bright spots on iris and pupil."""

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.image_input import Grey

LARGEST = 0.11  # of the iris's width, how wide a reflection may be
CORNEA = 1.05  # of the iris, how far the cornea shows reflections
LEAST_STEP = 28.0  # grey levels above what is around it
OF_BRIGHTEST = 0.35  # and of the brightest one's step
MOST = 24
LEAST_PX = 2
Glints = tuple[tuple[float, float], ...]


def glints_on(picture: Grey, iris: Ellipse, lidless: NDArray[np.bool_]) -> Glints:
    """Their middles, the brightest first, where no lid is."""
    half = 0.75 * iris.long * CORNEA
    top, left = max(int(iris.y - half), 0), max(int(iris.x - half), 0)
    part = picture[top : int(iris.y + half) + 1, left : int(iris.x + half) + 1]
    if min(part.shape) < 8:
        return ()
    cornea = np.zeros(part.shape, np.uint8)
    axes = iris.long * CORNEA, iris.short * CORNEA
    cv2.ellipse(cornea, ((iris.x - left, iris.y - top), axes, iris.angle_deg), 1, -1)
    cornea[~lidless[top : top + part.shape[0], left : left + part.shape[1]]] = 0
    size = 2 * max(round(LARGEST * iris.long / 2), 1) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    step = cv2.morphologyEx(part, cv2.MORPH_TOPHAT, disc) * cornea
    threshold = max(LEAST_STEP, OF_BRIGHTEST * float(step.max()))
    count, labels, stats, _ = cv2.connectedComponentsWithStats((step > threshold).astype(np.uint8))
    found = []
    for which in range(1, count):
        x, y, wide, high, area = stats[which]
        if area < LEAST_PX or max(wide, high) > size + 1 or max(wide, high) > 4 * min(wide, high):
            continue
        spot = np.where(labels[y : y + high, x : x + wide] == which, step[y : y + high, x : x + wide], 0)
        rows, columns = np.indices(spot.shape)
        total = float(spot.sum())
        middle = (float(left + x + (columns * spot).sum() / total), float(top + y + (rows * spot).sum() / total))
        found.append((float(spot.max() * np.sqrt(area)), middle))
    return tuple(middle for _, middle in sorted(found, reverse=True)[:MOST])
