"""Near-eye gaze live, without calibration: the pupil and the LEDs' reflections of both eyes, and what people share.

How a pupil against its glints tells the gaze was learnt beforehand, from many people and devices (see
train/near_eye_live_pupil.py). Both eyes answer, each as far as what was seen of it can be trusted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra import model_cards
from palestra.eyes import pupil
from palestra.eyes.pupil import SCALE, Image
from palestra.eyes.regression import Ridge

WEIGHTS = "near_eye_live_pupil"
KINDS = ("outline_and_ring", "outline_and_glints", "spot_and_glints")  # what may be seen of an eye, the best first
SIDES = np.array([[1.0, 1.0], [-1.0, 1.0]])  # a right eye in a mirror is a left eye, and looks the other way
GLINT_OVER, GLINT_LEVEL = 50, 180  # grey levels over what is around it, and in all
GLINT_AREA_PX = (3, 200)
AMONG_PX = 70  # from a pupil to its glints
MANY_GLINTS = 4
NEAR_PX = 64  # around a dark spot, in which the pupil's outline is looked for
LEVEL_STEP, LEVELS = 2, 34  # grey levels that are tried as the pupil's border
LONG_PX = (24.0, 96.0)  # of pupils
LEAST_ROUND, LEAST_FULL = 0.55, 0.9  # short axis by long one, and how much of its ellipse a pupil fills

Points = NDArray[np.float64]


class Seen(NamedTuple):
    """What was found in a picture of a left eye."""

    kind: str
    pupil: pupil.Pupil


class Pupil:
    """Answers every pair of pictures by itself; where neither eye can be seen, as it did before."""

    def __init__(self) -> None:
        self._models = models(model_cards.arrays(WEIGHTS))
        self._point = np.zeros(2)  # straight ahead

    def get_data(self, left: Image, right: Image) -> None:
        found = looked_at(self._models, (see(left), see(mirror(right))))
        if found is not None:
            self._point = found

    def algorithm(self) -> list[float]:
        return [float(value) for value in self._point]


@dataclass(frozen=True)
class Model:
    """What one kind of sight tells: the point that a left eye looks at, and how much that counts."""

    ridge: Ridge
    trust: float  # one by the usual squared error


def models(arrays: Mapping[str, Points]) -> dict[str, Model]:
    names = ("middle", "spread", "weights", "lowest", "highest")
    return {
        kind: Model(Ridge(*(arrays[f"{kind}/{name}"] for name in names)), float(arrays[f"{kind}/trust"]))
        for kind in KINDS
    }


def looked_at(models: Mapping[str, Model], eyes: Sequence[Seen | None]) -> Points | None:
    """Where both eyes look, by those that can be seen; the right one is seen in a mirror."""
    points, trust = list[Points](), list[float]()
    for seen, side in zip(eyes, SIDES, strict=True):
        if seen:
            model = models[seen.kind]
            points.append(side * model.ridge(np.array([pupil.features(seen.pupil)]))[0])
            trust.append(model.trust)
    return np.average(points, axis=0, weights=trust) if points else None


def mirror(image: Image) -> Image:
    return np.ascontiguousarray(image[:, ::-1])


def see(image: Image) -> Seen | None:
    """The pupil of a left eye, or at least a dark spot, and the glints near it; None where there are no glints."""
    glints = _find_glints(image)
    spot, even = pupil.find_pupil(image, _among(glints, image.shape)), pupil.evened(image)
    found = _outlined(even, spot) or _outlined(even, pupil.find_pupil(image))
    if found:
        return _with_glints(found, glints, KINDS[:2])
    return _with_glints(replace(spot, long_px=1.0, short_px=1.0), glints, (KINDS[2], KINDS[2]))


def _find_glints(image: Image) -> Points:
    """Small bright spots (x, y): the LEDs' reflections, and other things."""
    over = cv2.morphologyEx(image, cv2.MORPH_TOPHAT, np.ones((11, 11), np.uint8))
    bright = ((over >= GLINT_OVER) & (image >= GLINT_LEVEL)).astype(np.uint8)
    _, _, stats, middles = cv2.connectedComponentsWithStats(bright)
    area = stats[1:, cv2.CC_STAT_AREA]  # the first is what is not bright
    middles = middles[1:][(area >= GLINT_AREA_PX[0]) & (area <= GLINT_AREA_PX[1])]
    return middles.astype(np.float64)


