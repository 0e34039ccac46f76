"""Reads a contest's database without changing a byte in it or beside it.

What a killed process leaves are changes that are not yet in the database (`contest.db-wal`). SQLite reads these only by
making another file beside it, or by changing one. So such a database is copied, and the copy is read. One that somebody
has open is read as everybody reads it, through the memory that its users share (`contest.db-shm`).
"""

import fcntl
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from palestra.contest.storage.database import connect

SHARED = 0x40000002, 510  # bytes of the file that whoever has it open keeps locked: see SQLite's os.h
LOCK = "hhqqi4x"  # struct flock: type, whence, start, length, process


@contextmanager
def open_to_read(url: str) -> Iterator[Engine]:
    """A database as it is; it may be missing or hold no contest."""
    with _readable(url) as engine:
        try:
            yield engine
        finally:
            engine.dispose()


@contextmanager
def _readable(url: str) -> Iterator[Engine]:
    file = _file_of(url)
    if file is None or not _was_left(file):
        yield connect(url, read_only=True)
        return
    with tempfile.TemporaryDirectory(prefix="palestra-read-") as folder:
        copy = Path(folder, file.name)
        while _was_left(file):  # until nobody came meanwhile
            before = _looks(file)
            for path in _parts(file):
                shutil.copyfile(path, copy.with_name(path.name))
            if _looks(file) == before and _was_left(file):
                yield connect(url, read_only=True, copy=str(copy))
                return
        yield connect(url, read_only=True)


def _file_of(url: str) -> Path | None:
    try:
        address = make_url(url)
    except (ValueError, ArgumentError):
        return None  # told by whoever connects
    return Path(address.database) if address.get_backend_name() == "sqlite" and address.database else None


def _was_left(file: Path) -> bool:
    return all(path.is_file() for path in _parts(file)) and not is_in_use(file)


def _parts(file: Path) -> tuple[Path, Path]:
    return file, file.with_name(f"{file.name}-wal")


def _looks(file: Path) -> list[tuple[int, int]]:
    return [(status.st_size, status.st_mtime_ns) for status in map(os.stat, _parts(file))]


def is_in_use(file: Path) -> bool:
    """Whether another process has the database open. What this one has open itself, it does not see."""
    wanted = struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, *SHARED, 0)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        kind, *_ = struct.unpack(LOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, wanted))
    finally:
        os.close(descriptor)
    return bool(kind != fcntl.F_UNLCK)
