"""The shape of each thing, as MJCF geoms in its own axes, with its bottom at z = 0.

Vessels are rings of boxes, so that things can lie inside. Their walls end a little above the ground: the floor alone
stands on the table, which keeps the number of contacts small.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from palestra.tracks.tabletop.simulator.objects import (
    CABINET_HEIGHT,
    CABINET_LENGTH,
    CABINET_WIDTH,
    CLEARANCE,
    COLOURS,
    FLOOR,
    HANDLE_REACH,
    PLATE_HEIGHT,
    SOCKET_RIM,
    TRAY_HEIGHT,
    WALL,
    Thing,
    half_extents,
)

SEGMENTS = 16  # of a ring
LIFT = 0.0015  # walls begin this much above the ground
SOLID, HOLLOW = 500, 900  # kg/m³: light wood; and pottery, so that bowls stay where they are


@dataclass(frozen=True)
class Geoms:
    """A thing's geoms: those of its body, and those of the part that slides in it."""

    outer: str
    inner: str = ""


def geoms_of(thing: Thing) -> Geoms:
    if thing.kind == "drawer":
        return _drawer(thing)
    return Geoms(_SHAPES[thing.kind](thing))


def number(value: float) -> str:
    """Short, and the same everywhere."""
    return f"{value:.7g}"


def numbers(values: Iterable[float]) -> str:
    return " ".join(map(number, values))


def _paint(thing: Thing, light: float = 1.0) -> str:
    return f'rgba="{numbers(min(1.0, part * light) for part in COLOURS[thing.colour])} 1"'


def _box(half: tuple[float, float, float], middle: tuple[float, float, float], rest: str) -> str:
    return f'<geom type="box" size="{numbers(half)}" pos="{numbers(middle)}" {rest}/>'


def _solid_box(thing: Thing) -> str:
    x, y = half_extents(thing)
    z = (thing.size[0] if thing.kind == "block" else thing.size[-1]) / 2
    return _box((x, y, z), (0, 0, z), f'density="{SOLID}" {_paint(thing)}')


def _solid_cylinder(thing: Thing) -> str:
    radius, height = thing.size
    size = numbers((radius, height / 2))
    return f'<geom type="cylinder" size="{size}" pos="0 0 {number(height / 2)}" density="{SOLID}" {_paint(thing)}/>'


def _ring(radius: float, rise: tuple[float, float], spread: float, rest: str) -> str:
    """A wall of boxes from one height to another; its outer radius grows by `spread` on the way up."""
    low, high = rise
    slope = math.atan2(spread, high - low)
    length = math.hypot(spread, high - low) / 2
    half_width = radius * math.tan(math.pi / SEGMENTS)
    middle = radius - spread / 2 - WALL / 2
    text = ""
    for i in range(SEGMENTS):
        turn = 2 * math.pi * i / SEGMENTS
        place = (middle * math.cos(turn), middle * math.sin(turn), (low + high) / 2)
        # Lean outwards about the wall's own y, then turn to its place on the ring.
        lean, around = slope / 2, turn / 2
        quat = (
            math.cos(around) * math.cos(lean),
            -math.sin(around) * math.sin(lean),
            math.cos(around) * math.sin(lean),
            math.sin(around) * math.cos(lean),
        )
        text += f'<geom type="box" size="{numbers((WALL / 2, half_width, length))}" pos="{numbers(place)}" '
        text += f'quat="{numbers(quat)}" {rest}/>'
    return text


def _round_floor(radius: float, paint: str) -> str:
    """A disc to see; to feel, a box that has four firm corners to stand on, and one across it for the gaps."""
    half = radius * math.sqrt(0.5)
    felt = _box((half, half, FLOOR / 2), (0, 0, FLOOR / 2), f'class="felt" density="{2 * HOLLOW}"')
    across = (half, half, (FLOOR - LIFT) / 2), (0.0, 0.0, (FLOOR + LIFT) / 2)
    felt += _box(*across, 'class="felt" density="10" euler="0 0 0.7853982"')
    size, middle = numbers((radius, FLOOR / 2)), number(FLOOR / 2)
    return felt + f'<geom class="seen" type="cylinder" size="{size}" pos="0 0 {middle}" {paint}/>'


def _bowl(thing: Thing) -> str:
    radius, height = thing.size
    spread = 0.4 * radius
    wall = _ring(radius, (LIFT, height), spread, f'density="{HOLLOW}" {_paint(thing)}')
    return _round_floor(radius - spread, _paint(thing, 0.8)) + wall


def _cup(thing: Thing) -> str:
    radius, height = thing.size
    wall = _ring(radius, (LIFT, height), 0.0, f'density="{HOLLOW}" {_paint(thing)}')
    return _round_floor(radius - WALL / 2, _paint(thing, 0.75)) + wall


