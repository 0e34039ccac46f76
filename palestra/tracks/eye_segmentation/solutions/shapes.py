"""Rows of numbers that are mixtures of a few shapes: what does not fit is noise, what is missing can be told."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SHAPES = 5
ROUNDS = 12
LEAST = 20  # rows; with fewer they are left as they are


def few_shapes(rows: Array, shapes: int = SHAPES) -> Array:
    """Each row (n, k) as the most likely mixture of so many shapes, NaN where too few rows know a place.

    Probabilistic principal components with missing values: mean, shapes and noise are those that make what is known
    most likely (expectation and maximisation in turn); single wild values are drawn towards the rest.
    """
    known = np.isfinite(rows)
    whole = known.sum(1) >= 0.2 * max(known.sum(1).max(), 1)
    often = known[whole].sum(0) >= max(shapes + 2, 0.05 * whole.sum())
    if whole.sum() < LEAST or not often.any():
        return rows
    part = rows[np.ix_(whole, often)]
    found = rows.copy()
    found[np.ix_(whole, often)] = _most_likely(part, shapes)
    return np.where(known | (whole[:, None] & often), found, np.nan)


def _most_likely(rows: Array, shapes: int) -> Array:
    known = np.isfinite(rows)
    mean = np.nanmean(rows, axis=0)
    values = np.where(known, rows, mean)
    _, size, basis = np.linalg.svd(values - mean, full_matrices=False)
    basis = basis[:shapes].T * size[:shapes] / np.sqrt(len(rows))
    noise = max(float(np.mean((values - mean - (values - mean) @ np.linalg.pinv(basis).T @ basis.T) ** 2)), 1e-3)
    weights = known.astype(float)
    guess = values
    for _ in range(ROUNDS):
        mixed, spread = _mixtures(values - mean, weights, basis, noise)
        guess = mean + mixed @ basis.T
        off = np.where(known, values - guess, 0.0)
        noise = max(float((weights * off**2).sum() / weights.sum()), 1e-3)
        weights = known / (1 + off**2 / (9 * noise))  # Cauchy's: far off counts little
        mean, basis = _shapes_of(values, weights, mixed, spread)
    mixed, _ = _mixtures(values - mean, weights, basis, noise)
    return np.asarray(mean + mixed @ basis.T)


def _mixtures(values: Array, weights: Array, basis: Array, noise: float) -> tuple[Array, Array]:
    """The likely amounts of each shape in each row (n, q), and their covariances (n, q, q)."""
    heavy = np.einsum("nk,kq,kr->nqr", weights, basis, basis, optimize=True) / noise
    spread = np.linalg.inv(heavy + np.eye(basis.shape[1]))
    right = (weights * values) @ basis / noise
    return np.einsum("nqr,nr->nq", spread, right), spread


def _shapes_of(values: Array, weights: Array, mixed: Array, spread: Array) -> tuple[Array, Array]:
    """The mean (k,) and shapes (k, q) for these amounts."""
    amounts = np.concatenate([mixed, np.ones((len(mixed), 1))], 1)
    second = np.einsum("nq,nr->nqr", amounts, amounts)
    second[:, :-1, :-1] += spread
    left = np.einsum("nk,nqr->kqr", weights, second, optimize=True) + 1e-6 * np.eye(amounts.shape[1])
    right = (weights * values).T @ amounts
    solved = np.linalg.solve(left, right[..., None])[..., 0]
    return solved[:, -1], solved[:, :-1]
