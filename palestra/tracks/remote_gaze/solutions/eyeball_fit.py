"""An eyeball behind an iris: where it looks when the iris is seen there, and what a person's looks like.

Points and directions are those of virtual_camera.py's pictures, with x towards the temple, y up and z to the camera.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.remote_gaze.solutions.robust_regression import fit_near

Floats = NDArray[np.float64]

TOWARDS_US = np.diag([1.0, -1.0, -1.0])  # from a camera's axes (right, down, ahead) to right, up and back
MIRROR = np.diag([-1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Eyeball:
    """One eye of a person."""

    temple_mm: float = 0.0  # where its middle is beside the given one, in the head's axes
    up_mm: float = 0.0
    ahead_mm: float = 0.0
    radius_mm: float = 10.4  # from its middle to the iris's
    kappa_temple_rad: float = 0.087  # by which the iris points past what is looked at
    kappa_up_rad: float = 0.026
    seen_up: float = 0.9  # lids hide more of an iris that goes up or down: so much of its way is seen

    def numbers(self) -> Floats:
        return np.array([getattr(self, part.name) for part in fields(self)])


USUAL = Eyeball()
# How much people differ from the usual, and given eyes from true ones; what the data does not tell stays within it.
SPREAD = Eyeball(1.0, 1.0, 0.8, 0.5, 0.03, 0.03, 0.1)


@dataclass(frozen=True)
class Sight:
    """What is known of an eye in some frames."""

    irises_mm: Floats  # (n, 2)
    far_mm: Floats  # (n,) from the camera to the given middle of the eyeball
    heads: Floats  # (n, 3, 3) from the head's axes to the picture's, mirrored for a right eye


def head_in_picture(heads: Floats, axes: Floats, which: int) -> Floats:
    """(n, 3, 3) from the head's axes to those of an eye's pictures, both mirrored for the right eye."""
    turned = TOWARDS_US @ axes[:, which] @ heads
    return np.asarray(turned if which == 0 else MIRROR @ turned @ MIRROR)


def looks(sight: Sight, ball: Eyeball) -> Floats:
    """(n, 2) yaw to the temple and pitch up in the picture's axes, radians."""
    optical = (np.swapaxes(sight.heads, 1, 2) @ _optical(sight, ball)[..., None])[..., 0]
    yaw, pitch = np.moveaxis(_angles(optical), -1, 0)
    yaw, pitch = yaw - ball.kappa_temple_rad, pitch - ball.kappa_up_rad
    visual = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1)
    return _angles((sight.heads @ visual[..., None])[..., 0])


def fit_eyeball(sight: Sight, angles: Floats, usual: Eyeball = USUAL) -> Eyeball:
    """The eyeball that looks where it should in most frames, and is not stranger than it must be."""

    def told(numbers: Floats) -> Floats:
        return looks(sight, Eyeball(*numbers))

    return Eyeball(*fit_near(told, angles, usual.numbers(), SPREAD.numbers()).tolist())


def mean_of(balls: list[Eyeball]) -> Eyeball:
    return Eyeball(*np.mean([ball.numbers() for ball in balls], axis=0).tolist())


def _optical(sight: Sight, ball: Eyeball) -> Floats:
    """(n, 3) from the eyeball's middle to where the line through the seen iris first meets the sphere it turns on."""
    middle = (sight.heads @ np.array([ball.temple_mm, ball.up_mm, ball.ahead_mm])[:, None])[..., 0]
    x, y = sight.irises_mm[:, 0], sight.irises_mm[:, 1] / ball.seen_up
    way = np.stack([x, y, -sight.far_mm], axis=-1)
    way /= np.linalg.norm(way, axis=-1, keepdims=True)
    start = np.stack([np.zeros_like(x), np.zeros_like(x), sight.far_mm], axis=-1) - middle
    nearest = -(start * way).sum(axis=-1)
    under = nearest**2 - (start * start).sum(axis=-1) + ball.radius_mm**2
    # A line that misses the sphere is taken to touch it.
    met = start + (nearest - np.sqrt(np.maximum(under, 0)))[:, None] * way
    return np.asarray(met / np.linalg.norm(met, axis=-1, keepdims=True))


def _angles(vectors: Floats) -> Floats:
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], axis=-1)
