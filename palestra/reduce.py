"""From the scores of all trials to one number: the usual ways, for `Metric(reduce=…)`."""

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.metrics.order import at_shares, weighted_at_shares
from palestra.metrics.resample import weighted_mean
from palestra.records import Draws

Reduce = Callable[[pl.DataFrame, Draws], NDArray[np.float64]]


def mean_of(column: str) -> Reduce:
    """The mean over trials."""

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        return weighted_mean(rows[column].cast(pl.Float64).to_numpy(), draws.unit_of, draws.weights)

    return reduce


def mean_of_shares(column: str, *shares: float) -> Reduce:
    """The mean of the values at the given shares of the ascending column: at position ceil(share · n)."""

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        values = rows[column].to_numpy()
        if draws.weights.size == 1:  # every row once: no need to sort
            return np.atleast_1d(at_shares(values, shares).mean())
        found: NDArray[np.float64] = weighted_at_shares(values, draws.unit_of, draws.weights, shares).mean(axis=1)
        return found

    return reduce


def mean_over(group: str, inner: Reduce) -> Reduce:
    """The mean, over the values of a column, of a number of the rows that have it."""

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        parts = []
        for value in rows[group].unique().sort():
            chosen = (rows[group] == value).to_numpy()
            parts.append(inner(rows.filter(chosen), Draws(draws.unit_of[chosen], draws.weights)))
        found: NDArray[np.float64] = np.mean(parts, axis=0)
        return found

    return reduce
