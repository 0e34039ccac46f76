"""What can lie on the table: kinds, colours and sizes, what ground each thing covers, and scenes made of them.

World axes: x away from the arm's base, y to the arm's left, z up; the table's surface is z = 0, its middle the origin.
Lengths are in metres, angles in radians.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

TABLE_LENGTH, TABLE_WIDTH = 1.0, 1.5  # along x and y
WALL = 0.004  # thickness of vessels
CLEARANCE = 0.003  # between a peg and its hole, on each side
MOST_THINGS = 12
ID = re.compile(r"[a-z][a-z0-9_]{0,31}")

COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (0.82, 0.13, 0.12),
    "green": (0.16, 0.58, 0.22),
    "blue": (0.12, 0.32, 0.78),
    "yellow": (0.95, 0.78, 0.10),
    "orange": (0.95, 0.45, 0.08),
    "purple": (0.46, 0.20, 0.62),
    "pink": (0.95, 0.50, 0.68),
    "turquoise": (0.10, 0.72, 0.70),
    "brown": (0.40, 0.23, 0.12),
}

# The drawer has one size. Its cabinet opens towards the arm (-x before it is turned).
CABINET_LENGTH, CABINET_WIDTH, CABINET_HEIGHT = 0.19, 0.21, 0.085
DRAWER_TRAVEL = 0.12
HANDLE_REACH = 0.055  # from the drawer's front to the front of its handle


@dataclass(frozen=True)
class Kind:
    """What all things of a kind share."""

    sizes: dict[str, tuple[float, float]]  # what its size numbers are, each with least and most
    fixed: bool = False  # screwed to the table
    round: bool = False  # size[0] is a radius


KINDS: dict[str, Kind] = {
    "block": Kind({"edge": (0.03, 0.055)}),
    "brick": Kind({"length": (0.05, 0.09), "width": (0.025, 0.045), "height": (0.025, 0.045)}),
    "can": Kind({"radius": (0.015, 0.03), "height": (0.04, 0.09)}, round=True),
    "bowl": Kind({"radius": (0.06, 0.10), "height": (0.035, 0.06)}, round=True),
    "cup": Kind({"radius": (0.028, 0.036), "height": (0.06, 0.09)}, round=True),
    "plate": Kind({"radius": (0.07, 0.11)}, round=True),
    "tray": Kind({"length": (0.12, 0.24), "width": (0.12, 0.24)}, fixed=True),
    "box": Kind({"length": (0.10, 0.18), "width": (0.10, 0.18), "height": (0.04, 0.07)}),
    "peg": Kind({"width": (0.02, 0.03), "height": (0.07, 0.10)}),
    "dowel": Kind({"radius": (0.01, 0.016), "height": (0.07, 0.10)}, round=True),
    "socket": Kind({"width": (0.02, 0.03), "height": (0.03, 0.05)}, fixed=True),  # for a peg of this width
    "round_socket": Kind({"radius": (0.01, 0.016), "height": (0.03, 0.05)}, fixed=True, round=True),  # for such a dowel
    "drawer": Kind({"open": (0.0, DRAWER_TRAVEL)}, fixed=True),  # how far it stands open at the start
}
VESSELS = ("bowl", "cup", "box", "drawer")
SOCKETS = {"peg": "socket", "dowel": "round_socket"}
PLATE_HEIGHT, TRAY_HEIGHT, FLOOR = 0.014, 0.010, 0.006
SOCKET_RIM = 0.018  # of material around a hole


@dataclass(frozen=True)
class Thing:
    """One thing on the table."""

    id: str
    kind: str  # of KINDS
    colour: str  # of COLOURS
    size: tuple[float, ...]  # as its kind says
    position: tuple[float, float]  # of its middle, on the table
    yaw: float = 0.0


@dataclass(frozen=True)
class Scene:
    """A table as it is laid. `settled` is where free things came to rest, and what a run starts from."""

    things: tuple[Thing, ...]
    arm: tuple[float, ...]  # the seven joint angles at the start
    settled: dict[str, tuple[float, ...]] = field(default_factory=dict)  # id → x, y, z, and a quaternion w, x, y, z


def height_of(thing: Thing) -> float:
    """From the table to its top."""
    kind, size = thing.kind, thing.size
    if kind == "block":
        return size[0]
    if kind == "plate":
        return PLATE_HEIGHT
    if kind == "tray":
        return TRAY_HEIGHT
    return CABINET_HEIGHT if kind == "drawer" else size[-1]


def half_extents(thing: Thing) -> tuple[float, float]:
    """Half of what it covers along its own x and y (of a drawer: the cabinet alone)."""
    kind, size = thing.kind, thing.size
    if kind == "drawer":
        return CABINET_LENGTH / 2, CABINET_WIDTH / 2
    if kind in ("socket", "round_socket"):
        half = size[0] / (2 if kind == "socket" else 1) + CLEARANCE + SOCKET_RIM
        return half, half
    if KINDS[kind].round:
        return size[0], size[0]
    if kind in ("block", "peg"):
        return size[0] / 2, size[0] / 2
    return size[0] / 2, size[1] / 2


def footprint(thing: Thing, margin: float = 0.0) -> Array:
    """The corners of what it covers, or may cover (a drawer: also when it is open), as a convex polygon (n, 2)."""
    half_x, half_y = half_extents(thing)
    if KINDS[thing.kind].round and thing.kind != "round_socket":
        turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        local = (half_x + margin) / math.cos(math.pi / 24) * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    else:
        front = DRAWER_TRAVEL + HANDLE_REACH if thing.kind == "drawer" else 0.0
        low, high, side = -half_x - front - margin, half_x + margin, half_y + margin
        local = np.array([[low, -side], [high, -side], [high, side], [low, side]])
    return np.asarray(local @ rotation(thing.yaw).T + np.asarray(thing.position))


def rotation(yaw: float) -> Array:
    """A turn in the table's plane."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s], [s, c]])


def overlap(first: Thing, second: Thing, gap: float = 0.0) -> bool:
    """Whether two things come closer than a gap (by their footprints: separating axes)."""
    one, other = footprint(first, gap / 2), footprint(second, gap / 2)
    return not any(_separates(edge, one, other) for polygon in (one, other) for edge in _edges(polygon))


def on_the_table(thing: Thing, margin: float = 0.0) -> bool:
    """Whether all of it is over the table."""
    far = np.abs(footprint(thing, margin)).max(axis=0)
    return bool(far[0] <= TABLE_LENGTH / 2 and far[1] <= TABLE_WIDTH / 2)


def _edges(polygon: Array) -> Array:
    return np.asarray(np.roll(polygon, -1, axis=0) - polygon)


def _separates(edge: Array, one: Array, other: Array) -> bool:
    normal = np.array([-edge[1], edge[0]])
    a, b = one @ normal, other @ normal
    return bool(a.max() < b.min() or b.max() < a.min())
