"""The eye's geometry: how the ball turns, what the cornea bends and mirrors, where lids and lashes lie.

Millimetres in the eye's axes: origin at the ball's centre, X to the person's left, Y up, Z out of the face.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from palestra.eyes.simulator.scene import Camera, Person
from palestra.eyes.simulator.vectors import angles_deg, turn, unit

Array = npt.NDArray[Any]

AQUEOUS_INDEX = 1.336
CORNEA_TO_IRIS_MM = 3.6  # depth of the anterior chamber, cornea included
LID_AXES_MM = np.array([17.0, 14.8, 12.8])  # the lids slide on this ellipsoid around the ball and the cornea
CLOSED_GAP_MM = 0.2  # what annotators still draw of a closed eye: a sliver
LASH_STEPS = np.linspace(0.0, 1.0, 6)
_ALONG = np.linspace(0.0, 1.0, 81)  # nasal to temporal corner


@dataclass(frozen=True)
class Ball:
    """The parts of one person's eyeball along its optical axis."""

    radius_mm: float
    cornea_mm: float  # radius of curvature
    limbus_mm: float  # radius of the ring where the cornea begins
    limbus_z_mm: float
    cornea_z_mm: float  # centre of the corneal sphere
    iris_z_mm: float


def ball_of(person: Person) -> Ball:
    """A corneal sphere that meets the ball at the limbus, with the iris behind its apex."""
    limbus = person.iris_mm / 2
    limbus_z = float(np.sqrt(person.eyeball_mm**2 - limbus**2))
    cornea_z = limbus_z - float(np.sqrt(person.cornea_mm**2 - limbus**2))
    iris_z = min(cornea_z + person.cornea_mm - CORNEA_TO_IRIS_MM, limbus_z - 0.1)
    return Ball(person.eyeball_mm, person.cornea_mm, limbus, limbus_z, cornea_z, iris_z)


def eye_rotation(person: Person, gaze: Array) -> Array:
    """Turns the ball so that the visual axis, nasal of and above the optical one, meets the gaze."""
    yaw_deg, pitch_deg = angles_deg(gaze)
    return turn(yaw_deg + person.kappa_h_deg, pitch_deg - person.kappa_v_deg)


def trace_iris(ball: Ball, eye_mm: Array, rays: Array) -> Array:
    """Where rays from a point meet the iris plane through the cornea, and how far from the axis they pass the limbus.

    Everything in the ball's own axes; gives (..., 3): u and v on the iris, radius on the limbus plane.
    """
    centre = np.array([0.0, 0.0, ball.cornea_z_mm])
    from_centre = eye_mm - centre
    along = rays @ from_centre
    # Rays beside the cornea are taken at its rim: they are outside the limbus and never shown.
    inside = np.maximum(along**2 - (from_centre @ from_centre - ball.cornea_mm**2), 0.0)
    surface = eye_mm + (-along - np.sqrt(inside))[..., None] * rays
    normal = unit(surface - centre)
    cosine = -(normal * rays).sum(-1)
    ratio = 1 / AQUEOUS_INDEX
    bent = ratio * rays + (ratio * cosine - np.sqrt(1 - ratio**2 * (1 - cosine**2)))[..., None] * normal
    to_iris = (ball.iris_z_mm - surface[..., 2]) / np.minimum(bent[..., 2], -0.05)
    on_iris = surface[..., :2] + to_iris[..., None] * bent[..., :2]
    to_limbus = (ball.limbus_z_mm - eye_mm[2]) / np.minimum(rays[..., 2], -0.05)
    on_limbus = eye_mm[:2] + to_limbus[..., None] * rays[..., :2]
    return np.concatenate([on_iris, np.hypot(on_limbus[..., :1], on_limbus[..., 1:])], axis=-1)


def mirror_points(centre_mm: Array, radius_mm: Array, eye_mm: Array, lights_mm: Array) -> Array:
    """Where balls mirror each light into the camera: the normal halves the angle between the two."""
    normal = unit(eye_mm - centre_mm)
    for _ in range(7):  # a contraction, because the radius is small against the distances
        point = centre_mm + radius_mm * normal
        normal = unit(unit(lights_mm - point) + unit(eye_mm - point))
    return np.asarray(centre_mm + radius_mm * normal)


