"""Kernel ridge regression on some of the rows as centres: what looks alike is answered alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.remote_gaze.solutions.robust_regression import trust_in

Floats = NDArray[np.float64]

CENTRES = 1500  # rows that others are compared with; more would cost more than they tell
WIDTH = 3.0  # of the kernel, in median squared distances
PENALTY = 0.03
ROUNDS = 4  # of weighing rows: those far off, as in a blink, count less


@dataclass(frozen=True)
class Kernel:
    """A fitted map from features to values; far from all that was learnt from, it tells what is usual."""

    centres: Floats
    width: float
    weights: Floats
    usual: Floats

    def __call__(self, features: Floats) -> Floats:
        return np.asarray(_alike(features, self.centres, self.width) @ self.weights + self.usual)


def fit_kernel(features: Floats, values: Floats) -> Kernel:
    """The same centres each time: they are spread evenly over the rows."""
    centres = features[np.unique(np.linspace(0, len(features) - 1, min(CENTRES, len(features))).astype(int))]
    some = centres[:: max(1, len(centres) // 200)]
    width = WIDTH * float(np.median(_squared(some, some))) + 1e-9
    alike, among = _alike(features, centres, width), _alike(centres, centres, width)
    usual = np.median(values, axis=0)
    trust: Floats = np.ones(len(values))
    weights: Floats = np.zeros((len(centres), values.shape[1]))
    for _ in range(ROUNDS):
        weighted = alike * trust[:, None]
        pull = PENALTY * among + 1e-8 * np.eye(len(centres))
        weights = np.asarray(np.linalg.solve(weighted.T @ alike + pull, weighted.T @ (values - usual)), np.float64)
        trust = trust_in(values - usual - alike @ weights)
    return Kernel(centres, width, weights, usual)


def _alike(some: Floats, others: Floats, width: float) -> Floats:
    return np.asarray(np.exp(-_squared(some, others) / width))


def _squared(some: Floats, others: Floats) -> Floats:
    """Squared distances between all of some and all of others."""
    lengths = (some**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2 * some @ others.T, 0))
