"""Finds the pupil and the LED glints in a near-infrared eye picture, with thresholds alone."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

SCALE = 4  # the search runs on a picture this many times smaller
RADII = (4, 6, 8, 10)  # px there, of the pupils that are looked for
REACH = 72  # px around the pupil's centre in which its edge and the glints are looked for
UNEVEN = 1.5  # how much an uneven spot counts against itself
BRIGHT = 200  # grey level of a glint

Image = NDArray[np.uint8]
Ellipse = tuple[tuple[float, float], tuple[float, float], float]  # centre, axes, angle, as OpenCV has it


@dataclass(frozen=True)
class Pupil:
    """An ellipse in pixels of the whole picture, and the middle of the glints near it."""

    x: float
    y: float
    long_px: float
    short_px: float
    angle_deg: float
    glint_x: float
    glint_y: float
    threshold: float  # grey level between pupil and iris
    contrast: float  # how much darker the pupil is than what surrounds it, grey levels


def find_pupil(image: Image) -> Pupil:
    """The darkest round spot. There is always an answer; `contrast` tells how far to trust it."""
    x, y, inside, around = _darkest_spot(image)
    left, top = max(x - REACH, 0), max(y - REACH, 0)
    near = image[top : y + REACH, left : x + REACH]
    threshold = (inside + around) / 2
    ellipse = _outline(near, threshold, (x - left, y - top))
    glint_x, glint_y = _glints(near, ellipse[0])
    (cx, cy), axes, angle = ellipse
    return Pupil(
        left + cx, top + cy, max(axes), min(axes), angle, left + glint_x, top + glint_y, threshold, around - inside
    )


def features(pupil: Pupil) -> list[float]:
    """What tells the gaze: where the pupil is, also against the glints, and how it is foreshortened."""
    turn = np.radians(2 * pupil.angle_deg)
    flat = 1 - pupil.short_px / max(pupil.long_px, 1.0)
    return [
        (pupil.x - 320) / 100,
        (pupil.y - 200) / 100,
        (pupil.x - pupil.glint_x) / 30,
        (pupil.y - pupil.glint_y) / 30,
        float(flat * np.cos(turn)),
        float(flat * np.sin(turn)),
    ]


def _darkest_spot(image: Image) -> tuple[int, int, float, float]:
    """Centre of the spot that is darkest against its surroundings, with the grey levels inside and around it."""
    small = cv2.resize(image, None, fx=1 / SCALE, fy=1 / SCALE, interpolation=cv2.INTER_AREA)
    # Glints would hide a pupil: what is bright and small is closed by its darker neighbours.
    small = cv2.morphologyEx(small, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).astype(np.float32)
    best: tuple[float, int, int, float, float] = (-np.inf, 0, 0, 0.0, 0.0)
    for radius in RADII:
        inside = cv2.blur(small, (2 * radius - 1,) * 2)
        around = _second_darkest_side(cv2.blur(small, (radius, radius)), 2 * radius)
        variance = cv2.blur(small * small, (2 * radius - 1,) * 2) - inside * inside
        # Lashes are dark and uneven, a pupil is dark and smooth.
        worth = around - inside - UNEVEN * np.sqrt(np.maximum(variance, 0))
        edge = 2 * radius + 1
        worth[:edge] = worth[-edge:] = worth[:, :edge] = worth[:, -edge:] = -np.inf
        _, value, _, (x, y) = cv2.minMaxLoc(worth)
        if value > best[0]:
            best = (value, x, y, float(inside[y, x]), float(around[y, x]))
    _, x, y, dark, light = best
    return x * SCALE + SCALE // 2, y * SCALE + SCALE // 2, dark, light


def _second_darkest_side(level: NDArray[np.float32], away: int) -> NDArray[np.float32]:
    """Grey level beside each place, on its second darkest side of eight.

    A pupil has lighter neighbours on all sides but perhaps one, where a lid covers it; the device's rim has not.
    """
    near = round(away * 0.7)
    sides = [(0, away), (0, -away), (away, 0), (-away, 0), (near, near), (near, -near), (-near, near), (-near, -near)]
    padded = cv2.copyMakeBorder(level, away, away, away, away, cv2.BORDER_REPLICATE)
    height, width = level.shape
    darkest = second = np.full_like(level, 255)
    for down, right in sides:
        side = padded[away + down : away + down + height, away + right : away + right + width]
        second = cv2.min(second, cv2.max(darkest, side))
        darkest = cv2.min(darkest, side)
    found: NDArray[np.float32] = second
    return found


def _outline(near: Image, threshold: float, seed: tuple[int, int]) -> Ellipse:
    """The ellipse around the dark blob at the seed."""
    dark = (cv2.GaussianBlur(near, (5, 5), 0) < threshold).astype(np.uint8)
    dark = cv2.morphologyEx(dark, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))  # glints leave holes in the pupil
    dark = cv2.morphologyEx(dark, cv2.MORPH_OPEN, np.ones((9, 9), np.uint8))  # lashes hang on it
    contours, _ = cv2.findContours(dark, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    at_seed = [outline for outline in contours if cv2.pointPolygonTest(outline, seed, False) >= 0]
    chosen = max(at_seed or contours, key=cv2.contourArea, default=None)
    if chosen is None or len(chosen) < 20:
        return (float(seed[0]), float(seed[1])), (1.0, 1.0), 0.0
    hull = cv2.convexHull(chosen)
    centre, axes, angle = cv2.fitEllipse(chosen if len(hull) < 5 else hull)
    if not np.isfinite([*centre, *axes, angle]).all() or max(axes) > 2 * REACH:
        return (float(seed[0]), float(seed[1])), (1.0, 1.0), 0.0
    return centre, axes, angle


def _glints(near: Image, centre: tuple[float, float]) -> tuple[float, float]:
    """The middle of the bright spots; the pupil's own centre where there are none."""
    bright = (near >= BRIGHT).astype(np.uint8)
    count, _, stats, middles = cv2.connectedComponentsWithStats(bright)
    spots = [i for i in range(1, count) if 3 <= stats[i, cv2.CC_STAT_AREA] <= 200]
    if not spots:
        return centre
    x, y = np.median(middles[spots], axis=0)
    return float(x), float(y)
