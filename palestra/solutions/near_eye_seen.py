"""What a network sees in pictures of both eyes, as numbers that tell where they look.

The right eye is seen in a mirror, where it is a left one. Ours is `near_eye_palestra`, which is small and fast; where
nobody has trained it, the network that reads any picture of an eye tells about the same, more slowly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import UnknownName
from palestra.solutions import cards
from palestra.solutions.eye_network import look
from palestra.solutions.eye_picture import Window
from palestra.solutions.eye_shape import PUPIL, Ellipse, Mask, iris_of, pupil_of, whole_eye
from palestra.solutions.gaze_resize import shrinking
from palestra.solutions.near_eye_few import Frames
from palestra.solutions.pupil import Image

Array = NDArray[np.float64]

OURS, READER = "near_eye_palestra", "eye_reader"
HALF, SIZE = (200, 320), (160, 256)  # pictures on their way to our network, and there
TOLD = 9  # numbers, see train/near_eye_palestra.py
ONE_EYE = 0.5  # below, there may be none
LEAST_PX = 60  # of an eye, in the reader's pixels
_DOWN, _ACROSS = (shrinking(large, little) for large, little in zip(HALF, SIZE, strict=True))


@dataclass(frozen=True)
class Network:
    """Who looks: rows of numbers for pictures, the pupil's place first, what tells how clear it is last."""

    name: str
    see: Callable[[Image], list[float] | None]  # None where the eye cannot be read
    columns: int
    looks: int  # of the columns

    def rows(self, pictures: Sequence[Image]) -> Array:
        """(n, columns); not a number where nothing can be read."""
        found = [self.see(picture) for picture in pictures]
        return np.array([[np.nan] * self.columns if row is None else row for row in found], np.float64)

    def frames(self, rows: Array) -> Frames:
        return Frames(rows[:, :2], rows[:, 2 : self.columns - self.looks], rows[:, self.columns - self.looks :])


def as_left(image: Image, eye: str) -> Image:
    """The picture of a left eye, or of a right one in a mirror."""
    return image if eye == "left" else np.ascontiguousarray(image[:, ::-1])


def best() -> Network:
    """Ours where it is there; asked while modules are loaded, so no card is opened."""
    return NETWORKS[OURS if (cards.FOLDER / f"{OURS}.onnx").is_file() else READER]


def named(name: str) -> Network:
    if name not in NETWORKS:
        raise UnknownName("network", name, NETWORKS)
    return NETWORKS[name]


def told_by_ours(image: Image) -> tuple[Array, Array]:
    """What our network tells of a left eye (9,), and from which features."""
    half = cv2.resize(image, HALF[::-1], interpolation=cv2.INTER_AREA).astype(np.float32)
    small = _DOWN @ half @ _ACROSS.T
    level = (small - small.mean()) / max(float(small.std()), 8.0)
    told, features = cards.session(OURS).run(["told", "features"], {"pictures": level[None, None].astype(np.float32)})
    return np.asarray(told[0], np.float64), np.asarray(features[0], np.float64)


def _see_with_ours(image: Image) -> list[float] | None:
    told, features = told_by_ours(image)
    yaw, pitch, log_variance, axis_yaw, axis_pitch, x, y, place_log_variance, opened = (float(one) for one in told)
    if opened < 0:
        return None
    return [x, y, yaw, pitch, axis_yaw, axis_pitch, *features, place_log_variance, log_variance, opened]


def _see_with_reader(image: Image) -> list[float] | None:
    (seen,) = look(image.astype(np.float32), [Window(0, 0, image.shape[1])])
    mask = whole_eye(seen.shares.argmax(axis=0).astype(np.uint8))
    pupil = pupil_of(mask)
    iris = iris_of(mask, pupil.ellipse if pupil else None)
    if pupil is None or iris is None or seen.one_eye < ONE_EYE or (mask > 0).sum() < LEAST_PX:
        return None
    x, y = pupil.ellipse.x, pupil.ellipse.y
    off = _middle(np.where(mask == PUPIL, seen.shares[PUPIL], 0)) - (x, y)
    how = [pupil.seen, float(np.log(np.hypot(*off) + 0.1))]
    return [x / 100, y / 100, *_beside(pupil.ellipse, iris.ellipse), *off, seen.yaw, seen.pitch, seen.opening,
            *_around(mask), *how]  # fmt: skip


def _beside(pupil: Ellipse, iris: Ellipse) -> list[float]:
    return [iris.x - pupil.x, iris.y - pupil.y, pupil.long]


def _middle(shares: NDArray[np.float32]) -> Array:
    total = float(shares.sum())
    x, y = np.arange(shares.shape[1]), np.arange(shares.shape[0])
    return np.array([(shares.sum(axis=0) @ x) / total, (shares.sum(axis=1) @ y) / total])


def _around(mask: Mask) -> list[float]:
    """The middle of the open eye and its corners: how the headset sits on this face."""
    y, x = np.nonzero(mask)
    left, right = np.percentile(x, (1, 99))
    corners = y[x <= np.percentile(x, 2)].mean(), y[x >= np.percentile(x, 98)].mean()
    return [float(value) for value in (x.mean(), y.mean(), left, right, *corners)]


NETWORKS = {
    OURS: Network(OURS, _see_with_ours, 6 + 32 + 3, 3),
    READER: Network(READER, _see_with_reader, 16 + 2, 2),
}