def _plate(thing: Thing) -> str:
    radius = thing.size[0]
    rim = _ring(radius, (LIFT + 0.002, PLATE_HEIGHT), 0.012, f'density="{HOLLOW}" {_paint(thing)}')
    return _round_floor(radius - 0.012, _paint(thing, 0.85)) + rim


def _walls(half: tuple[float, float], rise: tuple[float, float], thick: float, rest: str, at_x: float = 0.0) -> str:
    """Four walls around x = `at_x`; `half` is to their outer faces."""
    (x, y), (low, high) = half, rise
    z, middle = (high - low) / 2, (low + high) / 2
    text = ""
    for sign in (-1, 1):
        text += _box((thick / 2, y, z), (at_x + sign * (x - thick / 2), 0, middle), rest)
        text += _box((x - thick, thick / 2, z), (at_x, sign * (y - thick / 2), middle), rest)
    return text


def _tray(thing: Thing) -> str:
    x, y = half_extents(thing)
    floor = _box((x, y, 0.002), (0, 0, 0.002), _paint(thing, 0.9))
    return floor + _walls((x, y), (0.004, TRAY_HEIGHT), 0.005, _paint(thing, 0.75))


def _open_box(thing: Thing) -> str:
    x, y = half_extents(thing)
    floor = _box((x - WALL, y - WALL, 0.002), (0, 0, 0.002), f'density="{2 * HOLLOW}" {_paint(thing, 0.8)}')
    return floor + _walls((x, y), (LIFT, thing.size[2]), WALL, f'density="{HOLLOW}" {_paint(thing)}')


def _socket(thing: Thing) -> str:
    x, y = half_extents(thing)
    floor = _box((x, y, 0.002), (0, 0, 0.002), _paint(thing, 0.5))
    return floor + _walls((x, y), (0.004, thing.size[1]), SOCKET_RIM, _paint(thing))


def _round_socket(thing: Thing) -> str:
    """A round hole of boxes that touch the circle from outside."""
    x, y = half_extents(thing)
    hole, height = thing.size[0] + CLEARANCE, thing.size[1]
    outer = hole + SOCKET_RIM
    text = _box((x, y, 0.002), (0, 0, 0.002), _paint(thing, 0.5))
    half_width = outer * math.tan(math.pi / SEGMENTS)
    for i in range(SEGMENTS):
        turn = 2 * math.pi * i / SEGMENTS
        middle = (hole + outer) / 2
        place = (middle * math.cos(turn), middle * math.sin(turn), (0.004 + height) / 2)
        size = (SOCKET_RIM / 2, half_width, (height - 0.004) / 2)
        text += _box(size, place, f'euler="0 0 {number(turn)}" {_paint(thing)}')
    return text


def _drawer(thing: Thing) -> Geoms:
    """A cabinet with a lid, open to -x, and a drawer with a handle like a gate."""
    x, y, height = CABINET_LENGTH / 2, CABINET_WIDTH / 2, CABINET_HEIGHT
    wood, wall = _paint(thing, 0.7), 0.008  # its colour is seen when it is closed, too
    cabinet = _box((x, y, wall / 2), (0, 0, height - wall / 2), wood)
    cabinet += _box((wall / 2, y, height / 2 - wall / 2), (x - wall / 2, 0, height / 2 - wall / 2), wood)
    half_z = height / 2 - wall / 2
    for sign in (-1, 1):
        cabinet += _box((x - wall / 2, wall / 2, half_z), (-wall / 2, sign * (y - wall / 2), half_z), wood)
    return Geoms(cabinet, _sliding(thing, x - wall, y - wall - 0.003))


def _sliding(thing: Thing, half_x: float, half_y: float) -> str:
    paint, middle_x = f'density="{HOLLOW}" {_paint(thing)}', -0.004
    low, high = 0.003, CABINET_HEIGHT - 0.014
    floor = _box((half_x, half_y, 0.002), (middle_x, 0, low + 0.002), f'density="{HOLLOW}" {_paint(thing, 0.8)}')
    walls = _walls((half_x, half_y), (low + 0.004, high), 0.005, paint, middle_x)
    front = middle_x - half_x
    bar = 'density="900" rgba="0.25 0.27 0.30 1"'
    reach, z = HANDLE_REACH, 0.045
    handle = _box((0.005, 0.036, 0.012), (front - reach + 0.005, 0, z), bar)
    for sign in (-1, 1):
        handle += _box((reach / 2, 0.005, 0.008), (front - reach / 2, sign * 0.031, z), bar)
    return floor + walls + handle


_SHAPES: dict[str, Callable[[Thing], str]] = {
    "block": _solid_box,
    "brick": _solid_box,
    "peg": _solid_box,
    "can": _solid_cylinder,
    "dowel": _solid_cylinder,
    "bowl": _bowl,
    "cup": _cup,
    "plate": _plate,
    "tray": _tray,
    "box": _open_box,
    "socket": _socket,
    "round_socket": _round_socket,
}
