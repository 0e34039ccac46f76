"""Facts from the physics: contacts, forces and rest, worked out on a copy so that judging never changes a run."""

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator.engine import mujoco
from palestra.tracks.tabletop.simulator.goals import ARM, FLOOR, TABLE, Facts
from palestra.tracks.tabletop.simulator.model import mjcf
from palestra.tracks.tabletop.simulator.objects import KINDS, Scene

Array = npt.NDArray[np.float64]

REST_PERIODS = 5  # control periods without motion that count as rest: 0.25 s
STILL_M_S, STILL_RAD_S = 0.01, 0.2


class Judge:
    """Watches one table."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._model = mujoco.MjModel.from_xml_string(mjcf(scene))
        # What sleeps has no contacts, and a judge needs them.
        self._model.opt.enableflags &= ~mujoco.mjtEnableBit.mjENBL_SLEEP.value
        self._data = mujoco.MjData(self._model)
        drawers = {thing.id for thing in scene.things if thing.kind == "drawer"}
        self.bodies = {thing.id: f"{thing.id}/slide" if thing.id in drawers else thing.id for thing in scene.things}
        self._owner = self._owners(drawers)
        self._speeds = {name: self._speed_slice(name) for name in self.bodies if self._moves(name)}
        self._weight_n = {
            name: float(self._model.body(body).mass[0] * -self._model.opt.gravity[2])
            for name, body in self.bodies.items()
        }
        self._rested: dict[str, int] = {}

    def _moves(self, name: str) -> bool:
        kind = next(thing.kind for thing in self.scene.things if thing.id == name)
        return kind == "drawer" or not KINDS[kind].fixed

    def _speed_slice(self, name: str) -> slice:
        joint = self._model.joint(name)
        start = int(joint.dofadr[0])
        return slice(start, start + (6 if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE.value else 1))

    def _owners(self, drawers: set[str]) -> list[str]:
        """Whose each geom is."""
        names = []
        for geom in range(self._model.ngeom):
            body = self._model.body(self._model.geom_bodyid[geom]).name
            if body == "world":
                names.append(FLOOR if self._model.geom(geom).name == "floor" else TABLE)
            elif body in self.bodies or body.removesuffix("/slide") in drawers:
                # A drawer's cabinet is furniture: things on top of it are not on the drawer.
                names.append(TABLE if body in drawers else body.removesuffix("/slide"))
            else:
                names.append(ARM)
        return names

    def reset(self, data: mujoco.MjData) -> None:
        """Begin with a table that has come to rest."""
        self._rested = dict.fromkeys(self.bodies, REST_PERIODS)

    def watch(self, data: mujoco.MjData) -> None:
        """Note who has moved in this control period."""
        for name, part in self._speeds.items():
            speed = data.qvel[part]
            moving = np.abs(speed[:3]).max() > STILL_M_S or (len(speed) == 6 and np.abs(speed[3:]).max() > STILL_RAD_S)
            self._rested[name] = 0 if moving else self._rested[name] + 1

    def facts(self, data: mujoco.MjData) -> Facts:
        judged = self._data
        judged.qpos[:], judged.qvel[:], judged.ctrl[:] = data.qpos, data.qvel, data.ctrl
        judged.qacc_warmstart[:] = 0
        mujoco.mj_forward(self._model, judged)
        touching, lift_n = self._contacts()
        return Facts(
            things={thing.id: thing for thing in self.scene.things},
            poses={name: self._pose(body) for name, body in self.bodies.items()},
            touching=touching,
            lift_n=lift_n,
            weight_n=self._weight_n,
            still=frozenset(name for name, periods in self._rested.items() if periods >= REST_PERIODS),
            opening_m={
                thing.id: float(judged.joint(thing.id).qpos[0]) for thing in self.scene.things if thing.kind == "drawer"
            },
        )

    def _pose(self, body: str) -> Array:
        found, pose = self._data.body(body), np.eye(4)
        pose[:3, :3], pose[:3, 3] = found.xmat.reshape(3, 3), found.xpos
        return pose

    def _contacts(self) -> tuple[frozenset[tuple[str, str]], dict[tuple[str, str], float]]:
        touching: set[tuple[str, str]] = set()
        lift_n: dict[tuple[str, str], float] = {}
        force = np.zeros(6)
        for i in range(self._data.ncon):
            contact = self._data.contact[i]
            first, second = self._owner[contact.geom[0]], self._owner[contact.geom[1]]
            if first == second or contact.exclude:
                continue
            touching |= {(first, second), (second, first)}
            mujoco.mj_contactForce(self._model, self._data, i, force)
            # The contact's axes are rows; the force is what the first geom does to the second.
            upwards = float(contact.frame.reshape(3, 3).T[2] @ force[:3])
            lift_n[first, second] = lift_n.get((first, second), 0.0) + upwards
            lift_n[second, first] = lift_n.get((second, first), 0.0) - upwards
        return frozenset(touching), lift_n
