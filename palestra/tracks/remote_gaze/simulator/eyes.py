"""A person's eyes: lids that follow the gaze and blink, and the ball behind them, seen by a camera.

Everything is in millimetres about the middle of the eyeball, x towards the temple, so that both eyes are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from palestra.tracks.remote_gaze.simulator.maps import Map, step
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.simulator.shape import EYEBALL_MM, LID_MM
from palestra.tracks.remote_gaze.simulator.view import Box, View

Floats = npt.NDArray[np.float64]

CORNEA_AHEAD_MM, CORNEA_MM = 5.4, 7.6  # its middle before the eyeball's, and its radius
FOLLOWS_UP, FOLLOWS_DOWN = 0.085, 0.135  # mm by which the upper lid goes with a degree of gaze
SIDES = (1.0, -1.0)  # left, right: which way the temple is
_REACH_MM = np.array([[x, y, 9.0] for x in (-17.0, 17.0) for y in (-9.0, 12.0)])  # of what is drawn


def _map(values: npt.ArrayLike) -> Map:
    return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True)
class Lids:
    """Where the lids' margins are."""

    inner_mm: tuple[float, float]  # the corner at the nose
    outer_mm: tuple[float, float]
    upper_mm: float  # how far above the line between the corners
    lower_mm: float  # how far below

    def margins(self, x: Map) -> tuple[Map, Map]:
        """Heights of the upper and the lower margin."""
        across = np.clip((x - self.inner_mm[0]) / (self.outer_mm[0] - self.inner_mm[0]), 0, 1)
        line = self.inner_mm[1] + (self.outer_mm[1] - self.inner_mm[1]) * across
        upper = np.maximum(np.sin(np.pi * across**0.88), 0) ** 0.72
        lower = np.maximum(np.sin(np.pi * across**1.12), 0) ** 0.85
        return _map(line + self.upper_mm * upper), _map(line - self.lower_mm * lower)


@dataclass(frozen=True)
class Light:
    """What shines on an eye, in the head's axes."""

    key: Floats  # (3,) where it comes from
    key_colour: Floats
    around: Floats  # colour of the light from everywhere
    lamps: Floats  # (n, 3) directions of what is mirrored in the cornea
    lamp_deg: float  # how large those are


@dataclass(frozen=True)
class Sight:
    """What an eye does."""

    axis: Floats  # (3,) the optical one, in the head's axes
    opening: float  # of the lids
    pupil_mm: float


@dataclass(frozen=True)
class Layer:
    """What lies over a box of a picture: colour already weighed by its cover."""

    box: Box
    colour: Map  # (h, w, 3)
    cover: Map  # (h, w, 1)
    far_m: Map  # (h, w, 1) of the lids, along the camera's axis


def optical_axis(person: Person, which: int, visual: Floats) -> Floats:
    """Where the pupil points when the person looks along `visual`; both in the head's axes."""
    side_deg, up_deg = person.kappa_deg[which]
    x, y, z = visual / np.linalg.norm(visual)
    yaw = np.arctan2(x, z) + SIDES[which] * np.radians(side_deg)
    pitch = np.arcsin(np.clip(y, -1, 1)) + np.radians(up_deg)
    return np.array([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)])


def lids_at(person: Person, pitch_deg: float, opening: float) -> Lids:
    """The lids of an eye that looks so far up and is open to this share."""
    half = person.fissure_mm / 2
    follow = FOLLOWS_UP if pitch_deg > 0 else FOLLOWS_DOWN
    upper = max(0.50 * person.opening_mm + follow * pitch_deg, 0.8)
    lower = 0.50 * person.opening_mm - 0.045 * pitch_deg
    shut = 0.8 * lower  # where the margins meet
    return Lids(
        (-half + 0.2, -1.2),
        (half + 0.2, -1.2 + person.tilt_mm),
        -shut + (upper + shut) * opening,
        shut + (lower - shut) * opening,
    )


