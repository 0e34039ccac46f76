"""A colour camera and a depth camera that look at the same place: from a picture of depth to points of the world."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Camera, Image, World
from palestra.studio.track.depth_units import DepthUnit

Floats = NDArray[np.float64]
Map = NDArray[np.float32]
Depth = NDArray[np.uint16]
Window = tuple[slice, slice]  # rows, columns


@dataclass(frozen=True)
class Rig:
    """Two cameras of known place, and what a depth's number means."""

    colour: Camera
    depth: Camera
    unit: DepthUnit
    hd: Camera | None = None

    @cached_property
    def ways(self) -> Map:
        """(h, w, 3) directions of the world in which the depth camera's pixels look, a metre along its axis long."""
        across, down = np.meshgrid(np.arange(self.depth.width), np.arange(self.depth.height))
        pixels = Image(np.stack([across, down], axis=-1).astype(np.float64))
        return np.asarray(self.depth.directions(pixels), np.float32)

    @cached_property
    def eye(self) -> Map:
        """(3,) where the depth camera stands."""
        return np.asarray(self.depth.pose.translation, np.float32)

    def points(self, depth: Depth, window: Window, step: int = 1) -> tuple[Map, Map]:
        """Points (n, 3) of the world that a part of a picture shows, and how far (n,) they are along the axis."""
        rows, columns = (slice(part.start, part.stop, step) for part in window)
        far = self.unit.metres(depth[rows, columns], (rows, columns))
        seen = far > 0
        away = far[seen]
        return self.ways[rows, columns][seen] * away[:, None] + self.eye, away

    def window(self, centre: Floats, radius_m: float) -> Window | None:
        """The part of the depth picture about a ball of the world; None where it is not in the picture."""
        seen = self.depth.pose.back()(World(np.asarray(centre, np.float64)))
        if seen[2] <= radius_m:
            return None
        k = self.depth.intrinsics
        middle = (k @ (seen / seen[2]))[:2]
        size = radius_m / (seen[2] - radius_m) * np.array([k[0, 0], k[1, 1]])
        left, top = np.maximum(np.floor(middle - size), 0).astype(int).tolist()
        right, bottom = np.ceil(middle + size).astype(int).tolist()
        right, bottom = min(right + 1, self.depth.width), min(bottom + 1, self.depth.height)
        if right <= left or bottom <= top:
            return None
        return slice(top, bottom), slice(left, right)

    def pixels(self, points: Map) -> tuple[Map, Map]:
        """Where (n, 2) the depth camera sees points of the world, and how far (n,) they are along its axis."""
        return _seen(self.depth, points)

    def colour_pixels(self, points: Map) -> tuple[Map, Map]:
        """The same for the colour camera."""
        return _seen(self.colour, points)


def _seen(camera: Camera, points: Map) -> tuple[Map, Map]:
    turn = (camera.intrinsics @ camera.pose.rotation.T).astype(np.float32)
    found = (points - camera.pose.translation.astype(np.float32)) @ turn.T
    far = found[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return found[:, :2] / far[:, None], far
