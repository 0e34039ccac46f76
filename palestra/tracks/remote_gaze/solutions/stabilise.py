"""How far the eyes truly are from where a tracker puts them, frame by frame, as the face about them shows.

A tracker that is off by a millimetre moves an eye's picture by as much as five degrees of gaze do. So strips of face
between forehead and cheeks, without what moves in them, are brought into register with one another, each with some of
those in which the head stands alike. Shifts that agree with most of these pairs, and are none on the whole, are
what the tracker was off by.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, hstack
from scipy.sparse.linalg import splu

from palestra.metrics.transforms import Camera, World
from palestra.tracks.remote_gaze.solutions.virtual_camera import (
    Floats,
    Frame,
    Picture,
    axes_towards,
    eye_picture,
    head_angles,
    warps,
)

STRIP = Frame(112, 52, 1.0)  # about the point midway between the eyes
OPEN_MM = (15.0, 8.5)  # half axes of what moves with the gaze
EYEBALL_MM = 11.0  # by which that lies before an eyeball's middle
RELIEF_MM, RELIEF_SPREAD_MM = 11.0, 4.0  # by which brows and nose do: when a head turns, they go ahead
FURTHEST_PX = 4.0
ALIKE_RAD = 0.14  # heads that are turned further apart show too different faces
NEAREST, OTHERS = 5, 5  # frames that each one is compared with: those most alike, and some of all that are alike
STEPS = 6  # of Gauss and Newton
PAIR_MM, TRACKER_MM = 0.3, 0.9  # what two registered strips, and a tracker, are usually off by
ROUNDS = 4  # of weighing pairs

Strips = NDArray[np.float32]
Ints = NDArray[np.int64]


def strip_warps(camera: Camera, heads: Floats, eyes: World) -> Floats:
    """(n, 3, 3) homographies to the strips of these frames."""
    middles = _middles(eyes)
    return warps(camera, axes_towards(camera, heads, middles), middles, STRIP)[:, 0]


def strip(grey: Picture, warp: Floats) -> Strips:
    """A frame's strip, a little smoothed."""
    return np.asarray(cv2.GaussianBlur(eye_picture(grey, warp, 0, STRIP).astype(np.float32), (0, 0), 1.0), np.float32)


def steadied(camera: Camera, heads: Floats, eyes: World, strips: Strips) -> World:
    """(n, 2, 3) the eyes where the faces say that they are."""
    if len(heads) < 2:
        return eyes
    axes = axes_towards(camera, heads, _middles(eyes))
    right, up = axes[:, 0, 0], -axes[:, 0, 1]
    faces = head_angles(heads, axes)[:, 0]
    across = np.stack([_along(eyes, right), _along(eyes, up)], axis=-1) + EYEBALL_MM * np.sin(faces)[:, None]
    first, second = _pairs(faces)
    moved = _agreed(_apart_mm(strips, across, first, second), np.sin(faces), first, second) / 1000
    return World(eyes + (moved[:, :1] * right + moved[:, 1:] * up)[:, None])


def _along(eyes: World, way: Floats) -> Floats:
    """(n, 2) mm by which each eye is that way from midway between them."""
    return np.asarray(1000 * ((eyes - _middles(eyes)) * way[:, None]).sum(axis=-1))


def _pairs(faces: Floats) -> tuple[Ints, Ints]:
    """Frames to compare, by how alike the heads stand."""
    rng = np.random.default_rng(len(faces))
    first, second = [], []
    for at in range(len(faces)):
        far = np.linalg.norm(faces - faces[at], axis=1)
        far[at] = np.inf
        alike = np.flatnonzero(far < ALIKE_RAD)
        others = rng.permutation(alike)[:OTHERS]
        chosen = np.union1d(alike[np.argsort(far[alike], kind="stable")[:NEAREST]], others)
        first.append(np.full(len(chosen), at))
        second.append(chosen)
    return np.concatenate(first).astype(np.int64), np.concatenate(second).astype(np.int64)


