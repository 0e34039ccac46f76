"""Answers as a track's reader returned them: every trial once, the columns of the track's `blank`, finite numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl

from palestra.errors import SHOWN, Faults, clip
from palestra.formats import shown_name
from palestra.records import Track


def require_sound(track: Track, file: Path, answers: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The answers in the order of the trials. Most readers have seen to all of it; this holds for those that have not,
    and looks at whole columns, so that it costs next to nothing."""
    name, blank = shown_name(file), track.blank(trials.head(1)) if track.blank else None
    _require_columns(name, answers, blank)
    faults = Faults()
    answers = answers.with_columns(pl.col("trial").cast(pl.String))
    if blank is not None:
        answers = answers.with_columns(_as_in(like, name, answers, faults) for like in blank.drop("trial"))
    # A template that leaves values out says that an answer may do so; its reader knows when.
    may_lack = blank is not None and any(blank.null_count().row(0))
    whole = _without_gaps(name, answers, may_lack, faults)
    if not answers["trial"].equals(trials["trial"]):
        _find_odd_trials(name, answers, trials, faults)
        whole = trials.select("trial").join(whole, on="trial", how="inner", maintain_order="left")
    faults.finish(usable=whole)
    return whole


def _require_columns(name: str, answers: pl.DataFrame, blank: pl.DataFrame | None) -> None:
    """Those of the template and no other: a file must not bring columns that scoring takes for its own."""
    wanted = blank.columns if blank is not None else ["trial"]
    unknown = [column for column in answers.columns if column not in wanted]
    if blank is None:
        unknown = [column for column in unknown if column.startswith("truth_")]
    faults = Faults()
    for column in wanted:
        if column not in answers.columns:
            faults.add(name, f"no column {column}", f"the columns {', '.join(wanted)}")
    for column in unknown:
        faults.add(name, f"a column {clip(column)}", f"no column but {', '.join(wanted)}")
    faults.finish()


def _as_in(like: pl.Series, name: str, answers: pl.DataFrame, faults: Faults) -> pl.Series:
    """A column of the kind that the template has; what cannot be of it is a fault."""
    column, kind = answers[like.name], like.dtype
    if kind == pl.String:
        return column.cast(pl.String, strict=False)
    if kind.is_numeric() and (column.dtype.is_integer() or (column.dtype.is_float() and kind.is_float())):
        return column
    if not kind.is_numeric():
        if kind not in (pl.Null, column.dtype.base_type()):
            faults.add(f"{name}, column {like.name}", f"values of the type {column.dtype}", f"those of {kind}")
        return column
    if column.dtype != pl.String and not column.dtype.is_numeric():
        faults.add(f"{name}, column {like.name}", f"values of the type {column.dtype}", "numbers")
        return column
    return _as_numbers(column, name, answers, kind.is_integer(), faults)


def _as_numbers(column: pl.Series, name: str, answers: pl.DataFrame, are_whole: bool, faults: Faults) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    odd = numbers.is_null() & column.is_not_null()
    if are_whole:
        odd |= (numbers.is_finite() & (numbers.round() != numbers)).fill_null(False)
    for trial, found, count in _told(answers.select("trial", column.name).filter(odd)):
        faults.add(_at(name, trial, column.name), clip(found), "a whole number" if are_whole else "a number", count)
    numbers = numbers.set(odd, 0.0)  # told already
    as_whole = numbers.cast(pl.Int64, strict=False) if are_whole else numbers
    return as_whole if as_whole.null_count() == numbers.null_count() else numbers  # NaN and infinities are told below


def _without_gaps(name: str, answers: pl.DataFrame, may_lack: bool, faults: Faults) -> pl.DataFrame:
    """The answers without those that lack a value. An infinite one is no gap: somebody computed it."""
    lacking = pl.repeat(False, answers.height, dtype=pl.Boolean, eager=True)
    for column in answers.drop("trial"):
        infinite, gaps = _rows_with("is_infinite", column), _rows_with("is_nan", column)
        if column.null_count() and not may_lack:
            gaps = column.is_null() if gaps is None else gaps | column.is_null()
        rows = answers.select("trial", column.name)
        for trial, found, count in _told(rows.filter(infinite)) if infinite is not None else ():
            faults.add(_at(name, trial, column.name), clip(found), "a finite number", count)
        for trial, found, count in _told(rows.filter(gaps)) if gaps is not None else ():
            faults.gap(_at(name, trial, column.name), "nothing" if found is None else clip(found), "a value", count)
        lacking = lacking if gaps is None else lacking | gaps
    return answers.filter(~lacking) if lacking.any() else answers


def _rows_with(test: Literal["is_nan", "is_infinite"], column: pl.Series) -> pl.Series | None:
    """Which rows have such a number, alone or in a list; None where no row has."""
    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    if isinstance(column.dtype, pl.List) and column.dtype.inner.is_float():
        found = column.list.eval(getattr(pl.element(), test)()).list.any()
    elif column.dtype.is_float():
        found = getattr(column, test)()
    else:
        return None
    return found.fill_null(False) if found.any() else None


def _find_odd_trials(name: str, answers: pl.DataFrame, trials: pl.DataFrame, faults: Faults) -> None:
    given, wanted = answers.select("trial"), trials.select("trial")
    double = given.filter(given["trial"].is_duplicated()).unique(maintain_order=True)
    for trial, count in _told(double):
        faults.add(f"{name}, trial {clip(trial)}", "more than one answer", "one answer", count)
    for trial, count in _told(given.join(wanted, on="trial", how="anti")):
        faults.add(f"{name}, trial {clip(trial)}", "an answer", "no such trial in this data set", count)
    for trial, count in _told(wanted.join(given, on="trial", how="anti")):
        faults.gap(f"{name}, trial {trial}", "no answer", "one answer", count)


def _told(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """The first rows, each with how many it stands for: the last one for all that are not told themselves."""
    first = rows.head(SHOWN)
    for number, row in enumerate(first.iter_rows(), start=1):
        yield (*row, 1 if number < first.height else rows.height - number + 1)


def _at(name: str, trial: Any, column: str) -> str:
    return f"{name}, trial {clip(trial)}, column {column}"
