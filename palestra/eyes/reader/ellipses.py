"""Pupil and iris as ellipses, from a mask in which lids and glints hide parts of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

SCLERA, IRIS, PUPIL = 1, 2, 3
Mask = NDArray[np.uint8]
Box = tuple[Sequence[float], Sequence[float], float]  # centre, axes, angle, as OpenCV has it
Points = NDArray[np.float64]  # (n, 2) x, y
SECTORS = 36  # of a turn, to count how much of an outline is seen
LEAST_POINTS = 8
ENOUGH = 0.3  # of an iris's outline, to tell its shape
OTHER_SHAPE = 0.15  # between the axes' ratios of an iris and its pupil
GUARD = 0.015  # of its size, how far from a lid an outline ends
ALIKE = 0.3  # the smaller of two eyes, of the larger
SMALLEST = 0.004  # of the picture, the larger of two irises
APART = 1.5  # irises' widths between the middles of two eyes


class Ellipse(NamedTuple):
    """In pixels; the angle is that of the long axis, from the picture's right downwards."""

    x: float
    y: float
    long: float
    short: float
    angle_deg: float

    def scaled(self, factor: float) -> "Ellipse":
        """The same in a picture that is larger by a factor; pixels are counted from their middles."""
        x, y = ((value + 0.5) * factor - 0.5 for value in (self.x, self.y))
        return Ellipse(x, y, self.long * factor, self.short * factor, self.angle_deg)


@dataclass(frozen=True)
class Outline:
    """An ellipse with the share of its turn that was seen."""

    ellipse: Ellipse
    seen: float


def whole_eye(mask: Mask) -> Mask:
    """The mask with one eye alone: the largest iris with its pupil, and the white that touches it."""
    eye = _largest(mask > 0, mask >= IRIS)
    ball = _largest((mask >= IRIS) & eye, mask == PUPIL) if (mask[eye] >= IRIS).any() else mask >= IRIS
    kept = np.where(eye, mask, 0).astype(np.uint8)
    kept[(kept >= IRIS) & ~ball] = SCLERA
    return kept


def irises_apart(ball: NDArray[np.bool_]) -> bool:
    """Whether there are two irises, of about the same size and farther apart than one eye can have them."""
    count, _, stats, centres = cv2.connectedComponentsWithStats(ball.astype(np.uint8))
    areas = stats[1:count, cv2.CC_STAT_AREA]
    if len(areas) < 2 or areas.max() < SMALLEST * ball.size:  # many specks are no eyes
        return False
    second, first = 1 + np.argsort(areas)[-2:]
    widths = stats[[first, second], cv2.CC_STAT_WIDTH]
    away = float(np.linalg.norm(centres[first] - centres[second]))
    return bool(areas[second - 1] >= ALIKE * areas[first - 1] and away > APART * widths.max())


def pupil_of(mask: Mask) -> Outline | None:
    """The pupil by where it borders on the iris: what a lid cuts off is no outline of it."""
    return _outline(mask == PUPIL, mask == IRIS)


def iris_of(mask: Mask, pupil: Ellipse | None) -> Outline | None:
    """The iris by where it borders on the white. Where little of it shows, its shape is that of the pupil."""
    points = _border(mask >= IRIS, mask == SCLERA)
    free = _fitted(points)
    if pupil is None or (free is not None and free.seen >= ENOUGH and _alike(free.ellipse, pupil)):
        return free
    like_pupil = _like(points, pupil)
    return free if like_pupil is None else like_pupil


def _alike(a: Ellipse, b: Ellipse) -> bool:
    return abs(a.short / a.long - b.short / b.long) <= OTHER_SHAPE


