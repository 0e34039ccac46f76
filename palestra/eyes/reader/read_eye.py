"""Reads any picture of one eye: mask, pupil, iris and gaze, and above all whether what it read can be trusted.

    reading = read(cv2.imread("eye.png", cv2.IMREAD_UNCHANGED))
    if reading.sure: print(reading.pupil, reading.gaze_deg)

A network says what it sees. It is believed where the picture, its mirror image and a smaller copy of it give the same
answer, hardly less clear than upside down, and where that answer has the shape of an eye; else the reading tells why
it is not sure, and no numbers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader.ellipses import (
    APART,
    IRIS,
    PUPIL,
    Ellipse,
    Mask,
    Outline,
    iris_of,
    irises_apart,
    pupil_of,
    whole_eye,
)
from palestra.eyes.reader.image_input import (
    Grey,
    Window,
    closer_windows,
    first_windows,
    grey,
    handy,
    laid_back,
    window_around,
)
from palestra.eyes.reader.network import Seen, look

SMALLEST_PX = (24, 40)  # height and width of a picture
IRIS_OF_WINDOW = 0.3  # the width at which the network learnt most irises
FITTING = (0.75, 1.35)  # of that: beyond, a nearer or a farther look is taken
FARTHER = 1.15  # the smaller copy that must tell the same
ONE_EYE = 0.7  # from here on a window may hold an eye
WORTH = 0.85  # and from here on it may hold one of two
UNLIKE = frozenset({"hard to tell apart", "readings disagree"})  # both: whatever was found, it is no eye
NARROW = 0.18  # lids that are open no further are closed


@dataclass(frozen=True)
class Reading:
    """What was read. Without `sure`, `why` says what is wrong, and there are no ellipses and no gaze."""

    sure: bool
    certainty: float  # 0 … 1, sure from 0.5 on
    why: tuple[str, ...]
    mask: Mask  # as large as the picture: 0 background, 1 sclera, 2 iris, 3 pupil; empty where no eye was found
    pupil: Ellipse | None = None
    iris: Ellipse | None = None
    gaze_deg: tuple[float, float] | None = None  # yaw to the picture's right and pitch up, of the optical axis
    opening: float | None = None  # of the lids, 0 … 1


@dataclass(frozen=True)
class Check:
    """Something that speaks for or against a reading: 0 at `bad`, 1 at `good`, and not sure below the middle."""

    words: str
    value: float
    bad: float
    good: float

    @property
    def share(self) -> float:
        return float(np.clip((self.value - self.bad) / (self.good - self.bad), 0, 1))


def read(image: NDArray[np.generic]) -> Reading:
    """A picture as OpenCV reads it, of any size, depth and number of channels."""
    shape = image.shape[:2]
    if shape[0] < SMALLEST_PX[0] or shape[1] < SMALLEST_PX[1]:
        return _nothing(shape, [Check("too small", 0, 0, 1)])
    picture, factor = handy(grey(image))
    poor = [check for check in _light(picture) if check.share < 0.5]
    if poor:
        return _nothing(shape, poor)
    best, why = find(picture)
    if best is None:
        return _nothing(shape, [Check(why, 0, 0, 1)])
    return _in_own_pixels(_read_eye(picture, best, factor), shape, factor)


def find(picture: Grey) -> tuple[Seen | None, str]:
    """The window that shows an eye best, or why there is none."""
    first = look(picture, first_windows(picture.shape))
    whole = first[0]
    closer = look(picture, closer_windows(picture.shape))  # a second eye may hide from whoever sees the whole
    likely = [one for one in [*first, *closer] if one.one_eye >= ONE_EYE and one.middle() is not None]
    if irises_apart(_inside(whole, picture)) or _apart(likely, picture) or (likely and _hidden(whole, closer)):
        return None, "two eyes"
    in_sight = [one for one in first if one in likely] or [one for one in closer[-1:] if one in likely]
    best = max(in_sight, key=lambda one: one.worth, default=None)
    if best is not None:
        return _nearer(picture, best), ""
    if likely:  # neither in the whole nor in its middle: what else is in it, nobody knows
        return None, "too small"
    closed = max(first, key=lambda one: one.one_eye)  # a closed eye has no iris
    return (closed, "") if closed.one_eye >= ONE_EYE else (None, "no eye found")


def _inside(seen: Seen, picture: Grey) -> NDArray[np.bool_]:
    """Irises in the picture itself, without what its mirror images show beyond its border."""
    shape = picture.shape[0], picture.shape[1]
    return np.asarray(laid_back(seen.shares[IRIS:].sum(axis=0)[None], seen.window, shape)[0] > 0.5)


def _apart(likely: list[Seen], picture: Grey) -> bool:
    """Whether irises were seen for sure at places in the picture that cannot be one eye."""
    height, width = picture.shape
    middles = [middle for one in likely if one.worth >= WORTH and (middle := one.middle())]
    places = [place for place in middles if 0 <= place[0] < width and 0 <= place[1] < height]
    return any(np.hypot(a[0] - b[0], a[1] - b[1]) > APART * max(a[2], b[2]) for a in places for b in places)


def _hidden(whole: Seen, closer: list[Seen]) -> bool:
    """Whether a part shows an eye, though not its iris, in a picture that shows no single eye."""
    unclear = [one for one in closer if one.one_eye >= ONE_EYE and one.middle() is None]
    return whole.one_eye < ONE_EYE and bool(unclear)


def _nearer(picture: Grey, seen: Seen) -> Seen:
    """The eye in the size in which the network knows eyes best, where it is far from it."""
    middle = seen.middle()
    if middle is None or seen.opening < NARROW:
        return seen
    x, y, width = middle
    if FITTING[0] < width / (IRIS_OF_WINDOW * seen.window.width) < FITTING[1]:
        return seen
    (again,) = look(picture, [window_around(x, y, width / IRIS_OF_WINDOW)])
    return again if again.worth > 0.9 * seen.worth else seen


def _light(picture: Grey) -> Iterable[Check]:
    dark, bright = (float(level) for level in np.percentile(picture[::2, ::2], (1, 99)))
    yield Check("too dark", bright, 8, 24)
    yield Check("too bright", 255 - dark, 8, 24)
    yield Check("no contrast", bright - dark, 4, 16)


def _read_eye(picture: Grey, seen: Seen, factor: float) -> Reading:
    farther = window_around(*_centre(seen.window), FARTHER * seen.window.width)
    looks = [seen, *look(picture, [seen.window], mirrored=True), *look(picture, [farther])]
    shape = picture.shape[0], picture.shape[1]
    maps = [laid_back(one.shares, one.window, shape) for one in looks]
    mask = whole_eye(np.mean(maps, axis=0).argmax(axis=0).astype(np.uint8))
    opening = float(np.mean([one.opening for one in looks]))
    there = Check("no eye found", min(one.one_eye for one in looks), 0.6, 1.0)
    no_iris = not (mask >= IRIS).any()
    if there.share < 0.5 or (no_iris and opening > 2 * NARROW):
        return _nothing(shape, [Check(there.words, min(there.value, 0.7), 0.6, 1.0)])
    if opening < NARROW or no_iris:
        closed = Check("eye closed", opening, 0, 2 * NARROW)
        return Reading(False, min(there.share, closed.share, 0.49), (closed.words,), mask, opening=opening)
    pupil = pupil_of(mask)
    iris = iris_of(mask, pupil.ellipse if pupil else None)
    checks = [there, _upright(picture, seen), *_shape_checks(mask, pupil, iris, seen.window)]
    checks += _agreement(maps, looks, mask)
    if pupil and iris:
        checks += _focus(picture, pupil.ellipse, iris.ellipse)
    if iris:
        checks.append(Check("too small", iris.ellipse.long * factor, 8, 32))
    why = tuple(dict.fromkeys(check.words for check in checks if check.share < 0.5))
    certainty = min(check.share for check in checks)
    if set(why) >= UNLIKE:
        return _nothing(shape, [Check("no eye found", certainty, 0, 2)])
    if why or pupil is None or iris is None:
        return Reading(False, certainty, why, mask, opening=opening)
    return Reading(True, certainty, (), mask, pupil.ellipse, iris.ellipse, _mean_gaze_deg(looks), opening)


def _upright(picture: Grey, seen: Seen) -> Check:
    """Whether the network tells the eye apart better as it is than upside down, as some headsets send it."""
    (turned,) = look(np.ascontiguousarray(picture[::-1, ::-1]), [seen.window.turned(picture.shape)])
    return Check("upside down", float(np.log(turned.doubt / seen.doubt)), -0.4, 0.1)


def _shape_checks(mask: Mask, pupil: Outline | None, iris: Outline | None, window: Window) -> Iterable[Check]:
    """Whether this has the shape of an eye, and enough of it shows."""
    yield Check("pupil covered", pupil.seen if pupil else 0, 0.3, 0.9)
    yield Check("iris covered", iris.seen if iris else 0, 0.05, 0.45)
    if pupil is None or iris is None:
        return
    small, large = pupil.ellipse, iris.ellipse
    off = np.hypot(small.x - large.x, small.y - large.y) / large.long
    yield Check("not the shape of an eye", -off, -0.3, -0.05)
    yield Check("not the shape of an eye", large.short / large.long, 0.35, 0.75)
    yield Check("not the shape of an eye", small.short / small.long, 0.35, 0.75)
    ratio = small.long / large.long
    yield Check("not the shape of an eye", min(ratio - 0.1, 0.8 - ratio), -0.04, 0.06)
    yield Check("pupil covered", _filled(mask == PUPIL, small), 0.45, 0.85)
    # Beyond the picture's border a window holds mirror images, which show nothing new.
    yield Check("too near", -large.long / min(window.width, mask.shape[1]), -0.8, -0.4)


def _filled(part: NDArray[np.bool_], ellipse: Ellipse) -> float:
    """How much of an ellipse is what it was fitted to, and of that how much lies in the ellipse; the lesser."""
    drawn = np.zeros(part.shape, np.uint8)
    cv2.ellipse(drawn, ((ellipse.x, ellipse.y), (ellipse.long, ellipse.short), ellipse.angle_deg), 1, -1)
    both = float((part & (drawn > 0)).sum())
    return both / max(float(part.sum()), float(drawn.sum()), 1.0)


def _agreement(maps: list[NDArray[np.float32]], looks: list[Seen], mask: Mask) -> Iterable[Check]:
    """Whether the picture, its mirror image and its smaller copy tell the same, and how clearly."""
    ball = mask >= IRIS
    clear = float(np.mean(maps, axis=0).max(axis=0)[ball].mean())
    yield Check("hard to tell apart", clear, 0.6, 0.9)
    for least, bad, good in ((IRIS, 0.6, 0.95), (PUPIL, 0.4, 0.9)):
        own = [one.argmax(axis=0) >= least for one in maps]
        yield Check("readings disagree", min(_overlap(one, mask >= least) for one in own), bad, good)
    directions = [_direction(one) for one in looks]
    off_deg = max(np.degrees(np.arccos(np.clip(a @ b, -1, 1))) for a in directions for b in directions)
    yield Check("gaze uncertain", -float(off_deg), -24, -4)
    yield Check("gaze uncertain", -float(np.degrees(np.median([one.spread for one in looks]))), -14, -2)


def _overlap(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    return float((a & b).sum() / max((a | b).sum(), 1))


def _focus(picture: Grey, pupil: Ellipse, iris: Ellipse) -> Iterable[Check]:
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
    yield Check("no contrast", step, 0.5, 4)
    yield Check("out of focus", -step / max(slope, 1e-3) / iris.long, -0.17, -0.06)


def _direction(seen: Seen) -> NDArray[np.float64]:
    flat = np.cos(seen.pitch)
    return np.array([np.sin(seen.yaw) * flat, np.sin(seen.pitch), np.cos(seen.yaw) * flat])


def _mean_gaze_deg(looks: list[Seen]) -> tuple[float, float]:
    x, y, z = np.mean([_direction(one) for one in looks], axis=0)
    return float(np.degrees(np.arctan2(x, z))), float(np.degrees(np.arctan2(y, np.hypot(x, z))))


def _centre(window: Window) -> tuple[float, float]:
    return window.left + window.width / 2, window.top + window.height / 2


def _nothing(shape: tuple[int, ...], poor: list[Check]) -> Reading:
    why = tuple(dict.fromkeys(check.words for check in poor))
    return Reading(False, min(check.share for check in poor), why, np.zeros(shape, np.uint8))


def _in_own_pixels(reading: Reading, shape: tuple[int, ...], factor: float) -> Reading:
    """The reading of a copy as one of the picture itself."""
    if reading.mask.shape == shape:
        return reading
    mask = np.asarray(cv2.resize(reading.mask, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST), np.uint8)
    pupil, iris = (found.scaled(factor) if found else None for found in (reading.pupil, reading.iris))
    return Reading(reading.sure, reading.certainty, reading.why, mask, pupil, iris, reading.gaze_deg, reading.opening)
