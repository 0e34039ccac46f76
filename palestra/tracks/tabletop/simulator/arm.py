"""The arm without its physics: where its joints are, where the hand is for given joints, and joints for a hand's place.

Seven joints, turning in turn about z and y when the arm stands upright: a shoulder, an elbow and a wrist.
Needs numpy alone, so that any program can use it.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

JOINTS = 7
BASE = (-0.42, 0.0, 0.0)  # where the arm stands on the table
OFFSETS = (0.16, 0.18, 0.20, 0.22, 0.20, 0.20, 0.08)  # each joint above the one before, in metres
AXES = "zyzyzyz"
HAND_OFFSET = 0.05  # the hand above the last joint
GRIP_OFFSET = 0.105  # the point between the fingertips, seen from the hand
LOW = np.array([-2.9, -1.9, -2.9, 0.05, -2.9, -0.8, -2.9])
HIGH = np.array([2.9, 1.9, 2.9, 2.75, 2.9, 2.6, 2.9])
# The hand near the base, pointing down, out of the cameras' way.
HOME = (0.0, -0.55, 0.0, 2.25, 0.0, 1.4416, 0.0)
SPEED = 2.0  # rad/s, the fastest that a joint's target moves
CONTROL_HZ = 20
OPEN_WIDTH = 0.08  # between the fingers
LONGEST_MOVE, LONGEST_TURN = 0.05, 0.25  # of one hand action, along and about each axis
GRIPPER_SPEED = 2.5  # whole strokes in a second

_DAMPING = 0.03
_LONGEST_STEP = 0.25  # rad, of one iteration
_PULL_HOME = 0.02


@dataclass(frozen=True)
class Reached:
    """Joints for a wanted pose of the grip point, and how far they are from it."""

    joints: Array
    position_error: float  # m
    angle_error: float  # rad

    @property
    def good(self) -> bool:
        return self.position_error < 1e-3 and self.angle_error < 0.01


def forward(joints: Array) -> Array:
    """The pose (4, 4) of the grip point in the world."""
    return _chain(joints)[2]


def reach(target: Array, start: Array, tries: int = 4) -> Reached:
    """Joints that bring the grip point to a pose (4, 4), near `start`; where that fails, from other starts."""
    best = _descend(target, np.asarray(start, float))
    for attempt in range(tries):
        if best.good:
            break
        found = _descend(target, _other_start(target, attempt))
        if found.position_error + 0.2 * found.angle_error < best.position_error + 0.2 * best.angle_error:
            best = found
    return best


def follow(joints: Array, move: Array, turn: Array) -> Array:
    """Joints that move the hand a little from where these hold it; in world axes, metres and a rotation vector."""
    pose = forward(joints)
    pose[:3, 3] += np.clip(move, -LONGEST_MOVE, LONGEST_MOVE)
    pose[:3, :3] = turn_by(np.clip(turn, -LONGEST_TURN, LONGEST_TURN)) @ pose[:3, :3]
    return reach(pose, joints, tries=0).joints


def pointing_down(position: Array, yaw: float) -> Array:
    """The pose of a hand that points down at a place; the fingers close along its y, which is at `yaw` + 90°."""
    c, s = math.cos(yaw), math.sin(yaw)
    pose = np.eye(4)
    pose[:3, :3] = np.array([[c, s, 0], [s, -c, 0], [0, 0, -1]])
    pose[:3, 3] = position
    return pose


def turn_by(vector: Array) -> Array:
    """The rotation (3, 3) of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross)


def turn_between(wanted: Array, found: Array) -> Array:
    """The rotation vector that turns `found` to `wanted`, in world axes."""
    turn = wanted @ found.T
    skew = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)) / 2, (float(np.trace(turn)) - 1) / 2
    if sine < 1e-9:
        # Half a turn has no sine: its axis is a column of turn + 1.
        return np.zeros(3) if cosine > 0 else math.pi * _unit((turn + np.eye(3))[:, int(np.argmax(np.diag(turn)))])
    return np.asarray(skew / (2 * sine) * math.atan2(sine, cosine))


def _chain(joints: Array) -> tuple[Array, Array, Array]:
    """Each joint's place (7, 3) and axis (7, 3) in the world, and the grip point's pose."""
    place, turned = np.array(BASE), np.eye(3)
    places, axes = np.empty((JOINTS, 3)), np.empty((JOINTS, 3))
    for i, angle in enumerate(joints):
        place = place + OFFSETS[i] * turned[:, 2]
        places[i], axes[i] = place, turned[:, 2 if AXES[i] == "z" else 1]
        turned = turned @ _turn(AXES[i], float(angle))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turned, place + (HAND_OFFSET + GRIP_OFFSET) * turned[:, 2]
    return places, axes, pose


def _jacobian(places: Array, axes: Array, pose: Array) -> Array:
    return np.concatenate([np.cross(axes, pose[:3, 3] - places).T, axes.T])


def _turn(axis: str, angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis == "z" else [[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def _descend(target: Array, joints: Array, iterations: int = 60) -> Reached:
    """Damped least squares, with a pull towards the home posture where the hand's pose leaves one free."""
    for _ in range(iterations):
        places, axes, pose = _chain(joints)
        error = np.concatenate([target[:3, 3] - pose[:3, 3], turn_between(target[:3, :3], pose[:3, :3])])
        if np.linalg.norm(error[:3]) < 1e-5 and np.linalg.norm(error[3:]) < 1e-4:
            break
        slope = _jacobian(places, axes, pose)
        # Damping only far from the goal: near it, it would leave a remainder.
        damping = _DAMPING**2 * min(1.0, float(np.linalg.norm(error)) * 4)
        inverse = slope.T @ np.linalg.inv(slope @ slope.T + (damping + 1e-9) * np.eye(6))
        home = _PULL_HOME * (np.array(HOME) - joints) * np.array([0, 0, 1, 0, 1, 0, 0])
        step = inverse @ error + (np.eye(JOINTS) - inverse @ slope) @ home
        longest = float(np.abs(step).max())
        joints = np.clip(joints + step * min(1.0, _LONGEST_STEP / max(longest, 1e-12)), LOW, HIGH)
    pose = forward(joints)
    return Reached(
        joints,
        float(np.linalg.norm(target[:3, 3] - pose[:3, 3])),
        float(np.linalg.norm(turn_between(target[:3, :3], pose[:3, :3]))),
    )


def _other_start(target: Array, attempt: int) -> Array:
    """Facing the goal, the wrist turned a quarter further each time."""
    joints = np.array(HOME)
    joints[0] = math.atan2(target[1, 3] - BASE[1], target[0, 3] - BASE[0])
    joints[6] = (0.0, 1.5, -1.5, 2.6)[attempt % 4]
    return joints