def _largest(part: NDArray[np.bool_], weighed_by: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The connected component that holds most of what it is weighed by, else the largest."""
    count, labels = cv2.connectedComponents(part.astype(np.uint8))
    if count <= 2:
        return part
    inside = np.bincount(labels[weighed_by & part], minlength=count)
    areas = np.bincount(labels.ravel(), minlength=count)
    areas[0] = inside[0] = 0
    return np.asarray(labels == (inside.argmax() if inside.any() else areas.argmax()))


def _border(inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> Points:
    """Places between pixels of the one part and of the other, around the largest piece of the first."""
    filled = cv2.morphologyEx(inside.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))  # glints
    outlines, _ = cv2.findContours(filled, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not outlines:
        return np.zeros((0, 2))
    places = max(outlines, key=cv2.contourArea)[:, 0].astype(np.float64)
    reach = 2 * round(GUARD * inside.sum() ** 0.5) + 5
    near = cv2.dilate(outside.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    other = ~(inside | outside)
    other[[0, -1], :] = other[:, [0, -1]] = True  # what the picture's border cuts off ends nowhere
    beside = cv2.dilate(other.astype(np.uint8), np.ones((reach, reach), np.uint8)) > 0
    x, y = places.astype(int).T
    places = places[near[y, x] & ~beside[y, x]]
    middle = places.mean(axis=0) if len(places) else np.zeros(2)
    away = places - middle
    return np.asarray(places + 0.5 * away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6))


def _outline(inside: NDArray[np.bool_], outside: NDArray[np.bool_]) -> Outline | None:
    return _fitted(_border(inside, outside))


def _fitted(points: Points) -> Outline | None:
    """The ellipse through the points, and again without those that lie far from it."""
    first = _through(points)
    if first is None:
        return None
    off = np.abs(_away(points, first) - 1)
    near = points[off <= max(3 * float(np.median(off)), 0.02)]
    found = _through(near)
    return Outline(found, _seen(near, found)) if found else None


def _through(points: Points) -> Ellipse | None:
    return _ellipse(cv2.fitEllipseDirect(points.astype(np.float32))) if len(points) >= LEAST_POINTS else None


def _like(points: Points, model: Ellipse) -> Outline | None:
    """The ellipse through the points that has another's shape: where that one is a circle, a circle's fit."""
    if len(points) < LEAST_POINTS:
        return None
    turn = _rotation(model.angle_deg)
    ratio = model.short / model.long
    flat = points @ turn / [1.0, ratio]
    design = np.hstack([2 * flat, np.ones((len(flat), 1))])
    (x, y, rest), *_ = np.linalg.lstsq(design, (flat**2).sum(axis=1), rcond=None)
    radius = float(np.sqrt(max(rest + x**2 + y**2, 0.0)))
    centre = turn @ np.array([x, ratio * y])
    found = Ellipse(float(centre[0]), float(centre[1]), 2 * radius, 2 * radius * ratio, model.angle_deg)
    return Outline(found, _seen(points, found)) if radius > 1 else None


def _ellipse(box: Box) -> Ellipse | None:
    """As OpenCV tells it: its angle is that of the first axis."""
    (x, y), (first, second), angle_deg = box
    if not np.isfinite([x, y, first, second, angle_deg]).all() or min(first, second) < 1:
        return None
    long_deg = angle_deg if first >= second else angle_deg + 90
    return Ellipse(x, y, max(first, second), min(first, second), long_deg % 180)


def _rotation(angle_deg: float) -> Points:
    """Columns: the directions of the long and the short axis."""
    cosine, sine = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    return np.array([[cosine, -sine], [sine, cosine]])


def _away(points: Points, ellipse: Ellipse) -> NDArray[np.float64]:
    """How far from the centre points are, of how far the ellipse is there."""
    along = (points - [ellipse.x, ellipse.y]) @ _rotation(ellipse.angle_deg)
    return np.asarray(np.linalg.norm(along / [ellipse.long / 2, ellipse.short / 2], axis=1))


def _seen(points: Points, ellipse: Ellipse) -> float:
    along = (points - [ellipse.x, ellipse.y]) @ _rotation(ellipse.angle_deg) / [ellipse.long, ellipse.short]
    sector = ((np.arctan2(along[:, 1], along[:, 0]) / (2 * np.pi) + 1) * SECTORS).astype(int) % SECTORS
    return len(np.unique(sector)) / SECTORS
