"""Sub-goals of a case: small declared conditions on the state of the table.

Whatever a condition names must have been let go of, must be at rest, and must stand on the table, directly or on
other things that do: what hovers, is held, or lies in something that is held never counts. Who carries whom is taken
from the forces in the contacts, and not from distances.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator.objects import (
    CABINET_HEIGHT,
    CABINET_LENGTH,
    CABINET_WIDTH,
    CLEARANCE,
    DRAWER_TRAVEL,
    KINDS,
    SOCKETS,
    VESSELS,
    WALL,
    Thing,
    half_extents,
    height_of,
)

Array = npt.NDArray[np.float64]

ARM, TABLE, FLOOR = "arm", "table", "floor"
CARRIED_SHARE = 0.5  # of its weight that what it is on must carry
GROUNDED_SHARE = 0.2  # of its weight that counts as standing on something
UPRIGHT_DEG, PEG_DEG = 15.0, 8.0
INSERTED_SHARE = 0.5  # of the hole's depth that a peg must be in
CLOSED_M, OPEN_M = 0.01, 0.75 * DRAWER_TRAVEL
BESIDE_M, ASIDE_M = 0.25, 0.08  # how far beside, and how much out of line
APART_M = 0.20


@dataclass(frozen=True)
class Facts:
    """What is so on the table at one moment."""

    things: Mapping[str, Thing]
    poses: Mapping[str, Array]  # (4, 4), of the middle of its bottom
    touching: frozenset[tuple[str, str]]  # pairs in contact, both ways; also of ARM, TABLE and FLOOR
    lift_n: Mapping[tuple[str, str], float]  # (below, above) → the force upwards in their contacts
    weight_n: Mapping[str, float]
    still: frozenset[str]  # things at rest for a while
    opening_m: Mapping[str, float]  # of drawers

    def released(self, thing: str) -> bool:
        return (ARM, thing) not in self.touching

    def carries(self, below: str, above: str, share: float = CARRIED_SHARE) -> bool:
        return self.lift_n.get((below, above), 0.0) >= share * self.weight_n[above]

    def grounded(self) -> set[str]:
        """What stands on the table, directly or on others that do, with nothing in between that the arm touches."""
        free = {name for name in self.things if self.released(name)}
        found = {name for name in free if KINDS[self.things[name].kind].fixed}
        fresh = found | {TABLE}
        while fresh:
            fresh = {
                above
                for above in free - found
                if any(self.carries(below, above, GROUNDED_SHARE) for below in fresh | found)
            }
            found |= fresh
        return found

    def middle(self, thing: str) -> Array:
        """The middle of a thing in the world."""
        pose = self.poses[thing]
        return np.asarray(pose[:3, 3] + pose[:3, 2] * height_of(self.things[thing]) / 2)

    def seen_from(self, thing: str, place: Array) -> Array:
        """A place in a thing's own axes."""
        pose = self.poses[thing]
        return np.asarray((place - pose[:3, 3]) @ pose[:3, :3])

    def tilt_deg(self, thing: str) -> float:
        return math.degrees(math.acos(float(np.clip(self.poses[thing][2, 2], -1, 1))))


def on(facts: Facts, above: str, below: str) -> bool:
    """It carries at least half of the other's weight, from below and within its own outline."""
    x, y, _ = map(float, facts.seen_from(below, facts.middle(above)))
    higher = bool(facts.middle(above)[2] > facts.middle(below)[2])
    return higher and _over(facts.things[below], x, y) and facts.carries(below, above)


def inside(facts: Facts, thing: str, vessel: str) -> bool:
    """Its middle is within the vessel's walls, and it touches the vessel or what lies in it."""
    if not _within(facts, thing, vessel):
        return False
    within = {name for name in facts.things if name not in (thing, vessel) and _within(facts, name, vessel)}
    found, fresh = {thing}, {thing}
    while fresh:
        if any((name, vessel) in facts.touching for name in fresh):
            return True
        fresh = {other for other in within - found if any((name, other) in facts.touching for name in fresh)}
        found |= fresh
    return False


def stacked(facts: Facts, *things: str) -> bool:
    """Each carries the next, from the lowest up."""
    return all(on(facts, above, below) for below, above in itertools.pairwise(things))


def inserted(facts: Facts, peg: str, socket: str) -> bool:
    """It stands in the hole, to at least half of its depth, and touches the socket."""
    pose, hole = facts.poses[peg], facts.things[socket]
    ends = [facts.seen_from(socket, pose[:3, 3] + pose[:3, 2] * z) for z in (0.0, height_of(facts.things[peg]))]
    low = min(ends, key=lambda end: float(end[2]))
    straight = abs(float(pose[2, 2])) >= math.cos(math.radians(PEG_DEG))
    deep = float(low[2]) <= (1 - INSERTED_SHARE) * height_of(hole)
    return straight and deep and math.hypot(low[0], low[1]) <= 2 * CLEARANCE + 1e-3 and (peg, socket) in facts.touching


def upright(facts: Facts, thing: str) -> bool:
    """It leans by at most 15°."""
    return facts.tilt_deg(thing) <= UPRIGHT_DEG


def left_of(facts: Facts, thing: str, other: str) -> bool:
    """On the table, to the left of the other as the arm sees it, within 25 cm and at most 8 cm out of line."""
    return _beside(facts, thing, other, along=1, sign=1)


