"""Where everything stands when people are recorded: the cameras, the screen above them, the seat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Display, Pose, Sight, World

Floats = npt.NDArray[np.float64]
Cameras = dict[str, Camera]  # rgb_vga, rgb_hd, depth

SCREEN_PX = (1340, 740)
SCREEN_M = (0.531, 0.299)  # 24 inches
SCREEN_ABOVE_M = 0.20  # its middle above the Kinect, which stands below it and looks up
TILT_DEG = 12.0  # by which the Kinect looks up; the world has the Kinect's axes, so all else is tilted
UP = np.array([0.0, np.cos(np.radians(TILT_DEG)), -np.sin(np.radians(TILT_DEG))])  # the ceiling, in the world
_SIGHTS = {"rgb_vga": ((640, 480), 525.0), "rgb_hd": ((1920, 1080), 1620.0), "depth": ((640, 480), 582.0)}
LENS_M = {"rgb_vga": (0.0, 0.0, 1.0), "depth": (-0.0253, 0.0004, 1.0012), "rgb_hd": (0.021, 0.058, 0.992)}


@dataclass(frozen=True)
class ScreenFile:
    """The screen's place before the Kinect as the calibration file gives it (with hats in Eq. 3)."""

    rotation: Floats  # (3, 3) from the screen's plane to the Kinect's colour camera
    translation: Floats  # (3,)
    metres_per_pixel: Floats  # (2,)

    @property
    def display(self) -> Display:
        return Display.calibrated(self.rotation, self.translation, self.metres_per_pixel)


def screen_file() -> ScreenFile:
    """Pixels count from the corner that the person sees at the top left: there the world's x is largest."""
    right = np.array([-1.0, 0.0, 0.0])
    lean = np.radians(2.0)  # the screen's head leans back
    back = np.cross([1.0, 0, 0], UP)
    down = -(np.cos(lean) * UP + np.sin(lean) * back)
    axes = np.stack([right, down, np.cross(right, down)], axis=1)
    middle = KINECT_TO_WORLD.translation + SCREEN_ABOVE_M * UP + 0.03 * back
    corner = middle - 0.5 * SCREEN_M[0] * right - 0.5 * SCREEN_M[1] * down
    to_kinect = KINECT_TO_WORLD.back()
    return ScreenFile(to_kinect.rotation @ axes, to_kinect(World(corner)), np.array(SCREEN_M) / np.array(SCREEN_PX))


def cameras(rng: np.random.Generator) -> Cameras:
    """The three cameras as they were calibrated on a day: intrinsics and small turns differ from day to day."""
    found: Cameras = {}
    for which, (size, focal_px) in _SIGHTS.items():
        focal = focal_px + rng.normal(0, 0.002 * focal_px)
        middle = (np.array(size) - 1) / 2 + rng.normal(0, 0.006 * size[0], 2)
        intrinsics = np.array([[focal, 0, middle[0]], [0, focal * (1 + rng.normal(0, 0.0008)), middle[1]], [0, 0, 1]])
        turn = np.zeros(3) if which == "rgb_vga" else rng.normal(0, 0.004, 3)
        found[which] = Camera(*size, intrinsics, _standing(np.array(LENS_M[which]), turn))
    return found


def _standing(place: Floats, turn: Floats) -> Pose[Sight, World]:
    """The Kinect's colour camera is where Eq. 1 puts it; the others stand beside it, turned by very little."""
    if not turn.any():
        return KINECT_TO_WORLD
    return Pose(KINECT_TO_WORLD.rotation @ rotations(turn), place)


def rotations(angles: Floats) -> Floats:
    """(…, 3, 3) of heads whose faces look along yaw (towards +x) and pitch (up), and are rolled: (…, 3) in radians."""
    (sy, sp, sr), (cy, cp, cr) = (np.moveaxis(part, -1, 0) for part in (np.sin(angles), np.cos(angles)))
    rows = [
        [cy * cr - sy * sp * sr, -cy * sr - sy * sp * cr, sy * cp],
        [cp * sr, cp * cr, sp],
        [-sy * cr - cy * sp * sr, sy * sr - cy * sp * cr, cy * cp],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def seat(target: str, condition: str, rng: np.random.Generator) -> World:
    """Where a head is at rest: 80–90 cm before the sensor for the screen, 1.2 m for the ball, otherwise on day B."""
    if target != "FT":
        far = rng.uniform(0.80, 0.90)
    else:
        far = rng.normal(1.20, 0.02) if condition == "A" else rng.choice([1.06, 1.34]) + rng.normal(0, 0.02)
    return World(np.array([rng.normal(0, 0.02), rng.normal(0.012, 0.012), 1 - far]))
