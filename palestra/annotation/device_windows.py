"""Windows of a device's pictures to learn from: near and far, turned, mirrored, in other light and focus.

Geometry is changed once for a window, light anew each time that it is learnt from.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.annotation.pictures import Picture
from palestra.eyes.reader.ellipses import IRIS, Mask
from palestra.eyes.reader.image_input import COLUMNS, ROWS, Grey, grey, handy, normalised
from palestra.eyes.reader.settings import Settings

IGNORED = 255  # beyond the picture nobody knows what there is
SHARE = (0.18, 0.5)  # of a window's width, how wide the iris is
SHIFT, TURN_DEG, SQUEEZE = 0.14, 9.0, 0.05
FILLS = (cv2.BORDER_REFLECT, cv2.BORDER_REPLICATE)
PIECES = 40  # in which an eye is cut up that is none any more
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Eye:
    """A picture, upright, as large as the reader looks at it, with its mask."""

    picture: Grey
    mask: Mask

    def iris(self) -> tuple[float, float, float]:
        """Its middle and how wide it is; the eye's, a third as wide, where no iris shows."""
        part = self.mask >= IRIS
        eye = part if part.any() else self.mask > 0
        rows, columns = np.nonzero(eye)
        width = float(columns.max() - columns.min() + 1)
        return float(columns.mean()), float(rows.mean()), width if part.any() else width / 3


def eye_of(image: Picture, mask: Mask, settings: Settings) -> Eye:
    picture, _ = handy(grey(image))
    size = picture.shape[1], picture.shape[0]
    small = np.asarray(cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST), np.uint8)
    if settings.upside_down:
        picture, small = picture[::-1, ::-1], small[::-1, ::-1]
    return Eye(np.ascontiguousarray(picture), np.ascontiguousarray(small))


@dataclass(frozen=True, eq=False)
class Window:
    seen: Grey  # (200, 320) grey levels
    mask: Mask  # with IGNORED


def windows_of(eyes: Sequence[Eye], count: int, rng: Rng) -> list[Window]:
    """So many of all eyes together, each as often as the others."""
    return [_window(eyes[number % len(eyes)], rng) for number in range(count)]


def _window(eye: Eye, rng: Rng) -> Window:
    x, y, iris = eye.iris()
    share = float(np.exp(rng.uniform(*np.log(SHARE))))
    zoom = share * COLUMNS / iris
    turn = np.radians(rng.uniform(-TURN_DEG, TURN_DEG))
    squeeze = np.exp(rng.uniform(-SQUEEZE, SQUEEZE))
    side = rng.choice((-1.0, 1.0))
    rotation = zoom * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    rotation = rotation @ np.diag([side * squeeze, 1 / squeeze])
    middle = np.array([COLUMNS * (0.5 + rng.uniform(-SHIFT, SHIFT)), ROWS * (0.5 + rng.uniform(-SHIFT, SHIFT))])
    way = np.hstack([rotation, (middle - rotation @ [x, y])[:, None]])
    smooth = cv2.GaussianBlur(eye.picture, (0, 0), 0.45 / zoom) if zoom < 0.8 else eye.picture
    size = COLUMNS, ROWS
    seen = cv2.warpAffine(smooth, way, size, flags=cv2.INTER_LINEAR, borderMode=FILLS[int(rng.integers(len(FILLS)))])
    mask = cv2.warpAffine(eye.mask, way, size, flags=cv2.INTER_NEAREST, borderValue=(IGNORED,) * 3)
    return Window(np.asarray(seen, np.float32), np.asarray(mask, np.uint8))


def in_other_light(window: Window, rng: Rng) -> Grey:
    """The window as another exposure, focus and grain of the same camera might have it."""
    image = window.seen / np.float32(255)
    x, y = np.linspace(-1, 1, COLUMNS)[None], np.linspace(-1, 1, ROWS)[:, None]
    if rng.random() < 0.4:  # skin and sclera each in a light of its own
        gains = np.ones(256)
        gains[[0, 1]] = np.exp(rng.uniform(-0.25, 0.25, 2))
        image = image * cv2.GaussianBlur(gains[window.mask], (0, 0), 3.0)
    light = 1 + rng.uniform(-0.25, 0.25) * x + rng.uniform(-0.25, 0.25) * y
    image = np.clip(image * light, 0, 1) ** np.exp(rng.uniform(-0.3, 0.3))
    image = image + rng.normal(size=image.shape) * rng.uniform(0, 1) ** 2 * 0.025
    blur = 1.3 * rng.uniform(0, 1) ** 2
    image = cv2.GaussianBlur(image, (0, 0), blur) if blur > 0.3 else image
    return np.asarray(255 * np.clip(image, 0, 1), np.float32)


def no_eye(seen: Grey, rng: Rng) -> Grey:
    """What does not show one eye: pieces of one in disorder, a corner of skin, or two side by side."""
    kind = int(rng.integers(3))
    if kind == 0:
        pieces = seen.reshape(5, 40, 8, 40).swapaxes(1, 2).reshape(PIECES, 40, 40)
        return np.ascontiguousarray(rng.permutation(pieces).reshape(5, 8, 40, 40).swapaxes(1, 2).reshape(ROWS, COLUMNS))
    if kind == 1:
        return np.asarray(cv2.resize(seen[:40, :64], (COLUMNS, ROWS), interpolation=cv2.INTER_CUBIC), np.float32)
    half = np.asarray(cv2.resize(seen, (COLUMNS // 2, ROWS), interpolation=cv2.INTER_AREA), np.float32)
    return np.hstack([half, half[:, ::-1]])


def batch_of(windows: Sequence[Grey]) -> NDArray[np.float32]:
    """(n, 1, 200, 320) as the network takes them."""
    return np.stack([normalised(one) for one in windows])[:, None]
