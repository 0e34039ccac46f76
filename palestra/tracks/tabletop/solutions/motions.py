"""Motions of the arm on the table: straight lines of the hand, picking up, putting down, pulling and pushing a drawer.

A motion is an iterator of actions (7 joint angles and the gripper), one for each control period, so motions
are chained with `yield from`. They know true poses; a program that sees only cameras can use them with its own.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.objects import Thing, height_of, overlap

Array = npt.NDArray[np.float64]
Motion = Iterator[Array]

FAST, SLOW = 0.40, 0.10  # m/s, of the hand
TURNING = 1.8  # rad/s
CARRY_Z = 0.26  # the grip point's height when it carries something
FINGER = (0.022, 0.014)  # what a finger covers, along the hand's x and y, with a little to spare
PADS_BELOW = 0.010  # how far the fingertips reach below the grip point
SLACK = 0.02  # by how much the gripper opens to let go, so that it pushes nothing beside


@dataclass(frozen=True)
class Grasp:
    """How to take something: where the grip point goes, how the hand is turned, how far it is open before."""

    place: tuple[float, float, float]
    yaw: float
    opening: float  # 0 to 1


class Arm:
    """Remembers what the arm was told last, and turns wanted hand poses into actions."""

    def __init__(self, target: Array) -> None:
        self.joints, self.gripper = target[: arm.JOINTS].copy(), float(target[-1])

    def pose(self) -> Array:
        """(4, 4) Where the hand is told to be."""
        return arm.forward(self.joints)

    def action(self) -> Array:
        return np.array([*self.joints, self.gripper])

    def wait(self, periods: int) -> Motion:
        for _ in range(periods):
            yield self.action()

    def grip(self, opening: float, periods: int = 9) -> Motion:
        """Open or close, and wait until it is done."""
        self.gripper = float(np.clip(opening, 0, 1))
        yield from self.wait(periods)

    def line(self, place: Array, yaw: float, speed: float = FAST) -> Motion:
        """Bring the hand, pointing down, to a place on a straight line."""
        goal, start = arm.pointing_down(np.asarray(place, float), yaw), self.pose()
        turn = arm.turn_between(goal[:3, :3], start[:3, :3])
        way = goal[:3, 3] - start[:3, 3]
        periods = _periods(float(np.linalg.norm(way)) / speed, float(np.linalg.norm(turn)) / TURNING)
        for i in range(1, periods + 1):
            share = _smooth(i / periods)
            pose = np.eye(4)
            pose[:3, 3] = start[:3, 3] + share * way
            pose[:3, :3] = arm.turn_by(share * turn) @ start[:3, :3]
            found = arm.reach(pose, self.joints, tries=0)
            if not found.good:  # a line that leads through a place where no joints do: go there some other way
                yield from self.swing(arm.reach(goal, self.joints).joints)
                return
            self.joints = found.joints
            yield self.action()

    def swing(self, joints: Array) -> Motion:
        """Go to joint angles, all joints at once."""
        start, way = self.joints, joints - self.joints
        periods = _periods(float(np.abs(way).max()) / (0.7 * arm.SPEED), 0.0)
        for i in range(1, periods + 1):
            self.joints = start + _smooth(i / periods) * way
            yield self.action()

    def raise_to(self, height: float, speed: float = FAST) -> Motion:
        """Straight up (or down) to a height."""
        pose = self.pose()
        yield from self.line(np.array([*pose[:2, 3], height]), _yaw(pose), speed)

    def go_above(self, place: Array, yaw: float, height: float = CARRY_Z) -> Motion:
        """To a place at carrying height: up first, then across."""
        if self.pose()[2, 3] < height - 0.01:
            yield from self.raise_to(height)
        yield from self.line(np.array([place[0], place[1], height]), yaw)

    def home(self) -> Motion:
        yield from self.raise_to(CARRY_Z)
        yield from self.swing(np.array(arm.HOME))

    def take(self, grasp: Grasp) -> Motion:
        """Take something that stands on the table, and lift it."""
        place = np.array(grasp.place)
        yaw = self.nearest_yaw(place, grasp.yaw)
        self.gripper = grasp.opening
        yield from self.go_above(place, yaw, max(CARRY_Z - 0.06, place[2] + 0.08))
        yield from self.line(place + [0, 0, 0.03], yaw)
        yield from self.line(place, yaw, SLOW)
        yield from self.grip(0.0)
        yield from self.raise_to(place[2] + 0.04, SLOW * 1.5)
        yield from self.raise_to(CARRY_Z)

    def put(self, place: Array, yaw: float, width: float) -> Motion:
        """Bring the hand to a place, let go of what is `width` wide, and leave upwards."""
        yaw = self.nearest_yaw(place, yaw, half_turns=False)
        yield from self.go_above(place, yaw)
        yield from self.line(place + [0, 0, 0.03], yaw)
        yield from self.line(place, yaw, SLOW * 0.6)
        yield from self.wait(3)
        yield from self.grip((width + SLACK) / arm.OPEN_WIDTH, 6)
        yield from self.raise_to(place[2] + 0.05, SLOW * 1.5)
        yield from self.raise_to(CARRY_Z)

    def nearest_yaw(self, place: Array, yaw: float, half_turns: bool = True) -> float:
        """The same turn of the hand, or half a turn more, which two fingers do not notice: what is easier."""
        step = math.pi if half_turns else 2 * math.pi
        facing = math.atan2(place[1] - arm.BASE[1], place[0] - arm.BASE[0]) + math.pi
        return yaw + step * round((facing - yaw) / step)


def choose_grasp(thing: Thing, pose: Array, others: list[Thing]) -> Grasp:
    """How to take a thing: the first turn of the hand that leaves the fingers room."""
    if abs(pose[2, 2]) < 0.7 and thing.kind not in ("block", "brick"):
        return _grasp_lying(thing, pose)
    yaw, height = math.atan2(pose[1, 0], pose[0, 0]), height_of(thing)
    along_z = min(max(height / 2, 0.014), height - 0.012) if height <= 0.05 else height - 0.022
    place = (float(pose[0, 3]), float(pose[1, 3]), float(pose[2, 3]) + along_z)
    width = grip_width(thing)
    options = [
        Grasp(place, yaw + turn, opening)
        for opening in ((width + 0.030) / arm.OPEN_WIDTH, (width + 0.016) / arm.OPEN_WIDTH)
        for turn in _turns(thing)
    ]
    options = [Grasp(option.place, option.yaw, min(1.0, option.opening)) for option in options]
    return next((option for option in options if not _hits(option, others)), options[0])


def _grasp_lying(thing: Thing, pose: Array) -> Grasp:
    """Across the middle of what has fallen over."""
    middle = pose[:3, 3] + pose[:3, 2] * height_of(thing) / 2
    place = (float(middle[0]), float(middle[1]), max(float(middle[2]), 0.012))
    return Grasp(place, math.atan2(pose[1, 2], pose[0, 2]), min(1.0, (grip_width(thing) + 0.03) / arm.OPEN_WIDTH))


def grip_width(thing: Thing) -> float:
    """What is between the fingers when they hold it."""
    if thing.kind == "brick":
        return thing.size[1]
    return thing.size[0] * (1 if thing.kind in ("block", "peg") else 2)


def _turns(thing: Thing) -> list[float]:
    """How the hand can be turned against the thing, so that the fingers meet flat sides."""
    if thing.kind == "brick":
        return [0.0]
    if thing.kind in ("block", "peg"):
        return [0.0, math.pi / 2]
    return [i * math.pi / 8 for i in (0, 4, 2, 6, 1, 3, 5, 7)]


def _hits(grasp: Grasp, others: list[Thing]) -> bool:
    """Whether an open finger would come down on something else."""
    across = np.array([math.sin(grasp.yaw), -math.cos(grasp.yaw)])
    out = grasp.opening * arm.OPEN_WIDTH / 2 + FINGER[1] / 2
    for sign in (-1, 1):
        x, y = np.array(grasp.place[:2]) + sign * out * across
        finger = Thing("finger", "brick", "red", (*FINGER, 0.05), (float(x), float(y)), grasp.yaw)
        if any(overlap(finger, other) for other in others):
            return True
    return False


def _periods(*seconds: float) -> int:
    return max(1, math.ceil(max(seconds) * arm.CONTROL_HZ))


def _smooth(share: float) -> float:
    """From 0 to 1 without a jerk at either end."""
    return share * share * (3 - 2 * share)


def _yaw(pose: Array) -> float:
    return math.atan2(pose[1, 0], pose[0, 0])
