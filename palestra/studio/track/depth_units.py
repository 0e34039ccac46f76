"""What the numbers of a depth picture mean: steps of so many millimetres, or a Kinect's disparities."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.studio.track.calibration_file import Disparities

Map = NDArray[np.float32]
Depth = NDArray[np.uint16]

LEVELS = 2048  # disparities have 11 bits
NO_RETURN = LEVELS - 1  # and this one says, as 0 does, that nothing came back


@dataclass(frozen=True)
class DepthUnit:
    """Steps of `step_m`, or disparities where a model of them is given. 0 is always no depth."""

    step_m: float = 0.001
    disparities: Disparities | None = None

    def metres(self, depth: Depth, window: tuple[Any, Any]) -> Map:
        """How far along the camera's axis; 0 where nothing is known. `window` says which part of a picture it is."""
        if self.disparities is None:
            return depth * np.float32(self.step_m)
        plain, bend, beta = self._tables
        known = np.minimum(depth, NO_RETURN)
        inverse = plain[known] + beta[window] * bend[known]
        return np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1), 0).astype(np.float32)

    @cached_property
    def _tables(self) -> tuple[Map, Map, Map]:
        """1 / z = plain[d] + beta·bend[d]; negative where nothing came back."""
        assert self.disparities is not None
        (c0, c1), (a0, a1) = self.disparities.k, self.disparities.alpha
        d = np.arange(LEVELS, dtype=np.float64)
        plain, bend = c0 + c1 * d, c1 * np.exp(a0 - a1 * d)
        plain[[0, NO_RETURN]], bend[[0, NO_RETURN]] = -1.0, 0.0
        return plain.astype(np.float32), bend.astype(np.float32), self.disparities.beta.astype(np.float32)
