"""Pictures with depth from the table's cameras, by a renderer that needs no screen."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator.engine import HOW_TO_DRAW, mujoco


class Eyes:
    """Draws a model's cameras at one size; colour and depth come of one drawing. Close it when done."""

    def __init__(self, model: mujoco.MjModel, size: int) -> None:
        self._model, self._size = model, size
        self._rect = mujoco.MjrRect(0, 0, size, size)
        self._gl, self._context = _contexts(model, size)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._scene = mujoco.MjvScene(model, maxgeom=2000)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[flag] = 0
        self._option = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def draw(self, data: mujoco.MjData, name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
        """A picture (size, size, 3) and how far along the camera's z each pixel's surface is, in metres."""
        if self._context is None:
            raise RuntimeError("these eyes are closed")
        self._gl.make_current()
        self._camera.fixedcamid = self._model.camera(name).id
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(self._model, data, self._option, None, self._camera, everything, self._scene)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        rgb = np.empty((self._size, self._size, 3), np.uint8)
        raw = np.empty((self._size, self._size), np.float32)
        mujoco.mjr_readPixels(rgb, raw, self._rect, self._context)
        return rgb[::-1].copy(), self._metres(raw)[::-1].copy()

    def _metres(self, raw: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Depth from the buffer, where 1 is the nearest plane and 0 the farthest."""
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        return np.asarray(near * far / (near + raw * (far - near)), np.float32)

    def close(self) -> None:
        """Free what the drawing needed. Left to the garbage collector, it fails at the end of the program."""
        if self._context is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._context = None


def _contexts(model: mujoco.MjModel, size: int) -> tuple[Any, Any]:
    """What OpenGL and MuJoCo need for drawing."""
    try:
        gl = mujoco.GLContext(size, size)
        gl.make_current()
        return gl, mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    except Exception as error:  # whatever a missing library raises, the person needs to know what to install
        raise RuntimeError(HOW_TO_DRAW.format(chosen=os.environ.get("MUJOCO_GL", "not set"), why=error)) from error
