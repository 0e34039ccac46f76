"""Bootstrap over units (people, else sequences or cases): rows of one unit are alike, so units are drawn, not rows.

A resample is a row of weights, how often each unit is drawn. Numbers that are made of sums are then one matrix product.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra.metrics.quantiles import at_shares

Floats = NDArray[np.float64]

MIN_UNITS = 5  # with fewer units an interval would say nothing: low and high are null
RESAMPLES = 1000
INTERVAL_SHARES = ("0.025", "0.975")


def draw_weights(units: int, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """How often each unit is drawn, (resamples, units), when as many units as there are are drawn with replacement."""
    if units < 1:
        raise ValueError(f"expected at least one unit, found {units}")
    # Philox's raw stream never changes between numpy versions, which Generator's methods may: old scores stay the same.
    # Taking the raw numbers modulo `units` prefers low units by less than one part in 2**40.
    stream = np.random.Philox(seed)
    weights = np.empty((resamples, units))
    for row in weights:
        drawn = (stream.random_raw(units) % np.uint64(units)).astype(np.intp)
        row[:] = np.bincount(drawn, minlength=units)
    return weights


def interval(values: ArrayLike) -> tuple[float, float]:
    """The 95 % interval: the values at 2.5 % and 97.5 %. One NaN makes both NaN: no resample is left out."""
    numbers = np.asarray(values, dtype=np.float64)
    if np.isnan(numbers).any():
        return float("nan"), float("nan")
    low, high = at_shares(numbers, INTERVAL_SHARES)
    return float(low), float(high)


def unit_sums(values: ArrayLike, unit_of: ArrayLike, units: int) -> Floats:
    """The sum of each unit's rows, (units, k), of values (n, k) or (n,), which count as k = 1."""
    numbers, owner = np.asarray(values, dtype=np.float64), np.asarray(unit_of)
    columns = (numbers if numbers.ndim == 2 else numbers[:, None]).T
    if len(owner) and owner.max() >= units:
        raise ValueError(f"expected units from 0 to {units - 1}, found {owner.max()}")
    return np.stack([np.bincount(owner, weights=column, minlength=units) for column in columns], axis=1)


def weighted_mean(values: ArrayLike, unit_of: ArrayLike, weights: ArrayLike) -> Floats:
    """The mean over rows in each resample, (R,); NaN for a resample that draws no row."""
    drawn, numbers = np.asarray(weights, dtype=np.float64), np.asarray(values, dtype=np.float64)
    both = drawn @ unit_sums(np.stack([numbers, np.ones_like(numbers)], axis=1), unit_of, drawn.shape[1])
    total, count = both[:, 0], both[:, 1]
    mean: Floats = np.divide(total, count, out=np.full(len(drawn), np.nan), where=count > 0)
    return mean
