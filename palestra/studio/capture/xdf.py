"""All signals of a recording as one XDF 1.0 file, as the public specification has it, with the offsets of their clocks.

Times in it are those of each stream's own clock, in seconds; readers add the offsets, which lead to our clock.
"""

import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

import numpy as np
import polars as pl

from palestra.formats import replacing
from palestra.studio.capture.layout import OFFSETS, SEGMENTS, XDF, Captured, Head, OffsetLine, Segment, read_lines
from palestra.studio.capture.signal_segment import DTYPES, FIXED

MAGIC = b"XDF:"
FILE_HEADER, STREAM_HEADER, SAMPLES, CLOCK_OFFSET, BOUNDARY, STREAM_FOOTER = range(1, 7)
BOUNDARY_MARK = uuid.UUID("43a546dc-cbf5-410f-b30e-d5467383cbe4").bytes
AT_ONCE = 10_000  # samples of a chunk


def write_xdf(folder: Path, head: Head) -> Path:
    """Write a recording's signals; a file of that name is replaced once the new one is whole."""
    target = folder / XDF
    signals = [one for one in head.sources if one.about.kind == "signal"]
    with replacing(target) as fresh, fresh.open("wb") as file:
        file.write(MAGIC)
        _chunk(file, FILE_HEADER, _xml(f"<version>1.0</version><datetime>{escape(head.started_at)}</datetime>"))
        for number, one in enumerate(signals, 1):
            _chunk(file, STREAM_HEADER, _header(one), number)
        for number, one in enumerate(signals, 1):
            _write_stream(file, number, folder / one.name, one)
    return target


def _write_stream(file: BinaryIO, number: int, folder: Path, one: Captured) -> None:
    offsets = read_lines(folder / OFFSETS, OffsetLine)
    count, first_s, last_s = 0, 0.0, 0.0
    for table in _tables(folder):
        times = table["taken_ns"].to_numpy() / 1e9
        _chunk(file, SAMPLES, _samples(table, times, one.about.number_kind), number)
        _chunk(file, BOUNDARY, BOUNDARY_MARK)
        first_s = first_s if count else float(times[0])
        count, last_s = count + len(table), float(times[-1])
    for offset in offsets:
        # The moment is told on the stream's own clock, as recorders of LSL do.
        moment_s, offset_s = (offset.at_ns - offset.offset_ns) / 1e9, offset.offset_ns / 1e9
        _chunk(file, CLOCK_OFFSET, struct.pack("<dd", moment_s, offset_s), number)
    told = "".join(
        f"<offset><time>{(one.at_ns - one.offset_ns) / 1e9!r}</time><value>{one.offset_ns / 1e9!r}</value></offset>"
        for one in offsets
    )
    footer = (
        f"<first_timestamp>{first_s!r}</first_timestamp><last_timestamp>{last_s!r}</last_timestamp>"
        f"<sample_count>{count}</sample_count><clock_offsets>{told}</clock_offsets>"
    )
    _chunk(file, STREAM_FOOTER, _xml(footer), number)


def _tables(folder: Path) -> Iterator[pl.DataFrame]:
    for segment in read_lines(folder / SEGMENTS, Segment):
        table = pl.read_parquet(folder / f"{segment.number:06d}.parquet")
        for start in range(0, len(table), AT_ONCE):
            yield table.slice(start, AT_ONCE)


def _samples(table: pl.DataFrame, times: np.ndarray, kind: str) -> bytes:
    names = [name for name in table.columns if name not in FIXED]
    count = _length(len(table))
    if kind == "string":
        rows = table.select(names).iter_rows()
        return count + b"".join(
            b"\x08" + struct.pack("<d", at) + b"".join(_text(value) for value in row)
            for at, row in zip(times.tolist(), rows, strict=True)
        )
    packed = np.zeros(len(table), [("stamped", "u1"), ("at", "<f8"), ("values", DTYPES[kind], (len(names),))])
    packed["stamped"], packed["at"] = 8, times
    for i, name in enumerate(names):
        packed["values"][:, i] = table[name].to_numpy()
    return count + packed.tobytes()


def _header(one: Captured) -> bytes:
    """What LSL says of the stream."""
    if one.about.description:
        return one.about.description.encode()
    about = one.about
    return _xml(
        f"<name>{escape(one.name)}</name><type>signal</type><channel_count>{len(about.channels)}</channel_count>"
        f"<nominal_srate>{about.rate_hz or 0}</nominal_srate><channel_format>{about.number_kind}</channel_format>"
    )


def _xml(inside: str) -> bytes:
    return f'<?xml version="1.0"?><info>{inside}</info>'.encode()


def _text(value: str) -> bytes:
    data = value.encode()
    return _length(len(data)) + data


def _length(size: int) -> bytes:
    """A length by itself, after how many bytes it has."""
    if size < 1 << 8:
        return b"\x01" + struct.pack("<B", size)
    return b"\x04" + struct.pack("<I", size) if size < 1 << 32 else b"\x08" + struct.pack("<Q", size)


def _chunk(file: BinaryIO, tag: int, content: bytes, stream: int | None = None) -> None:
    body = struct.pack("<H", tag) + (b"" if stream is None else struct.pack("<I", stream)) + content
    file.write(_length(len(body)) + body)
