"""The Kinect's depth: disparities of 11 bits in the colours of a picture, and the metres they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

LEVELS = 2048  # disparities of 11 bits
NO_RETURN = (0, LEVELS - 1)  # of which these two say that nothing came back

Disparity = NDArray[np.uint16]
Metres = NDArray[np.float32]


@dataclass(frozen=True)
class DepthModel:
    """Herrera's: d_k = d + beta(u, v)·exp(a0 − a1·d), and z = 1 / (c1·d_k + c0)."""

    k: tuple[float, float]  # c0, c1
    alpha: tuple[float, float]  # a0, a1
    beta: NDArray[np.float64]  # (height, width)

    @cached_property
    def steps(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """1 / z = plain[d] + beta·bend[d]: both by disparity, and beta, in the precision of a picture."""
        d = np.arange(LEVELS, dtype=np.float64)
        plain, bend = self.k[0] + self.k[1] * d, self.k[1] * np.exp(self.alpha[0] - self.alpha[1] * d)
        plain[list(NO_RETURN)] = np.nan
        return _whole(plain), _whole(bend), self.beta.astype(np.float32)


def _whole(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """A table for all that 16 bits can say, as OpenCV wants it: what no 11 bits say is no depth."""
    return np.concatenate([table, np.full(65_536 - LEVELS, np.nan)]).astype(np.float32)


def depth_m(disparity: Disparity, model: DepthModel) -> Metres:
    """Metres along the camera's axis; not a number where nothing came back, or what did is behind the camera."""
    plain, bend, beta = model.steps
    inverse = cv2.LUT(disparity, bend)
    cv2.multiply(inverse, beta, inverse)
    cv2.add(inverse, cv2.LUT(disparity, plain), inverse)
    inverse[inverse <= 0] = np.nan
    return np.asarray(np.reciprocal(inverse, out=inverse), np.float32)


def disparity_of(rgb: NDArray[np.uint8]) -> Disparity:
    """(G << 3) + B; 0, which is no depth, where the frame's number is drawn (R ≠ 0)."""
    red, green, blue = cv2.split(rgb)
    disparity = np.left_shift(green, 3, dtype=np.uint16)
    disparity += blue
    disparity[red != 0] = 0
    return disparity


def rgb_of(disparity: Disparity) -> NDArray[np.uint8]:
    """The picture of a disparity: its three high bits at the top of green, the low ones in blue."""
    if disparity.max(initial=0) >= LEVELS:
        raise ValueError(f"a disparity of {disparity.max()}, and it has 11 bits")
    rgb = np.zeros((*disparity.shape, 3), np.uint8)
    rgb[..., 1] = (disparity >> 8) << 5
    rgb[..., 2] = disparity & 255
    return rgb
