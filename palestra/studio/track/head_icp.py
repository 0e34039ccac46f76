"""Iterative closest points: the pose in which a template's skin lies on the points that were seen."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import Head, Pose, World
from palestra.studio.track.head_template import Template

Floats = NDArray[np.float64]
Map = NDArray[np.float32]
HeadPose = Pose[Head, World]

FACING = 0.25  # cosine below which skin is too much aslant to be trusted
FEWEST = 30  # points
STILL = 1e-5  # metres, and radians over ten: a step this small is the last


@dataclass(frozen=True)
class Aligned:
    """What came of it."""

    pose: HeadPose
    rms_m: float  # of the points that count
    count: int  # of them
    information: Floats  # (6, 6): of turns and shifts in the head's frame, for a noise of one metre


def align(template: Template, points: Map, eye: Map, start: HeadPose, gates_m: tuple[float, ...]) -> Aligned | None:
    """Turn and shift until distances at right angles to the skin are smallest; a gate for each round.

    Each point is joined with the skin on its way from the head's axis; none is searched for. Points further off than a
    gate count nothing, and near it little (Tukey's weights).
    """
    if len(points) < FEWEST:
        return None
    turn = start.rotation.T.copy()  # from the world to the head
    shift = -turn @ start.translation
    found: Aligned | None = None
    for gate in gates_m:
        here = points @ turn.T.astype(np.float32) + shift.astype(np.float32)
        near = template.at(here)
        sight = (turn @ eye + shift).astype(np.float32) - here
        sight /= np.sqrt(np.einsum("ij,ij->i", sight, sight))[:, None]
        facing = np.einsum("ij,ij->i", near.normal, sight)
        weight = np.clip(1 - (near.gap_m / np.float32(gate)) ** 2, 0, 1) ** 2 * near.sure
        weight *= np.clip((facing - np.float32(FACING)) / np.float32(0.3), 0, 1)
        used = weight > 0
        if np.count_nonzero(used) < FEWEST:
            return None
        here, normal, gap, weight = here[used], near.normal[used], near.gap_m[used], weight[used]
        rows = np.concatenate([_cross(here, normal), normal], axis=1)
        information = ((rows * weight[:, None]).T @ rows).astype(np.float64)
        wanted = -(rows * weight[:, None]).T @ gap
        damped = information + np.diag([1e-4] * 3 + [1e-2] * 3) * float(weight.sum()) * 1e-2
        step = np.linalg.solve(damped, wanted.astype(np.float64))
        small = np.asarray(cv2.Rodrigues(step[:3])[0])
        turn, shift = small @ turn, small @ shift + step[3:]
        rms = float(np.sqrt((weight * gap**2).sum() / weight.sum()))
        found = Aligned(Pose(turn.T, -turn.T @ shift), rms, int(np.count_nonzero(used)), information)
        if gate == gates_m[-1] and np.abs(step[3:]).max() < STILL and np.abs(step[:3]).max() < 10 * STILL:
            break
    return found


def _cross(a: Map, b: Map) -> Map:
    """np.cross takes several times as long."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )
