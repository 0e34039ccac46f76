"""Where things are: points in the frames of a recording, and what leads from one frame to another.

A point is an array whose last axis has x, y and z in metres, or x and y in pixels. Its type says in which frame it is,
so that a type checker finds what is easily mixed up: a target in the camera's frame with an eye in the world's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NewType, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
World = NewType("World", Floats)  # metres; the person is near the origin, y points up, z towards the cameras
Sight = NewType("Sight", Floats)  # metres, before a camera: x right, y down, z away from it
Head = NewType("Head", Floats)  # metres, in the head's own frame
Plane = NewType("Plane", Floats)  # metres, before a screen: x right, y down, z off its surface
Image = NewType("Image", Floats)  # pixels of a picture
Screen = NewType("Screen", Floats)  # pixels of a screen

A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
C = TypeVar("C", bound=Any)


@dataclass(frozen=True)
class Pose(Generic[A, B]):
    """A turn and a shift that lead from frame A to frame B: p_B = R·p_A + t."""

    rotation: Floats  # (3, 3)
    translation: Floats  # (3,)

    def __call__(self, points: A) -> B:
        return cast(B, points @ self.rotation.T + self.translation)

    def turn(self, directions: A) -> B:
        """Directions, which a shift leaves as they are."""
        return cast(B, directions @ self.rotation.T)

    def back(self) -> Pose[B, A]:
        """From B to A."""
        return Pose(self.rotation.T, -self.rotation.T @ self.translation)

    def then(self, onward: Pose[B, C]) -> Pose[A, C]:
        """First this, then the other."""
        return Pose(onward.rotation @ self.rotation, onward.rotation @ self.translation + onward.translation)


# Eq. 1: the world stands where the person sits, a metre before the Kinect, with the axes of OpenGL.
KINECT_TO_WORLD: Pose[Sight, World] = Pose(np.diag([1.0, -1.0, -1.0]), np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True)
class Camera:
    """A pin-hole camera that stands somewhere in the world."""

    width: int
    height: int
    intrinsics: Floats  # (3, 3), in pixels
    pose: Pose[Sight, World]

    def project(self, points: World) -> Image:
        """Where points of the world are in the picture; not a number for those that are not before the camera."""
        seen = self.pose.back()(points) @ self.intrinsics.T
        depth = np.where(seen[..., 2:] > 0, seen[..., 2:], np.nan)
        return Image(seen[..., :2] / depth)

    def directions(self, pixels: Image) -> World:
        """The world's directions in which pixels look, with a depth of one metre along the camera's axis."""
        homogeneous = np.concatenate([pixels, np.ones_like(pixels[..., :1])], axis=-1)
        return self.pose.turn(Sight(homogeneous @ np.linalg.inv(self.intrinsics).T))

    def lift(self, pixels: Image, depth_m: Floats) -> World:
        """The points of the world that pixels show, where how far along the camera's axis they are is known."""
        return World(self.directions(pixels) * depth_m[..., None] + self.pose.translation)


@dataclass(frozen=True)
class Display:
    """A flat screen in the world: Eq. 2 with the parameters that Eq. 3 makes of a calibration file's."""

    pixels_per_metre: Floats  # (2,): along x and y
    pose: Pose[World, Plane]

    @classmethod
    def calibrated(cls, rotation: Floats, translation: Floats, metres_per_pixel: Floats) -> Display:
        """Eq. 3: a file gives the screen's place before the Kinect, from the screen's plane to the camera."""
        to_kinect: Pose[Plane, Sight] = Pose(rotation, translation)
        return cls(1 / metres_per_pixel, to_kinect.then(KINECT_TO_WORLD).back())

    def point_of(self, pixels: Screen) -> World:
        """Eq. 2 solved for the world: where in it the screen shows pixels."""
        flat = np.concatenate([pixels / self.pixels_per_metre, np.zeros_like(pixels[..., :1])], axis=-1)
        return self.pose.back()(Plane(flat))

    def hit_by(self, origins: World, directions: World) -> Screen:
        """Where rays meet the screen; not a number for those that point away from it or run along it."""
        start, way = self.pose(origins), self.pose.turn(directions)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = -start[..., 2:] / way[..., 2:]
        met = start + np.where((far >= 0) & np.isfinite(far), far, np.nan) * way
        return Screen(met[..., :2] * self.pixels_per_metre)
