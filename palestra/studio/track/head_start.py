"""Where a head may be in a picture of depth when nobody knows: the tops of what stands before the camera."""

from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Pose
from palestra.studio.track.head_check import Verdict, check
from palestra.studio.track.head_icp import Aligned, HeadPose, align
from palestra.studio.track.head_template import Template
from palestra.studio.track.rig import Depth, Rig

Floats = NDArray[np.float64]
Map = NDArray[np.float32]

STEP = 4  # pixels, of the picture that is looked through
JUMP_M = 0.05  # between neighbours of one thing, at most
LEAST_M2, MOST_THINGS = 0.008, 3
HEAD_M = 0.24  # from the top down: what is taken for a head
TOPS_M = (0.105, 0.135)  # from the eyes to the top of the hair
YAWS, PITCHES = (-40.0, -20.0, 0.0, 20.0, 40.0), (-18.0, 6.0)
COARSE_M, FINE_M = (0.06, 0.05, 0.04, 0.03, 0.03), (0.03, 0.025, 0.02, 0.015, 0.015, 0.015)
POINTS, BEST = 350, 3


@dataclass(frozen=True)
class Reach:
    """How far from the camera people are looked for."""

    near_m: float = 0.4
    far_m: float = 1.8


def starts(
    template: Template, rig: Rig, depth: Depth, reach: Reach, part: tuple[int, int] = (0, 1)
) -> list[tuple[Aligned, Verdict]]:
    """Poses that could be a head's, the best first. `part` is which of how many parts of all guesses is tried."""
    tried: list[tuple[float, Aligned, Map]] = []
    for points in things(rig, depth, reach):
        near = _thinned(points, POINTS)
        for guess in _guesses(points)[part[0] :: part[1]]:
            aligned = align(template, near, rig.eye, guess, COARSE_M)
            if aligned is not None:
                tried.append((aligned.count / len(near) - aligned.rms_m / 0.02, aligned, points))
    tried.sort(key=lambda one: -one[0])
    found: list[tuple[Aligned, Verdict]] = []
    for _, coarse, points in tried[:BEST]:
        fine = align(template, _thinned(points, 3 * POINTS), rig.eye, coarse.pose, FINE_M)
        if fine is not None:
            found.append((fine, check(template, fine.pose, rig, depth)))
    return sorted(found, key=lambda one: one[1].seen_through - one[1].explained)


def things(rig: Rig, depth: Depth, reach: Reach) -> list[Map]:
    """Points of the topmost part of each thing in reach, the largest thing first."""
    rows, columns = slice(0, rig.depth.height, STEP), slice(0, rig.depth.width, STEP)
    far = rig.unit.metres(depth[rows, columns], (rows, columns))
    filled = cv2.medianBlur(far, 3)
    mask = ((filled > reach.near_m) & (filled < reach.far_m)).astype(np.uint8)
    edge = cv2.dilate(filled, np.ones((3, 3))) - cv2.erode(np.where(mask > 0, filled, 99), np.ones((3, 3))) > JUMP_M
    _, labels, stats, _ = cv2.connectedComponentsWithStats(np.where(edge, 0, mask).astype(np.uint8), connectivity=4)
    focal = float(rig.depth.intrinsics[0, 0])
    found = []
    for label in np.argsort(-stats[1:, cv2.CC_STAT_AREA])[:MOST_THINGS] + 1:
        mine = (labels == label) & (far > 0)
        if not mine.any() or mine.sum() * (STEP * float(far[mine].mean()) / focal) ** 2 < LEAST_M2:
            continue
        points = rig.ways[rows, columns][mine] * far[mine][:, None] + rig.eye
        top = np.partition(points[:, 1], -min(8, len(points)))[-min(8, len(points))]
        found.append(points[points[:, 1] > top - HEAD_M])
    return found


def _guesses(points: Map) -> list[HeadPose]:
    top = float(np.percentile(points[:, 1], 99.5))
    upper = points[points[:, 1] > top - 0.15]
    middle, front = float(np.median(upper[:, 0])), float(np.percentile(upper[:, 2], 92))
    found: list[HeadPose] = []
    for yaw, pitch, high in product(YAWS, PITCHES, TOPS_M):
        place = np.array([middle, top - high, front - 0.085])
        found.append(Pose(turned(yaw, pitch), place))
    return found


def turned(yaw_deg: float, pitch_deg: float) -> Floats:
    """The rotation of a face that looks along yaw (towards +x) and pitch (up)."""
    yaw, pitch = np.radians([yaw_deg, pitch_deg])
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    return np.asarray(about_y @ about_x)


def _thinned(points: Map, most: int) -> Map:
    return points[:: max(1, len(points) // most)]
