"""How a recording lies on disk. It is written as it happens, and is whole up to any moment.

recording.json          sources, sizes, clock, versions
events.jsonl            what happened to sources, in words
recording.lock          held by whoever records, or repairs
signals.xdf             every signal with its clock's offsets, written when a recording ends
<source>/offsets.jsonl  how its clock stood to ours, measured again and again
<source>/segments.jsonl the closed segments, with a digest of each file
<source>/000000.mkv     pictures of some seconds in lossless video; 000000-depth.mkv where there are two parts
<source>/000000/        the same as PNG
<source>/000000.rows    one row for each frame, as it comes; once the segment is closed, 000000.parquet
<source>/000000.chunks  samples of a signal, as they come; once the segment is closed, 000000.parquet
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from palestra.errors import PalestraError
from palestra.formats import write_bytes
from palestra.studio.capture.source import About
from palestra.text import say

HEAD, EVENTS, LOCK, XDF = "recording.json", "events.jsonl", "recording.lock", "signals.xdf"
OFFSETS, SEGMENTS = "offsets.jsonl", "segments.jsonl"
FORMAT = 1
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
Kind = TypeVar("Kind")


class Captured(msgspec.Struct):
    """One source of a recording."""

    name: str  # of its folder too
    spec: str  # what was asked for
    about: About
    sizes: list[str] = []  # of its pictures, each once: gray8 640×400
    frames: int | None = None  # or samples; null until the recording ended
    dropped: int | None = None
    ended: str = ""  # why, where it was not the recording that ended


class Head(msgspec.Struct):
    """What a recording is."""

    started_at: str  # UTC
    started_ns: int  # the same moment on the clock of all times here
    sources: list[Captured]
    palestra: str  # version
    clock: str = "monotonic clock of the recording machine, ns"
    pictures: str = "video"  # or png
    format: int = FORMAT
    ended_at: str | None = None  # null while it goes on, and where it was cut off
    ended_ns: int | None = None


class Segment(msgspec.Struct, frozen=True):
    """A closed segment."""

    number: int
    first: int  # number of its first frame or sample
    count: int
    dropped: int  # frames or samples just before or within it
    first_ns: int  # arrival of its first
    last_ns: int
    form: str  # of its pictures or numbers
    files: dict[str, str]  # name → SHA-256; of a folder of PNG files, of all of them in order
    repaired: bool = False  # closed when the recording was next opened


class Event(msgspec.Struct, frozen=True):
    """What happened."""

    at_ns: int
    source: str
    text: str
    zh: str = ""


class OffsetLine(msgspec.Struct, frozen=True):
    """One measured offset: our time = the source's time + offset, give or take the spread."""

    at_ns: int
    offset_ns: int
    spread_ns: int


class Journal:
    """A file of JSON lines. What a full disk did not take is kept, and written when there is room."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._owed = b""

    def append(self, record: msgspec.Struct) -> bool:
        """Write a record; whether it, and all before it, is there."""
        self._owed += msgspec.json.encode(record) + b"\n"
        return self.flush()

    def flush(self) -> bool:
        """Write what is owed, as far as the disk takes it; whether nothing is owed any more."""
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, self._owed)
        except OSError as error:
            if error.errno not in FULL:
                raise
            return False
        if written < len(self._owed):
            os.ftruncate(self._descriptor, size)
            return False
        self._owed = b""
        return True

    def sync(self) -> None:
        """Bring what is written to the disk."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        self.flush()
        os.close(self._descriptor)


def read_lines(file: Path, kind: type[Kind]) -> list[Kind]:
    """The records of a journal. A line that a kill cut short is none."""
    if not file.is_file():
        return []
    data = file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    try:
        return [msgspec.json.decode(line, type=kind) for line in whole.splitlines() if line]
    except msgspec.DecodeError as error:
        raise _damaged(file, error) from None


def read_head(folder: Path) -> Head:
    file = folder / HEAD
    if not file.is_file():
        raise PalestraError(
            say(
                "{folder} is no recording: it has no {file}. Name the folder that `palestra studio capture` wrote.",
                folder=folder,
                file=HEAD,
            )
        )
    try:
        return msgspec.json.decode(file.read_bytes(), type=Head)
    except msgspec.DecodeError as error:
        raise _damaged(file, error) from None


def write_head(folder: Path, head: Head) -> None:
    write_bytes(folder / HEAD, msgspec.json.format(msgspec.json.encode(head), indent=1) + b"\n")


def _damaged(file: Path, error: Exception) -> PalestraError:
    return PalestraError(
        say(
            "{file}: damaged ({error}). Take the file from a copy; segments beside it can still be read.",
            file=file,
            error=error,
        )
    )


def sync_folder(folder: Path) -> None:
    """Bring the names of new files to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Whether this process is the only one that writes here."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # a recording that may only be read is nobody's to repair
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        yield alone
    finally:
        os.close(descriptor)