def draw_eye(person: Person, which: int, view: View, sight: Sight, light: Light, over: int) -> Layer:
    """One eye, with `over`² rays to a pixel."""
    side = SIDES[which]
    mirror = np.array([side, 1.0, 1.0])
    box = view.box((person.eyes_mm[which] + _REACH_MM) / 1000, edge_px=1)
    if box.empty:
        return Layer(box, *(np.zeros((0, 0, n), np.float32) for n in (3, 1, 1)))
    shape = box.bottom - box.top, box.right - box.left
    columns = box.left - 0.5 + (np.arange(shape[1] * over) + 0.5) / over
    rows = box.top - 0.5 + (np.arange(shape[0] * over) + 0.5) / over
    rays = np.stack(view.rays(columns, rows)) * _map(mirror)[:, None, None]
    origin = (view.origin_m * 1000 - person.eyes_mm[which]) * mirror
    light = replace(light, key=light.key * mirror, lamps=light.lamps * mirror)
    lids = lids_at(person, float(np.degrees(np.arcsin(sight.axis[1]))), sight.opening)
    place, far_mm = _on_ellipsoid(origin, rays, np.array(LID_MM))
    margins = _Margins.of(lids, place)
    colour, cover = _lid_colours(person, margins, sight.opening)
    ball = _ball_colours(person, replace(sight, axis=sight.axis * mirror), (origin, rays), light)
    ball *= margins.shade[..., None]
    colour = np.where(margins.inside[..., None], ball, colour * cover[..., None])
    cover = np.where(margins.inside, np.float32(1), cover)
    small = _map(cv2.resize(np.dstack([colour, cover, far_mm]), shape[::-1], interpolation=cv2.INTER_AREA))
    return Layer(box, small[..., :3], small[..., 3:4], small[..., 4:] / np.float32(1000))


def _on_ellipsoid(origin: Floats, rays: Map, axes: Floats) -> tuple[Map, Map]:
    """Where rays first meet an ellipsoid about the eyeball (far outside where they do not), and how far along."""
    start = (origin / axes).astype(np.float32)
    way = rays / axes.astype(np.float32)[:, None, None]
    a, b = (way * way).sum(axis=0), np.tensordot(start, way, 1)
    under = b * b - a * np.float32(start @ start - 1)
    far = (-b - np.sqrt(np.maximum(under, 0))) / a
    place = origin.astype(np.float32)[:, None, None] + far * rays
    met = (under > 0) & (place[2] > 0)
    return np.where(met, place, np.float32(99)), far


