"""The simulated table: an arm, things and cameras, stepped one control period at a time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.cameras import CAMERAS
from palestra.tracks.tabletop.simulator.engine import mujoco
from palestra.tracks.tabletop.simulator.goal_judge import Judge
from palestra.tracks.tabletop.simulator.goals import Facts
from palestra.tracks.tabletop.simulator.model import TIMESTEP_S, mjcf
from palestra.tracks.tabletop.simulator.objects import KINDS, Scene
from palestra.tracks.tabletop.simulator.renderer import Eyes

Array = npt.NDArray[np.float64]

PERIOD_S = 1 / arm.CONTROL_HZ
SUBSTEPS = round(PERIOD_S / TIMESTEP_S)
SETTLE_STEPS = 40  # control periods
_RAMP = (np.arange(1, SUBSTEPS + 1) / SUBSTEPS)[:, None]  # targets move evenly within a control period
_FASTEST = np.array([arm.SPEED * PERIOD_S] * arm.JOINTS + [arm.GRIPPER_SPEED * PERIOD_S])
ACTIONS = {8: "7 joint angles and the gripper", 7: "a move (3), a turn (3) of the hand and the gripper"}


class Table:
    """One scene with its physics. The same scene and the same actions give the same bytes of state."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = mujoco.MjModel.from_xml_string(mjcf(scene))
        self.data = mujoco.MjData(self.model)
        self.steps = 0
        self._eyes: dict[int, Eyes] = {}
        self._grip = self.model.site("grip").id
        self._judge = Judge(scene)
        self.reset()

    def reset(self) -> None:
        """Lay the table as the scene says, with the arm at rest and the gripper open."""
        mujoco.mj_resetData(self.model, self.data)
        self.steps = 0
        self._target = np.array([*self.scene.arm, 1.0])
        self.data.qpos[: arm.JOINTS] = self.scene.arm
        self.data.qpos[arm.JOINTS : arm.JOINTS + 2] = arm.OPEN_WIDTH / 2
        for thing in self.scene.things:
            if thing.kind == "drawer":
                self.data.joint(thing.id).qpos[0] = thing.size[0]
            elif thing.id in self.scene.settled:
                self.data.joint(thing.id).qpos[:] = self.scene.settled[thing.id]
        self.data.ctrl[:] = _controls(self._target)
        mujoco.mj_forward(self.model, self.data)
        self._judge.reset(self.data)

    @property
    def time_s(self) -> float:
        return self.steps * PERIOD_S

    @property
    def target(self) -> Array:
        """Where the arm is told to be: 7 joint angles and the gripper's opening."""
        return self._target.copy()

    def step(self, action: Sequence[float] | Array) -> None:
        """Advance by one control period.

        An action is 8 numbers, joint angles and the gripper's opening (0 shut, 1 open); or 7, the hand's move in
        metres and its turn as a rotation vector, both in world axes, and the gripper. Targets are kept within the
        joints' limits and do not move faster than the arm can.
        """
        wanted = self._joint_action(np.asarray(action, float))
        start = self._target
        self._target = start + np.clip(wanted - start, -_FASTEST, _FASTEST)
        begin, end = _controls(start), _controls(self._target)
        for controls in begin + _RAMP * (end - begin):
            self.data.ctrl[:] = controls
            mujoco.mj_step(self.model, self.data)
        # A step leaves places as they were before it; what is seen and told must be as it is after it.
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        self.steps += 1
        self._judge.watch(self.data)

    def facts(self) -> Facts:
        """What is so on the table now, for those who judge it. No program that is judged may see it."""
        return self._judge.facts(self.data)

    def _joint_action(self, action: Array) -> Array:
        if action.shape not in ((8,), (7,)):
            forms = " or ".join(f"{count} numbers ({what})" for count, what in ACTIONS.items())
            raise ValueError(f"an action of shape {action.shape}; expected {forms}")
        if not np.isfinite(action).all():
            raise ValueError("an action with a number that is NaN or infinite; expected finite numbers")
        if len(action) == 7:
            joints = arm.follow(self._target[: arm.JOINTS], action[:3], action[3:6])
            action = np.concatenate([joints, action[6:]])
        return np.clip(action, [*arm.LOW, 0.0], [*arm.HIGH, 1.0])

    def observe(self, cameras: Sequence[str] = tuple(CAMERAS), size: int = 256) -> dict[str, Any]:
        """What a program may know: its own body, the cameras' pictures and where the wrist's camera is."""
        found: dict[str, Any] = {
            "joints": self.data.qpos[: arm.JOINTS].copy(),
            "hand_pose": self.hand_pose(),
            "gripper": np.array([self.gripper()]),
            "step": self.steps,
        }
        for name in cameras:
            found[f"rgb_{name}"], found[f"depth_{name}"] = self._eyes_of(size).draw(self.data, name)
            found[f"pose_{name}"] = self.camera_pose(name)
        return found

    def picture(self, camera: str, size: int = 256) -> npt.NDArray[np.uint8]:
        """What a camera sees, for people."""
        return self._eyes_of(size).draw(self.data, camera)[0]

    def hand_pose(self) -> Array:
        """(4, 4) Of the point between the fingertips, in the world."""
        return _pose(self.data.site_xpos[self._grip], self.data.site_xmat[self._grip])

    def gripper(self) -> float:
        """How far the gripper is open, 0 to 1."""
        return float(np.clip(self.data.qpos[arm.JOINTS : arm.JOINTS + 2].sum() / arm.OPEN_WIDTH, 0, 1))

    def camera_pose(self, name: str) -> Array:
        """(4, 4) From the camera's axes (x right, y down, z ahead) to the world's, now."""
        camera = CAMERAS[name]
        return np.asarray(self.hand_pose() @ camera.from_grip()) if camera.on_hand else camera.pose()

    def pose_of(self, thing: str) -> Array:
        """(4, 4) Of a thing in the world: its origin is the middle of its bottom; of a drawer, the sliding part."""
        body = self.data.body(self._judge.bodies[thing])
        return _pose(body.xpos, body.xmat)

    def state(self) -> bytes:
        """The whole state of the physics."""
        which = mujoco.mjtState.mjSTATE_INTEGRATION.value
        values = np.empty(mujoco.mj_stateSize(self.model, which))
        mujoco.mj_getState(self.model, self.data, values, which)
        return values.tobytes()

    def close(self) -> None:
        """Free the renderers."""
        for eyes in self._eyes.values():
            eyes.close()
        self._eyes.clear()

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _eyes_of(self, size: int) -> Eyes:
        if size not in self._eyes:
            self._eyes[size] = Eyes(self.model, size)
        return self._eyes[size]


def settle(scene: Scene) -> Scene:
    """The same scene with its things where they come to rest, so that a run starts from a still table."""
    table = Table(replace(scene, settled={}))
    for _ in range(SETTLE_STEPS):
        table.step(table.target)
    free = [thing.id for thing in scene.things if not KINDS[thing.kind].fixed]
    rest = {name: tuple(round(float(x), 7) + 0.0 for x in table.data.joint(name).qpos) for name in free}
    return replace(scene, settled=rest)


def _controls(target: Array) -> Array:
    """Motor commands for joint angles and the gripper; shut means pressing together."""
    finger = target[-1] * (arm.OPEN_WIDTH / 2 + 0.01) - 0.01
    return np.array([*target[:-1], finger, finger])


def _pose(place: Array, turn: Array) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.reshape(turn, (3, 3)), place
    return pose
