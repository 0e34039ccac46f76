"""Both eyes look at one thing: they are at the same height, and turned towards each other about as much as usual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.metrics.transforms import World

Floats = NDArray[np.float64]

OWN = 0.2  # how much of a pair's own turn towards each other is believed; what is seen of it is mostly noise


@dataclass(frozen=True)
class Pair:
    """What is usual, by yaw and pitch in the world, radians."""

    middle: Floats  # (2,) midway between the eyes' directions
    apart: Floats  # (2,) left less right

    @classmethod
    def of(cls, sights: World) -> Pair:
        left, right = np.moveaxis(angles_of(sights), 1, 0)
        return cls(np.median((left + right) / 2, axis=0), np.median(left - right, axis=0))

    def joined(self, sights: World, trust: Floats | None = None) -> World:
        """Directions (n, 2, 3) that agree. Trust (n, 2) is from 0 to 1: where no eye has any, the usual is told."""
        weights = np.ones(sights.shape[:2]) if trust is None else trust
        angles = angles_of(sights)
        apart = self.apart + OWN * (angles[:, 0] - angles[:, 1] - self.apart)
        halves = np.stack([apart / 2, -apart / 2], axis=1)
        most = weights.max(axis=1)[:, None]
        shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        seen = (shares[..., None] * (angles - halves)).sum(axis=1)
        return directions_of((most * seen + (1 - most) * self.middle)[:, None] + halves)


def angles_of(directions: World) -> Floats:
    """Yaw to the world's +x and pitch up."""
    x, y, z = np.moveaxis(directions, -1, 0)
    return np.stack([np.arctan2(x, z), np.arctan2(y, np.hypot(x, z))], axis=-1)


def directions_of(angles: Floats) -> World:
    yaw, pitch = angles[..., 0], angles[..., 1]
    return World(np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), np.cos(yaw) * np.cos(pitch)], axis=-1))
