"""Tables of moments and of samples: a recording's signal, a CSV or a Parquet file, each with its times in seconds."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.studio.capture.recording import Recording
from palestra.studio.sync.video import in_recording
from palestra.text import say

Floats = NDArray[np.float64]
TABLES = (".csv", ".parquet")
TIMES = {"time_s": 1.0, "onset_s": 1.0, "at_s": 1.0, "t_s": 1.0, "time_ms": 1e-3, "at_ns": 1e-9}  # columns → seconds


def read_table(path: Path) -> tuple[pl.DataFrame, Floats]:
    """All rows, and the time of each in seconds: from the first sample of a recording's signal, else as it stands."""
    recorded = in_recording(path)
    if recorded:
        table = Recording(recorded[0]).samples(recorded[1])
        at_ns = table["at_ns"].to_numpy()
        return table, (at_ns - at_ns[0]) / 1e9
    if path.suffix not in TABLES or not path.is_file():
        raise PalestraError(
            say("{path}: expected a table (.csv or .parquet), or a signal of a recording, as session-1/eeg.", path=path)
        )
    try:
        table = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise PalestraError(say("{path} is not a table that can be read ({error}).", path=path, error=error)) from None
    known = [name for name in TIMES if name in table.columns]
    if not known:
        raise PalestraError(
            say(
                "{path} has the columns {found}; expected one with times: {known}.",
                path=path,
                found=", ".join(table.columns),
                known=", ".join(TIMES),
            )
        )
    table = table.drop_nulls(known[0])
    return table, _numbers(path, table, known[0]) * TIMES[known[0]]


def is_table(path: Path) -> bool:
    """Whether it is samples or moments, rather than pictures."""
    recorded = in_recording(path)
    if recorded:
        return any(
            one.name == recorded[1] and one.about.kind == "signal" for one in Recording(recorded[0]).head.sources
        )
    return path.suffix in TABLES


def column(path: Path, table: pl.DataFrame, name: str) -> Floats:
    """A column of numbers."""
    if name not in table.columns:
        raise UnknownName(say("column"), name, table.columns)
    return _numbers(path, table, name)


def _numbers(path: Path, table: pl.DataFrame, name: str) -> Floats:
    if not table[name].dtype.is_numeric():
        raise PalestraError(say("{path}: the column {name} has no numbers.", path=path, name=name))
    found: Floats = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return found
