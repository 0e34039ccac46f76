"""From the scores of all trials to one number: the usual ways, for `Metric(reduce=…)`."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.metrics.bootstrap import weighted_mean
from palestra.metrics.quantiles import at_shares, weighted_at_shares
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


def mean_of_means(column: str, *levels: str, out_of: Callable[[pl.DataFrame], int] | None = None) -> Reduce:
    """The mean over the first level of the means over the next, and so on down to the mean of a column's values.

    A resample draws units, so all rows of one value of the first level must belong to the same unit. `out_of`: how many
    values of the second level these rows should have for each of the first; one without any row counts 0.
    """

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        means = rows.select(*levels, pl.col(column).cast(pl.Float64).alias(" mean"))
        means = means.with_columns(pl.Series(" unit", draws.unit_of))
        for depth in range(len(levels), 0, -1):
            inside = means.group_by(levels[:depth], maintain_order=True)
            mean = pl.col(" mean").sum() / out_of(rows) if out_of and depth == 1 else pl.col(" mean").mean()
            means = inside.agg(mean, pl.col(" unit").first())
        return weighted_mean(means[" mean"].to_numpy(), means[" unit"].to_numpy(), draws.weights)

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


def among(condition: pl.Expr, inner: Reduce) -> Reduce:
    """A number of those rows alone for which a condition holds; NaN where it holds for none."""

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        chosen = rows.select(condition.fill_null(False).alias("chosen"))["chosen"].to_numpy()
        if not chosen.any():
            return np.full(len(draws.weights), np.nan)
        return inner(rows.filter(chosen), Draws(draws.unit_of[chosen], draws.weights))

    return reduce


def growth_of_means(column: str, experiments: Sequence[tuple[str, str]], pairs: Sequence[str]) -> Reduce:
    """By what share a mean grows from an easier experiment to a harder one (Eq. 10), over pairs of them.

    A pair is what shares the columns `pairs`. One whose easier mean is 0 has no such share, and is left out.
    """

    from palestra.metrics.rays import sensitivity  # here, as one challenge alone wants it

    def reduce(rows: pl.DataFrame, draws: Draws) -> NDArray[np.float64]:
        means = rows.with_columns(pl.Series(" unit", draws.unit_of)).group_by("experiment", *pairs, maintain_order=True)
        found = means.agg(pl.col(column).mean().alias(" mean"), pl.col(" unit").first())
        growths, units = [], []
        for harder, easier in experiments:
            hard, easy = (found.filter(pl.col("experiment") == name) for name in (harder, easier))
            both = easy.join(hard, on=list(pairs), suffix=" hard", maintain_order="left")
            growths.append(sensitivity(both[" mean hard"].to_numpy(), both[" mean"].to_numpy()))
            units.append(both[" unit"].to_numpy())
        growth, unit = np.concatenate(growths), np.concatenate(units)
        defined = ~np.isnan(growth)
        return weighted_mean(growth[defined], unit[defined], draws.weights)

    return reduce
