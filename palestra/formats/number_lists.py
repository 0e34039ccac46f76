"""Many small files of numbers, read as one table."""

import math
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from palestra.errors import refuse
from palestra.text import say

MAX_BYTES = 64_000_000  # of one file


def read_numbers(
    files: Sequence[tuple[str, str, Path]] | Sequence[tuple[str, Path]],
    names: Sequence[str],
    row: str,
    columns: Sequence[str],
    header: bool,
) -> pl.DataFrame:
    """Files of `row,number,number,…` lines as one table, with the names that lead each file as columns.

    The files are joined and parsed at once: thousands of files cost thousands of opens, and one parse.
    """
    texts, counts = [], []
    for *_, path in files:
        body = _body(path, (row, *columns) if header else None)
        texts.append(body)
        counts.append(body.count(b"\n"))
    schema = {row: pl.String, **dict.fromkeys(columns, pl.Float64)}
    try:
        table = pl.read_csv(b"".join(texts), has_header=False, schema=schema)
        sound = table.height == sum(counts) and all(table.select(pl.col(columns).is_finite().all()).row(0))
        sound = sound and not any(table.null_count().row(0))
    except pl.exceptions.PolarsError:
        sound = False
    if not sound:
        _find_fault([file[-1] for file in files], texts, 1 + len(columns))
    repeats = pl.Series(counts, dtype=pl.UInt32)
    leading = [
        pl.Series(name, [file[i] for file in files]).repeat_by(repeats).explode(empty_as_null=False)
        for i, name in enumerate(names)
    ]
    whole = pl.DataFrame(leading).hstack(table)
    double = whole.filter(whole.select(*names, row).is_duplicated())
    if not double.is_empty():
        file = next(file[-1] for file in files if tuple(file[:-1]) == double.select(names).row(0))
        refuse(f"{file}, {row} {double[row][0]}", say("more than one row"), say("one row"))
    return whole


def _body(path: Path, header: Sequence[str] | None) -> bytes:
    """A file's lines without its header, each ended by a line feed."""
    if not path.is_file():
        refuse(str(path), say("no such file"), say("a file of labels"))
    if path.stat().st_size > MAX_BYTES:
        refuse(
            str(path),
            say("{st_size} bytes", st_size=path.stat().st_size),
            say("at most {max_bytes}", max_bytes=MAX_BYTES),
        )
    text = path.read_bytes().replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
    if header is not None:
        first, _, text = text.partition(b"\n")
        if [cell.strip() for cell in first.split(b",")] != [name.encode() for name in header]:
            refuse(
                say("{path}, line 1", path=path), repr(first[:60]), say("the header {header}", header=",".join(header))
            )
    text = text.rstrip(b"\n")
    return text + b"\n" if text else b""


def _find_fault(paths: list[Path], texts: list[bytes], cells: int) -> None:
    for path, text in zip(paths, texts, strict=True):
        for number, line in enumerate(text.splitlines(), 1):
            parts = line.split(b",")
            if len(parts) != cells or not all(map(_is_number, parts[1:])):
                refuse(
                    say("{path}, row {number}", path=path, number=number),
                    repr(line[:60]),
                    say("a frame and {value} numbers", value=cells - 1),
                )
    refuse(
        str(paths[0].parent),
        say("files that cannot be read as numbers"),
        say("lines of a frame and {value} numbers", value=cells - 1),
    )


def _is_number(cell: bytes) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
