"""Finds the pupil and the LED glints in a near-infrared eye picture, with thresholds alone."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.text import say

SCALE = 4  # the search runs on a picture this many times smaller
RADII = (4, 6, 8, 10)  # px there, of the pupils that are looked for
REACH = 72  # px around the pupil's centre in which its edge is looked for
GLINT_REACH = 110  # px around it in which the glints are
MOST_GLINTS = 14
RING_PX = (15.0, 75.0)  # radius of the ring of glints
RING_TOLERANCE_PX = 3.0
UNEVEN = 2.5  # how much an uneven spot counts against itself
DARK = 4.0  # grey levels that are added before logarithms: below, it is noise that differs
LIGHT_PX = 120.0  # light changes over such distances, eyes over shorter ones
EVEN = 60.0  # grey level that the light around every place comes to
BRIGHT = 200  # grey level of a glint

Image = NDArray[np.uint8]
Ellipse = tuple[tuple[float, float], tuple[float, float], float]  # centre, axes, angle, as OpenCV has it


@dataclass(frozen=True)
class Pupil:
    """An ellipse in pixels of the whole picture, and the middle of the ring of glints near it."""

    x: float
    y: float
    long_px: float
    short_px: float
    angle_deg: float
    glint_x: float
    glint_y: float
    threshold: float  # grey level between pupil and iris, where the light is even
    contrast: float  # how much darker the pupil is than what surrounds it, in the same levels


def read_grey(file: Path) -> Image:
    """A picture of an eye."""
    image = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE) if file.is_file() else None
    if image is None:
        raise PalestraError(
            say("{file}: no picture there. This solution looks at pictures; make the data with images.", file=file)
        )
    return np.asarray(image, np.uint8)


def find_pupil(image: Image, open_eye: Image | None = None) -> Pupil:
    """The darkest round spot, within the open eye where that is known.

    There is always an answer; `contrast` tells how far to trust it.
    """
    even = evened(image)
    x, y, inside, around = _darkest_spot(even, open_eye)
    left, top = max(x - REACH, 0), max(y - REACH, 0)
    near = even[top : y + REACH, left : x + REACH]
    threshold = (inside + around) / 2
    ellipse = _outline(near, threshold, (x - left, y - top))
    (cx, cy), axes, angle = ellipse
    glint_x, glint_y = _glints(image, left + cx, top + cy)
    return Pupil(left + cx, top + cy, max(axes), min(axes), angle, glint_x, glint_y, threshold, around - inside)


def evened(image: Image) -> Image:
    """The picture as if light fell evenly: headsets burn a brow out and leave a cheek in the dark."""
    small = _without_glints(image)
    light = np.exp(cv2.GaussianBlur(np.log(small + DARK), (0, 0), LIGHT_PX / SCALE, borderType=cv2.BORDER_REPLICATE))
    full = cv2.resize(light, image.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(EVEN * (image.astype(np.float32) + DARK) / full, 0, 255), np.uint8)


def _without_glints(image: Image) -> NDArray[np.float32]:
    """A smaller picture; glints would hide a pupil, so what is bright and small is closed by its darker neighbours."""
    small = cv2.resize(image, None, fx=1 / SCALE, fy=1 / SCALE, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.morphologyEx(small, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.float32)


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


def _darkest_spot(image: Image, open_eye: Image | None) -> tuple[int, int, float, float]:
    """Centre of the spot that is darkest against its surroundings, with the grey levels inside and around it."""
    # In logarithms: a pupil is darker than its surroundings by a share of them.
    small = np.log(_without_glints(image) + DARK)
    best: tuple[float, int, int, float, float] = (-np.inf, 0, 0, 0.0, 0.0)
    for radius in RADII:
        inside = cv2.blur(small, (2 * radius - 1,) * 2)
        around = _second_darkest_side(np.asarray(cv2.blur(small, (radius, radius)), np.float32), 2 * radius)
        variance = cv2.blur(small * small, (2 * radius - 1,) * 2) - inside * inside
        # Lashes are dark and uneven, a pupil is dark and smooth.
        worth = around - inside - UNEVEN * np.sqrt(np.maximum(variance, 0))
        if open_eye is not None:
            worth[open_eye[SCALE // 2 :: SCALE, SCALE // 2 :: SCALE] == 0] = -np.inf
        edge = 2 * radius + 1
        worth[:edge] = worth[-edge:] = worth[:, :edge] = worth[:, -edge:] = -np.inf
        _, value, _, (x, y) = cv2.minMaxLoc(worth)
        if value > best[0]:
            best = (value, x, y, float(inside[y, x]), float(around[y, x]))
    _, x, y, dark, light = best
    return x * SCALE + SCALE // 2, y * SCALE + SCALE // 2, float(np.exp(dark)) - DARK, float(np.exp(light)) - DARK


def _second_darkest_side(level: NDArray[np.float32], away: int) -> NDArray[np.float32]:
    """Grey level beside each place, on its second darkest side of eight.

    A pupil has lighter neighbours on all sides but perhaps one, where a lid covers it; the device's rim has not.
    """
    near = round(away * 0.7)
    sides = [(0, away), (0, -away), (away, 0), (-away, 0), (near, near), (near, -near), (-near, near), (-near, -near)]
    padded = cv2.copyMakeBorder(level, away, away, away, away, cv2.BORDER_REPLICATE)
    height, width = level.shape
    darkest = second = np.full_like(level, np.inf)
    for down, right in sides:
        side = padded[away + down : away + down + height, away + right : away + right + width]
        second = np.minimum(second, np.maximum(darkest, side))
        darkest = np.minimum(darkest, side)
    return second


def _outline(near: Image, threshold: float, seed: tuple[int, int]) -> Ellipse:
    """The ellipse around the dark blob at the seed."""
    spot = (cv2.GaussianBlur(near, (5, 5), 0) < threshold).astype(np.uint8)
    filled = cv2.morphologyEx(spot, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))  # glints leave holes in the pupil
    dark = cv2.morphologyEx(filled, cv2.MORPH_OPEN, np.ones((9, 9), np.uint8))  # lashes hang on it
    contours, _ = cv2.findContours(dark, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    at_seed = [outline for outline in contours if cv2.pointPolygonTest(outline, seed, False) >= 0]
    chosen = max(at_seed or contours, key=cv2.contourArea, default=None)
    if chosen is None or len(chosen) < 20:
        return (float(seed[0]), float(seed[1])), (1.0, 1.0), 0.0
    hull = cv2.convexHull(chosen)
    centre, axes, angle = cv2.fitEllipse(chosen if len(hull) < 5 else hull)
    if not np.isfinite([*centre, *axes, angle]).all() or max(axes) > 2 * REACH:
        return (float(seed[0]), float(seed[1])), (1.0, 1.0), 0.0
    return (centre[0], centre[1]), (axes[0], axes[1]), angle


def _glints(image: Image, x: float, y: float) -> tuple[float, float]:
    """The centre of the ring that the LEDs' reflections lie on; the pupil's own centre where there are too few."""
    left, top = max(round(x) - GLINT_REACH, 0), max(round(y) - GLINT_REACH, 0)
    near = image[top : round(y) + GLINT_REACH, left : round(x) + GLINT_REACH]
    count, _, stats, middles = cv2.connectedComponentsWithStats((near >= BRIGHT).astype(np.uint8))
    spots = [i for i in range(1, count) if 3 <= stats[i, cv2.CC_STAT_AREA] <= 200]
    spots = sorted(spots, key=lambda i: -stats[i, cv2.CC_STAT_AREA])[:MOST_GLINTS]
    centre = _ring_centre(np.asarray(middles[spots], np.float64)) if len(spots) >= 4 else None
    return (x, y) if centre is None else (left + float(centre[0]), top + float(centre[1]))


def _ring_centre(spots: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The middle of the circle that most spots lie on: reflections on the white of the eye lie elsewhere."""
    a, b, c = (spots[list(chosen)] for chosen in zip(*combinations(range(len(spots)), 3), strict=True))
    # The circle through three points, for all triples at once.
    ab, ac = b - a, c - a
    twice_area = 2 * (ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0])
    twice_area[np.abs(twice_area) < 1e-6] = np.inf
    ab_sq, ac_sq = (ab**2).sum(axis=1), (ac**2).sum(axis=1)
    offset = np.stack([ac[:, 1] * ab_sq - ab[:, 1] * ac_sq, ab[:, 0] * ac_sq - ac[:, 0] * ab_sq], axis=1)
    centres = a + offset / twice_area[:, None]
    radii = np.linalg.norm(centres - a, axis=1)
    off = np.abs(np.linalg.norm(spots[None] - centres[:, None], axis=2) - radii[:, None])
    on = (off < RING_TOLERANCE_PX).sum(axis=1)
    on[(radii < RING_PX[0]) | (radii > RING_PX[1])] = 0
    best = on.max()
    middle: NDArray[np.float64] = np.median(centres[on == best], axis=0)
    return middle if best >= 4 else None
