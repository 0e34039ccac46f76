"""What a camera would see that looks straight at an eye from a fixed distance and is not rolled against the head.

Eyes seen so look alike wherever the head is. Pictures of the right eye are mirrored, so that both have the temple on
the same side; directions are mirrored with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Camera, World

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

LEFT, RIGHT = 0, 1
MIRRORS: Floats = np.array([1.0, -1.0])  # what becomes of x: the left eye stays, the right one is mirrored


@dataclass(frozen=True)
class Frame:
    """The size of an eye's picture; the eyeball's centre is in its middle."""

    width: int
    height: int
    pixels_per_mm: float  # at the eyeball

    @property
    def middle(self) -> Floats:
        return (np.array([self.width, self.height]) - 1) / 2


EYE = Frame(48, 32, 1.1)  # about as fine as a VGA camera shows an eye at arm's length, and a brow and a cheek wide


def axes_towards(camera: Camera, heads: Floats, eyes: World) -> Floats:
    """(n, 2, 3, 3) rows: right, down and ahead of the cameras that look at the eyes, in the world's axes.

    `heads` (n, 3, 3) turn from the head to the world, `eyes` (n, 2, 3) are where the eyeballs are.
    """
    ahead = _unit(eyes - camera.pose.translation)
    across = np.broadcast_to(heads[:, None, :, 0], ahead.shape)  # the head's own x stays level: no roll is left
    right = _unit(across - (across * ahead).sum(axis=-1, keepdims=True) * ahead)
    return np.stack([right, np.cross(ahead, right), ahead], axis=-2)


def warps(camera: Camera, axes: Floats, eyes: World, frame: Frame) -> Floats:
    """(n, 2, 3, 3) homographies from the camera's pixels to those of each eye's picture, not mirrored."""
    far_mm = 1000 * np.linalg.norm(eyes - camera.pose.translation, axis=-1)
    turn = axes @ camera.pose.rotation @ np.linalg.inv(camera.intrinsics)
    focal = frame.pixels_per_mm * far_mm  # at this distance, a millimetre takes so many pixels
    middle_x, middle_y = frame.middle
    x = focal[..., None] * turn[..., 0, :] + middle_x * turn[..., 2, :]
    y = focal[..., None] * turn[..., 1, :] + middle_y * turn[..., 2, :]
    return np.stack([x, y, turn[..., 2, :]], axis=-2)


def eye_picture(grey: Picture, warp: Floats, which: int, frame: Frame) -> Picture:
    """One eye; what lies outside the camera's picture repeats its edge."""
    size = frame.width, frame.height
    drawn = cv2.warpPerspective(grey, warp, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.ascontiguousarray(drawn[:, ::-1] if which == RIGHT else drawn, dtype=np.uint8)


def eye_pictures(picture: Picture, warp: Floats) -> Picture:
    """(2, 32, 48) grey: both eyes of a picture in RGB, through their homographies (2, 3, 3)."""
    grey = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)
    return np.stack([eye_picture(grey, warp[which], which, EYE) for which in (LEFT, RIGHT)])


def angles_of(directions: World, axes: Floats) -> Floats:
    """(n, 2, 2) yaw towards the temple's side and pitch up, in radians, of directions (n, 2, 3): 0 looks back at us."""
    x, y, z = np.moveaxis((axes @ directions[..., None])[..., 0], -1, 0)
    return np.stack([np.arctan2(x * MIRRORS, -z), np.arctan2(-y, np.hypot(x, z))], axis=-1)


def directions_of(angles: Floats, axes: Floats) -> World:
    """The way back: (n, 2, 3) of the world, unit."""
    yaw, pitch = angles[..., 0] * MIRRORS, angles[..., 1]
    seen = np.stack([np.sin(yaw) * np.cos(pitch), -np.sin(pitch), -np.cos(yaw) * np.cos(pitch)], axis=-1)
    return World((np.swapaxes(axes, -1, -2) @ seen[..., None])[..., 0])


def head_angles(heads: Floats, axes: Floats) -> Floats:
    """(n, 2, 2) where the face points, by the same angles."""
    faces = np.broadcast_to(heads[:, None, :, 2], (*axes.shape[:2], 3))
    return angles_of(World(faces), axes)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
