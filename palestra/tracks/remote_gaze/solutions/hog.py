"""An eye's picture as numbers that say where it has edges, and which way they run, however bright it is."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.tracks.remote_gaze.solutions.virtual_camera import EYE, Picture

WAYS = 8  # directions that edges are told apart by, from dark to light
GRID_PX, SOFT_PX = 4, 2.0  # how far apart places are, and how far each feels
MOST = 0.25  # of a picture's edges in one number: glints and the face's rim must not outshine the rest

Features = NDArray[np.float32]


def edges(eyes: Picture) -> Features:
    """(n, numbers) of pictures (n, 32, 48)."""
    return np.stack([_edges(eye) for eye in eyes]) if len(eyes) else np.zeros((0, _numbers()), np.float32)


def _edges(eye: Picture) -> Features:
    smooth = cv2.GaussianBlur(eye.astype(np.float32), (0, 0), 0.8)
    across, down = (cv2.Sobel(smooth, cv2.CV_32F, *order, ksize=3) for order in ((1, 0), (0, 1)))
    strength, way = cv2.cartToPolar(across, down)
    place = way * np.float32(WAYS / (2 * np.pi))  # each edge is shared by the two ways that it lies between
    maps = [strength * np.maximum(0, 1 - np.abs((place - at + WAYS / 2) % WAYS - WAYS / 2)) for at in range(WAYS)]
    soft = np.asarray(cv2.GaussianBlur(np.dstack(maps), (0, 0), SOFT_PX), np.float32)
    felt = soft[GRID_PX // 2 :: GRID_PX, GRID_PX // 2 :: GRID_PX].ravel()
    held = np.minimum(_levelled(felt), np.float32(MOST))
    return np.sqrt(_levelled(held)).astype(np.float32)


def _levelled(values: Features) -> Features:
    return np.asarray(values / (np.linalg.norm(values) + 1e-3), np.float32)


def _numbers() -> int:
    return (EYE.height // GRID_PX) * (EYE.width // GRID_PX) * WAYS
