"""MuJoCo, brought in with a way to draw that needs no screen. Import it from here: the choice must come first."""

import ctypes.util
import os
import sys
from pathlib import Path

GPU_DEVICES = ("/dev/nvidia0", "/dev/dri/renderD128")
HOW_TO_DRAW = (
    "The cameras of the table cannot draw here (MUJOCO_GL={chosen}): {why}. Install OSMesa, which draws on the "
    "processor ('apt-get install libosmesa6' on Debian and Ubuntu, 'dnf install mesa-libOSMesa' on Fedora), or EGL "
    "where there is a GPU ('apt-get install libegl1'), and start again without MUJOCO_GL set."
)


def drawing_backend(found: set[str], gpu: bool) -> str:
    """How to draw, of the libraries that were found; empty where MuJoCo shall choose."""
    if "EGL" in found and gpu:
        return "egl"
    if "OSMesa" in found:
        return "osmesa"
    return "egl" if "EGL" in found else ""


def _choose() -> None:
    if not sys.platform.startswith("linux") or os.environ.get("MUJOCO_GL"):
        return
    found = {name for name in ("OSMesa", "EGL") if ctypes.util.find_library(name)}
    # A graphics device that may not be opened is as good as none.
    gpu = any(os.access(Path(device), os.R_OK | os.W_OK) for device in GPU_DEVICES)
    if chosen := drawing_backend(found, gpu):
        os.environ["MUJOCO_GL"] = chosen


_choose()

import mujoco  # noqa: E402 - it reads MUJOCO_GL when it is imported

VERSION: str = mujoco.__version__

__all__ = ["HOW_TO_DRAW", "VERSION", "drawing_backend", "mujoco"]