def _apart_mm(strips: Strips, eyes_mm: Floats, first: Ints, second: Ints) -> Floats:
    """(pairs, 2) by how much the first strip is to the right of the second and above it: Gauss–Newton."""
    found = np.zeros((len(first), 2))
    for at in np.unique(second):
        solve = _solver(strips[at], eyes_mm[at])
        for pair in np.flatnonzero(second == at):
            for _ in range(STEPS):
                x, y, contrast, _ = solve @ _moved(strips[first[pair]], found[pair]).ravel()
                found[pair] = np.clip(found[pair] - np.array([x, y]) / max(contrast, 0.3), -FURTHEST_PX, FURTHEST_PX)
    return np.asarray(found / STRIP.pixels_per_mm * [1, -1])


def _solver(one: Strips, eyes_mm: Floats) -> Strips:
    """(4, pixels) what another strip's levels say of its shift against this one, its contrast and its brightness."""
    slopes = [cv2.Sobel(one, cv2.CV_32F, *order, ksize=3, scale=1 / 8) for order in ((1, 0), (0, 1))]
    design = np.stack([*slopes, one, np.ones_like(one)], axis=-1).reshape(-1, 4).astype(np.float64)
    weighted = design * _still_parts(eyes_mm).reshape(-1, 1)
    return np.linalg.solve(weighted.T @ design + 1e-6 * np.eye(4), weighted.T).astype(np.float32)


def _still_parts(eyes_mm: Floats) -> Floats:
    """(h, w) 1 where a face does not move with the gaze, 0 in the eyes and at the strip's rim."""
    x, y = np.meshgrid(*(np.arange(size) - (size - 1) / 2 for size in (STRIP.width, STRIP.height)))
    rim = np.exp(-((2.2 * x / STRIP.width) ** 8) - (2.2 * y / STRIP.height) ** 8)
    x, y = x / STRIP.pixels_per_mm, -y / STRIP.pixels_per_mm
    moves = [np.exp(-(((x - right) / OPEN_MM[0]) ** 4) - ((y - up) / OPEN_MM[1]) ** 4) for right, up in eyes_mm]
    return np.asarray((1 - np.maximum(*moves)) * rim)


def _agreed(apart_mm: Floats, turned: Floats, first: Ints, second: Ints) -> Floats:
    """(n, 2) shifts whose differences most pairs show, beside what heads `turned` (n, 2) show of their relief.

    What pairs leave open is as small as can be: shifts, and how far the relief is from the usual one.
    """
    count, numbers, one = len(turned), np.arange(len(first)), np.ones(len(first))
    between = csr_matrix((np.r_[one, -one], (np.tile(numbers, 2), np.r_[first, second])), (len(first), count))
    pull = diags(np.r_[np.full(count, TRACKER_MM**-2), RELIEF_SPREAD_MM**-2] * PAIR_MM**2)
    trust, shifts = one, np.zeros((count, 2))
    for _ in range(ROUNDS):
        left = np.zeros_like(apart_mm)
        for axis in (0, 1):
            relief = between @ turned[:, axis]
            design = hstack([between, csr_matrix(relief[:, None])]).tocsr()
            told = apart_mm[:, axis] - RELIEF_MM * relief
            weighted = design.T @ diags(trust)
            found = splu((weighted @ design + pull).tocsc()).solve(weighted @ told)
            shifts[:, axis], left[:, axis] = found[:count], told - design @ found
        trust = 1 / (1 + (np.linalg.norm(left, axis=1) / PAIR_MM) ** 2)
    return shifts


def _moved(one: Strips, by: Floats) -> Strips:
    across = np.array([[1, 0, by[0]], [0, 1, by[1]]])
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    size = STRIP.width, STRIP.height
    return np.asarray(cv2.warpAffine(one, across, size, flags=how, borderMode=cv2.BORDER_REPLICATE), np.float32)


def _middles(eyes: World) -> World:
    return World(np.repeat(eyes.mean(axis=1, keepdims=True), 2, axis=1))
