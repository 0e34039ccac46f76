"""How bright places of a picture are in each frame of a video: all that is kept of it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.sync.led_places import Places
from palestra.studio.sync.video import shots
from palestra.text import say

REACH_PX = 1  # a place is a square of 3 × 3 pixels
FLAT = 3.0  # grey levels from dark to lit, below which nothing changes
FEWEST_FRAMES = 50


@dataclass(frozen=True)
class Readings:
    """Brightness of each place in each frame."""

    name: str
    at_s: NDArray[np.float64]  # of each frame
    grey: NDArray[np.float64]  # frames × places
    size: tuple[int, int]

    @property
    def period_s(self) -> float:
        """From one frame to the next, where none is missing."""
        return float(np.median(np.diff(self.at_s)))

    @property
    def length_s(self) -> float:
        return float(self.at_s[-1] - self.at_s[0])


def read_places(path: Path, places: Places) -> Readings:
    """Go through a video once."""
    at_s: list[float] = []
    values: list[list[float]] = []
    size: tuple[int, int] | None = None
    corners = [
        (slice(max(y - REACH_PX, 0), y + REACH_PX + 1), slice(max(x - REACH_PX, 0), x + REACH_PX + 1))
        for x, y in places.places
    ]
    for shot in shots(path):
        found = shot.grey.shape[1], shot.grey.shape[0]
        if size is None:
            places.require_within(str(path), found)
            size = found
        elif size != found:
            raise PalestraError(
                say(
                    "{path}: at {at:.2f} s its pictures change from {before} to {after}. Cut it there, and align each "
                    "part.",
                    path=path,
                    at=shot.at_s,
                    before="{}×{}".format(*size),
                    after="{}×{}".format(*found),
                )
            )
        at_s.append(shot.at_s)
        values.append([float(shot.grey[corner].mean()) for corner in corners])
    if size is None or len(at_s) < FEWEST_FRAMES:
        raise PalestraError(
            say(
                "{path} has {count} frames, expected at least {least}.", path=path, count=len(at_s), least=FEWEST_FRAMES
            )
        )
    readings = Readings(str(path), np.array(at_s), np.array(values), size)
    if np.any(np.diff(readings.at_s) <= 0):
        raise PalestraError(say("{path}: its frames' times do not grow. Write it anew with a video tool.", path=path))
    return readings


def require_changing(readings: Readings, places: Places) -> None:
    """Each place is dark at times and lit at others."""
    low, high = np.percentile(readings.grey, [5, 95], axis=0)
    still = [str(place) for place, span in zip(places.places, high - low, strict=True) if span < FLAT]
    if still:
        raise PalestraError(
            say(
                "{name}: the light at {places} never changes. It is out of sight, or its place is another, or it is "
                "not switched on. `palestra studio leds` finds LEDs that run a code.",
                name=readings.name,
                places=" ".join(still),
            )
        )
