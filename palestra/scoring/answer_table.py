"""Answers as a track's reader returned them: every trial once, the columns of the track's `blank`, finite numbers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from palestra.errors import SHOWN, Faults, clip
from palestra.formats import shown_name
from palestra.records import Plausible, Track
from palestra.scoring.score import ABOUT
from palestra.text import say

LARGEST = 1e100  # of a number: its square is one as well, so that sums and squares of answers do not overflow


def require_sound(track: Track, file: Path, answers: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The answers in the order of the trials. Most readers have seen to all of it; this holds for those that have not,
    and looks at whole columns, so that it costs next to nothing."""
    name, blank = shown_name(file), track.blank(trials.head(1)) if track.blank else None
    _require_columns(track, name, answers, blank)
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
    if track.files and track.files.plausible:
        _find_implausible(name, track.files.plausible, whole, trials, faults)
    faults.finish(usable=whole)
    return whole


def _require_columns(track: Track, name: str, answers: pl.DataFrame, blank: pl.DataFrame | None) -> None:
    """Those of the template and no other: a file must not bring columns that scoring takes for its own."""
    wanted = blank.columns if blank is not None else ["trial"]
    unknown = [column for column in answers.columns if column not in wanted]
    if blank is None:
        own = {*track.units, *track.display.groups, *ABOUT}
        unknown = [column for column in unknown if column.startswith("truth_") or column in own]
    faults = Faults()
    for column in wanted:
        if column not in answers.columns:
            faults.add(
                name, say("no column {column}", column=column), say("the columns {wanted}", wanted=", ".join(wanted))
            )
    for column in unknown:
        faults.add(
            name, say("a column {column}", column=clip(column)), say("no column but {wanted}", wanted=", ".join(wanted))
        )
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
            faults.add(
                say("{name}, column {name2}", name=name, name2=like.name),
                say("values of the type {dtype}", dtype=column.dtype),
                say("those of {kind}", kind=kind),
            )
        return column
    if column.dtype != pl.String and not column.dtype.is_numeric():
        faults.add(
            say("{name}, column {name2}", name=name, name2=like.name),
            say("values of the type {dtype}", dtype=column.dtype),
            "numbers",
        )
        return column
    return _as_numbers(column, name, answers, kind.is_integer(), faults)


def _as_numbers(column: pl.Series, name: str, answers: pl.DataFrame, are_whole: bool, faults: Faults) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    odd = numbers.is_null() & column.is_not_null()
    if are_whole:
        odd |= (numbers.is_finite() & (numbers.round() != numbers)).fill_null(False)
    for trial, found, count in _told(answers.select("trial", column.name).filter(odd)):
        faults.add(
            _at(name, trial, column.name), clip(found), say("a whole number") if are_whole else say("a number"), count
        )
    numbers = numbers.set(odd, 0.0)  # told already
    as_whole = numbers.cast(pl.Int64, strict=False) if are_whole else numbers
    return as_whole if as_whole.null_count() == numbers.null_count() else numbers  # NaN and infinities are told below


def _without_gaps(name: str, answers: pl.DataFrame, may_lack: bool, faults: Faults) -> pl.DataFrame:
    """The answers without those that lack a value. An infinite or huge one is not a gap: somebody computed it."""
    lacking = pl.repeat(False, answers.height, dtype=pl.Boolean, eager=True)
    for column in answers.drop("trial"):
        rows = answers.select("trial", column.name)
        for trial, found, count in _told(rows.filter(_rows_with(_is_beyond, column))):
            faults.add(
                _at(name, trial, column.name),
                clip(found),
                say("a finite number, {largest:.0e} at most", largest=LARGEST),
                count,
            )
        gaps = _rows_with(_is_nan, column)
        if column.null_count() and not may_lack:
            gaps |= column.is_null()
        for trial, found, count in _told(rows.filter(gaps)):
            faults.gap(
                _at(name, trial, column.name), "nothing" if found is None else clip(found), say("a value"), count
            )
        lacking |= gaps
    return answers.filter(~lacking) if lacking.any() else answers


