"""The row of each frame: its times, how many were dropped before it, its checksum and where its pictures lie.

A file of rows only grows, by one write for each frame, so that a kill leaves whole rows and at most a part of one.
"""

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.studio.capture.source import Image

MOST_DROPPED = (1 << 32) - 1  # that a row has room for
NO_TIME = -(1 << 63)  # of a source without a clock
Rows = NDArray[np.void]


def row_type(parts: Sequence[str]) -> np.dtype[np.void]:
    fields: list[tuple[str, str]] = [
        ("number", "<u8"),
        ("taken_ns", "<i8"),
        ("arrived_ns", "<i8"),
        ("dropped", "<u4"),
        ("crc", "<u4"),
    ]
    for part in parts:
        fields += [(f"{part}_at", "<u8"), (f"{part}_size", "<u4")]
    return np.dtype(fields)


def checksum(images: Sequence[Image]) -> int:
    """Of a frame's pixels, so that what is read can be held against what was taken."""
    crc = 0
    for image in images:
        crc = zlib.crc32(np.ascontiguousarray(image).data, crc)
    return crc


class RowFile:
    """Rows as they come."""

    def __init__(self, file: Path, parts: Sequence[str]) -> None:
        self.file, self._type = file, row_type(parts)
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self.count = 0

    def append(self, row: tuple[int, ...]) -> None:
        data = np.array([row], self._type).tobytes()
        end = self.count * self._type.itemsize
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], end + written)
        except OSError:
            os.ftruncate(self._descriptor, end)
            raise
        self.count += 1

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def read_rows(file: Path, parts: Sequence[str]) -> Rows:
    """All whole rows of a file that may still grow."""
    kind = row_type(parts)
    data = file.read_bytes()
    return np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind)


def as_table(rows: Rows) -> pl.DataFrame:
    """Rows as a segment's Parquet file has them; a time that is not there is null."""
    columns: dict[str, Any] = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
    return pl.DataFrame(columns).with_columns(
        taken_ns=pl.when(pl.col("taken_ns") == NO_TIME).then(None).otherwise(pl.col("taken_ns"))
    )


def as_rows(table: pl.DataFrame, parts: Sequence[str]) -> Rows:
    """The same the other way round."""
    rows = np.zeros(len(table), row_type(parts))
    for name in rows.dtype.names or ():
        rows[name] = table[name].fill_null(NO_TIME).to_numpy() if name == "taken_ns" else table[name].to_numpy()
    return rows
