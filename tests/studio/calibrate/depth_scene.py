"""Drawn disparities: walls at several distances, seen by a depth camera that is off in its own way at each pixel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIZE = (160, 120)
C0, C1 = 3.0954, -0.0028457  # of a Kinect
A0, A1 = 2.0, 0.003


@dataclass(frozen=True)
class Walls:
    """What was measured, and what is true."""

    disparities: NDArray[np.uint16]
    depths_m: Floats  # what the colour camera says
    true_m: Floats
    beta: Floats


def draw(seed: int, count: int = 12, near_m: float = 0.6, far_m: float = 2.0, wrong: float = 0.1) -> Walls:
    """Disparities are whole numbers with noise of half a step; a tenth of the pixels show something else."""
    rng = np.random.default_rng(seed)
    wide, high = SIZE
    v, u = np.indices((high, wide))
    a, b = (u - wide / 2) / 130, (v - high / 2) / 130
    beta = 2.5 * (a**2 + b**2) * 3 - 0.8 + 0.7 * np.sin(4 * a)
    true = np.array(
        [
            z / (1 + rng.uniform(-0.35, 0.35) * a + rng.uniform(-0.35, 0.35) * b)
            for z in np.geomspace(near_m, far_m, count)
        ]
    )
    corrected = (1 / true - C0) / C1
    d = corrected.copy()
    for _ in range(50):
        d = corrected - beta * np.exp(A0 - A1 * d)
    d = np.rint(d + rng.normal(0, 0.5, d.shape))
    bad = rng.random(d.shape) < wrong
    d[bad] = rng.integers(300, 1000, int(bad.sum()))
    return Walls(np.clip(d, 1, 2046).astype(np.uint16), true * (1 + rng.normal(0, 3e-4, (count, 1, 1))), true, beta)


def naive_depth(walls: Walls) -> Floats:
    """The naive way: one line through everything, for all pixels alike."""
    d = walls.disparities.astype(float)
    slope, start = np.polyfit(d.ravel(), 1 / walls.depths_m.ravel(), 1)
    return 1 / (start + slope * d)
