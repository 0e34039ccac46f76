"""CSV tables from strangers: one row per trial, any order, every fault with its line.

There are two readers. Polars takes a plain, faultless file at full speed. Whatever is unusual in any way goes to the
careful reader (csv_careful.py), which is the authority: it knows line numbers, spaces, quotes and what is harmless.
A file may have 256 bytes per row and 64 KiB more; reading takes at most about 20 times that in memory.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from palestra.formats.csv_careful import BLANKS, Layout, read_carefully
from palestra.formats.plain_files import decode_text, read_bytes, write_bytes

ROW_BYTES = 256  # a row with 17 digits per number has under 100
SPARE_BYTES = 65536


@dataclass(frozen=True)
class _Plain:
    """A file's bytes, and the names in its header."""

    data: bytes
    names: list[str]


def read_table(
    file: str | Path,
    key: str | tuple[str, ...],
    columns: Mapping[str, type[pl.DataType]],
    expected: pl.DataFrame,
    limit: float = 1e6,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> pl.DataFrame:
    """The answers in a CSV file: `trial` and the columns, in the order of `expected`.

    `key` names the columns (texts) that tell trials apart, both in the file and in `expected`, which also has `trial`.
    `columns` are Float64, Int64 or String. A number beyond ±`limit` is refused; `bounds` gives columns a least and a
    largest value of their own. Missing rows, empty cells, NaN and infinities are gaps: the rows without them are the
    refusal's `usable`.
    """
    keys = (key,) if isinstance(key, str) else tuple(key)
    wanted = expected.with_columns(pl.col(keys).cast(pl.String))
    layout = Layout(Path(file), keys, dict(columns), wanted, min(limit, sys.float_info.max), dict(bounds or {}))
    if strange := [name for name in layout.bounds if columns.get(name, pl.String) == pl.String]:
        raise ValueError(
            f"bounds are given for {', '.join(strange)}, expected columns of numbers: {', '.join(columns)}"
        )
    if len(set(layout.names)) != len(layout.names):
        raise ValueError(f"a column is asked for twice: {layout.names}")
    data = read_bytes(file, most_bytes(expected))
    text = decode_text(data, file)
    plain = _plain(data, layout)
    answers = None if plain is None else _read_fast(plain, layout)
    return read_carefully(text, layout) if answers is None else answers


def most_bytes(expected: pl.DataFrame) -> int:
    """Of a file with a row for each of these trials."""
    return expected.height * ROW_BYTES + SPARE_BYTES


def write_table(frame: pl.DataFrame, file: str | Path) -> None:
    """Write a CSV file, whole or not at all; floats have the fewest digits that read back exactly."""
    write_bytes(file, frame.write_csv(line_terminator="\n").encode())


def _plain(data: bytes, layout: Layout) -> _Plain | None:
    """The file without its harmless habits (mark, CRLF, blank lines at the end), or None if it has others."""
    if b'"' in data or data.endswith(b","):  # polars lets a cell too many pass at the very end
        return None
    if b"\r" in data:
        ends = data.count(b"\r\n")
        if data.count(b"\r") != ends or data.count(b"\n") != ends:
            return None
        data = data.replace(b"\r\n", b"\n")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if data.endswith(b"\n\n"):
        data = data.rstrip(b"\n")
    names = data[: data.find(b"\n")].decode(errors="replace").split(",")
    return _Plain(data, names) if sorted(names) == sorted(layout.names) else None


def _read_fast(plain: _Plain, layout: Layout) -> pl.DataFrame | None:
    """The answers, if every row is there once, in plain form and within the limit; else None."""
    schema = {name: layout.columns.get(name, pl.String) for name in plain.names}
    try:
        frame = pl.read_csv(plain.data, schema=schema, quote_char=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if frame.height != layout.expected.height or any(frame.null_count().row(0)):
        return None
    texts = [name for name, kind in layout.columns.items() if kind == pl.String]
    frame = frame.with_columns(pl.col(texts).str.strip_chars(BLANKS))
    return _in_order(frame, layout) if _all_usable(frame, texts, layout) else None


def _all_usable(frame: pl.DataFrame, texts: list[str], layout: Layout) -> bool:
    numbers = [name for name in layout.columns if name not in texts]
    usable = [pl.col(name).is_between(*layout.between(name)).all() for name in numbers]  # NaN is not between
    usable += [(pl.col(name) != "").all() for name in texts]
    return all(frame.select(usable).row(0)) if usable else True


def _in_order(frame: pl.DataFrame, layout: Layout) -> pl.DataFrame | None:
    keys, names = list(layout.keys), list(layout.columns)
    expected = layout.expected
    if all(frame[name].equals(expected[name]) for name in keys):
        return expected.select("trial").hstack(frame.select(names))
    wanted = expected.select(*keys, pl.col("trial").alias(" trial"))  # no column of the file has this name
    joined = wanted.join(frame, on=keys, how="left", maintain_order="left")
    # As many rows as trials and each trial matched: then no trial is matched twice, and no row is left over.
    if joined.height != expected.height or any(joined.select(names).null_count().row(0)):
        return None
    return joined.select(pl.col(" trial").alias("trial"), *names)
