"""What a program that looks at the table remembers of it: the things that it was told of, and what seems to be so.

Sizes are measured once, when everything stands free on the table; later looks tell where things went. What is hidden,
by something on it or in a closed drawer, is thought to be where it was last.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.objects import (
    CABINET_LENGTH,
    CABINET_WIDTH,
    FLOOR,
    KINDS,
    Thing,
    half_extents,
    height_of,
    overlap,
    rotation,
)
from palestra.tracks.tabletop.solutions import detector as sight
from palestra.tracks.tabletop.solutions.detector import Patch, Sighted
from palestra.tracks.tabletop.solutions.instruction_parser import ANY, Named, Wish

Array = npt.NDArray[np.float64]

SIDES = {"left_of": (0, 1), "right_of": (0, -1), "behind": (1, 0), "in_front_of": (-1, 0)}
FARTHEST, ASIDE, APART = 0.25, 0.08, 0.20  # m, as the rules of the table say
SURE = 0.005  # m, by which a thing shall be within a rule's bounds
SUPPORT = 0.010  # m, by which a thing's bottom may seem to be off what carries it
FALLEN = 0.012  # m, by which a thing is lower than it stood, when it lies
LEAST_SEEN = 0.5  # of what a thing covers: with less in sight, where it is cannot be told
REACH, NEAREST_X, FARTHEST_Y = 0.72, -0.22, 0.46


class Memory:
    """The things named by wishes, and whatever else is in the way."""

    def __init__(self, wishes: Iterable[Wish]) -> None:
        self._names = tuple(dict.fromkeys(name for wish in wishes for name in wish.of))
        self.known: dict[Named, Sighted] = {}
        self.fallen: set[Named] = set()
        self.hidden: set[Named] = set()
        self.others: list[Sighted] = []
        self._in_drawer: set[Named] = set()

    def look(self, observation: Mapping[str, Any]) -> None:
        """Take a picture of the top camera into account, in which the arm hides nothing."""
        seen = sight.patches(observation)
        drawers = sight.drawers(seen)
        loose = sight.loose(seen, drawers)
        for name in self._names:
            if name.kind == "drawer":
                self.known.update((name, Sighted(each)) for each in drawers if each.colour == name.colour)
            elif name.colour != ANY and (patch := self._find(name, loose)):
                loose.remove(patch)
        rest = [sight.fit(patch, sight.kind_of(patch)) for patch in loose]
        self._choose_any(rest)
        self.others = [each for each in rest if each not in self.known.values()]
        self._note_drawer()

    def _find(self, name: Named, loose: Sequence[Patch]) -> Patch | None:
        """Note where a named thing is now; the patch that it was seen in."""
        rivals = {each.kind for each in self._names if each != name and each.colour == name.colour}
        found = [patch for patch in loose if patch.colour == name.colour]
        if name not in self.known:
            return self._first_seen(
                name, [patch for patch in found if not rivals or sight.kind_of(patch) not in rivals]
            )
        before = self.known[name].thing
        expected = _area(before)
        found = [patch for patch in found if patch.outline_area() > LEAST_SEEN * expected]
        if not found:
            self.hidden.add(name)
            return None
        patch = min(found, key=lambda each: abs(math.log(each.outline_area() / expected)))
        self.hidden.discard(name)
        if not KINDS[name.kind].fixed:
            self._seen_again(name, patch)
        return patch

    def _first_seen(self, name: Named, found: Sequence[Patch]) -> Patch | None:
        alike = [patch for patch in found if sight.kind_of(patch) == name.kind] or found
        if not alike:
            return None
        patch = max(alike, key=lambda each: len(each.points))
        self.known[name] = sight.fit(patch, name.kind)
        return patch

    def _seen_again(self, name: Named, patch: Patch) -> None:
        before = self.known[name].thing
        now = sight.standing(sight.fit(patch, name.kind), before)
        self.fallen.discard(name)
        if now.bottom < -FALLEN and name.kind not in ("block", "brick"):
            self.fallen.add(name)
            now = _lying(patch, before)
        self.known[name] = now

    def _choose_any(self, seen: Sequence[Sighted]) -> None:
        """Of several things that will do, the one that is easiest to reach."""
        for name in self._names:
            fits = [each for each in seen if each.thing.kind == name.kind]
            if name.colour == ANY and name not in self.known and fits:
                self.known[name] = min(fits, key=lambda each: _away(each.thing))

    def _note_drawer(self) -> None:
        """Remember what lies in a drawer, so that it is still there when the drawer is closed."""
        drawer = next((sighted.thing for name, sighted in self.known.items() if name.kind == "drawer"), None)
        if drawer is None:
            return
        for name, sighted in self.known.items():
            if name.kind != "drawer" and name not in self.hidden:
                self._in_drawer -= {name}
                self._in_drawer |= {name} if _in_slide(sighted, drawer) else set()

    def drop_into_drawer(self, name: Named) -> None:
        self._in_drawer.add(name)

    def missing(self, wish: Wish) -> bool:
        """Whether something that a wish names has never been seen."""
        return any(name not in self.known for name in wish.of)

    def things(self, without: Iterable[Named] = ()) -> list[Thing]:
        """What stands in the way, as far as it was seen."""
        left_out = set(without)
        named = [
            each.thing for name, each in self.known.items() if name not in left_out and name not in self._in_drawer
        ]
        return named + [each.thing for each in self.others]

    def inside_drawer(self) -> int:
        return len(self._in_drawer)

    def holds(self, wish: Wish) -> bool:
        """Whether a wish seems to be fulfilled."""
        if self.missing(wish):
            return False
        if wish.rule == "either_on":
            return self._on(*wish.of) or self._on(*reversed(wish.of))
        if wish.rule in ("closed", "opened"):
            opening = self.known[wish.of[0]].thing.size[0]
            return opening <= 0.008 if wish.rule == "closed" else opening >= 0.095
        if wish.rule in SIDES:
            return self._beside(wish)
        if wish.rule == "apart":
            return math.hypot(*self._step(*wish.of)) >= APART + SURE
        return {"on": self._on, "inside": self._inside, "inserted": self._inserted}[wish.rule](*wish.of)

    def _step(self, name: Named, other: Named) -> Array:
        """From another thing to a thing, along the table."""
        return np.subtract(self.known[name].thing.position, self.known[other].thing.position)

    def _within(self, name: Named, other: Named, margin: float) -> bool:
        x, y = self._step(name, other) @ rotation(self.known[other].thing.yaw)
        half_x, half_y = half_extents(self.known[other].thing)
        if KINDS[other.kind].round:
            return math.hypot(x, y) <= half_x - margin
        return bool(abs(x) <= half_x - margin and abs(y) <= half_y - margin)

    def _on(self, name: Named, other: Named) -> bool:
        above, below = self.known[name], self.known[other]
        if name.kind == "cup" and name in self.fallen:
            return False
        carried = name in self.fallen or abs(above.bottom - below.bottom - surface(below.thing)) < SUPPORT
        return carried and self._within(name, other, 0.003)

    def _inside(self, name: Named, other: Named) -> bool:
        if other.kind == "drawer":
            return name in self._in_drawer
        thing, vessel = self.known[name], self.known[other]
        low = name in self.fallen or thing.bottom + height_of(thing.thing) / 2 < vessel.top - SURE
        return low and self._within(name, other, 0.010)

    def _inserted(self, name: Named, other: Named) -> bool:
        return (
            name not in self.fallen
            and self.known[name].bottom < 0.4 * height_of(self.known[other].thing)
            and math.hypot(*self._step(name, other)) < 0.012
        )

    def _beside(self, wish: Wish) -> bool:
        (x, y), away = SIDES[wish.rule], self._step(*wish.of)
        far, aside = float(away @ [x, y]), abs(float(away @ [y, x]))
        thing = self.known[wish.of[0]]
        nearest = sum(min(half_extents(self.known[name].thing)) for name in wish.of)
        on_table = thing.bottom < SUPPORT or wish.of[0] in self.fallen
        return on_table and nearest + SURE <= far <= FARTHEST - SURE and aside <= ASIDE - SURE

    def free_place(self, wish: Wish) -> tuple[float, float]:
        """A free place on the table beside another thing, or away from it; the first where none is free."""
        thing, other = (self.known[name].thing for name in wish.of)
        standing = self.things(without=wish.of[:1])
        spots = [(other.position[0] + x, other.position[1] + y) for x, y in _ways(wish.rule, thing, other)]
        for gap in (0.035, 0.015):
            for spot in filter(reachable, spots):
                if not any(overlap(replace(thing, position=spot), each, gap) for each in standing):
                    return spot
        return spots[0]


def surface(thing: Thing) -> float:
    """The height, over its bottom, of what things stand on."""
    return {"plate": FLOOR, "tray": 0.004, "bowl": FLOOR, "box": 0.004}.get(thing.kind, height_of(thing))


def reachable(spot: tuple[float, float]) -> bool:
    away = math.hypot(spot[0] - arm.BASE[0], spot[1] - arm.BASE[1])
    return away < REACH and spot[0] > NEAREST_X and abs(spot[1]) < FARTHEST_Y


def _ways(rule: str, thing: Thing, other: Thing) -> list[tuple[float, float]]:
    """Steps from the other thing that would do, the best first."""
    if rule == "apart":
        turns = np.linspace(0, 2 * math.pi, 24, endpoint=False)
        return [(far * math.cos(turn), far * math.sin(turn)) for far in (0.24, 0.28, 0.34) for turn in turns]
    x, y = SIDES[rule]
    near = max(half_extents(thing)) + max(half_extents(other))
    fars = [float(far) for far in np.arange(near + 0.04, 0.235, 0.01)] or [0.22]
    return [(x * far + y * off, y * far + x * off) for off in (0.0, 0.03, -0.03, 0.05, -0.05) for far in fars]


def _in_slide(sighted: Sighted, drawer: Thing) -> bool:
    """Whether a thing is over the sliding part of a drawer, and low enough to lie in it."""
    x, y = np.subtract(sighted.thing.position, drawer.position) @ rotation(drawer.yaw)
    x += drawer.size[0]
    return bool(abs(x) < CABINET_LENGTH / 2 - 0.01 and abs(y) < CABINET_WIDTH / 2 - 0.01 and sighted.bottom < 0.05)


def _away(thing: Thing) -> float:
    return math.hypot(thing.position[0] - arm.BASE[0], thing.position[1] - arm.BASE[1])


def _area(thing: Thing) -> float:
    half_x, half_y = half_extents(thing)
    return math.pi * half_x**2 if KINDS[thing.kind].round else 4 * half_x * half_y


def _lying(patch: Patch, thing: Thing) -> Sighted:
    """A thing that fell over: its yaw is where its axis points, its place the middle of what is seen."""
    face = patch.face(0.010)
    moment = ((face[:, 0] + 1j * face[:, 1] - complex(*face.mean(axis=0))) ** 2).mean()
    middle = face.mean(axis=0)
    place = (float(middle[0]), float(middle[1]))
    return Sighted(replace(thing, position=place, yaw=math.atan2(moment.imag, moment.real) / 2), 0.0)
