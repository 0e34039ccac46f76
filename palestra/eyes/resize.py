"""Makes pictures smaller by weighted means of neighbours, as the pictures were that networks learnt from."""

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
HALF, SIZE = (200, 320), (160, 256)  # of a headset's picture, and as networks take it


def shrinking(large: int, little: int) -> Floats:
    """(little, large): each new pixel is a mean of old ones, weighted by a triangle twice as wide as its place."""
    scale = large / little
    middle = (np.arange(little) + 0.5) * scale
    away = np.abs(np.arange(large) + 0.5 - middle[:, None]) / scale
    weights = np.maximum(1 - away, 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


_DOWN, _ACROSS = (shrinking(large, little) for large, little in zip(HALF, SIZE, strict=True))


def as_networks_take_it(image: NDArray[np.uint8]) -> Floats:
    """A headset's picture as (160, 256) grey levels: halved first, as pictures are drawn that networks learn from."""
    half = cv2.resize(image, HALF[::-1], interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.asarray(_DOWN @ half @ _ACROSS.T, np.float32)
