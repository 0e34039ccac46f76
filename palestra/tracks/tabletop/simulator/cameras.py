"""The three cameras: where they are, how they project, and both as they are published.

Camera axes are OpenCV's: x to the right of the picture, y down, z into the scene.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator.arm import GRIP_OFFSET

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Camera:
    """A camera that looks from a place at another, both in the world, or in the hand's axes for the one on it."""

    name: str
    place: tuple[float, float, float]
    looks_at: tuple[float, float, float]
    up: tuple[float, float, float]  # what is up in the picture
    view_deg: float  # from the picture's top to its bottom; it is square
    on_hand: bool = False

    def pose(self) -> Array:
        """(4, 4) From camera axes to the world's (or the hand's)."""
        ahead = _unit(np.subtract(self.looks_at, self.place))
        right = _unit(np.cross(ahead, self.up))
        pose = np.eye(4)
        pose[:3, :3] = np.stack([right, np.cross(ahead, right), ahead], axis=1)
        pose[:3, 3] = self.place
        return pose

    def from_grip(self) -> Array:
        """(4, 4) The pose of a camera on the hand, seen from the point between the fingertips."""
        pose = self.pose()
        pose[2, 3] -= GRIP_OFFSET
        return pose

    def intrinsics(self, size: int) -> Array:
        """(3, 3) From camera axes to pixels of a square picture; pixel centres are at half numbers."""
        focal = size / 2 / math.tan(math.radians(self.view_deg) / 2)
        return np.array([[focal, 0, size / 2], [0, focal, size / 2], [0, 0, 1]])


CAMERAS = {
    camera.name: camera
    for camera in (
        Camera("top", (0.08, 0.0, 1.45), (0.08, 0.0, 0.0), (1.0, 0.0, 0.0), 36.0),
        Camera("side", (0.98, -0.74, 0.82), (-0.02, 0.02, 0.12), (0.0, 0.0, 1.0), 44.0),
        Camera("wrist", (0.078, 0.0, 0.02), (0.032, 0.0, 0.15), (-1.0, 0.0, 0.0), 62.0, on_hand=True),
    )
}


def calibration(size: int) -> dict[str, Any]:
    """What contestants are told of the cameras, in plain numbers.

    The wrist's pose is seen from the point between the fingertips, whose pose they observe as `hand_pose`.
    """
    return {
        camera.name: {
            "relative_to": "hand" if camera.on_hand else "world",
            "pose": _plain(camera.from_grip() if camera.on_hand else camera.pose()),
            "intrinsics": _plain(camera.intrinsics(size)),
        }
        for camera in CAMERAS.values()
    }


def camera_text(camera: Camera) -> str:
    """The camera in MJCF, whose cameras have y up and look along -z."""
    pose = camera.pose()
    axes = " ".join(f"{value:.7g}" for value in (*pose[:3, 0], *-pose[:3, 1]))
    place = " ".join(f"{value:.7g}" for value in camera.place)
    return f'<camera name="{camera.name}" pos="{place}" xyaxes="{axes}" fovy="{camera.view_deg}"/>\n'


def _plain(matrix: Array) -> list[list[float]]:
    rows: list[list[float]] = (matrix.round(9) + 0.0).tolist()  # + 0.0: no minus before a zero
    return rows


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))