def reflections(ball: Ball, camera: Camera, rotation: Array) -> tuple[Array, Array]:
    """LED reflections in pixels: on the cornea, and on the white for LEDs that miss the cornea."""
    axis = rotation[:, 2]
    centres = np.stack([axis * ball.cornea_z_mm, np.zeros(3)])[:, None]
    radii = np.array([ball.cornea_mm, ball.radius_mm])[:, None, None]
    on_cornea, on_white = mirror_points(centres, radii, camera.position_mm, camera.leds_mm)
    hits = on_cornea @ axis > ball.limbus_z_mm + 0.1
    beside = on_white @ axis < ball.limbus_z_mm - 0.3
    return camera.project(on_cornea[hits]), camera.project(on_white[beside])


def spot(centre_px: Array, radius_px: float, size_px: int) -> Array:
    """A light's image, 1 in the middle, with a faint halo."""
    steps = np.arange(size_px)
    along_x, along_y = (np.exp(-(((steps - centre) / radius_px) ** 2)) for centre in centre_px)
    return np.outer(along_y, along_x) + 0.03 * np.outer(along_y**0.2, along_x**0.2)


def ellipse_of(inside: Array, origin_px: tuple[float, float]) -> tuple[float, float, float, float, float] | None:
    """The ellipse with a region's area and moments: centre, long axis, short axis, angle of the long axis."""
    moments = cv2.moments(inside, True)
    area = moments["m00"]
    if area < 4:
        return None
    spread = np.array([[moments["mu20"], moments["mu11"]], [moments["mu11"], moments["mu02"]]]) / area
    values, vectors = np.linalg.eigh(spread)
    short, long = 4 * np.sqrt(np.maximum(values, 0.01))
    angle_deg = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))) % 180
    centre_x, centre_y = moments["m10"] / area + origin_px[0], moments["m01"] / area + origin_px[1]
    return centre_x, centre_y, float(long), float(short), angle_deg


@dataclass(frozen=True)
class Lids:
    """Both lid margins from the nasal to the temporal corner, (81, 3) mm each, and the crease above them."""

    upper_mm: Array
    lower_mm: Array
    crease_mm: Array
    opening: float


def _bump(peak: float, power: float) -> Array:
    """A lid's height along the eye, 1 at its peak; low over the first tenth, where the tear lake is."""
    rise = peak / (1 - peak)
    height = _ALONG ** (power * rise) * (1 - _ALONG) ** power
    lake = 0.5 + 0.5 * np.clip(_ALONG / 0.16, 0, 1) ** 1.5
    return np.asarray(height / height.max() * lake)


def _on_lid_surface(x_mm: Array, y_mm: Array) -> Array:
    depth = 1 - (x_mm / LID_AXES_MM[0]) ** 2 - (y_mm / LID_AXES_MM[1]) ** 2
    return np.stack([x_mm, y_mm, LID_AXES_MM[2] * np.sqrt(np.maximum(depth, 0.05))], axis=-1)


def lids_at(person: Person, gaze_pitch_deg: float, opening: float) -> Lids:
    """The upper lid goes with the eye up and down, the lower one a little; closing brings the upper one down."""
    opening = float(np.clip(opening, 0.0, 1.15))
    lift_mm = float(np.clip(person.eyeball_mm * np.sin(np.radians(gaze_pitch_deg)), -5.5, 4.0))
    half = person.fissure_mm / 2
    x_mm = np.linspace(-half, half, len(_ALONG)) + person.corner_shift_mm
    slant = np.tan(np.radians(person.tilt_deg))
    base = -1.2 + (x_mm + half) * slant  # the nasal corner lies a little below the pupil
    top_mm = person.upper_mm + 0.68 * lift_mm
    bottom_mm = person.lower_mm - 0.3 * lift_mm - 1.1 * (1 - min(opening, 1.0))
    lower = base - (bottom_mm - 1.2) * _bump(person.lower_peak, 0.62)
    widest = base + (top_mm + 1.2) * _bump(person.upper_peak, 0.55)
    sliver = CLOSED_GAP_MM * np.minimum(_bump(0.5, 0.3), 1)
    upper = lower + sliver + np.maximum(widest - lower, 0) * opening
    # The fold stays with the brow while the lid below it slides out or in.
    fold = widest + (person.crease_mm + 0.3) * (0.4 + 0.6 * _bump(0.48, 0.4)) - 0.1 * (1 - opening) * (widest - lower)
    crease = np.maximum(fold, upper + 0.3)
    return Lids(_on_lid_surface(x_mm, upper), _on_lid_surface(x_mm, lower), _on_lid_surface(x_mm, crease), opening)


