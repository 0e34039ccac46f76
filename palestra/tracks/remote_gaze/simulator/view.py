"""A camera that looks at a head: rays in the head's frame, and where they meet the skin."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Camera, Head, Pose, World
from palestra.tracks.remote_gaze.simulator.maps import Map, map_places
from palestra.tracks.remote_gaze.simulator.shape import Surface

COARSE_STEPS, FINE_STEPS = 16, 5
# How far to go towards a surface that is so far away: it may come to meet the ray where the skin is steep.
CAREFUL = np.float32(0.62)
SLOWEST = np.float32(0.3)  # how slowly the skin is thought to come nearer at least
EDGE_PX = 3  # left about what is drawn


@dataclass(frozen=True)
class Box:
    """A part of a picture, in pixels; the ends are not in it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)


@dataclass(frozen=True)
class View:
    """A camera as a head sees it. Rays are as long as it takes to go one metre along the camera's axis."""

    origin_m: npt.NDArray[np.float64]  # (3,)
    turn: npt.NDArray[np.float64]  # (3, 3) from the camera's axes to the head's
    camera: Camera
    head: Pose[Head, World]

    @classmethod
    def of(cls, camera: Camera, head: Pose[Head, World]) -> View:
        back = head.back()
        return cls(back(World(camera.pose.translation)), back.rotation @ camera.pose.rotation, camera, head)

    @property
    def focal_px(self) -> float:
        return float(self.camera.intrinsics[0, 0])

    def rays(self, columns: npt.ArrayLike, rows: npt.ArrayLike) -> tuple[Map, Map, Map]:
        """x, y and z of the directions of a grid of pixels."""
        k = self.camera.intrinsics
        across = (np.asarray(columns, dtype=np.float64) - k[0, 2]) / k[0, 0]
        down = (np.asarray(rows, dtype=np.float64) - k[1, 2]) / k[1, 1]
        lines = ((turn[1] * down + turn[2])[:, None] + (turn[0] * across)[None] for turn in self.turn)
        x, y, z = (np.asarray(line, dtype=np.float32) for line in lines)
        return x, y, z

    def box(self, points_m: npt.NDArray[np.float64], edge_px: int = EDGE_PX) -> Box:
        """The pixels about points of the head's frame."""
        seen = self.camera.project(self.head(Head(points_m)))
        if not np.isfinite(seen).all():
            return Box(0, 0, 0, 0)
        left, top = np.floor(seen.min(axis=0)).astype(int) - edge_px
        right, bottom = np.ceil(seen.max(axis=0)).astype(int) + 1 + edge_px
        width, height = self.camera.width, self.camera.height
        return Box(max(int(left), 0), max(int(top), 0), min(int(right), width), min(int(bottom), height))


@dataclass(frozen=True)
class Met:
    """Where the rays of a box come nearest to the skin."""

    far_m: Map  # along the camera's axis
    gap_m: Map  # still between ray and skin there; 0 or less where they meet
    place: tuple[Map, Map, Map]  # of the head's frame
    spots: tuple[Map, Map]  # columns and rows of the surface's maps


def meet(surface: Surface, view: View, box: Box, coarse: int) -> tuple[Met, Met]:
    """On every pixel, and before that on a grid whose steps are `coarse` pixels, which shows where to begin."""
    middle = (coarse - 1) / 2
    columns = np.arange(-(-(box.right - box.left) // coarse)) * coarse + box.left + middle
    rows = np.arange(-(-(box.bottom - box.top) // coarse)) * coarse + box.top + middle
    rays = view.rays(columns, rows)
    first = _march(surface, view, rays, _entry(surface, view, rays), COARSE_STEPS)
    # A ray must begin before the nearest skin about it, or it would start behind a nose.
    begin = cv2.erode(first.far_m, np.ones((3, 3), np.uint8))
    begin = cv2.resize(begin, None, fx=coarse, fy=coarse, interpolation=cv2.INTER_LINEAR)
    shape = box.bottom - box.top, box.right - box.left
    fine_rays = view.rays(np.arange(box.left, box.right), np.arange(box.top, box.bottom))
    return _march(surface, view, fine_rays, np.asarray(begin, np.float32)[: shape[0], : shape[1]], FINE_STEPS), first


def _entry(surface: Surface, view: View, rays: tuple[Map, Map, Map]) -> Map:
    """Where rays come within the head's reach; those that never do begin abreast of its middle."""
    x, y, z = rays
    ox, oy, oz = (np.float32(value) for value in view.origin_m)
    a, b = x * x + y * y + z * z, x * ox + y * oy + z * oz
    c = np.float32(view.origin_m @ view.origin_m - surface.reach_m**2)
    return np.asarray((-b - np.sqrt(np.maximum(b * b - a * c, 0))) / a, dtype=np.float32)


def _march(surface: Surface, view: View, rays: tuple[Map, Map, Map], far_m: Map, steps: int) -> Met:
    """Walk along rays until the skin: by about as much as it is away, and further where it hardly comes nearer."""
    x, y, z = rays
    pace = 1 / np.sqrt(x * x + y * y + z * z)
    best, best_gap = far_m, gap_at(surface, *_at(view, rays, far_m))
    gap, went = best_gap, pace * CAREFUL * best_gap
    for _ in range(steps):
        far_m = far_m + went
        before, gap = gap, gap_at(surface, *_at(view, rays, far_m))
        nearer = np.abs(gap) < np.abs(best_gap)
        best, best_gap = np.where(nearer, far_m, best), np.where(nearer, gap, best_gap)
        # By the secant a grazing ray would take a long step: bounded, so that it does not jump over a nose.
        closing = np.clip((before - gap) / np.where(went == 0, 1, went) * pace, SLOWEST, np.float32(1 / CAREFUL))
        went = pace * gap / closing
    place = _at(view, rays, best)
    spots = map_places(*place, _length(*place))
    return Met(best, best_gap, place, spots)


def _at(view: View, rays: tuple[Map, Map, Map], far_m: Map) -> tuple[Map, Map, Map]:
    x, y, z = (np.float32(start) + far_m * way for start, way in zip(view.origin_m, rays, strict=True))
    return x, y, z


def _length(x: Map, y: Map, z: Map) -> Map:
    return np.asarray(np.sqrt(x * x + y * y + z * z), np.float32)


def gap_at(surface: Surface, x: Map, y: Map, z: Map) -> Map:
    """How far points are from the skin, seen from the head's middle; less than 0 inside."""
    length = _length(x, y, z)
    columns, rows = map_places(x, y, z, length)
    return length - np.asarray(cv2.remap(surface.radius_m, columns, rows, cv2.INTER_LINEAR), np.float32)
