"""Reads any picture of one eye: mask, pupil, iris and gaze, and above all how far each of them can be trusted.

    reading = read(cv2.imread("eye.png", cv2.IMREAD_UNCHANGED))
    if reading.is_sure("pupil"): print(reading.pupil)

A network says what it sees. It is believed where the picture, its mirror image and a smaller copy of it give the same
answer, and where that answer has the shape of an eye. Each quantity has a certainty of its own, and a number is told
only of what is sure; else the reading tells why.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.reader import certainty as certainties
from palestra.eyes.reader.certainty import GAZE, QUANTITIES, SURE
from palestra.eyes.reader.checks import Check, direction, of_agreement, of_focus, of_light, of_shape
from palestra.eyes.reader.ellipses import IRIS, Ellipse, Mask, iris_of, pupil_of, whole_eye
from palestra.eyes.reader.glints import Glints, glints_on
from palestra.eyes.reader.image_input import Grey, grey, handy, laid_back
from palestra.eyes.reader.lid_curves import Lids, lids_of, within_lids
from palestra.eyes.reader.network import Seen, look
from palestra.eyes.reader.search import NARROW, farther, find
from palestra.eyes.reader.settings import USUAL, Settings

SMALLEST_PX = (24, 40)  # height and width of a picture
FARTHER = 1.15  # the smaller copy that must tell the same
UNLIKE = frozenset({"hard to tell apart", "readings disagree"})  # both: whatever was found, it is no eye
IN_PICTURE = tuple(name for name in QUANTITIES if name != GAZE)


@dataclass(frozen=True)
class Reading:
    """What was read, and how certain each quantity is. Of what is not sure no number is told, and `why` says why."""

    why: tuple[str, ...]
    mask: Mask  # as large as the picture: 0 background, 1 sclera, 2 iris, 3 pupil; empty where no eye was found
    certainties: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(QUANTITIES, 0.0))  # 0 … 1
    pupil: Ellipse | None = None
    iris: Ellipse | None = None
    gaze_deg: tuple[float, float] | None = None  # yaw to the picture's right and pitch up, of the optical axis
    opening: float | None = None  # of the lids, 0 … 1
    glints: Glints = ()  # reflections of the device's lights on the cornea, the brightest first
    checks: tuple[Check, ...] = ()  # what the certainties stand on

    def is_sure(self, quantity: str) -> bool:
        return self.certainties[quantity] >= SURE

    @property
    def sure(self) -> bool:
        """Whether mask, pupil and iris are: what lies in the picture itself."""
        return all(self.is_sure(quantity) for quantity in IN_PICTURE)

    @property
    def certainty(self) -> float:
        """Of the least certain of mask, pupil and iris."""
        return min(self.certainties[quantity] for quantity in IN_PICTURE)


def read(image: NDArray[np.generic], settings: Settings = USUAL) -> Reading:
    """A picture as OpenCV reads it, of any size, depth and number of channels."""
    found = estimate(image, settings)
    return replace(
        found,
        pupil=found.pupil if found.is_sure("pupil") else None,
        iris=found.iris if found.is_sure("iris") else None,
        glints=found.glints if found.is_sure("iris") else (),
        gaze_deg=found.gaze_deg if found.is_sure("gaze") else None,
    )


def estimate(image: NDArray[np.generic], settings: Settings = USUAL) -> Reading:
    """The same with numbers also of what is not sure, as they are needed to see how certain one may be."""
    shape = image.shape[:2]
    if shape[0] < SMALLEST_PX[0] or shape[1] < SMALLEST_PX[1]:
        return _nothing(shape, "too small")
    picture, factor = handy(grey(image))
    if settings.upside_down:
        picture = np.ascontiguousarray(picture[::-1, ::-1])
    poor = [check.words for check in of_light(picture) if check.share < 0.5]
    if poor:
        return _nothing(shape, *poor)
    best, why = find(picture, settings)
    reading = _read_eye(picture, best, factor, settings) if best else _nothing(picture.shape, why)
    if reading.why == ("no eye found",) and settings.upside_down is None and _is_over(picture):
        return _nothing(shape, "upside down")
    reading = _in_own_pixels(reading, shape, factor)
    return _turned(reading) if settings.upside_down else reading


def uprightness(image: NDArray[np.generic], settings: Settings = USUAL) -> float:
    """Above 0 where the eye is told apart better as the picture is than upside down, which some headsets send."""
    if min(image.shape[0] / SMALLEST_PX[0], image.shape[1] / SMALLEST_PX[1]) < 1:
        return 0.0
    picture, _ = handy(grey(image))
    if any(check.share < 0.5 for check in of_light(picture)):
        return 0.0
    plain, _ = find(picture, settings)
    over, _ = find(np.ascontiguousarray(picture[::-1, ::-1]), settings)
    if plain is None or over is None or plain.middle() is None or over.middle() is None:
        worth = [one.worth if one else 0.0 for one in (plain, over)]
        return float(np.clip(worth[0] - worth[1], -1, 1))
    return float(np.clip(np.log(over.doubt / plain.doubt) + np.log(plain.one_eye / over.one_eye), -1, 1))


def _is_over(picture: Grey) -> bool:
    """Whether an eye is read for sure in a picture once it is turned, where none was found as it is."""
    turned, settings = np.ascontiguousarray(picture[::-1, ::-1]), Settings(upside_down=False)
    best, _ = find(turned, settings)
    return best is not None and _read_eye(turned, best, 1.0, settings).is_sure("pupil")


def _read_eye(picture: Grey, seen: Seen, factor: float, settings: Settings) -> Reading:
    looks = [
        seen,
        *look(picture, [seen.window], settings, mirrored=True),
        *look(picture, [farther(seen.window, FARTHER)], settings),
    ]
    shape = picture.shape[0], picture.shape[1]
    maps = [laid_back(one.shares, one.window, shape) for one in looks]
    leaking = whole_eye(np.mean(maps, axis=0).argmax(axis=0).astype(np.uint8))
    lids = lids_of(leaking)
    mask = within_lids(leaking, lids)
    opening = float(np.mean([one.opening for one in looks]))
    there = Check("there", "no eye found", min(one.one_eye for one in looks), 0.6, 1.0)
    no_iris = not (mask >= IRIS).any()
    if there.share < 0.5 or (no_iris and opening > 2 * NARROW):
        return _nothing(shape, there.words)
    if opening < NARROW or no_iris:
        return replace(_nothing(shape, "eye closed"), mask=mask, opening=opening)
    pupil = pupil_of(mask)
    iris = iris_of(mask, pupil.ellipse if pupil else None)
    if settings.correction and pupil and iris:
        pupil = replace(pupil, ellipse=settings.correction.of_pupil(pupil.ellipse, iris.ellipse))
    checks = [there, *_upright(picture, seen, settings), *of_shape(mask, pupil, iris), *_lid_checks(lids)]
    checks += of_agreement(maps, looks, mask)
    if pupil and iris:
        checks += of_focus(picture, pupil.ellipse, iris.ellipse)
    if iris:
        checks.append(Check("small", "too small", iris.ellipse.long * factor, 8, 32))
    if {check.words for check in checks if check.share < 0.5} >= UNLIKE:
        return _nothing(shape, "no eye found")
    found = Reading(
        why=(),
        mask=mask,
        certainties={name: certainties.certainty_of(name, checks) for name in QUANTITIES},
        pupil=pupil.ellipse if pupil else None,
        iris=iris.ellipse if iris else None,
        gaze_deg=_mean_gaze_deg(looks),
        opening=opening,
        glints=glints_on(picture, iris.ellipse, mask > 0) if iris else (),
        checks=tuple(checks),
    )
    return _with_reasons(found)


def _with_reasons(found: Reading) -> Reading:
    """What was not found is not certain; and what is wrong with all that is not sure."""
    there = {"mask": True, "pupil": found.pupil is not None, "iris": found.iris is not None, "gaze": True}
    sure = {name: value if there[name] else 0.0 for name, value in found.certainties.items()}
    why = [words for name in QUANTITIES if sure[name] < SURE for words in certainties.reasons(name, found.checks)]
    return replace(found, certainties=sure, why=tuple(dict.fromkeys(why)))


def _upright(picture: Grey, seen: Seen, settings: Settings) -> Iterable[Check]:
    """Whether the network tells the eye apart better as it is than upside down, where nobody has decided that."""
    if settings.upside_down is None:
        window = seen.window.turned(picture.shape)
        (turned,) = look(np.ascontiguousarray(picture[::-1, ::-1]), [window], settings)
        yield Check("upright", "upside down", float(np.log(turned.doubt / seen.doubt)), -0.4, 0.1)


def _lid_checks(lids: Lids | None) -> Iterable[Check]:
    """Whether the lids' margins are as smooth as lids are."""
    yield Check("lids even", "hard to tell apart", -(lids.uneven if lids else 0.05), -0.05, 0.0)