def _is_nan(number: pl.Expr) -> pl.Expr:
    return number.is_nan()


def _is_beyond(number: pl.Expr) -> pl.Expr:
    return number.is_not_nan() & (number.abs() > LARGEST)


def _rows_with(test: Callable[[pl.Expr], pl.Expr], column: pl.Series) -> pl.Series:
    """Which rows have such a number: alone, in a list or in a field, however deep."""
    found = _holds(test, pl.col(column.name), column.dtype)
    if found is None:
        return pl.repeat(False, len(column), dtype=pl.Boolean, eager=True)
    return column.to_frame().select(found.fill_null(False).alias("found"))["found"]


def _holds(test: Callable[[pl.Expr], pl.Expr], value: pl.Expr, kind: pl.DataType) -> pl.Expr | None:
    if kind.is_float():
        return test(value)
    if isinstance(kind, pl.Array):
        value, kind = value.arr.to_list(), pl.List(kind.inner)
    if isinstance(kind, pl.List):
        inside = _holds(test, pl.element(), _made(kind.inner))
        return None if inside is None else value.list.eval(inside).list.any()
    if isinstance(kind, pl.Struct):
        parts = [_holds(test, value.struct.field(field.name), _made(field.dtype)) for field in kind.fields]
        known = [part for part in parts if part is not None]
        return pl.any_horizontal(known) if known else None
    return None


def _made(kind: Any) -> pl.DataType:
    """A data type as an object: polars also names types by their class."""
    found: pl.DataType = kind() if isinstance(kind, type) else kind
    return found


def _find_implausible(
    name: str, plausible: Plausible, answers: pl.DataFrame, trials: pl.DataFrame, faults: Faults
) -> None:
    """Answers in the order of the trials that say what cannot be, though each of their numbers could be read."""
    columns = [column for column in answers.columns if column != "trial"]
    for column in columns:  # what is no usable number is told already
        beyond = _rows_with(_is_beyond, answers[column])
        answers = answers.filter(~beyond) if beyond.any() else answers
    if answers["trial"].equals(trials["trial"]):  # as nearly always, which spares a join
        rows = trials.hstack(answers.drop("trial"))
    else:
        rows = trials.join(answers, on="trial", how="inner", maintain_order="left")
    odd = rows.filter(~plausible.holds(rows).fill_null(True)).select("trial", *columns)
    for trial, *values, count in _told(odd):
        found = ", ".join(f"{column} = {value}" for column, value in zip(columns, values, strict=True))
        faults.add(say("{name}, trial {trial}", name=name, trial=clip(trial)), clip(found), plausible.expected, count)


def _find_odd_trials(name: str, answers: pl.DataFrame, trials: pl.DataFrame, faults: Faults) -> None:
    given, wanted = answers.select("trial"), trials.select("trial")
    double = given.filter(given["trial"].is_duplicated()).unique(maintain_order=True)
    for trial, count in _told(double):
        faults.add(
            say("{name}, trial {trial}", name=name, trial=clip(trial)),
            say("more than one answer"),
            say("one answer"),
            count,
        )
    for trial, count in _told(given.join(wanted, on="trial", how="anti")):
        faults.add(
            say("{name}, trial {trial}", name=name, trial=clip(trial)),
            say("an answer"),
            say("no such trial in this data set"),
            count,
        )
    for trial, count in _told(wanted.join(given, on="trial", how="anti")):
        faults.gap(say("{name}, trial {trial}", name=name, trial=trial), say("no answer"), say("one answer"), count)


def _told(rows: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """The first rows, each with how many it stands for: the last one for all that are not told themselves."""
    first = rows.head(SHOWN)
    for number, row in enumerate(first.iter_rows(), start=1):
        yield (*row, 1 if number < first.height else rows.height - number + 1)


def _at(name: str, trial: Any, column: str) -> str:
    return f"{name}, trial {clip(trial)}, column {column}"
