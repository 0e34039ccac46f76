"""Pictures of eyes as they come: any depth, colours and shape, brought to grey windows that a network looks at."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Grey = NDArray[np.float32]  # (height, width), 0 … 255
ROWS, COLUMNS = 200, 320  # of what the network sees
SHAPE = ROWS / COLUMNS
SMALLEST_PX, LARGEST_PX = 480, 1600  # the longer side of the copy that is looked at: more would tell nothing more
CLOSER = 0.55  # of the whole, how wide a closer look is
MARGINS = (1.35, 1.9)  # of the whole, how wide a look at an eye is that fills the picture
TAILS = (0.1, 99.9)  # percentiles between which deep pictures are spread: a hot pixel must not darken the rest


@dataclass(frozen=True)
class Window:
    """A part of a picture, 8 wide and 5 high, in whole pixels; it may reach beyond the picture."""

    left: int
    top: int
    width: int
    # What it shows beyond the picture: the picture's mirror image, or its outermost pixels drawn out. A mirror image
    # holds a second eye where an eye is cut by the picture's edge; drawn-out pixels hold none.
    smeared: bool = False

    @property
    def height(self) -> int:
        return max(round(self.width * SHAPE), 1)

    def turned(self, shape: tuple[int, ...]) -> "Window":
        """The same part of a picture of that shape, once it is turned upside down."""
        return Window(shape[1] - self.left - self.width, shape[0] - self.top - self.height, self.width, self.smeared)

    def reaches_beyond(self, shape: tuple[int, ...]) -> bool:
        right, bottom = self.left + self.width, self.top + self.height
        return self.left < 0 or self.top < 0 or right > shape[1] or bottom > shape[0]

    def wider(self, factor: float) -> "Window":
        """More around the same middle; beyond the picture's border, pixels drawn out."""
        middle = self.left + self.width / 2, self.top + self.height / 2
        return _centred(*middle, round(factor * self.width), smeared=True)


def grey(image: NDArray[np.generic]) -> Grey:
    """Grey levels 0 … 255 of a picture as OpenCV reads it: grey, colour or with transparency, of any depth."""
    levels = np.asarray(image)
    deep = levels.dtype != np.uint8
    if levels.ndim == 3 and levels.shape[2] == 4:
        solid = levels[:, :, 3].astype(np.float32) / _full_scale(levels)
        levels = _luma(levels[:, :, :3]) * solid  # what is transparent is as black as no light
    elif levels.ndim == 3:
        levels = _luma(levels[:, :, :3]) if levels.shape[2] >= 3 else levels[:, :, 0]
    found = np.nan_to_num(levels.astype(np.float32), posinf=0.0, neginf=0.0)
    return _spread(found) if deep else found


def _full_scale(levels: NDArray[np.generic]) -> float:
    return float(np.iinfo(levels.dtype.name).max) if levels.dtype.kind in "iu" else 1.0


def _luma(colours: NDArray[np.generic]) -> NDArray[np.float32]:
    return np.asarray(colours.astype(np.float32) @ np.array([0.114, 0.587, 0.299], np.float32))  # blue first


