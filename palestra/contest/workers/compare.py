"""Two tables of answers, trial by trial: where they lie apart, and by how much. Pure functions.

Fractions are compared by their difference, in the units of the answer; whole numbers, words and anything else are the
same or not. Heavy answers, such as masks, are opened by their track, which says how far two of them lie apart. An
answer that only one table has is a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import polars as pl

from palestra.errors import PalestraError
from palestra.records import Track
from palestra.scoring import ABOUT
from palestra.text import say

FIRST = 40  # rows that are kept to be shown; a page folds away longer tables
AGAIN = " again"


class Difference(msgspec.Struct, frozen=True):
    """One trial that was answered otherwise the second time; no values where there was no answer."""

    trial: str
    submitted: dict[str, Any]
    again: dict[str, Any]
    apart: float | None  # null where that is no number


class Comparison(msgspec.Struct, frozen=True):
    """How two tables of answers compare."""

    rows: int
    different: int
    worst: float  # the largest difference between fractions or heavy answers
    first: tuple[Difference, ...] = ()
    lone: int = 0  # of those that are different: answered in one of them alone


def compare(track: Track, submitted: pl.DataFrame, again: pl.DataFrame, tolerance: float) -> Comparison:
    """Answers as the track reads or hears them; those of a trial are the same if no part of them is further apart than
    the tolerance."""
    return summed(differences(track, submitted, again, tolerance))


def differences(track: Track, submitted: pl.DataFrame, again: pl.DataFrame, tolerance: float) -> pl.DataFrame:
    """Every trial of either table: the answers side by side, how far `apart`, whether the `same`, whether `lone`."""
    columns = _columns(submitted)
    if sorted(columns) != sorted(_columns(again)):
        others = _columns(again)
        raise PalestraError(
            say(
                "{track}: answers with {columns} cannot be compared with {others}.",
                track=track.id,
                columns=columns,
                others=others,
            )
        )
    left, right = (_plain(track, table, columns) for table in (submitted, again))
    parts = [name for name in left.columns if name != "trial"]
    rows = left.join(right, on="trial", how="full", coalesce=True, suffix=AGAIN, maintain_order="left_right")
    given, given_again = (pl.any_horizontal(pl.col(part + end).is_not_null() for part in parts) for end in ("", AGAIN))
    rows = rows.with_columns(
        apart=pl.max_horizontal([_gap(part) for part in parts if left.schema[part].is_float()] or [_NOTHING]),
        same=pl.all_horizontal(_is_close(part, left.schema[part].is_float(), tolerance) for part in parts),
        lone=given != given_again,
    )
    if track.files is None or track.files.apart is None:
        return rows
    digests = [part + end for part in parts if part not in columns for end in ("", AGAIN)]  # say nothing to people
    return _with_heavy(rows, track.files.apart, (submitted, again), tolerance).drop(digests)


def summed(rows: pl.DataFrame) -> Comparison:
    """What `differences` found, in short."""
    other = rows.filter(~pl.col("same"))
    apart = rows["apart"].drop_nulls().to_list()
    first = tuple(_difference(row) for row in other.head(FIRST).iter_rows(named=True))
    return Comparison(rows.height, other.height, max(apart, default=0.0), first, int(other["lone"].sum()))


_NOTHING = pl.lit(None, pl.Float64)


def _gap(part: str) -> pl.Expr:
    """How far two fractions lie apart, where that is a number."""
    gap = (pl.col(part).cast(pl.Float64) - pl.col(part + AGAIN).cast(pl.Float64)).abs()
    return pl.when(gap.is_finite()).then(gap).otherwise(_NOTHING)


def _is_close(part: str, fraction: bool, tolerance: float) -> pl.Expr:
    same = pl.col(part).eq_missing(pl.col(part + AGAIN))
    return same | (_gap(part) <= tolerance).fill_null(False) if fraction else same


def _columns(answers: pl.DataFrame) -> list[str]:
    return [name for name in answers.columns if name not in ("trial", *ABOUT)]


def _plain(track: Track, answers: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Answers with what references stand for."""
    table = answers.select("trial", *columns)
    return track.content(table) if track.content else table


def _with_heavy(
    rows: pl.DataFrame,
    gap: Callable[[Mapping[str, Any], Mapping[str, Any]], float],
    tables: tuple[pl.DataFrame, pl.DataFrame],
    tolerance: float,
) -> pl.DataFrame:
    """Answers whose content differs are opened: it counts by how much."""
    answers = [dict(zip(table["trial"], table.iter_rows(named=True), strict=True)) for table in tables]
    apart, same = rows["apart"].to_list(), rows["same"].to_list()
    for row, (trial, lone) in enumerate(rows.select("trial", "lone").rows()):
        if same[row] or lone:
            apart[row] = 0.0 if same[row] else None
            continue
        apart[row] = gap(*(table[trial] for table in answers))
        same[row] = apart[row] <= tolerance
    return rows.with_columns(pl.Series("apart", apart, pl.Float64), pl.Series("same", same, pl.Boolean))


def _difference(row: dict[str, Any]) -> Difference:
    parts = [name for name in row if name + AGAIN in row]
    values, others = ({name: row[name + end] for name in parts if row[name + end] is not None} for end in ("", AGAIN))
    return Difference(row["trial"], values, others, row["apart"])
