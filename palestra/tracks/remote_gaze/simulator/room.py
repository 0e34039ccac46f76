"""The room behind a person: its light, what stands there, and the shoulders, which stay where they are."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Camera, World
from palestra.tracks.remote_gaze.simulator.person import Person

Floats = npt.NDArray[np.float64]
Map = npt.NDArray[np.float32]

WALL_M = 2.7  # before the cameras
JOINT_M = np.float32(0.008)  # how wide parts of a body grow together
# Ellipsoids of a body about the neck's joint: middle and half axes in metres.
_BODY = (
    ((0.0, -0.060, -0.010), (0.056, 0.130, 0.058)),  # neck
    ((0.0, -0.130, -0.030), (0.165, 0.068, 0.066)),  # what slopes from it
    ((0.0, -0.200, -0.030), (0.222, 0.090, 0.086)),  # shoulders
    ((0.195, -0.380, -0.020), (0.062, 0.240, 0.075)),  # arms
    ((-0.195, -0.380, -0.020), (0.062, 0.240, 0.075)),
    ((0.0, -0.430, -0.005), (0.190, 0.330, 0.115)),  # chest
)


@dataclass(frozen=True)
class Lighting:
    """Light in a room, in the world's axes. Colours may be brighter than 1."""

    key: Floats  # (3,) where most of it comes from
    key_colour: Floats
    fill: Floats  # (3,) where the screen's comes from
    fill_colour: Floats
    above: Floats  # colour of what comes from all over above, and below
    below: Floats
    lamp_deg: float  # how large a lamp looks in an eye
    noise: float  # of a picture, in levels of 255


@dataclass(frozen=True)
class Room:
    """A day on which people are recorded."""

    lighting: Lighting
    wall: Floats  # colour
    things: tuple[tuple[Floats, Floats], ...]  # (left, right, low, high, far) in metres, and colour
    shirt: Floats  # colour
    stripes: float  # of the shirt, 0 for none


def draw_room(condition: str, place: np.random.Generator, rng: np.random.Generator) -> Room:
    """Conditions A: lamps at the ceiling; B: another day, a window to one side, warmer and darker.

    What `place` draws is the same for all who come there; light, which changes with the hour, and shirts are not.
    """
    side = float(rng.choice([-1.0, 1.0]))
    if condition == "A":
        key = np.array([0.25 * side + rng.normal(0, 0.08), 0.72, 0.60])
        key_colour = rng.normal(1.02, 0.06) * np.array([1.0, 0.97, 0.92])
        above, below = np.array([0.46, 0.47, 0.48]), np.array([0.22, 0.21, 0.20])
    else:
        key = np.array([0.88 * side, 0.28 + rng.normal(0, 0.06), 0.36])
        key_colour = rng.normal(1.25, 0.08) * np.array([1.0, 0.90, 0.74])
        above, below = np.array([0.22, 0.22, 0.25]), np.array([0.12, 0.11, 0.11])
    lighting = Lighting(
        key=key / np.linalg.norm(key),
        key_colour=key_colour,
        fill=np.array([0.05, 0.35, 0.935]),
        fill_colour=rng.uniform(0.16, 0.26) * np.array([0.86, 0.96, 1.08]),
        above=above,
        below=below,
        lamp_deg=float(rng.uniform(5, 8) if condition == "A" else rng.uniform(9, 13)),
        noise=1.3 if condition == "A" else 1.9,
    )
    wall = place.uniform(0.34, 0.5) * np.array([1.0, place.uniform(0.95, 1.0), place.uniform(0.86, 1.0)])
    return Room(lighting, wall, _things(place), rng.uniform(0.03, 0.5, 3), float(rng.choice([0.0, 0.0, 0.3])))


def _things(rng: np.random.Generator) -> tuple[tuple[Floats, Floats], ...]:
    """Shelves, a door, pictures: flat things between the person and the wall."""
    found = []
    for middle in rng.permutation([-1.1, -0.45, 0.5, 1.2])[:3]:
        wide, high = rng.uniform(0.2, 0.42), rng.uniform(0.3, 0.8)
        low, far = rng.uniform(-0.7, 0.1), rng.uniform(1.9, WALL_M - 0.05)
        place = np.array([middle - wide, middle + wide, low, low + high, far])
        found.append((place, rng.uniform(0.05, 0.55) * rng.uniform(0.6, 1.0, 3)))
    return tuple(sorted(found, key=lambda thing: -float(thing[0][4])))


@dataclass(frozen=True)
class Still:
    """What a camera sees of a room where nothing moves."""

    light: Map  # (h, w, 3) before it becomes a picture
    far_m: Map  # (h, w) along the camera's axis


