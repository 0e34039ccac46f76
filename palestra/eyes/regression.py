"""Ridge regression on quadratic features: the simplest learner that a pupil's place needs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ridge:
    """A fitted map from features to values."""

    middle: Array
    spread: Array
    weights: Array  # (1 + linear + quadratic, values)
    lowest: Array  # of the values it learnt from: a misplaced pupil must not throw the answer beyond them
    highest: Array

    def __call__(self, features: Array) -> Array:
        found: Array = _expanded((features - self.middle) / self.spread) @ self.weights
        return np.clip(found, self.lowest, self.highest)


def fit_ridge(features: Array, values: Array, penalty: float = 10.0) -> Ridge:
    """Fit with a penalty on everything but the constant; one pass to drop what fits badly (misplaced pupils)."""
    middle, spread = np.median(features, axis=0), features.std(axis=0) + 1e-6
    design = _expanded((features - middle) / spread)
    weights = _solve(design, values, penalty)
    error = np.linalg.norm(design @ weights - values, axis=1)
    kept = error <= np.quantile(error, 0.95)
    weights = _solve(design[kept], values[kept], penalty)
    return Ridge(middle, spread, weights, values.min(axis=0), values.max(axis=0))


def _expanded(scaled: Array) -> Array:
    scaled = np.clip(scaled, -4, 4)
    upper = np.triu_indices(scaled.shape[1])
    products = scaled[:, upper[0]] * scaled[:, upper[1]]
    return np.hstack([np.ones((len(scaled), 1)), scaled, products])


def _solve(design: Array, values: Array, penalty: float) -> Array:
    pull = np.eye(design.shape[1]) * penalty
    pull[0, 0] = 0
    return np.linalg.solve(design.T @ design + pull, design.T @ values).astype(np.float64)