def _among(glints: Points, shape: tuple[int, ...]) -> Image | None:
    """Where many glints are near, as a mask: lashes in the corners are dark, too, and have none."""
    height, width = shape
    counts = np.zeros((height // SCALE, width // SCALE), np.float32)
    np.add.at(counts, tuple((glints[:, ::-1] / SCALE).astype(int).T), 1)
    side = 2 * (AMONG_PX // SCALE) + 1
    around = cv2.boxFilter(counts, -1, (side, side), normalize=False, borderType=cv2.BORDER_CONSTANT)
    if around.max() < MANY_GLINTS - 1:
        return None
    mask = (around >= min(MANY_GLINTS, around.max())).astype(np.uint8)
    return np.asarray(cv2.resize(mask, (width, height), interpolation=cv2.INTER_NEAREST), np.uint8)


def _with_glints(found: pupil.Pupil, glints: Points, kinds: Sequence[str]) -> Seen | None:
    """With the ring of glints that was found near it, or else with the middle of what glints there are."""
    away_px = np.hypot(found.glint_x - found.x, found.glint_y - found.y)
    if 0 < away_px <= AMONG_PX:
        return Seen(kinds[0], found)
    near = glints[np.hypot(*(glints - (found.x, found.y)).T) <= AMONG_PX]
    if len(near) < 2:
        return None
    x, y = np.median(near, axis=0)
    return Seen(kinds[1], replace(found, glint_x=float(x), glint_y=float(y)))


@dataclass(frozen=True)
class _Blob:
    """A dark region, as the ellipse that has its moments."""

    area: float
    x: float
    y: float
    long_px: float
    short_px: float
    angle_deg: float

    @classmethod
    def of(cls, region: Image) -> "_Blob":
        m = cv2.moments(region, True)
        area = m["m00"]
        spread = np.array([[m["mu20"], m["mu11"]], [m["mu11"], m["mu02"]]]) / area
        (short, long), axes = np.linalg.eigh(spread)
        angle_deg = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        long_px, short_px = 4 * np.sqrt(np.maximum((long, short), 0.1))
        return cls(area, m["m10"] / area, m["m01"] / area, float(long_px), float(short_px), angle_deg)

    @property
    def full(self) -> float:
        """How much of the ellipse it fills: lashes that hang on it do not."""
        return self.area / (np.pi / 4 * self.long_px * self.short_px)

    @property
    def is_pupil(self) -> bool:
        fits = LONG_PX[0] <= self.long_px <= LONG_PX[1]
        return fits and self.short_px >= LEAST_ROUND * self.long_px and self.full >= LEAST_FULL


def _outlined(image: Image, spot: pupil.Pupil) -> pupil.Pupil | None:
    """The pupil at a dark spot, by the grey level at which its border is sharpest; None where none looks like one."""
    left, top = max(round(spot.x) - NEAR_PX, 0), max(round(spot.y) - NEAR_PX, 0)
    near = image[top : round(spot.y) + NEAR_PX, left : round(spot.x) + NEAR_PX]
    without_glints = cv2.morphologyEx(near, cv2.MORPH_OPEN, np.ones((9, 9), np.uint8))
    blobs = _blobs(np.asarray(cv2.GaussianBlur(without_glints, (5, 5), 0)), round(spot.x) - left, round(spot.y) - top)
    worth = [
        ((after.area - before.area) / blob.area + 2 * (1 - blob.full), blob)
        for before, blob, after in zip(blobs, blobs[1:], blobs[2:], strict=False)
        if blob.is_pupil
    ]
    if not worth:
        return None
    _, best = min(worth, key=lambda pair: pair[0])
    x, y, ring = left + best.x, top + best.y, (spot.glint_x, spot.glint_y)
    glint_x, glint_y = (x, y) if ring == (spot.x, spot.y) else ring  # a pupil's own centre stands for no ring
    return pupil.Pupil(
        x, y, best.long_px, best.short_px, best.angle_deg, glint_x, glint_y, spot.threshold, spot.contrast
    )


def _blobs(near: Image, x: int, y: int) -> list[_Blob]:
    """The dark region at a place, growing with the grey level that bounds it, until it is too large for a pupil."""
    rows, columns = slice(max(y - 8, 0), y + 9), slice(max(x - 8, 0), x + 9)
    _, _, (right, down), _ = cv2.minMaxLoc(near[rows, columns])
    seed = columns.start + right, rows.start + down  # the darkest place there
    darkest, blobs = int(near[seed[1], seed[0]]), list[_Blob]()
    for level in range(darkest + LEVEL_STEP, darkest + LEVELS * LEVEL_STEP, LEVEL_STEP):
        dark = (near < level).astype(np.uint8)
        cv2.floodFill(dark, None, seed, 2)
        blob = _Blob.of((dark == 2).astype(np.uint8))
        if blob.area > np.pi / 4 * LONG_PX[1] ** 2:
            break
        blobs.append(blob)
    return blobs
