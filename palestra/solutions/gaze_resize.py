"""Makes pictures smaller by weighted means of neighbours, as the pictures were that networks learnt from."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def shrinking(large: int, little: int) -> Floats:
    """(little, large): each new pixel is a mean of old ones, weighted by a triangle twice as wide as its place."""
    scale = large / little
    middle = (np.arange(little) + 0.5) * scale
    away = np.abs(np.arange(large) + 0.5 - middle[:, None]) / scale
    weights = np.maximum(1 - away, 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)
