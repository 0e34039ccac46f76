"""What our network sees in pictures of both eyes, as numbers that tell where they look.

The right eye is seen in a mirror, where it is a left one.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from palestra import model_cards
from palestra.eyes.pupil import Image
from palestra.eyes.resize import as_networks_take_it
from palestra.tracks.near_eye.solutions.calibration import Frames

Array = NDArray[np.float64]

NETWORK = "near_eye_palestra"
TOLD, FEATURES = 9, 32  # numbers, see train/near_eye_palestra.py
FLAT = 8.0  # grey levels: what varies by no more shows no eye
PLACES, LOOKS = 2, 3  # of a row's numbers the first ones, and the last ones
COLUMNS = PLACES + 4 + FEATURES + LOOKS


def as_left(image: Image, eye: str) -> Image:
    """The picture of a left eye, or of a right one in a mirror."""
    return image if eye == "left" else np.ascontiguousarray(image[:, ::-1])


def ask(image: Image) -> tuple[Array, Array] | None:
    """What the network tells of a left eye (9,), and from which features; None where no open eye is seen."""
    small = as_networks_take_it(image)
    spread = float(small.std())
    if spread < FLAT:
        return None
    level = ((small - small.mean()) / spread)[None, None].astype(np.float32)
    facts, features = model_cards.session(NETWORK).run(["told", "features"], {"pictures": level})
    opened = facts[0, -1] >= 0
    return (np.asarray(facts[0], np.float64), np.asarray(features[0], np.float64)) if opened else None


def rows(pictures: Iterable[Image]) -> Array:
    """(n, COLUMNS): the pupil's place first, what tells how clear it is last; not a number where nothing is seen."""
    return np.array([_row(picture) for picture in pictures], np.float64).reshape(-1, COLUMNS)


def _row(image: Image) -> list[float]:
    seen = ask(image)
    if seen is None:
        return [np.nan] * COLUMNS
    (yaw, pitch, log_variance, axis_yaw, axis_pitch, x, y, place_log_variance, opened), features = seen
    return [x, y, yaw, pitch, axis_yaw, axis_pitch, *features, place_log_variance, log_variance, opened]


def frames(rows: Array) -> Frames:
    return Frames(rows[:, :PLACES], rows[:, PLACES:-LOOKS], rows[:, -LOOKS:])
