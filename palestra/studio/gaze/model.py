"""From cornea and pupil to the gaze, and a person's own eye from points that they looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from scipy.optimize import least_squares

from palestra.errors import PalestraError
from palestra.studio.gaze.cornea import Cornea, find_cornea
from palestra.studio.gaze.rig import Array, Rig, unit
from palestra.text import say

INDEX = 1.336  # of the water behind the cornea
LEAST_POINTS = 5
LEAST_SPREAD_DEG = 8.0  # that points must lie apart
NONE_DEG = 10.0  # how far off a picture counts in which an eye of these sizes gives no gaze
POOR_DEG = 3.0  # mean error at the known points from which on a fit is refused


class Eye(msgspec.Struct, frozen=True):
    """What a person's eye is like, as far as it matters here. Averages of people, until it is calibrated."""

    cornea_mm: float = 7.8  # radius
    pupil_mm: float = 4.2  # from the cornea's centre to the pupil's
    yaw_deg: float = 0.0  # from the optical axis to the gaze
    pitch_deg: float = 0.0


@dataclass(frozen=True)
class Seen:
    """What was found in a picture."""

    pupil_px: tuple[float, float]
    glints_px: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Gaze:
    """Where an eye looks: from the cornea's centre in a direction, in the headset's axes."""

    origin_mm: Array
    direction: Array
    glints: int  # that agree
    off_px: float


def gaze_of(seen: Seen, rig: Rig, eye: Eye) -> Gaze | None:
    """The gaze; None where fewer than two reflections agree."""
    cornea = find_cornea(np.array(seen.glints_px), np.array(seen.pupil_px), rig, eye.cornea_mm)
    if cornea is None:
        return None
    axis = optical_axis(cornea, np.array(seen.pupil_px), rig, eye)
    if axis is None:
        return None
    return Gaze(cornea.centre_mm, turned(axis, eye.yaw_deg, eye.pitch_deg), len(cornea.lights), cornea.off_px)


def optical_axis(cornea: Cornea, pupil_px: Array, rig: Rig, eye: Eye) -> Array | None:
    """From the cornea's centre through the pupil's, which is seen through the cornea and so not where it seems."""
    ray, from_centre = rig.rays(pupil_px), rig.position_mm - cornea.centre_mm
    along = float(ray @ from_centre)
    inside = along**2 - (from_centre @ from_centre - eye.cornea_mm**2)
    if inside <= 0:
        return None
    surface = rig.position_mm + (-along - np.sqrt(inside)) * ray
    normal = (surface - cornea.centre_mm) / eye.cornea_mm
    cosine, ratio = -float(normal @ ray), 1 / INDEX
    bent = ratio * ray + (ratio * cosine - np.sqrt(1 - ratio**2 * (1 - cosine**2))) * normal
    start = surface - cornea.centre_mm
    along = float(bent @ start)
    depth = along**2 - (start @ start - eye.pupil_mm**2)
    if depth <= 0:
        return None
    pupil = start + (-along - np.sqrt(depth)) * bent
    return unit(pupil)


def angles_deg(directions: Array) -> Array:
    """Yaw to the axes' +x and pitch to +y (…, 2), in degrees."""
    x, y, z = np.moveaxis(np.asarray(directions), -1, 0)
    return np.asarray(np.degrees(np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], -1)))


def turned(direction: Array, yaw_deg: float, pitch_deg: float) -> Array:
    """The direction whose yaw and pitch are larger by so much."""
    yaw, pitch = np.radians(angles_deg(direction) + [yaw_deg, pitch_deg])
    return np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])


def apart_deg(one: Array, other: Array) -> float:
    return float(np.degrees(np.arccos(np.clip(one @ other, -1, 1))))


@dataclass(frozen=True)
class Fitted:
    """A person's eye, and how far its gaze is off at the points that it was fitted to."""

    eye: Eye
    off_deg: Array
    used: int  # of the pictures


def fit_eye(pictures: Sequence[Seen], targets_mm: Array, rig: Rig) -> Fitted:
    """A person's own eye from points that they looked at. One blink or wrong reflection among them does no harm."""
    usable = [i for i, seen in enumerate(pictures) if gaze_of(seen, rig, Eye()) is not None]
    targets = np.asarray(targets_mm, np.float64)
    if len(usable) < LEAST_POINTS:
        raise PalestraError(
            say("Two reflections and a pupil were found in {found} of {count} pictures with a known point, expected "
                "{least} at least. Look at the rig's lights, and at the pictures.",
                found=len(usable), count=len(pictures), least=LEAST_POINTS)
        )  # fmt: skip
    spread = np.ptp(angles_deg(unit(targets[usable])), axis=0).min()
    if spread < LEAST_SPREAD_DEG:
        raise PalestraError(
            say("The known points lie within {spread:.1f}°, expected {least:g}° at least to either side and in height.",
                spread=spread, least=LEAST_SPREAD_DEG)
        )  # fmt: skip

    def off(values: Array) -> Array:
        eye = Eye(*values.tolist())
        return np.concatenate([_off_deg(gaze_of(pictures[i], rig, eye), targets[i]) for i in usable])

    start = np.array([7.8, 4.2, 0.0, 0.0])
    start[2:] = -np.median(off(start).reshape(-1, 2), axis=0)
    bounds = [[6.8, 3.2, -15, -15], [9.0, 5.4, 15, 15]]
    start[2:] = np.clip(start[2:], -14.9, 14.9)
    scale = [0.3, 0.3, 3, 3]
    found = least_squares(off, start, bounds=bounds, loss="soft_l1", x_scale=scale, diff_step=1e-3)
    off_deg = np.linalg.norm(off(found.x).reshape(-1, 2), axis=-1)
    if np.median(off_deg) > POOR_DEG:
        raise PalestraError(
            say("The eye that fits best is {off:.1f}° off at the known points (median), expected {poor:g}° at most. "
                "Is it the right rig, and did the person look at the points?",
                off=float(np.median(off_deg)), poor=POOR_DEG)
        )  # fmt: skip
    return Fitted(Eye(*found.x.tolist()), off_deg, len(usable))


def _off_deg(gaze: Gaze | None, target_mm: Array) -> Array:
    """Yaw and pitch by which a gaze misses a target; a lot where there is none."""
    if gaze is None:
        return np.array([NONE_DEG, NONE_DEG])
    return angles_deg(gaze.direction) - angles_deg(unit(target_mm - gaze.origin_mm))
