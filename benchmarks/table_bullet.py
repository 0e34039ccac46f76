"""The same arm, table and block in pybullet, moved along the same joint angles: the peer of the table's physics."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.model import GRIP_FORCE, LINKS, TABLE_THICKNESS, TIMESTEP_S, TORQUE
from palestra.tracks.tabletop.simulator.objects import TABLE_LENGTH, TABLE_WIDTH

Array = NDArray[np.float64]


def pick(actions: Sequence[Array], edge: float, place: tuple[float, float], substeps: int) -> tuple[float, float]:
    """Seconds that the physics took, and how high the block is at the end."""
    import pybullet as bullet

    client = bullet.connect(bullet.DIRECT)
    try:
        bullet.setGravity(0, 0, -9.81)
        bullet.setTimeStep(TIMESTEP_S)
        _table(bullet)
        block = _block(bullet, edge, place)
        robot, joints = _robot(bullet)
        started = time.perf_counter()
        for action in actions:
            fingers = [action[7] * arm.OPEN_WIDTH / 2] * 2 if action[7] > 0 else [0.0, 0.0]
            bullet.setJointMotorControlArray(
                robot,
                joints,
                bullet.POSITION_CONTROL,
                [*action[:7], *fingers],
                forces=[*TORQUE, GRIP_FORCE, GRIP_FORCE],
            )
            for _ in range(substeps):
                bullet.stepSimulation()
        seconds = time.perf_counter() - started
        height = bullet.getBasePositionAndOrientation(block)[0][2]
    finally:
        bullet.disconnect(client)
    return seconds, float(height)


def _table(bullet: Any) -> None:
    half = [TABLE_LENGTH / 2, TABLE_WIDTH / 2, TABLE_THICKNESS / 2]
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=half)
    bullet.createMultiBody(0, shape, basePosition=[0, 0, -TABLE_THICKNESS / 2])


def _block(bullet: Any, edge: float, place: tuple[float, float]) -> int:
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[edge / 2] * 3)
    block: int = bullet.createMultiBody(1000 * edge**3, shape, basePosition=[*place, edge / 2])
    bullet.changeDynamics(block, -1, lateralFriction=0.9)
    return block


def _robot(bullet: Any) -> tuple[int, list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        file.write_text(urdf())
        robot: int = bullet.loadURDF(str(file), basePosition=arm.BASE, useFixedBase=True)
    names = {bullet.getJointInfo(robot, i)[1].decode(): i for i in range(bullet.getNumJoints(robot))}
    joints = [*(names[f"joint_{i + 1}"] for i in range(7)), names["finger_left"], names["finger_right"]]
    for joint, angle in zip(joints, [*arm.HOME, arm.OPEN_WIDTH / 2, arm.OPEN_WIDTH / 2], strict=True):
        bullet.resetJointState(robot, joint, angle)
    for finger in joints[7:]:
        bullet.changeDynamics(robot, finger, lateralFriction=1.6)
    return robot, joints


def urdf() -> str:
    """The arm in the words that pybullet reads; lengths, masses and limits are those of our own model."""
    text = '<robot name="arm">' + _link("base", 5.0, "")
    parent = "base"
    for i, (shape, radius, start, end) in enumerate(LINKS):
        name, axis = f"arm_{i + 1}", "0 0 1" if arm.AXES[i] == "z" else "0 1 0"
        text += _link(name, 2.5 - 0.3 * i, _round(shape, radius, np.array(start), np.array(end)))
        limit = f'lower="{arm.LOW[i]}" upper="{arm.HIGH[i]}" effort="{TORQUE[i]}" velocity="10"'
        text += _joint(f"joint_{i + 1}", "revolute", parent, name, f"0 0 {arm.OFFSETS[i]}", axis, limit)
        parent = name
    text += _link("hand", 0.4, '<origin xyz="0 0 0.024"/><geometry><box size="0.052 0.120 0.048"/></geometry>')
    text += _joint("hand", "fixed", parent, "hand", f"0 0 {arm.HAND_OFFSET}", "0 0 1", "")
    for side, sign in (("left", 1), ("right", -1)):
        pad = f'<origin xyz="0 {sign * 0.0045} 0.030"/><geometry><box size="0.020 0.009 0.060"/></geometry>'
        text += _link(f"finger_{side}", 0.05, pad)
        limit = f'lower="0" upper="{arm.OPEN_WIDTH / 2}" effort="{GRIP_FORCE}" velocity="1"'
        text += _joint(f"finger_{side}", "prismatic", "hand", f"finger_{side}", "0 0 0.055", f"0 {sign} 0", limit)
    return text + "</robot>"


def _round(shape: str, radius: float, start: Array, end: Array) -> str:
    along, middle = end - start, (start + end) / 2
    turn = "1.5707963 0 0" if abs(along[1]) > abs(along[2]) else "0 0 0"
    length = float(np.linalg.norm(along))
    xyz = " ".join(f"{value:.5f}" for value in middle)
    return f'<origin xyz="{xyz}" rpy="{turn}"/><geometry><{shape} radius="{radius}" length="{length:.5f}"/></geometry>'


def _link(name: str, mass: float, collision: str) -> str:
    inertia = f'<inertia ixx="{mass / 100}" iyy="{mass / 100}" izz="{mass / 100}" ixy="0" ixz="0" iyz="0"/>'
    shape = f"<collision>{collision}</collision>" if collision else ""
    return f'<link name="{name}"><inertial><mass value="{mass:.2f}"/>{inertia}</inertial>{shape}</link>'


def _joint(name: str, kind: str, parent: str, child: str, xyz: str, axis: str, limit: str) -> str:
    bounds = f"<limit {limit}/>" if limit else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{bounds}</joint>'
    )
