"""What can be asked for at the table: for each group, plans that draw things, steps and sub-goals.

A plan draws from a palette. Practice cases use the everyday part of it; a hidden case has at least one colour
and one kind of thing that practice cases never show.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from palestra.tracks.tabletop.simulator.goals import Condition
from palestra.tracks.tabletop.simulator.objects import COLOURS, DRAWER_TRAVEL, Thing

HELD_OUT_COLOURS = ("pink", "turquoise", "brown")
HELD_OUT_KINDS = ("brick", "can", "box", "dowel", "round_socket")
DIRECTIONS = {"left_of": (0.0, 1.0), "right_of": (0.0, -1.0), "behind": (1.0, 0.0), "in_front_of": (-1.0, 0.0)}
BESIDE = 0.15  # where room is kept, in metres

Ways = tuple[tuple[Condition, ...], ...]


@dataclass(frozen=True)
class Step:
    """One clause of an instruction and the sub-goals that it stands for."""

    clause: str  # of table_words.CLAUSES
    of: tuple[str, ...]  # ids of the things that it names
    goals: tuple[Ways, ...]


@dataclass(frozen=True)
class Plan:
    """Things without places, and what shall be done with them."""

    things: tuple[Thing, ...]
    steps: tuple[Step, ...]
    beside: dict[str, tuple[str, float, float]] = field(default_factory=dict)


class Palette:
    """Draws things, so that no two of a kind have the same colour."""

    def __init__(self, rng: np.random.Generator, hidden: bool) -> None:
        self.rng, self.hidden = rng, hidden
        self.things: list[Thing] = []

    def add(self, kind: str, colour: str = "", size: tuple[float, ...] | None = None) -> str:
        """A thing of a kind; its id. Vessels and things to carry differ in colour as long as there are colours."""
        colour = colour or self._colour(kind)
        name = f"{colour}_{kind}"
        self.things.append(Thing(name, kind, colour, size or self._size(kind), (0.0, 0.0)))
        return name

    def carried(self, *, small: bool = False) -> str:
        """A thing to be carried: a block, or one of the kinds held out."""
        kind = str(self.rng.choice(["block", "brick", "can"])) if self.hidden else "block"
        if small:  # so that it goes into a cup
            return self.add("can", size=(0.016, 0.05)) if kind != "block" else self.add("block", size=(0.031,))
        return self.add(kind)

    def flat(self) -> str:
        """A thing that others can stand on."""
        return self.add(str(self.rng.choice(["block", "brick"])) if self.hidden else "block")

    def others(self, count: int) -> None:
        """Things that nobody asks for. They make sure that a hidden case shows what was held out."""
        for _ in range(count):
            kinds = ["block", "can", "brick"] if self.hidden else ["block", "cup", "peg"]
            self.add(str(self.rng.choice(kinds)))
        if self.hidden and not any(thing.kind in HELD_OUT_KINDS for thing in self.things):
            self.add("can")
        if self.hidden and not any(thing.colour in HELD_OUT_COLOURS for thing in self.things):
            self.add("block", colour=str(self.rng.choice(HELD_OUT_COLOURS)))

    def _colour(self, kind: str) -> str:
        known = [name for name in COLOURS if self.hidden or name not in HELD_OUT_COLOURS]
        taken = {thing.colour for thing in self.things if thing.kind == kind}
        used = {thing.colour for thing in self.things}
        free = [name for name in known if name not in taken]
        rare = [name for name in free if name not in used]
        if self.hidden and not used & set(HELD_OUT_COLOURS):
            rare = [name for name in rare if name in HELD_OUT_COLOURS] or rare
        return str(self.rng.choice(rare or free))

    def _size(self, kind: str) -> tuple[float, ...]:
        between = {
            "block": ((0.036, 0.044),),
            "brick": ((0.060, 0.076), (0.034, 0.040), (0.034, 0.040)),
            "can": ((0.017, 0.021), (0.050, 0.065)),
            "bowl": ((0.074, 0.086), (0.045, 0.052)),
            "cup": ((0.033, 0.035), (0.070, 0.082)),
            "plate": ((0.080, 0.092),),
            "tray": ((0.160, 0.180), (0.160, 0.180)),
            "box": ((0.130, 0.150), (0.130, 0.150), (0.045, 0.055)),
            "peg": ((0.022, 0.027), (0.080, 0.090)),
            "dowel": ((0.012, 0.015), (0.080, 0.090)),
            "drawer": ((0.0, 0.0),),
        }[kind]
        return tuple(round(float(self.rng.uniform(low, high)), 3) for low, high in between)


def one(rule: str, *of: str) -> tuple[Ways, ...]:
    """A single sub-goal of one condition."""
    return (((Condition(rule, of),),),)


def step(rule: str, *of: str) -> Step:
    """A step whose clause and sub-goal are the same rule."""
    return Step(rule, of, one(rule, *of))


def _pick_onto_tray(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    tray, thing = draw.add("tray"), draw.carried()
    draw.others(3)
    return Plan(tuple(draw.things), (step("on", thing, tray),))


def _pick_two(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    tray, first, second = draw.add("tray"), draw.carried(), draw.carried()
    draw.others(2)
    return Plan(tuple(draw.things), (step("on", first, tray), step("on", second, tray)))


def _pick_cup(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    tray, cup = draw.add("tray"), draw.add("cup")
    draw.add("cup")
    draw.others(2)
    standing = ((Condition("on", (cup, tray)), Condition("upright", (cup,))),)
    return Plan(tuple(draw.things), (Step("on", (cup, tray), (standing,)),))


def _pick_into_vessel(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    vessel, thing = draw.add("box" if hidden else "bowl"), draw.carried()
    draw.others(3)
    return Plan(tuple(draw.things), (step("inside", thing, vessel),))


def _place_inside(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    bowl, thing = draw.add("bowl"), draw.carried()
    draw.add("bowl")
    draw.others(1)
    return Plan(tuple(draw.things), (step("inside", thing, bowl),))


def _place_on_plate(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    plate, thing = draw.add("plate"), draw.carried()
    draw.add("plate")
    draw.others(2)
    return Plan(tuple(draw.things), (step("on", thing, plate),))


def _place_beside(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    thing = draw.carried()
    mark = draw.add(str(rng.choice(["cup", "bowl"])))
    rule = str(rng.choice(list(DIRECTIONS)))
    draw.others(2)
    x, y = DIRECTIONS[rule]
    return Plan(tuple(draw.things), (step(rule, thing, mark),), {"room": (mark, x * BESIDE, y * BESIDE)})


def _place_in_cup(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    cup, thing = draw.add("cup"), draw.carried(small=True)
    draw.add("cup")
    draw.others(2)
    return Plan(tuple(draw.things), (step("inside", thing, cup),))


def _place_in_any(rng: np.random.Generator, hidden: bool) -> Plan:
    """Either bowl will do; and something that stands beside another is moved away."""
    draw = Palette(rng, hidden)
    first, second, thing = draw.add("bowl"), draw.add("bowl"), draw.carried()
    near, mark = draw.add("block"), draw.add("block")
    draw.others(0)
    either: Ways = ((Condition("inside", (thing, first)),), (Condition("inside", (thing, second)),))
    turn = float(rng.uniform(0, 2 * np.pi))
    beside = {near: (mark, 0.095 * float(np.cos(turn)), 0.095 * float(np.sin(turn)))}
    return Plan(tuple(draw.things), (Step("inside_any", (thing,), (either,)), step("apart", near, mark)), beside)


def _tower(*names: str) -> Step:
    """Each step up is a sub-goal: the second on the first, then all three."""
    goals = tuple(one("on", names[i], names[i - 1])[0] for i in range(1, len(names)))
    return Step(f"stack_{len(names)}", names, goals)


def _stack_two(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    low, high = draw.flat(), draw.carried()
    draw.others(2)
    return Plan(tuple(draw.things), (_tower(low, high),))


def _stack_three(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    low, middle, high = draw.flat(), draw.flat(), draw.carried()
    draw.others(1)
    return Plan(tuple(draw.things), (_tower(low, middle, high),))


def _stack_any(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    first, second = draw.add("block"), draw.add("block")
    draw.others(2)
    either: Ways = ((Condition("on", (second, first)),), (Condition("on", (first, second)),))
    return Plan(tuple(draw.things), (Step("stack_any", (first, second), (either,)),))


def _stack_on_plate(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    plate, low, high = draw.add("plate"), draw.flat(), draw.carried()
    draw.others(1)
    return Plan(tuple(draw.things), (step("on", low, plate), _tower(low, high)))


def _stack_two_towers(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    names = [draw.flat(), draw.carried(), draw.flat(), draw.carried()]
    draw.others(0)
    return Plan(tuple(draw.things), (_tower(*names[:2]), _tower(*names[2:])))


def _pair(draw: Palette, kind: str) -> tuple[str, str]:
    """A peg and a socket that it fits."""
    peg = draw.add(kind)
    socket = "socket" if kind == "peg" else "round_socket"
    height = round(float(draw.rng.uniform(0.036, 0.044)), 3)
    return peg, draw.add(socket, size=(draw.things[-1].size[0], height))


def _insert_one(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    peg, socket = _pair(draw, "dowel" if hidden else "peg")
    draw.others(2)
    return Plan(tuple(draw.things), (step("inserted", peg, socket),))


def _insert_chosen(rng: np.random.Generator, hidden: bool) -> Plan:
    """Two pegs and two sockets of one size: the instruction says which goes where."""
    draw = Palette(rng, hidden)
    peg, socket = _pair(draw, "peg")
    draw.add("peg", size=draw.things[0].size)
    draw.add("socket", size=draw.things[1].size)
    draw.others(1)
    return Plan(tuple(draw.things), (step("inserted", peg, socket),))


def _insert_two(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    first = _pair(draw, "peg")
    second = _pair(draw, "dowel" if hidden else "peg")
    draw.others(0)
    return Plan(tuple(draw.things), (step("inserted", *first), step("inserted", *second)))


def _long_put_away(rng: np.random.Generator, hidden: bool) -> Plan:
    """Into a closed drawer, and close it again; then something on a plate."""
    draw = Palette(rng, hidden)
    drawer, thing, plate, other = draw.add("drawer"), draw.carried(), draw.add("plate"), draw.carried()
    draw.others(0)
    away: tuple[Ways, ...] = (
        ((Condition("inside", (thing, drawer)),),),
        ((Condition("inside", (thing, drawer)), Condition("closed", (drawer,))),),
    )
    return Plan(tuple(draw.things), (Step("put_away", (thing, drawer), away), step("on", other, plate)))


def _long_lay_the_table(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    plate, cup, thing = draw.add("plate"), draw.add("cup"), draw.carried(small=True)
    bowl, other = draw.add("box" if hidden else "bowl"), draw.carried()
    draw.others(0)
    standing: Ways = ((Condition("on", (cup, plate)), Condition("upright", (cup,))),)
    steps = (Step("on", (cup, plate), (standing,)), step("inside", thing, cup), step("inside", other, bowl))
    return Plan(tuple(draw.things), steps)


def _long_sort(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    tray, bowl, plate = draw.add("tray"), draw.add("box" if hidden else "bowl"), draw.add("plate")
    first, second, third = draw.carried(), draw.carried(), draw.carried()
    draw.others(0)
    steps = (step("on", first, tray), step("inside", second, bowl), step("on", third, plate))
    return Plan(tuple(draw.things), steps)


def _long_tower_and_peg(rng: np.random.Generator, hidden: bool) -> Plan:
    draw = Palette(rng, hidden)
    low, middle, high = draw.flat(), draw.flat(), draw.carried()
    peg, socket = _pair(draw, "dowel" if hidden else "peg")
    draw.others(0)
    return Plan(tuple(draw.things), (_tower(low, middle, high), step("inserted", peg, socket)))


def _long_tidy_up(rng: np.random.Generator, hidden: bool) -> Plan:
    """Two things into a drawer that stands open, close it, and a cup to one side of a bowl."""
    draw = Palette(rng, hidden)
    drawer = draw.add("drawer", size=(DRAWER_TRAVEL,))
    first, second = draw.carried(), draw.carried()
    bowl, cup = draw.add("bowl"), draw.add("cup")
    draw.others(0)
    rule = str(rng.choice(["left_of", "right_of", "in_front_of"]))
    x, y = DIRECTIONS[rule]
    steps = (
        step("inside", first, drawer),
        step("inside", second, drawer),
        step("closed", drawer),
        step(rule, cup, bowl),
    )
    return Plan(tuple(draw.things), steps, {"room": (bowl, x * BESIDE, y * BESIDE)})


PLANS: dict[str, tuple[Callable[[np.random.Generator, bool], Plan], ...]] = {
    "pick": (_pick_onto_tray, _pick_two, _pick_into_vessel, _pick_cup, _pick_onto_tray),
    "place": (_place_inside, _place_beside, _place_on_plate, _place_in_cup, _place_in_any),
    "stack": (_stack_two, _stack_three, _stack_on_plate, _stack_any, _stack_two_towers),
    "insert": (_insert_one, _insert_chosen, _insert_two, _insert_one, _insert_chosen),
    "long": (_long_put_away, _long_lay_the_table, _long_sort, _long_tower_and_peg, _long_tidy_up),
}
