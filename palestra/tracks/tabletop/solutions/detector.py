"""What the top camera shows: things with colour, kind, size, place and turn, from colour and depth alone.

Pixels are labelled by their chromaticity, which light and shade hardly change. Connected pixels of one colour are a
patch; moments of its upper face tell round from square, where its middle is and how it is turned.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator.cameras import CAMERAS
from palestra.tracks.tabletop.simulator.objects import (
    CABINET_HEIGHT,
    CABINET_LENGTH,
    CABINET_WIDTH,
    CLEARANCE,
    COLOURS,
    DRAWER_TRAVEL,
    KINDS,
    SOCKET_RIM,
    WALL,
    Thing,
    height_of,
    rotation,
)

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

DARK = "dark"  # of a drawer's handle and the arm's joints
_NEUTRAL = {  # chromaticities of what is no thing
    "table": (0.353, 0.335, 0.312),
    "white": (0.333, 0.333, 0.333),
    DARK: (0.300, 0.328, 0.372),
}
_LABELS = [*COLOURS, *_NEUTRAL]
_CHROMA = np.array([*(np.array(rgb) / sum(rgb) for rgb in COLOURS.values()), *_NEUTRAL.values()])
LOWEST, HIGHEST = 0.002, 0.22  # m above the table: lower is the table, higher the arm
LEAST_PIXELS = 6
IN_HAND, LEAST_IN_HAND = (0.06, 0.04, 0.10), 30  # m around the point between the fingertips; pixels
FACE = 0.003  # m below its highest point that belong to a thing's upper face
RIM = 0.004
SOLID_FILL, SOCKET_FILL = 0.9, 0.6  # how much of its own outline an upper face fills
SQUARE, LONG = 0.3, 0.16  # fourth moment by squared second one: 0.6 for a square; second moments: 0 for square or round
TRAY_BELOW, PLATE_BELOW, TALL = 0.012, 0.02, 0.068
LID_SHARE, LID_FACE = 0.7, 0.006  # of the cabinet that is in sight; m
HANDLE_TOP, HANDLE_X = 0.0545, -0.141  # where a drawer's handle is, when it is closed


@dataclass(frozen=True, eq=False)  # two patches are never the same
class Patch:
    """Connected pixels of one colour, as places in the world."""

    colour: str
    points: Array  # (n, 3)
    pixel_m: float  # edge of a pixel at the table

    @property
    def top(self) -> float:
        return float(np.percentile(self.points[:, 2], 97)) if len(self.points) > 40 else float(self.points[:, 2].max())

    def face(self, depth: float = FACE) -> Array:
        """(n, 2) The highest part, seen from above."""
        return np.asarray(self.points[self.points[:, 2] > self.top - depth, :2])

    def pixel_at_top(self) -> float:
        """The edge of a pixel there: nearer to the camera, it covers less."""
        return self.pixel_m * (1 - self.top / CAMERAS["top"].place[2])

    def outline_area(self) -> float:
        """What its upper face covers, with whatever is inside."""
        return _outline_area(self.face(), self.pixel_at_top())


@dataclass(frozen=True)
class Sighted:
    """A thing as it was seen, and how high above the table its bottom is."""

    thing: Thing
    bottom: float = 0.0

    @property
    def top(self) -> float:
        return self.bottom + height_of(self.thing)


def patches(observation: Mapping[str, Any]) -> list[Patch]:
    """All patches of colour on the table."""
    points, pixel_m = world_points(observation, "top")
    labels = label(observation["rgb_top"])
    raised = (points[..., 2] > LOWEST) & (points[..., 2] < HIGHEST)
    found = []
    for i, name in enumerate(_LABELS):
        if name in COLOURS or name == DARK:
            found += [Patch(name, points[mask], pixel_m) for mask in _connected(raised & (labels == i))]
    return found


def loose(seen: list[Patch], drawers: list[Thing]) -> list[Patch]:
    """Patches of things that are no part of a drawer."""
    return [
        patch for patch in seen if patch.colour in COLOURS and not any(_part_of(drawer, patch) for drawer in drawers)
    ]


def label(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """For each pixel the nearest of the known chromaticities."""
    light = rgb.astype(np.float32) + 0.5
    shares = light / light.sum(axis=-1, keepdims=True)
    # |share - chroma|² without what is the same for all chromaticities
    away = (_CHROMA**2).sum(axis=1).astype(np.float32) - shares @ (2 * _CHROMA.T).astype(np.float32)
    return np.asarray(away.argmin(axis=-1), np.int64)


def world_points(observation: Mapping[str, Any], camera: str) -> tuple[Array, float]:
    """(h, w, 3) The place in the world that each pixel shows; and a pixel's edge at the table under the camera."""
    depth = np.asarray(observation[f"depth_{camera}"], float)
    matrix, pose = CAMERAS[camera].intrinsics(len(depth)), np.asarray(observation[f"pose_{camera}"], float)
    y, x = np.mgrid[: depth.shape[0], : depth.shape[1]] + 0.5
    rays = np.stack([(x - matrix[0, 2]) / matrix[0, 0], (y - matrix[1, 2]) / matrix[1, 1], np.ones_like(x)], axis=-1)
    return (rays * depth[..., None]) @ pose[:3, :3].T + pose[:3, 3], float(pose[2, 3] / matrix[0, 0])