def _mean_gaze_deg(looks: list[Seen]) -> tuple[float, float]:
    x, y, z = np.mean([direction(one) for one in looks], axis=0)
    return float(np.degrees(np.arctan2(x, z))), float(np.degrees(np.arctan2(y, np.hypot(x, z))))


def _nothing(shape: tuple[int, ...], *why: str) -> Reading:
    return Reading(tuple(dict.fromkeys(why)), np.zeros(shape, np.uint8))


def _in_own_pixels(reading: Reading, shape: tuple[int, ...], factor: float) -> Reading:
    """The reading of a copy as one of the picture itself."""
    if reading.mask.shape == shape:
        return reading
    mask = np.asarray(cv2.resize(reading.mask, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST), np.uint8)
    pupil, iris = (found.scaled(factor) if found else None for found in (reading.pupil, reading.iris))
    glints = tuple(((x + 0.5) * factor - 0.5, (y + 0.5) * factor - 0.5) for x, y in reading.glints)
    return replace(reading, mask=mask, pupil=pupil, iris=iris, glints=glints)


def _turned(reading: Reading) -> Reading:
    """What was read upside down, as the picture itself has it."""
    height, width = reading.mask.shape
    pupil, iris = (
        found._replace(x=width - 1 - found.x, y=height - 1 - found.y) if found else None
        for found in (reading.pupil, reading.iris)
    )
    gaze_deg = (-reading.gaze_deg[0], -reading.gaze_deg[1]) if reading.gaze_deg else None
    mask = np.ascontiguousarray(reading.mask[::-1, ::-1])
    glints = tuple((width - 1 - x, height - 1 - y) for x, y in reading.glints)
    return replace(reading, mask=mask, pupil=pupil, iris=iris, gaze_deg=gaze_deg, glints=glints)