def stand(camera: Camera, room: Room, person: Person, neck: World, up: Floats) -> Still:
    """The room with the person's body in it, whose neck joins the head at `neck`. `up` is where the ceiling is."""
    step = max(1, camera.width // 960)  # it is out of focus: a sharp camera's picture of it need not be drawn finer
    rays, origin = _rays(camera, step), camera.pose.translation
    light, far = _background(rays, origin, room)
    axes = np.stack([np.array([1.0, 0, 0]), up, np.cross([1.0, 0, 0], up)]).astype(np.float32)
    local, start = rays @ axes.T, axes @ (origin - neck).astype(np.float32)
    body = _body_m(local, start)
    place = start + np.minimum(body, WALL_M)[..., None] * local
    shine = _shine(room.lighting, _facing(place) @ axes)
    nearer = body < far
    light = np.where(nearer[..., None], _body_colour(person, room, place) * shine, light)
    light = _map(cv2.GaussianBlur(light, (0, 0), 0.65))
    size = camera.width, camera.height
    return Still(_map(cv2.resize(light, size)), _map(cv2.resize(np.where(nearer, body, far), size)))


def _body_m(rays: Map, start: Map) -> Map:
    """How far along rays the body is, with its parts grown together; very far where it is not met."""
    hits = [_ellipsoid_m(rays, start - _map(middle), _map(half)) for middle, half in _BODY]
    nearest = np.minimum.reduce(hits)
    together = np.add.reduce([np.exp(np.maximum((nearest - hit) / JOINT_M, -30)) for hit in hits])
    return _map(nearest - JOINT_M * np.log(together))


def _facing(place: Map) -> Map:
    """Normals of a surface that a picture shows, from how its places change from pixel to pixel."""
    normal = np.cross(np.gradient(place, axis=0), np.gradient(place, axis=1))
    return _map(normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12))


def _map(values: npt.ArrayLike) -> Map:
    return np.asarray(values, dtype=np.float32)


def _rays(camera: Camera, step: int) -> Map:
    """(h, w, 3) directions of the world that go one metre along the camera's axis, for every so many pixels."""
    k, turn = camera.intrinsics, camera.pose.rotation
    across = (np.arange(0, camera.width, step) + (step - 1) / 2 - k[0, 2]) / k[0, 0]
    down = (np.arange(0, camera.height, step) + (step - 1) / 2 - k[1, 2]) / k[1, 1]
    across, down = np.meshgrid(across, down)
    return _map(np.stack([across, down, np.ones_like(across)], axis=-1) @ turn.T)


def _background(rays: Map, origin: Floats, room: Room) -> tuple[Map, Map]:
    """A wall with flat things before it."""
    far = np.full(rays.shape[:2], WALL_M, np.float32)
    place = origin.astype(np.float32) + WALL_M * rays
    fall = 1 - 0.10 * place[..., 0] * np.float32(np.sign(-room.lighting.key[0])) + 0.08 * place[..., 1]
    bright = (0.6 * room.lighting.key_colour + room.lighting.above) * 0.55
    light = fall[..., None] * (room.wall * bright).astype(np.float32)
    for (left, right, low, high, away), colour in room.things:
        at = origin.astype(np.float32) + np.float32(away) * rays
        inside = (at[..., 0] > left) & (at[..., 0] < right) & (at[..., 1] > low) & (at[..., 1] < high)
        shelves = 0.75 + 0.25 * (np.mod((at[..., 1] - low) / 0.31, 1) > 0.08)
        light = np.where(inside[..., None], (shelves[..., None] * colour * bright).astype(np.float32), light)
        far = np.where(inside, np.float32(away), far)
    return _map(light), _map(far)


def _ellipsoid_m(rays: Map, start: Map, half: Map) -> Map:
    """How far along rays an ellipsoid is; very far where it is not met."""
    way, begin = rays / half, start / half
    a, b = np.einsum("ijk,ijk->ij", way, way), way @ begin
    under = b * b - a * (begin @ begin - 1)
    return _map(np.where(under > 0, (-b - np.sqrt(np.maximum(under, 0))) / a, 9 * WALL_M))


def _body_colour(person: Person, room: Room, place: Map) -> Map:
    """Skin down to the collar, cloth below; it is darker in the shade of the chin."""
    x, y, z = np.moveaxis(place, -1, 0)
    collar = -0.080 - 0.55 * np.clip(z + 0.01, 0, 0.06) + 0.2 * np.abs(x)
    cloth = np.clip((collar - y) / 0.004, 0, 1)[..., None]
    folds = (
        1 + 0.10 * np.sin(31 * x + 9 * np.sin(17 * y)) * np.sin(23 * y + 4) + room.stripes * (np.mod(y, 0.05) > 0.03)
    )
    shade = np.clip(0.40 + (-0.02 - y) / 0.16, 0.40, 1)[..., None]
    skin = np.array(person.skin, np.float32) * shade
    return np.asarray(skin + cloth * (room.shirt.astype(np.float32) * folds[..., None] - skin), np.float32)


def _shine(lighting: Lighting, normal: Map) -> Map:
    """The light that falls on places of a plain surface."""
    key = np.clip(normal @ lighting.key.astype(np.float32), 0, 1)[..., None] * lighting.key_colour
    fill = np.clip(normal @ lighting.fill.astype(np.float32), 0, 1)[..., None] * lighting.fill_colour
    high = (0.5 + 0.5 * normal[..., 1:2]) * (lighting.above - lighting.below) + lighting.below
    return np.asarray(key + fill + high, np.float32)
