"""Some seconds of a signal: chunks as they come, each with its length and checksum. Closed, they are a Parquet file."""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from palestra.studio.capture.layout import Segment
from palestra.studio.capture.picture_segment import digest_of_table, write_table
from palestra.studio.capture.source import About, Samples

HEAD = struct.Struct("<II")  # length and CRC-32 of a chunk
DTYPES = {
    "float32": "<f4", "double64": "<f8", "int8": "<i1", "int16": "<i2", "int32": "<i4", "int64": "<i8"
}  # fmt: skip
FIXED = ("number", "taken_ns", "arrived_ns", "dropped")  # columns before those of the channels


class Chunk(msgspec.Struct, array_like=True):
    """Samples that arrived together, as they lie in the file."""

    first: int  # number of the first of them
    arrived_ns: int
    dropped: int  # samples before them
    taken_ns: bytes
    values: bytes | list[list[str]]


CHUNK = msgspec.msgpack.Decoder(Chunk)


class SignalSegment:
    """One segment while it is written."""

    def __init__(self, folder: Path, number: int, about: About, began_ns: int) -> None:
        self._folder, self._number, self._about, self.began_ns = folder, number, about, began_ns
        self._file = folder / f"{number:06d}.chunks"
        self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._end = 0
        self.form = about.number_kind
        self.count = 0

    def write(self, samples: Samples, number: int) -> int:
        """Write a chunk whole or not at all; the bytes that it took."""
        if isinstance(samples.values, list):
            values: bytes | list[list[str]] = samples.values
        else:
            values = np.ascontiguousarray(samples.values, DTYPES[self._about.number_kind]).tobytes()
        chunk = Chunk(number, samples.arrived_ns, samples.lost, samples.taken_ns.astype("<i8").tobytes(), values)
        body = msgspec.msgpack.encode(chunk)
        rest = memoryview(HEAD.pack(len(body), zlib.crc32(body)) + body)
        size = len(rest)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            os.ftruncate(self._descriptor, self._end)
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            raise
        self._end += size
        self.count += samples.count
        return size

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> Segment:
        """Make the Parquet file, and say what is in the segment. The chunks stay until the segment is listed."""
        found = close_chunks(self._folder, self._number, self._about)
        os.close(self._descriptor)
        return found

    def abandon(self) -> None:
        os.close(self._descriptor)


def close_chunks(folder: Path, number: int, about: About, repaired: bool = False) -> Segment:
    """Make a Parquet file of chunks that are whole, and say what is in it."""
    table = chunk_table(folder / f"{number:06d}.chunks", about)
    write_table(folder / f"{number:06d}.parquet", table)
    return Segment(
        number,
        int(table["number"][0]),
        len(table),
        int(table["dropped"].sum()),
        int(table["arrived_ns"][0]),
        int(table["arrived_ns"][-1]),
        about.number_kind,
        digest_of_table(folder, number),
        repaired,
    )


def chunk_table(file: Path, about: About) -> pl.DataFrame:
    """All whole chunks of a file that may still grow, one row for each sample."""
    names = column_names(about.channels)
    kind = DTYPES.get(about.number_kind)
    empty: dict[str, Any] = dict.fromkeys(FIXED, pl.Series([], dtype=pl.Int64))
    values = dict.fromkeys(names, pl.Series([], dtype=pl.String if kind is None else None))
    tables = [pl.DataFrame(empty | values)] if not (chunks := list(read_chunks(file))) else []
    for chunk in chunks:
        taken = np.frombuffer(chunk.taken_ns, "<i8")
        count = len(taken)
        columns: dict[str, Any] = {
            "number": np.arange(chunk.first, chunk.first + count, dtype=np.int64),
            "taken_ns": taken,
            "arrived_ns": np.full(count, chunk.arrived_ns, np.int64),
            "dropped": np.array([chunk.dropped] + (count - 1) * [0], np.int64),
        }
        if isinstance(chunk.values, list):
            for i, name in enumerate(names):
                columns[name] = pl.Series([row[i] for row in chunk.values], dtype=pl.String)
        else:
            given = np.frombuffer(chunk.values, kind).reshape(count, len(names))
            for i, name in enumerate(names):
                columns[name] = np.ascontiguousarray(given[:, i])
        tables.append(pl.DataFrame(columns))
    return pl.concat(tables)


def read_chunks(file: Path) -> Iterator[Chunk]:
    """Chunks up to the first that is not whole."""
    data = file.read_bytes()
    at = 0
    while at + HEAD.size <= len(data):
        length, crc = HEAD.unpack_from(data, at)
        body = data[at + HEAD.size : at + HEAD.size + length]
        if len(body) < length or zlib.crc32(body) != crc:
            return
        yield CHUNK.decode(body)
        at += HEAD.size + length


def column_names(channels: list[str]) -> list[str]:
    """The channels' own names, unless two are the same or one is that of a column of ours."""
    taken = set(FIXED)
    names = []
    for i, channel in enumerate(channels):
        name = channel if channel and channel not in taken else f"channel {i + 1}"
        taken.add(name)
        names.append(name)
    return names
