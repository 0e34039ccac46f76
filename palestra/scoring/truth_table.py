"""Truth as a track reads it: what in it cannot be scored against is a slip of the track's author, told with the file
and line of the truth where they can be found."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import polars as pl

from palestra.authoring import Slip, again, place_of, told
from palestra.errors import clip
from palestra.records import Track

SEPARATORS = re.compile(r"[,;\t]")
TEXTS = (".csv", ".tsv", ".txt")
MOST_BYTES, MOST_FILES = 16 << 20, 100  # that are searched for the line of a trial
MOSTLY = 0.5  # a column of texts, more of which are numbers than this, is one of numbers


def require_truth(track: Track, data: Path, trials: pl.DataFrame, truth: pl.DataFrame) -> None:
    """Refuse truth that shares a column with the answers, and texts among its numbers."""
    blank = track.blank(trials.head(1)).drop("trial", strict=False) if track.blank else pl.DataFrame()
    for name, kind in blank.schema.items():
        if name in truth.columns:
            what = f"its truth has the column {name!r}, which is what answers are called"
            _slip(track, what, f"Call it 'truth_{name}', in the data or where `truth` reads it.")
        column = f"truth_{name}"
        if kind.is_numeric() and truth.schema.get(column) == pl.String:
            _require_numbers(track, data, truth.select("trial", column))


def require_scored(track: Track, data: Path | None, truth: pl.DataFrame, scores: pl.DataFrame) -> None:
    """Where there is no score because there is no truth, say of which trial."""
    error = track.display.error
    if error not in scores.columns or not scores.schema[error].is_numeric():
        return
    unscored = scores.filter(pl.col(error).cast(pl.Float64).fill_null(float("nan")).is_nan()).select("trial")
    for name, kind in truth.schema.items():
        gaps = pl.col(name).is_null() | (pl.col(name).is_nan() if kind.is_float() else False)
        found = truth.filter(gaps).join(unscored, on="trial", how="semi")
        if name.startswith("truth_") and not found.is_empty():
            _odd(track, data, found.select("trial", name), "a value, or no row for the trial")


def _require_numbers(track: Track, data: Path, column: pl.DataFrame) -> None:
    values = column.to_series(1)
    odd = values.cast(pl.Float64, strict=False).is_null() & values.is_not_null()
    if odd.any() and odd.sum() < MOSTLY * values.len():
        _odd(track, data, column.filter(odd), "a number, as in the other rows")


def _odd(track: Track, data: Path | None, rows: pl.DataFrame, expected: str) -> None:
    trial, value = rows.row(0)
    more = f" (and in {rows.height - 1:,} more rows)" if rows.height > 1 else ""
    found = "nothing" if value is None else clip(value)
    where = f" in {line}" if (line := _line_of(track, data, trial)) else ""
    what = f"in its truth, {rows.columns[1]} of {clip(trial)} is {found}{more}, expected {expected}"
    _slip(track, what, f"Correct the truth{where}.")


def _slip(track: Track, what: str, remedy: str) -> None:
    raise Slip(told(track.id, place_of(track, "truth"), what, f"{remedy} {again(track.id)}"))


def _line_of(track: Track, data: Path | None, trial: str) -> str:
    """The file and line that has a cell with this trial, among the tables that contestants do not get."""
    for file in islice(_tables(track, data), MOST_FILES):
        for number, line in enumerate(file.read_text("utf-8", errors="replace").splitlines(), 1):
            if trial in (cell.strip(' "') for cell in SEPARATORS.split(line)):
                return f"{file}:{number}"
    return ""


def _tables(track: Track, data: Path | None) -> Iterator[Path]:
    for name in track.dataset.hidden if data else ():
        for file in sorted((data / name).rglob("*")) if data else ():
            if file.suffix.lower() in TEXTS and file.is_file() and file.stat().st_size <= MOST_BYTES:
                yield file
