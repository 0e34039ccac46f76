"""Where things are laid: at random, within reach, with room for the fingers between them."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.objects import Thing, footprint, overlap

NEAR_X, FAR_X, SIDE_Y = -0.14, 0.27, 0.38
REACH = 0.68  # m from the arm's base to a thing's middle
GAP = 0.055  # between things: a finger fits in, and what is carried touches nothing
TRIES = 300
LAYOUTS = 60
OUTER_Y, OUTER_X = 0.46, 0.48  # what the top camera sees


class NoRoom(Exception):
    """Things that do not fit on the table together."""


def lay(things: Sequence[Thing], beside: dict[str, tuple[str, float, float]], rng: np.random.Generator) -> list[Thing]:
    """The things with places. `beside` keeps room: id → (of what, how far along x, along y); an id that is no thing's
    is a place kept free."""
    for _ in range(LAYOUTS):
        placed = _layout(things, beside, rng)
        if placed is not None:
            return placed
    raise NoRoom(", ".join(thing.id for thing in things))


def _layout(
    things: Sequence[Thing], beside: dict[str, tuple[str, float, float]], rng: np.random.Generator
) -> list[Thing] | None:
    placed: dict[str, Thing] = {}
    kept: list[Thing] = []
    waiting = [thing for thing in things if thing.id not in beside]
    for thing in sorted(waiting, key=_breadth, reverse=True):
        found = _somewhere(thing, [*placed.values(), *kept], rng)
        if found is None:
            return None
        placed[thing.id] = found
        for name, (other, x, y) in beside.items():
            if other == thing.id and not _keep(name, (x, y), found, things, placed, kept):
                return None
    return [placed[thing.id] for thing in things]


def _keep(
    name: str,
    step: tuple[float, float],
    other: Thing,
    things: Sequence[Thing],
    placed: dict[str, Thing],
    kept: list[Thing],
) -> bool:
    """Take the place beside another thing, for a thing or for nobody; false if it is not free."""
    place = (round(other.position[0] + step[0], 4), round(other.position[1] + step[1], 4))
    real = next((thing for thing in things if thing.id == name), None)
    thing = replace(real or Thing(name, "block", "red", (0.05,), place), position=place)
    others = [each for each in (*placed.values(), *kept) if each.id != other.id]
    if not _fits(thing) or any(overlap(thing, each, GAP) for each in others) or overlap(thing, other, 0.02):
        return False
    if real:
        placed[name] = thing
    else:
        kept.append(thing)
    return True


def _breadth(thing: Thing) -> float:
    corners = footprint(thing)
    return float(np.ptp(corners, axis=0).max())


def _somewhere(thing: Thing, others: Sequence[Thing], rng: np.random.Generator) -> Thing | None:
    for _ in range(TRIES):
        found = _anywhere(thing, rng)
        if _fits(found) and not any(overlap(found, other, GAP) for other in others):
            return found
    return None


def _anywhere(thing: Thing, rng: np.random.Generator) -> Thing:
    if thing.kind == "drawer":
        # At the far side, turned to the arm.
        x, y = rng.uniform(0.23, 0.26), rng.choice([-1, 1]) * rng.uniform(0.12, 0.26)
        yaw = 0.6 * math.atan2(y, x - arm.BASE[0])
    else:
        x, y = rng.uniform(NEAR_X, FAR_X), rng.uniform(-SIDE_Y, SIDE_Y)
        yaw = 0.0 if thing.kind == "tray" else rng.uniform(-0.7, 0.7)
    return replace(thing, position=(round(float(x), 4), round(float(y), 4)), yaw=round(float(yaw), 4))


def _fits(thing: Thing) -> bool:
    corners = np.abs(footprint(thing))
    in_view = corners[:, 0].max() <= OUTER_X and corners[:, 1].max() <= OUTER_Y
    if thing.kind == "drawer":
        return bool(in_view)
    away = math.hypot(thing.position[0] - arm.BASE[0], thing.position[1] - arm.BASE[1])
    clear_of_base = footprint(thing)[:, 0].min() >= -0.22
    return bool(in_view and away <= REACH and clear_of_base)
