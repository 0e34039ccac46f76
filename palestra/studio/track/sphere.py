"""A sphere of known size laid on points: ICP where the nearest point of the template is known at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 12
STILL_M = 1e-6


@dataclass(frozen=True)
class Sphere:
    """Where it came to lie."""

    centre: Floats  # (3,)
    rms_m: float  # of the points on it
    count: int
    spread_m: float  # how uncertain its centre is, where it is worst


def fit_sphere(points: Floats, start: Floats, radius_m: float, gate_m: float) -> Sphere | None:
    """Points further from its surface than the gate count nothing; the gate begins three times as wide."""
    centre = start.astype(np.float64)
    weight, gap, out = np.zeros(0), np.zeros(0), np.zeros((0, 3))
    for number in range(ROUNDS):
        gate = gate_m * max(1.0, 3.0 - 0.5 * number)
        out = points - centre
        away = np.maximum(np.linalg.norm(out, axis=1), 1e-6)
        out /= away[:, None]
        gap = away - radius_m
        weight = np.clip(1 - (gap / gate) ** 2, 0, 1) ** 2
        if np.count_nonzero(weight) < 12:
            return None
        square = (out * weight[:, None]).T @ out
        step = np.linalg.solve(square + 1e-3 * weight.sum() * np.eye(3), (out * weight[:, None]).T @ gap)
        centre = centre + step
        if gate == gate_m and np.abs(step).max() < STILL_M:
            break
    rms = float(np.sqrt((weight * gap**2).sum() / weight.sum()))
    least = float(np.linalg.eigvalsh((out * weight[:, None]).T @ out)[0])
    return Sphere(centre, rms, int(np.count_nonzero(weight)), rms / np.sqrt(max(least, 1e-9)))


def free_radius(points: Floats, centre: Floats, radius_m: float) -> float:
    """The radius that the same points have where it may be any: of something that is no such ball it is another."""
    middle, radius = centre.copy(), radius_m
    for _ in range(6):
        out = points - middle
        away = np.maximum(np.linalg.norm(out, axis=1), 1e-6)
        rows = np.concatenate([out / away[:, None], np.ones((len(points), 1))], axis=1)
        square = rows.T @ rows + 1e-6 * len(points) * np.eye(4)
        step = np.linalg.solve(square, rows.T @ (away - radius))
        middle, radius = middle + step[:3], float(np.clip(radius + step[3], 0.2 * radius_m, 5 * radius_m))
    return radius