def reach_in_hand(observation: Mapping[str, Any], colour: str) -> float | None:
    """How far something of a colour between the fingers reaches along the hand's x, where the wrist's camera is."""
    points, _ = world_points(observation, "wrist")
    pose = np.asarray(observation["hand_pose"], float)
    near = (points[label(observation["rgb_wrist"]) == _LABELS.index(colour)] - pose[:3, 3]) @ pose[:3, :3]
    held = near[(np.abs(near) < IN_HAND).all(axis=1)]
    return float(np.percentile(held[:, 0], 98)) if len(held) >= LEAST_IN_HAND else None


def kind_of(patch: Patch) -> str:
    """The kind of thing that a patch's shape and height tell of."""
    face, top = patch.face(), patch.top
    square, filled = squareness(face) > SQUARE, _fill(face, patch.pixel_m)
    if top < PLATE_BELOW:
        return "tray" if top < TRAY_BELOW else "plate"
    if filled < SOCKET_FILL:
        wide = float(np.ptp(face, axis=0).min())
        return "cup" if wide < 0.09 else "box" if square else "bowl"
    if filled < SOLID_FILL and len(face) * patch.pixel_m**2 > 0.0025:
        return "socket" if square else "round_socket"
    if elongation(face) > LONG and top < TALL:
        return "brick"
    if top > TALL:
        return "peg" if square else "dowel"
    return "block" if square else "can"


def fit(patch: Patch, kind: str) -> Sighted:
    """The patch as a thing of a kind that stands upright on the table; on what, its height cannot tell."""
    if KINDS[kind].round and kind not in ("can", "dowel", "round_socket"):
        middle, radius = circle(patch.face(RIM))
        size: tuple[float, ...] = (radius + WALL / 2,) if kind == "plate" else (radius + WALL / 2, patch.top)
        return _sighted(patch, kind, size, middle, 0.0)
    face = patch.face()
    pixel_m = patch.pixel_at_top()
    area, middle = len(face) * pixel_m**2, face.mean(axis=0)
    if kind in ("can", "dowel"):
        return _sighted(patch, kind, (math.sqrt(area / math.pi), patch.top), middle, 0.0)
    if kind == "brick":
        length, width = _sides(face, area)
        return _sighted(patch, kind, (length, width, patch.top), middle, _axis(face))
    if kind in ("tray", "box"):
        return _hollow_rectangle(patch, kind)
    yaw = square_yaw(face)
    if kind in ("socket", "round_socket"):
        outer = math.sqrt(_outline_area(face, pixel_m) / (1.0 if kind == "socket" else math.pi))
        hole = outer - 2 * (SOCKET_RIM + CLEARANCE) if kind == "socket" else outer - SOCKET_RIM - CLEARANCE
        return _sighted(patch, kind, (hole, patch.top), middle, yaw)
    edge = math.sqrt(area)
    return _sighted(patch, kind, (edge,) if kind == "block" else (edge, patch.top), middle, yaw)


def drawers(seen: list[Patch]) -> list[Thing]:
    """Drawers, by the lids of their cabinets."""
    lids = [patch for patch in seen if patch.colour in COLOURS and abs(patch.top - CABINET_HEIGHT) < 0.005]
    dark = [patch.points for patch in seen if patch.colour == DARK]
    return [
        _drawer(patch, np.concatenate(dark) if dark else np.zeros((0, 3)))
        for patch in lids
        if patch.outline_area() > LID_SHARE * CABINET_LENGTH * CABINET_WIDTH
    ]


def _drawer(patch: Patch, dark: Array) -> Thing:
    """A drawer; how far it is open, its handle tells."""
    lid = patch.face(LID_FACE)
    middle, yaw = lid.mean(axis=0), square_yaw(lid)
    x, y = ((dark[:, :2] - middle) @ rotation(yaw)).T
    bar = (dark[:, 2] > HANDLE_TOP) & (dark[:, 2] < HANDLE_TOP + 0.01) & (np.abs(y) < 0.06)
    bar &= (x < HANDLE_X + 0.03) & (x > HANDLE_X - DRAWER_TRAVEL - 0.03)
    opening = HANDLE_X - float(np.median(x[bar])) if bar.sum() >= 4 else 0.0
    size, place = (float(np.clip(opening, 0, DRAWER_TRAVEL)),), (float(middle[0]), float(middle[1]))
    return Thing(f"{patch.colour}_drawer", "drawer", patch.colour, size, place, yaw)