def _spread(levels: NDArray[np.float32]) -> Grey:
    low, high = np.percentile(levels[:: max(levels.shape[0] // 512, 1), :: max(levels.shape[1] // 512, 1)], TAILS)
    if high <= low:
        return np.zeros_like(levels)
    return np.asarray(np.clip((levels - low) * (255.0 / (high - low)), 0, 255), np.float32)


def handy(picture: Grey) -> tuple[Grey, float]:
    """The picture as large as it is looked at, and how many of its own pixels one of these stands for."""
    longer = max(picture.shape)
    factor = longer / min(max(longer, SMALLEST_PX), LARGEST_PX)
    if factor == 1:
        return picture, 1.0
    size = max(round(picture.shape[1] / factor), 1), max(round(picture.shape[0] / factor), 1)
    how = cv2.INTER_AREA if factor > 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, size, interpolation=how), np.float32), factor


def cut(picture: Grey, window: Window, size: tuple[int, int] = (ROWS, COLUMNS)) -> Grey:
    """What a window shows, in the size in which the network sees it."""
    height, width = picture.shape
    right, bottom = window.left + window.width, window.top + window.height
    inside = picture[max(window.top, 0) : max(bottom, 0), max(window.left, 0) : max(right, 0)]
    beyond = max(-window.top, 0), max(bottom - height, 0), max(-window.left, 0), max(right - width, 0)
    if any(beyond):
        fill = cv2.BORDER_REPLICATE if window.smeared else cv2.BORDER_REFLECT
        inside = np.asarray(cv2.copyMakeBorder(inside, *beyond, fill), np.float32)
    how = cv2.INTER_AREA if window.width > size[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(inside, size[::-1], interpolation=how), np.float32)


def normalised(seen: Grey) -> Grey:
    """Mean 0 and spread 1; what is all but flat stays small."""
    return np.asarray((seen - seen.mean()) / max(float(seen.std()), 8.0), np.float32)


def laid_back(maps: NDArray[np.float32], window: Window, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Maps (n, 200, 320) of a window in the picture (n, height, width); 0 outside the window."""
    height, width = shape
    whole = np.zeros((len(maps), height, width), np.float32)
    top, left = max(window.top, 0), max(window.left, 0)
    bottom, right = min(window.top + window.height, height), min(window.left + window.width, width)
    for one, place in zip(maps, whole, strict=True):
        large = cv2.resize(one, (window.width, window.height), interpolation=cv2.INTER_LINEAR)
        place[top:bottom, left:right] = large[
            top - window.top : bottom - window.top, left - window.left : right - window.left
        ]
    return whole


def first_windows(shape: tuple[int, int]) -> tuple[list[Window], list[Window]]:
    """Where one looks first: at all of the picture, and where its shape is another, at what fits into it as well."""
    height, width = shape
    holding, fitting = max(width, round(height / SHAPE)), min(width, round(height / SHAPE))
    if holding <= 1.15 * fitting:
        return [_centred(width / 2, height / 2, holding)], []
    wholes = [_centred(width / 2, height / 2, holding, smeared) for smeared in (False, True)]
    parts = []
    for span in sorted({fitting, round((fitting * holding) ** 0.5)}):
        low, high = _free(height, span * SHAPE), _free(width, span)
        steps = 3 if span == fitting else 1
        parts += [
            _centred(x, y, span)
            for x, y in zip(np.linspace(*high, steps + 2)[1:-1], np.linspace(*low, steps + 2)[1:-1], strict=True)
        ]
    return wholes, parts


def closer_windows(shape: tuple[int, int]) -> list[Window]:
    """The left, the right and the middle part of a picture, for an eye that is too small in it, or a second one."""
    height, width = shape
    span = round(CLOSER * max(width, height / SHAPE))
    places = dict.fromkeys(round(x) for x in (*_free(width, span), width / 2))
    return [_centred(x, height / 2, span) for x in places]


def with_margin(shape: tuple[int, int]) -> list[Window]:
    """All of a picture with room around it, for an eye that fills it."""
    height, width = shape
    holding = max(width, round(height / SHAPE))
    return [_centred(width / 2, height / 2, round(factor * holding), smeared=True) for factor in MARGINS]


def window_around(x: float, y: float, width: float, smeared: bool = False) -> Window:
    return _centred(x, y, max(round(width), 8), smeared)


def _free(side: float, span: float) -> tuple[float, float]:
    """Between which places the middle of a span may lie on a side; the middle of the side where it is longer."""
    return (span / 2, side - span / 2) if span < side else (side / 2, side / 2)


def _centred(x: float, y: float, width: int, smeared: bool = False) -> Window:
    return Window(round(x - width / 2), round(y - width * SHAPE / 2), width, smeared)