def column_heights(camera: Camera, curve_mm: Array, columns_px: Array) -> tuple[Array, Array]:
    """A curve's image height in each column, and how far each lies beyond the curve's ends (px, negative within)."""
    points = camera.project(curve_mm)
    heights = np.interp(columns_px, points[:, 0], points[:, 1])
    beyond = np.maximum(points[0, 0] - columns_px, columns_px - points[-1, 0])
    return heights.astype(np.float32), beyond.astype(np.float32)


@dataclass(frozen=True)
class Lashes:
    """One lid's lashes: where each grows along the lid, and how."""

    along: Array  # (n,) 0 nasal … 1 temporal
    length_mm: Array  # (n,)
    curl: Array  # (n,) how far the tip bends back to its lid, of its length
    splay: Array  # (n,) sideways lean
    droop: float  # how far an open lid's lashes hang before they curl
    side: float  # 1 upper lid, -1 lower


def draw_lashes(person: Person, upper: bool, rng: np.random.Generator) -> Lashes:
    count = person.lash_count if upper else person.lash_count * 2 // 5
    along = np.sort(rng.uniform(0.1, 0.97, count))
    if person.lash_tufts:  # mascara glues them to bars
        middle = (np.floor(along * person.lash_tufts) + 0.5) / person.lash_tufts
        along = np.clip(along + 0.8 * (middle - along), 0.1, 0.97)
    length = person.lash_mm * (1.0 if upper else 0.5) * rng.uniform(0.55, 1.05, count) * np.sin(np.pi * along) ** 0.3
    curl = rng.normal(person.lash_curl, 0.1, count)
    splay = 1.5 * (along - 0.45) + rng.normal(0, 0.2, count)
    # Neighbours lean together into tufts; mascara glues them, so more so with it.
    tufts = rng.uniform(70, 110)
    splay += (0.45 if person.profile.makeup else 0.2) * np.sin(along * tufts)
    return Lashes(along, length, curl, splay, person.lash_droop, 1.0 if upper else -1.0)


def lash_curves(lashes: Lashes, lids: Lids) -> Array:
    """Each lash as a curve of 6 points, (n, 6, 3) mm; lashes of a closing lid turn down with it."""
    margin = lids.upper_mm if lashes.side > 0 else lids.lower_mm
    place = lashes.along * (len(_ALONG) - 1)
    root = np.stack([np.interp(place, np.arange(len(_ALONG)), margin[:, axis]) for axis in range(3)], axis=-1)
    outward = unit(root / LID_AXES_MM**2)
    upward = unit(np.array([0.0, 1.0, 0.0]) - outward * outward[:, 1:2])
    droop = lashes.droop + 0.55 * (1 - min(lids.opening, 1.0)) if lashes.side > 0 else 0.0
    step = LASH_STEPS[None, :, None] * lashes.length_mm[:, None, None]
    bend = (LASH_STEPS[None, :] ** 2 * lashes.curl[:, None] - droop * LASH_STEPS[None, :])[..., None]
    sideways = np.array([1.0, 0.0, 0.0]) * lashes.splay[:, None, None] * 0.5
    lift = lashes.side * bend * lashes.length_mm[:, None, None] * upward[:, None]
    return np.asarray(root[:, None] + step * 0.8 * (outward[:, None] + sideways) + lift)