def squareness(face: Array) -> float:
    """0.6 for a square, 0 for a disc: the fourth moment about the middle."""
    z = _complex(face)
    return float(abs((z**4).mean()) / max((abs(z) ** 2).mean() ** 2, 1e-12))


def elongation(face: Array) -> float:
    """(length² - width²) / (length² + width²) of a rectangle."""
    z = _complex(face)
    return float(abs((z**2).mean()) / max((abs(z) ** 2).mean(), 1e-12))


def square_yaw(face: Array) -> float:
    """How a square is turned, within an eighth of a turn to either side."""
    moment = -(_complex(face) ** 4).mean()
    return math.atan2(moment.imag, moment.real) / 4


def circle(points: Array) -> tuple[Array, float]:
    """The middle and radius of the circle that fits points best (in the algebraic sense)."""
    about = points.mean(axis=0)
    x, y = (points - about).T
    (a, b, c), *_ = np.linalg.lstsq(np.stack([x, y, np.ones_like(x)], axis=1), x * x + y * y, rcond=None)
    return about + [a / 2, b / 2], math.sqrt(max(c + (a * a + b * b) / 4, 0.0))


def _connected(mask: Mask) -> list[Mask]:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    return [labels == i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= LEAST_PIXELS]


def _part_of(drawer: Thing, patch: Patch) -> bool:
    """Whether a patch is the cabinet or the sliding part of a drawer, and not something that lies in it."""
    if patch.colour != drawer.colour:
        return False
    local = (patch.points[:, :2] - drawer.position) @ rotation(drawer.yaw)
    wide, x = float(np.ptp(local[:, 1])), float(np.median(local[:, 0]))
    return wide > 0.12 and abs(float(np.median(local[:, 1]))) < 0.05 and -0.26 < x < 0.06


def _sighted(patch: Patch, kind: str, size: tuple[float, ...], middle: Array, yaw: float) -> Sighted:
    place = (float(middle[0]), float(middle[1]))
    thing = Thing(f"{patch.colour}_{kind}", kind, patch.colour, tuple(float(part) for part in size), place, yaw)
    return Sighted(thing, patch.top - height_of(thing))


def standing(sighted: Sighted, known: Thing) -> Sighted:
    """The same sighting with the size that is already known: so its bottom's height is known too."""
    thing = replace(sighted.thing, id=known.id, kind=known.kind, size=known.size)
    return Sighted(thing, sighted.top - height_of(known))


def _complex(face: Array) -> npt.NDArray[np.complex128]:
    centred = face - face.mean(axis=0)
    return np.asarray(centred[:, 0] + 1j * centred[:, 1], np.complex128)


def _axis(face: Array) -> float:
    """The direction of the longer sides."""
    moment = (_complex(face) ** 2).mean()
    return math.atan2(moment.imag, moment.real) / 2


def _sides(face: Array, area: float) -> tuple[float, float]:
    long = min(elongation(face), 0.95)
    ratio = math.sqrt((1 + long) / (1 - long))
    return math.sqrt(area * ratio), math.sqrt(area / ratio)


def _outline(face: Array) -> npt.NDArray[np.float32]:
    return np.asarray(cv2.convexHull(face.astype(np.float32)).reshape(-1, 2), np.float32)


def _outline_area(face: Array, pixel_m: float) -> float:
    """Of the convex outline; half a pixel lies outside of the pixels' middles all around."""
    hull = _outline(face)
    around = cv2.arcLength(hull.reshape(-1, 1, 2), True)
    return float(cv2.contourArea(hull.reshape(-1, 1, 2)) + around * pixel_m / 2 + pixel_m**2)


def _fill(face: Array, pixel_m: float) -> float:
    return float(len(face) * pixel_m**2 / _outline_area(face, pixel_m))


def _hollow_rectangle(patch: Patch, kind: str) -> Sighted:
    (x, y), (wide, deep), turn = cv2.minAreaRect(_outline(patch.face(RIM)).reshape(-1, 1, 2))
    yaw = math.radians(turn)
    quarter = round(yaw / (math.pi / 2))
    if quarter % 2:
        wide, deep = deep, wide
    size = (wide, deep, patch.top) if kind == "box" else (wide, deep)
    return _sighted(patch, kind, size, np.array([x, y]), yaw - quarter * math.pi / 2)
