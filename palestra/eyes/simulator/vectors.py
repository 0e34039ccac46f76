"""Directions as unit vectors, and as yaw and pitch."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.sqrt((vectors * vectors).sum(-1, keepdims=True)))


def turn(yaw_deg: float, pitch_deg: float) -> Array:
    """The rotation that carries the forward axis to this yaw and pitch (columns: the ball's own axes)."""
    yaw, pitch = np.radians(yaw_deg), np.radians(pitch_deg)
    about_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    return np.asarray(about_y @ about_x)


def angles_deg(direction: Array) -> tuple[float, float]:
    """Yaw to the person's left and pitch upwards."""
    x, y, z = (float(value) for value in direction)
    return float(np.degrees(np.arctan2(x, z))), float(np.degrees(np.arctan2(y, np.hypot(x, z))))