@dataclass(frozen=True)
class _Margins:
    """Places on the lids' surface beside the lids' margins."""

    above: Map  # mm over the upper one
    below: Map  # mm under the lower one
    across: Map  # 0 at the inner corner, 1 at the outer one
    width_mm: float

    @classmethod
    def of(cls, lids: Lids, place: Map) -> _Margins:
        upper, lower = lids.margins(place[0])
        width = lids.outer_mm[0] - lids.inner_mm[0]
        return cls(place[1] - upper, lower - place[1], _map((place[0] - lids.inner_mm[0]) / width), width)

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Whether the eye is open there."""
        return np.asarray((self.above < 0) & (self.below < 0) & (self.across > 0) & (self.across < 1))

    @property
    def shade(self) -> Map:
        """What light is left under the upper lid and in the corners."""
        edge = self.width_mm * np.minimum(self.across, 1 - self.across).clip(0, 1)
        light = 1 - 0.62 * np.exp(np.minimum(self.above, 0) / np.float32(1.3))
        light *= 1 - 0.25 * np.exp(np.minimum(self.below, 0) / np.float32(0.8))
        return _map(light * (1 - 0.4 * np.exp(-edge / np.float32(2.2))))


def _lid_colours(person: Person, margins: _Margins, opening: float) -> tuple[Map, Map]:
    """Lashes, the fold above the eye and the wet rim below it: colour, and how much they cover the skin."""
    above, below, across = margins.above, margins.below, margins.across.clip(0, 1)
    ends = np.clip(across * 9, 0, 1) * np.clip((1.06 - margins.across) * 12, 0, 1)
    lash_mm = 0.5 + 1.2 * person.lashes * (0.4 + 0.6 * across)
    lash = step(above + 0.3, 0.1) * np.exp(-((np.clip(above, 0, 20) / lash_mm) ** 2)) * (0.45 + 0.5 * person.lashes)
    # Where the lids are nearly shut their skin is smooth; open, the fold is dark and close to the margin.
    fold_mm = (4.6 - 2.6 * person.hood) * (0.4 + 0.6 * np.sin(np.pi * across))
    fold = 0.42 * opening * np.exp(-(((above - fold_mm) / 0.75) ** 2))
    under = (0.12 + 0.3 * person.lashes * across) * np.exp(-(((below - 1.0) / 0.7) ** 2))
    dark = 1 - (1 - lash) * (1 - fold) * (1 - under)
    rim = 0.55 * step(below, 0.08) * np.exp(-((np.clip(below, 0, 20) / 0.55) ** 2)) * opening
    skin = _map(person.skin)
    black = 0.5 * _map(person.hair) + np.float32(0.03) * skin
    pink = 0.55 * skin * _map([1.05, 0.8, 0.78]) + np.float32(0.03)
    cover = np.clip(dark + rim, 0, 1) * ends * (above < 50)
    share = rim / np.maximum(dark + rim, 1e-6)
    return _map(black + share[..., None] * (pink - black)), _map(cover)


def _ball_colours(person: Person, sight: Sight, seen: tuple[Floats, Map], light: Light) -> Map:
    """The eyeball under every ray: white, iris, pupil, and the lamps that the cornea mirrors."""
    origin, rays = seen
    place, _ = _on_ellipsoid(origin, rays, np.full(3, EYEBALL_MM))
    missed = place[0] > 50
    normal = place / np.float32(EYEBALL_MM)
    lit = np.clip(np.tensordot(light.key.astype(np.float32), normal, 1), 0, 1)
    shine = (light.around + 0.75 * lit[..., None] * light.key_colour).astype(np.float32)
    veins = np.clip(np.abs(place[0]) / 12, 0, 1)[..., None] ** 2
    white = np.array([0.66, 0.61, 0.57], np.float32) * (1 - veins * np.array([0.12, 0.34, 0.36], np.float32))
    flesh = np.array(person.skin, np.float32) * np.array([1.0, 0.66, 0.62], np.float32)
    colour = np.where(missed[..., None], flesh, white)
    iris, cover = _iris(person, sight, seen)
    colour = (colour + cover[..., None] * (iris - colour)) * shine
    return np.asarray(colour + _mirrored(sight.axis, seen, light), dtype=np.float32)


def _iris(person: Person, sight: Sight, seen: tuple[Floats, Map]) -> tuple[Map, Map]:
    """The coloured disc and its pupil: colour, and where it is."""
    axis, (origin, rays) = sight.axis, seen
    ahead_mm = np.sqrt(EYEBALL_MM**2 - person.iris_mm**2)
    towards = np.tensordot(axis.astype(np.float32), rays, 1)
    far = np.float32(ahead_mm - origin @ axis) / np.minimum(towards, np.float32(-1e-3))
    disc = (origin - ahead_mm * axis).astype(np.float32)[:, None, None] + far * rays
    away = np.sqrt((disc * disc).sum(axis=0))
    right = np.cross([0.0, 1.0, 0.0], axis)
    up = np.cross(axis, right)
    turn = np.arctan2(np.tensordot(up.astype(np.float32), disc, 1), np.tensordot(right.astype(np.float32), disc, 1))
    phases = np.random.default_rng(person.texture_seed).uniform(0, 2 * np.pi, 4)
    fibres = sum(np.sin(count * turn + phase) for count, phase in zip((9, 17, 26, 41), phases, strict=True))
    share = away / person.iris_mm
    bright = 0.85 + 0.09 * fibres + 0.35 * np.exp(-(((share - 0.45) / 0.12) ** 2))
    bright *= (1 - 0.6 * step(share - 0.9, 0.04)) * (1 - 0.94 * step(sight.pupil_mm / 2 - away, 0.08))
    cover = step(person.iris_mm - away, 0.12) * (towards < 0)
    return _map(bright[..., None] * _map(person.iris)), _map(cover)


def _mirrored(axis: Floats, seen: tuple[Floats, Map], light: Light) -> Map:
    """Lamps in the cornea, which is a small ball that stands out of the large one."""
    origin, rays = seen
    centre = CORNEA_AHEAD_MM * axis
    place, _ = _on_ellipsoid(origin - centre, rays, np.full(3, CORNEA_MM))
    normal = place / np.float32(CORNEA_MM)
    # The white is no cornea: only what stands before the limbus shines like this.
    ahead = np.tensordot(axis.astype(np.float32), place, 1) + np.float32(CORNEA_AHEAD_MM)
    wet = step(ahead - 10.3, 0.15) * (place[0] < 50)
    way = rays / np.sqrt((rays * rays).sum(axis=0))
    back = way - 2 * (way * normal).sum(axis=0) * normal
    glow = np.zeros(rays.shape[1:], np.float32)
    width = np.float32(1 - np.cos(np.radians(light.lamp_deg)))
    for lamp in light.lamps.astype(np.float32):
        glow += np.exp(-(((1 - np.tensordot(lamp, back, 1)) / width) ** 2))
    return np.asarray((0.75 * wet * glow)[..., None] * np.ones(3, np.float32), dtype=np.float32)
