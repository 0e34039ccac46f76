"""Whether a head is where it was thought to be: each place of its skin that faces the camera is looked for there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.studio.track.head_icp import HeadPose
from palestra.studio.track.head_template import Template
from palestra.studio.track.rig import Depth, Rig

Map = NDArray[np.float32]

FACING = 0.35  # cosine from which a place is looked for
NEAR_M = 0.008  # between skin and depth, for both to be the same
BEHIND_M = 0.025  # depth this much behind skin says that no skin is there
SPOTS = 600


@dataclass(frozen=True)
class Verdict:
    """Shares of the skin that faces the camera."""

    explained: float  # where depth is as it should be
    seen_through: float  # where depth lies behind it: no head is there
    hidden: float  # where something stands before it


def check(template: Template, pose: HeadPose, rig: Rig, depth: Depth) -> Verdict:
    points, normals = template.spots
    if len(points) > SPOTS:
        every = -(-len(points) // SPOTS)
        points, normals = points[::every], normals[::every]
    turn = pose.rotation.astype(np.float32)
    places = points @ turn.T + pose.translation.astype(np.float32)
    sight = rig.eye - places
    sight /= np.sqrt(np.einsum("ij,ij->i", sight, sight))[:, None]
    places = places[np.einsum("ij,ij->i", normals @ turn.T, sight) > FACING]
    pixels, far = rig.pixels(places)
    if not len(places) or not (far > 0).all():
        return Verdict(0.0, 1.0, 0.0)
    columns, rows = np.rint(pixels).astype(int).T
    inside = (rows >= 0) & (rows < rig.depth.height) & (columns >= 0) & (columns < rig.depth.width)
    rows, columns, far = rows[inside], columns[inside], far[inside]
    seen = rig.unit.metres(depth[rows, columns], (rows, columns))
    known = seen > 0
    off = seen - far
    facing = len(places)
    return Verdict(
        float(np.count_nonzero(known & (np.abs(off) < NEAR_M)) / facing),
        float(np.count_nonzero(known & (off > BEHIND_M)) / facing),
        float(np.count_nonzero(known & (off < -BEHIND_M)) / facing),
    )
