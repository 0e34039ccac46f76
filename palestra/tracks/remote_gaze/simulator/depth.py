"""What a Kinect makes of depths: whole disparities with noise, and holes where its light does not come back."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Map = npt.NDArray[np.float32]
Disparity = npt.NDArray[np.uint16]

NO_RETURN = 2047
PROJECTOR_M = 0.075  # beside the camera: what it does not reach is in its shadow
NOISE = 0.35  # sd of a disparity before it becomes a whole number, so that metres scatter with the square of distance
DARK = 0.05  # reflectance below which light is often lost, as in hair
SPARE_PX = 61


@dataclass(frozen=True)
class Sensor:
    """Herrera's model of one Kinect: d + beta·exp(a0 − a1·d) = (1/z − c0) / c1."""

    k: tuple[float, float]  # c0, c1
    alpha: tuple[float, float]  # a0, a1
    beta: Floats  # (h, w)


def draw_sensor(height: int, width: int, rng: np.random.Generator) -> Sensor:
    """A device: beta is smooth over the picture, a few tenths, with three decimals."""
    small = rng.normal(0, 0.22, (5, 6)).astype(np.float32)
    large = np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), np.float64)
    beta: Floats = np.round(large, 3)
    c0, c1 = 3.09 + rng.normal(0, 0.01), -0.002842 + rng.normal(0, 0.000004)
    return Sensor((float(c0), float(c1)), (0.94, 0.0019), beta)


class Kinect:
    """A sensor with its noise."""

    def __init__(self, sensor: Sensor, focal_px: float) -> None:
        rng = np.random.default_rng(7)
        height, width = sensor.beta.shape
        large = height + SPARE_PX, width + SPARE_PX
        self._sensor, self._beta, self._shift_px = sensor, sensor.beta.astype(np.float32), focal_px * PROJECTOR_M
        self._noise = np.float32(NOISE) * rng.standard_normal(large, dtype=np.float32)
        blobs = cv2.GaussianBlur(rng.standard_normal(large, dtype=np.float32), (0, 0), 2.2)
        self._blobs = np.asarray(blobs / blobs.std(), np.float32)

    def disparity(self, far_m: Map, bright: Map, rng: np.random.Generator) -> Disparity:
        """(h, w) of depths along the camera's axis and of what each place reflects of the sensor's light."""
        part = self._part(far_m.shape, rng)
        exact = self.exact(far_m) + self._noise[part]
        lost = self._in_shadow(far_m) | ((bright < DARK) & (self._blobs[part] > 0.6))
        return np.where(lost, NO_RETURN, np.clip(np.rint(exact), 1, NO_RETURN - 1)).astype(np.uint16)

    def exact(self, far_m: Map) -> Map:
        """The disparity of a depth, not yet a whole number. Beta is small, so one step of the inverse will do."""
        (c0, c1), (a0, a1) = self._sensor.k, self._sensor.alpha
        plain = (1 / far_m - np.float32(c0)) / np.float32(c1)
        bend = np.exp(np.float32(a0) - np.float32(a1) * plain)
        return np.asarray(plain - self._beta * bend, np.float32)

    def _in_shadow(self, far_m: Map) -> npt.NDArray[np.bool_]:
        """What something nearer, to its right, hides from the projector."""
        seen = np.arange(far_m.shape[1], dtype=np.float32) - np.float32(self._shift_px) / far_m
        nearest = np.minimum.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(seen > nearest + np.float32(0.75))

    def _part(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[slice, slice]:
        down, across = rng.integers(0, SPARE_PX + 1, 2)
        return slice(down, down + shape[0]), slice(across, across + shape[1])
