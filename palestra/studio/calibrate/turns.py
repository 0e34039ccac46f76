"""Rotations as matrices, and as the axis times the angle."""

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def matrix_of(vector: Floats) -> Floats:
    return np.asarray(cv2.Rodrigues(np.asarray(vector, float))[0], float)


def vector_of(rotation: Floats) -> Floats:
    return np.asarray(cv2.Rodrigues(np.asarray(rotation, float))[0], float)[:, 0]


def angle_deg(rotation: Floats) -> float:
    """How far a rotation turns."""
    return float(np.degrees(np.linalg.norm(vector_of(rotation))))
