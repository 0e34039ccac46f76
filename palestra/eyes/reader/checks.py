"""What speaks for or against a reading: light, focus, the shape of an eye, and whether several looks tell the same."""

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import IRIS, PUPIL, Ellipse, Mask, Outline
from palestra.eyes.reader.image_input import Grey
from palestra.eyes.reader.network import Seen

Maps = list[NDArray[np.float32]]  # of each look (4, height, width): shares of the classes


@dataclass(frozen=True)
class Check:
    """0 at `bad`, 1 at `good`, and something wrong below the middle."""

    name: str  # by which its weight is known (certainty.py); those of one name are one: the least counts
    words: str
    value: float
    bad: float
    good: float

    @property
    def share(self) -> float:
        return float(np.clip((self.value - self.bad) / (self.good - self.bad), 0, 1))


def of_light(picture: Grey) -> Iterable[Check]:
    dark, bright = (float(level) for level in np.percentile(picture[::2, ::2], (1, 99)))
    yield Check("dark", "too dark", bright, 8, 24)
    yield Check("bright", "too bright", 255 - dark, 8, 24)
    yield Check("contrast", "no contrast", bright - dark, 4, 16)


def of_shape(mask: Mask, pupil: Outline | None, iris: Outline | None) -> Iterable[Check]:
    """Whether this has the shape of an eye, and enough of it shows."""
    yield Check("pupil seen", "pupil covered", pupil.seen if pupil else 0, 0.3, 0.9)
    yield Check("iris seen", "iris covered", iris.seen if iris else 0, 0.05, 0.45)
    if pupil is None or iris is None:
        return
    small, large = pupil.ellipse, iris.ellipse
    off = np.hypot(small.x - large.x, small.y - large.y) / large.long
    yield Check("middles", "not the shape of an eye", -float(off), -0.3, -0.05)
    yield Check("iris ratio", "not the shape of an eye", large.short / large.long, 0.35, 0.75)
    yield Check("pupil ratio", "not the shape of an eye", small.short / small.long, 0.35, 0.75)
    ratio = small.long / large.long
    yield Check("sizes", "not the shape of an eye", min(ratio - 0.1, 0.8 - ratio), -0.04, 0.06)
    yield Check("pupil filled", "pupil covered", _filled(mask == PUPIL, small), 0.45, 0.85)
    yield Check("near", "too near", -large.long / mask.shape[1], -1.15, -0.75)
    both = _filled(mask >= IRIS, large)
    yield Check("iris filled", "iris covered", both, 0.1, 0.7)


def _filled(part: NDArray[np.bool_], ellipse: Ellipse) -> float:
    """How much of an ellipse is what it was fitted to, and of that how much lies in the ellipse; the lesser."""
    drawn = np.zeros(part.shape, np.uint8)
    cv2.ellipse(drawn, ((ellipse.x, ellipse.y), (ellipse.long, ellipse.short), ellipse.angle_deg), 1, -1)
    both = float((part & (drawn > 0)).sum())
    return both / max(float(part.sum()), float(drawn.sum()), 1.0)


def of_agreement(maps: Maps, looks: list[Seen], mask: Mask) -> Iterable[Check]:
    """Whether the picture, its mirror image and its smaller copy tell the same, and how clearly."""
    ball = mask >= IRIS
    mean = np.mean(maps, axis=0)
    surest = mean.max(axis=0)
    yield Check("clear", "hard to tell apart", float(surest[ball].mean()), 0.6, 0.9)
    eye = mask > 0
    yield Check("eye clear", "hard to tell apart", float(surest[eye].mean()), 0.6, 0.95)
    for name, least, bad, good in (("same iris", IRIS, 0.6, 0.95), ("same pupil", PUPIL, 0.4, 0.9)):
        own = [one.argmax(axis=0) >= least for one in maps]
        yield Check(name, "readings disagree", min(overlap(one, mask >= least) for one in own), bad, good)
    same = min(overlap(one.argmax(axis=0) > 0, eye) for one in maps)
    yield Check("same eye", "readings disagree", same, 0.5, 0.95)
    directions = [direction(one) for one in looks]
    off_deg = max(np.degrees(np.arccos(np.clip(a @ b, -1, 1))) for a in directions for b in directions)
    yield Check("same gaze", "gaze uncertain", -float(off_deg), -24, -4)
    yield Check("gaze spread", "gaze uncertain", -float(np.degrees(np.median([one.spread for one in looks]))), -14, -2)


def overlap(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    return float((a & b).sum() / max((a | b).sum(), 1))


def of_focus(picture: Grey, pupil: Ellipse, iris: Ellipse) -> Iterable[Check]:
    """How wide the pupil's edge is, of the iris: the step of light across it over its steepest slope."""
    turn = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    reach = np.linspace(0, max(0.85 * iris.long / pupil.long, 1.3), 80)  # of the pupil, to well within the iris
    cosine, sine = np.cos(np.radians(pupil.angle_deg)), np.sin(np.radians(pupil.angle_deg))
    along, across = pupil.long / 2 * np.cos(turn), pupil.short / 2 * np.sin(turn)
    x = pupil.x + reach[:, None] * (along * cosine - across * sine)
    y = pupil.y + reach[:, None] * (along * sine + across * cosine)
    light = cv2.remap(picture, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR, None, cv2.BORDER_REPLICATE)
    line = np.median(light, axis=1)  # glints and lashes are on fewer than half of the rays
    step = float(np.percentile(line, 95) - np.percentile(line, 5))
    slope = float(np.max(np.diff(line))) / ((reach[1] - reach[0]) * (pupil.long + pupil.short) / 4)
    yield Check("step", "no contrast", step, 0.5, 4)
    yield Check("focus", "out of focus", -step / max(slope, 1e-3) / iris.long, -0.17, -0.06)


def direction(seen: Seen) -> NDArray[np.float64]:
    flat = np.cos(seen.pitch)
    return np.array([np.sin(seen.yaw) * flat, np.sin(seen.pitch), np.cos(seen.yaw) * flat])
