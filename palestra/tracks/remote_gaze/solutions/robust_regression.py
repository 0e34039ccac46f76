"""Least squares that some wrong rows do not spoil: who blinks or looks for the next target is learnt from less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 8  # of weighing and fitting again; weights hardly change after that
NOISE = 0.05  # radians that a row is usually off by, where angles are fitted
FURTHEST = 3.0  # standard deviations beyond what was learnt from, at which a feature is held


@dataclass(frozen=True)
class Linear:
    """A fitted map from features to values."""

    middle: Floats
    spread: Floats
    weights: Floats  # (1 + features, values)

    def __call__(self, features: Floats) -> Floats:
        return np.asarray(_design((features - self.middle) / self.spread) @ self.weights)


def fit_linear(features: Floats, values: Floats, penalty: float) -> Linear:
    """Ridge in units of the features' own spread; the constant is free. Rows far off count less and less."""
    middle, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    design = _design((features - middle) / spread)
    pull = penalty * np.eye(design.shape[1])
    pull[0, 0] = 0
    weights: Floats = np.zeros((design.shape[1], values.shape[1]))
    trust: Floats = np.ones(len(values))
    for _ in range(ROUNDS):
        weighted = design * trust[:, None]
        weights = np.asarray(np.linalg.solve(weighted.T @ design + pull, weighted.T @ values), np.float64)
        trust = trust_in(values - design @ weights)
    return Linear(middle, spread, weights)


def trust_in(errors: Floats) -> Floats:
    """(n,) how much each row counts: fully near the fit, hardly far off, by the median error (Cauchy)."""
    far = np.linalg.norm(errors, axis=1)
    return np.asarray(1 / (1 + (far / (2.0 * np.median(far) + 1e-9)) ** 2))


def _design(scaled: Floats) -> Floats:
    """With the constant. A straight line is not trusted far beyond what it was fitted to."""
    held = np.clip(scaled, -FURTHEST, FURTHEST)
    return np.concatenate([np.ones((len(held), 1)), held], axis=1)


def fit_near(told: Callable[[Floats], Floats], values: Floats, start: Floats, spread: Floats) -> Floats:
    """Parameters for which `told` gives the values in most rows, by Gauss–Newton, pulled towards where they start.

    Being off by `spread` costs as much as being off by NOISE in one row.
    """
    at = start.copy()
    for _ in range(2 * ROUNDS):
        now = told(at)
        errors = values - now
        root = np.sqrt(trust_in(errors))[:, None]
        slopes = [(told(at + step) - now) * root / size for step, size in _steps(spread)]
        slope = np.stack([part.ravel() for part in slopes], axis=1) / NOISE
        pull = np.diag(1 / spread**2)
        way = slope.T @ (errors * root).ravel() / NOISE - pull @ (at - start)
        at = at + np.linalg.solve(slope.T @ slope + pull, way)
    return at


def _steps(spread: Floats) -> list[tuple[Floats, float]]:
    return [(size * one, float(size)) for size, one in zip(spread / 100, np.eye(len(spread)), strict=True)]
