"""Where irises are, worked out another way than what is tested does."""

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.remote_gaze.simulator.eyes import EYEBALL_MM
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.solutions.eyeball_fit import Eyeball, Sight

Floats = NDArray[np.float64]


def iris_centre_m(person: Person, which: int, axis: Floats) -> Floats:
    """The middle of the iris in the head's frame."""
    ahead_mm = np.sqrt(EYEBALL_MM**2 - person.iris_mm**2)
    return np.asarray((person.eyes_mm[which] + ahead_mm * axis) / 1000)


def irises_of(sight: Sight, ball: Eyeball, angles: Floats) -> Floats:
    """The way back: (n, 2) mm at which an iris is seen that looks there; what the sight itself says of it is unused."""
    yaw, pitch = np.moveaxis(angles, -1, 0)
    visual = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1)
    yaw, pitch = np.moveaxis(_angles((np.swapaxes(sight.heads, 1, 2) @ visual[..., None])[..., 0]), -1, 0)
    yaw, pitch = yaw + ball.kappa_temple_rad, pitch + ball.kappa_up_rad
    optical = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1)
    middle = np.array([ball.temple_mm, ball.up_mm, ball.ahead_mm])
    place = (sight.heads @ (middle + ball.radius_mm * optical)[..., None])[..., 0]
    seen = place[:, :2] * (sight.far_mm / (sight.far_mm - place[:, 2]))[:, None]
    return np.asarray(seen * [1.0, ball.seen_up])


def _angles(vectors: Floats) -> Floats:
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], axis=-1)
