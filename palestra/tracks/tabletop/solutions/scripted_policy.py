"""The scripted policy: it is told where everything is and what shall be so, and does one thing after another.

It shows that cases can be solved. What it fails to bring about, it tries again.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.case import Case
from palestra.tracks.tabletop.simulator.goals import Condition, Facts
from palestra.tracks.tabletop.simulator.objects import (
    CABINET_LENGTH,
    DRAWER_TRAVEL,
    FLOOR,
    HANDLE_REACH,
    KINDS,
    Thing,
    half_extents,
    height_of,
    overlap,
)
from palestra.tracks.tabletop.simulator.table import Table
from palestra.tracks.tabletop.solutions.motions import CARRY_Z, PADS_BELOW, SLOW, Arm, Motion, choose_grasp, grip_width

Array = npt.NDArray[np.float64]

ROUNDS = 3  # how often the whole list is gone through
HANDLE_Z = 0.045
SIDES = {"left_of": (0, 1), "right_of": (0, -1), "behind": (1, 0), "in_front_of": (-1, 0)}
ABOVE_M = 0.003  # from where something is let go


class Scripted:
    """Plays a case with all that a simulator knows."""

    def __init__(self) -> None:
        self.done = True

    def reset(self, case: Case, table: Table) -> None:
        self._case, self._table = case, table
        self._arm = Arm(table.target)
        self._motion: Iterator[Array] = self._play()
        self.done = False

    def act(self) -> Array:
        """The next action; when all is done, the arm stays where it is."""
        action = next(self._motion, None)
        self.done = action is None
        return self._arm.action() if action is None else action

    def _play(self) -> Motion:
        for _ in range(ROUNDS):
            for goal in self._case.goals:
                for condition in goal.any_of[0]:
                    yield from self._bring_about(condition)
            yield from self._arm.home()
            yield from self._arm.wait(8)
            facts = self._table.facts()
            if all(goal.holds(facts) for goal in self._case.goals):
                return

    def _bring_about(self, condition: Condition) -> Motion:
        yield from self._arm.wait(6)  # what was let go of comes to rest before it is looked at
        if condition.holds(self._table.facts()):
            return
        names = condition.of
        if condition.rule == "stacked":
            for below, above in itertools.pairwise(names):
                yield from self._bring_about(Condition("on", (above, below)))
        elif condition.rule in ("closed", "opened"):
            yield from self._slide(names[0], condition.rule == "opened")
        elif condition.rule in ("on", "inside", "inserted", "apart", *SIDES):
            yield from self._move(condition)

    def _move(self, condition: Condition) -> Motion:
        thing, other = condition.of
        if self._things()[other].kind == "drawer" and condition.rule == "inside":
            yield from self._bring_about(Condition("opened", (other,)))
        facts = self._table.facts()
        place, yaw = self._destination(condition, facts)
        yield from self._carry(thing, place, yaw)

    def _carry(self, name: str, place: Array, yaw: float | None) -> Motion:
        """Take a thing and put its bottom's middle to a place; turned to a yaw, if that matters."""
        facts, thing = self._table.facts(), self._things()[name]
        others = [self._where(other, facts) for other in facts.things if other != name]
        yield from self._arm.take(choose_grasp(thing, facts.poses[name], others))
        for _ in range(2):  # what is held shifts a little on the way, so it is looked at again above the goal
            yield from self._arm.wait(5)  # the hand lags behind
            hand, hand_yaw = self._hand_for(thing, place, yaw)
            yield from self._arm.go_above(hand, self._arm.nearest_yaw(hand, hand_yaw, half_turns=False))
        yield from self._arm.put(hand, hand_yaw, grip_width(thing))

    def _hand_for(self, thing: Thing, place: Array, yaw: float | None) -> tuple[Array, float]:
        """Where the hand must be, and how it is turned, for what it holds to be where it shall."""
        held = np.linalg.inv(self._table.hand_pose()) @ self._table.pose_of(thing.id)
        hand_yaw = _hand_yaw(held, self._arm.pose(), yaw, thing)
        down = arm.pointing_down(np.zeros(3), hand_yaw)
        middle = held @ [0, 0, height_of(thing) / 2, 1]
        lying = abs(float((down[:3, :3] @ held[:3, 2])[2])) < 0.7
        above = grip_width(thing) / 2 if lying else height_of(thing) / 2
        return place + [0, 0, above] - down[:3, :3] @ middle[:3], hand_yaw

    def _destination(self, condition: Condition, facts: Facts) -> tuple[Array, float | None]:
        """Where a thing's bottom shall be when it is let go, and how it shall be turned."""
        thing, other = (self._things()[name] for name in condition.of)
        pose = facts.poses[other.id]
        middle = pose[:3, 3].copy()
        if condition.rule == "inserted":
            return middle + [0, 0, 0.004 + ABOVE_M], math.atan2(pose[1, 0], pose[0, 0])
        if condition.rule == "inside" and other.kind == "drawer":
            return self._into_drawer(thing, other, facts), None
        if condition.rule == "inside":
            return self._into_vessel(thing, other, facts), None
        if condition.rule == "on":
            spot = self._free_spot(thing, other, facts)
            yaw = math.atan2(pose[1, 0], pose[0, 0]) if not KINDS[other.kind].round else None
            return np.array([*spot, middle[2] + _top(other) + ABOVE_M]), yaw
        return np.array([*self._beside(condition, facts), ABOVE_M]), None

    def _into_vessel(self, thing: Thing, vessel: Thing, facts: Facts) -> Array:
        spot = self._free_spot(thing, vessel, facts)
        grip = choose_grasp(thing, np.eye(4), []).place[2]
        # In a narrow vessel the fingers must stay above the rim; in a wide one they fit in.
        rim = height_of(vessel) + 0.004 + PADS_BELOW - grip
        low = FLOOR + (0.02 if vessel.kind == "bowl" else 0.008)
        beneath = float(facts.poses[vessel.id][2, 3]) + (0.045 if _crowded(vessel, facts) else 0.0)
        return np.array([*spot, max(low, rim if vessel.kind == "cup" else low) + beneath])

    def _into_drawer(self, thing: Thing, drawer: Thing, facts: Facts) -> Array:
        """The part that stands out of the cabinet."""
        cabinet = np.array([*drawer.position, 0.0])
        out = -(CABINET_LENGTH / 2 + DRAWER_TRAVEL / 2 - 0.006)
        taken = [
            name for name in facts.things if name != thing.id and Condition("inside", (name, drawer.id)).holds(facts)
        ]
        across = (0.0, 0.05, -0.05)[min(len(taken), 2)]
        c, s = math.cos(drawer.yaw), math.sin(drawer.yaw)
        return cabinet + [c * out - s * across, s * out + c * across, 0.03]

    def _free_spot(self, thing: Thing, other: Thing, facts: Facts) -> tuple[float, float]:
        """Where to put something on or in another thing: in the middle, or far from what it shares it with."""
        pose, size = facts.poses[other.id], max(half_extents(thing))
        middle = float(pose[0, 3]), float(pose[1, 3])
        if other.kind not in ("tray", "box") or self._guests(other.id) < 2:
            return middle
        half_x, half_y = (half - size - 0.012 for half in half_extents(other))
        spots = [pose[:3, 3] + pose[:3, :3] @ [x * half_x, y * half_y, 0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
        lying = [facts.poses[name][:2, 3] for name in facts.things if name not in (thing.id, other.id)]
        best = max(
            spots, key=lambda spot: min(float(np.linalg.norm(spot[:2] - each)) for each in [*lying, spot[:2] + 1])
        )
        return float(best[0]), float(best[1])

    def _guests(self, name: str) -> int:
        """How many things shall be on or in another."""
        conditions = {each for goal in self._case.goals for each in goal.any_of[0]}
        return sum(len(each.of) == 2 and each.of[1] == name for each in conditions)

    def _beside(self, condition: Condition, facts: Facts) -> tuple[float, float]:
        """A free place on the table beside another thing, or away from it."""
        thing, other = (self._where(name, facts) for name in condition.of)
        lying = [self._where(name, facts) for name in facts.things if name != thing.id]
        spots = [(other.position[0] + x, other.position[1] + y) for x, y in _ways(condition.rule, thing, other)]
        for spot in spots:
            free = not any(overlap(replace(thing, position=spot), each, 0.03) for each in lying)
            if free and _reachable(spot):
                return spot
        return spots[0]

    def _slide(self, name: str, opening: bool) -> Motion:
        """Take a drawer by its handle, pull or push it, and let go."""
        drawer, hand = self._things()[name], self._arm
        now = self._table.facts().opening_m[name]
        goal = DRAWER_TRAVEL if opening else 0.0
        yaw = hand.nearest_yaw(np.array([*drawer.position, 0.0]), drawer.yaw + math.pi / 2)
        hand.gripper = 0.55
        yield from hand.go_above(_handle(drawer, now), yaw, CARRY_Z - 0.06)
        yield from hand.line(_handle(drawer, now), yaw, SLOW * 1.5)
        yield from hand.grip(0.0)
        beyond = 0.004 if opening else -0.004
        yield from hand.line(_handle(drawer, goal + beyond), yaw, SLOW)
        yield from hand.wait(4)
        yield from hand.grip(0.45, 6)
        yield from hand.raise_to(CARRY_Z)

    def _things(self) -> dict[str, Thing]:
        return {thing.id: thing for thing in self._case.scene.things}

    def _where(self, name: str, facts: Facts) -> Thing:
        """A thing where it is now."""
        thing, pose = facts.things[name], facts.poses[name]
        if KINDS[thing.kind].fixed:
            return thing
        return replace(thing, position=(float(pose[0, 3]), float(pose[1, 3])), yaw=math.atan2(pose[1, 0], pose[0, 0]))


def _handle(drawer: Thing, opening: float) -> Array:
    out = CABINET_LENGTH / 2 - 0.004 + HANDLE_REACH - 0.005 + opening
    return np.array([
        drawer.position[0] - out * math.cos(drawer.yaw), drawer.position[1] - out * math.sin(drawer.yaw), HANDLE_Z
    ])  # fmt: skip


def _hand_yaw(held: Array, hand: Array, yaw: float | None, thing: Thing) -> float:
    """How to turn the hand so that what it holds is turned to `yaw`; as it is, where that does not matter."""
    now = math.atan2(hand[1, 0], hand[0, 0])
    if yaw is None:
        return now
    turned = hand[:3, :3] @ held[:3, :3]
    wrong = yaw - math.atan2(turned[1, 0], turned[0, 0])
    step = math.pi / 2 if thing.kind in ("block", "peg") else math.pi if thing.kind == "brick" else 1e-9
    return now + wrong - step * round(wrong / step)


def _top(thing: Thing) -> float:
    """The height of the surface that things stand on."""
    return {"plate": FLOOR, "tray": 0.004}.get(thing.kind, height_of(thing))


def _crowded(vessel: Thing, facts: Facts) -> bool:
    return vessel.kind == "bowl" and any((name, vessel.id) in facts.touching for name in facts.things)


def _ways(rule: str, thing: Thing, other: Thing) -> list[tuple[float, float]]:
    """Steps from the other thing that would do, the best first."""
    if rule == "apart":
        turns = np.linspace(0, 2 * math.pi, 16, endpoint=False)
        return [(far * math.cos(turn), far * math.sin(turn)) for far in (0.24, 0.28, 0.32) for turn in turns]
    x, y = SIDES[rule]
    near = max(half_extents(thing)) + max(half_extents(other))
    fars = np.arange(near + 0.035, 0.235, 0.01).tolist() or [0.22]
    return [(x * far + y * off, y * far + x * off) for off in (0.0, 0.03, -0.03, 0.05, -0.05) for far in fars]


def _reachable(spot: tuple[float, float]) -> bool:
    return math.hypot(spot[0] - arm.BASE[0], spot[1] - arm.BASE[1]) < 0.72 and spot[0] > -0.22


class Knowing:
    """The scripted policy, let into the world itself."""

    def reset(self, world: Any) -> None:
        self._policy = Scripted()
        self._policy.reset(world.case, world.table)

    def act(self) -> dict[str, Any]:
        action = self._policy.act()
        return {"actions": [action.tolist()], "done": self._policy.done}


def played(case: Case, limit_s: float = 90.0) -> list[list[float] | None]:
    """What it does in a case, in lock-step."""
    table, policy = Table(case.scene), Scripted()
    policy.reset(case, table)
    actions: list[list[float] | None] = []
    while not policy.done and table.time_s < limit_s:
        action = policy.act()
        table.step(action)
        actions.append(action.tolist())
    table.close()
    return actions