def right_of(facts: Facts, thing: str, other: str) -> bool:
    """As left_of, to the right."""
    return _beside(facts, thing, other, along=1, sign=-1)


def behind(facts: Facts, thing: str, other: str) -> bool:
    """As left_of, farther from the arm."""
    return _beside(facts, thing, other, along=0, sign=1)


def in_front_of(facts: Facts, thing: str, other: str) -> bool:
    """As left_of, nearer to the arm."""
    return _beside(facts, thing, other, along=0, sign=-1)


def apart(facts: Facts, thing: str, other: str) -> bool:
    """Both on the table, with 20 cm or more from middle to middle."""
    away = facts.middle(thing) - facts.middle(other)
    return facts.carries(TABLE, thing) and math.hypot(away[0], away[1]) >= APART_M


def closed(facts: Facts, drawer: str) -> bool:
    """Open by at most 1 cm."""
    return facts.opening_m[drawer] <= CLOSED_M


def opened(facts: Facts, drawer: str) -> bool:
    """Open by at least three quarters of its way."""
    return facts.opening_m[drawer] >= OPEN_M


@dataclass(frozen=True)
class Rule:
    """A condition that cases may use."""

    holds: Callable[..., bool]
    kinds: tuple[tuple[str, ...], ...]  # of what it is said; the last goes on where `most` is more
    most: int


_FREE = tuple(name for name, kind in KINDS.items() if not kind.fixed)
_SEEN = tuple(KINDS)
_LEVEL = ("block", "brick", "can", "plate", "tray", "bowl", "cup", "box", "drawer")
RULES: dict[str, Rule] = {  # criteria.py says each in words
    "on": Rule(on, (_FREE, _LEVEL), 2),
    "inside": Rule(inside, (_FREE, VESSELS), 2),
    "stacked": Rule(stacked, (_LEVEL, _FREE), 5),
    "inserted": Rule(inserted, (tuple(SOCKETS), tuple(SOCKETS.values())), 2),
    "upright": Rule(upright, (_FREE,), 1),
    "left_of": Rule(left_of, (_FREE, _SEEN), 2),
    "right_of": Rule(right_of, (_FREE, _SEEN), 2),
    "behind": Rule(behind, (_FREE, _SEEN), 2),
    "in_front_of": Rule(in_front_of, (_FREE, _SEEN), 2),
    "apart": Rule(apart, (_FREE, _FREE), 2),
    "closed": Rule(closed, (("drawer",),), 1),
    "opened": Rule(opened, (("drawer",),), 1),
}


@dataclass(frozen=True)
class Condition:
    """One rule said of some things."""

    rule: str  # of RULES
    of: tuple[str, ...]  # ids of things

    def holds(self, facts: Facts) -> bool:
        standing = facts.grounded()
        return all(name in standing and name in facts.still for name in self.of) and RULES[self.rule].holds(
            facts, *self.of
        )


@dataclass(frozen=True)
class SubGoal:
    """What earns one share of a case: all conditions of any one of its alternatives."""

    id: str
    en: str
    zh: str
    any_of: tuple[tuple[Condition, ...], ...]

    def holds(self, facts: Facts) -> bool:
        return any(all(condition.holds(facts) for condition in way) for way in self.any_of)


class Progress:
    """Which sub-goals hold now, and when each held for the first time."""

    def __init__(self, goals: Iterable[SubGoal]) -> None:
        self.goals = tuple(goals)
        self.first_true_s: dict[str, float | None] = {goal.id: None for goal in self.goals}
        self.holding: dict[str, bool] = {goal.id: False for goal in self.goals}

    def note(self, facts: Facts, time_s: float) -> None:
        """Take the state after a control period into account."""
        for goal in self.goals:
            self.holding[goal.id] = goal.holds(facts)
            if self.holding[goal.id] and self.first_true_s[goal.id] is None:
                self.first_true_s[goal.id] = time_s

    @property
    def share(self) -> Fraction:
        """The share of sub-goals that hold, as it would be scored now."""
        return Fraction(sum(self.holding.values()), len(self.goals))


def _within(facts: Facts, thing: str, vessel: str) -> bool:
    x, y, z = map(float, facts.seen_from(vessel, facts.middle(thing)))
    what = facts.things[vessel]
    if what.kind == "drawer":
        return abs(x) < CABINET_LENGTH / 2 - 0.01 and abs(y) < CABINET_WIDTH / 2 - 0.01 and 0 < z < CABINET_HEIGHT
    return 0 < z < height_of(what) and _over(what, x, y, -WALL)


def _over(thing: Thing, x: float, y: float, margin: float = 0.0) -> bool:
    """Whether a place, in a thing's own axes, is within its outline."""
    half_x, half_y = (half + margin for half in half_extents(thing))
    return math.hypot(x, y) <= half_x if KINDS[thing.kind].round else abs(x) <= half_x and abs(y) <= half_y


def _beside(facts: Facts, thing: str, other: str, along: int, sign: int) -> bool:
    away = facts.middle(thing) - facts.middle(other)
    far, aside = sign * away[along], abs(away[1 - along])
    nearest = min(half_extents(facts.things[thing])) + min(half_extents(facts.things[other]))
    return bool(facts.carries(TABLE, thing) and nearest <= far <= BESIDE_M and aside <= ASIDE_M)
