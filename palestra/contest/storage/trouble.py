"""What keeps a contest from its database or its files, in words: a full disk, damage, a database that is away.

SQLAlchemy is imported where its errors are told apart: processes that only score know no database, and start sooner.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from palestra.errors import PalestraError
from palestra.text import Words, human_bytes, say

ROOM_BYTES = 64 << 20  # that must be free before something is begun that writes files
FULL = (errno.ENOSPC, errno.EDQUOT)
# SQLite's codes (the last byte of extended ones) and PostgreSQL's.
SQLITE_FULL, SQLITE_DAMAGED, SQLITE_READ_ONLY, SQLITE_BUSY = (13,), (11, 26), (8,), (5, 6)
SQLITE_AWAY = (*SQLITE_BUSY, *SQLITE_READ_ONLY, 10, 14)  # and its file cannot be read, or opened
PG_FULL, PG_DAMAGED, PG_READ_ONLY = ("53100",), ("XX001", "XX002"), ("25006",)


class DamagedDatabase(PalestraError):
    """A database that no longer holds what was written into it."""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it came of."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__


def _says(error: BaseException, sqlite: tuple[int, ...], postgres: tuple[str, ...]) -> bool:
    return any(
        getattr(one, "sqlite_errorcode", 0) & 0xFF in sqlite or getattr(one, "sqlstate", "") in postgres
        for one in _causes(error)
    )


def is_full(error: BaseException) -> bool:
    """Whether it was the disk, or a quota, that had no room left."""
    return any(isinstance(one, OSError) and one.errno in FULL for one in _causes(error)) or _says(
        error, SQLITE_FULL, PG_FULL
    )


def is_damaged(error: BaseException) -> bool:
    return _says(error, SQLITE_DAMAGED, PG_DAMAGED)


def is_away(error: BaseException) -> bool:
    """Whether a database cannot be reached, or not be written: no statement of ours is to blame."""
    from sqlalchemy.exc import OperationalError

    away = isinstance(error, OperationalError) and type(error.orig).__module__.startswith("psycopg")
    return away or _says(error, SQLITE_AWAY, PG_READ_ONLY)


def why_not(error: BaseException) -> Words:
    """Why the database or the disk did not do what was asked, for everybody to read; nothing of it names a place."""
    from sqlalchemy.exc import DBAPIError

    if isinstance(error, PalestraError):
        return Words(error.in_language("en"), error.in_language("zh"))
    if is_full(error):
        return say("The server's disk is full, so nothing can be kept now. It goes on as soon as there is room.")
    if is_damaged(error):
        return say("The contest's database is damaged. Organisers: stop the server and restore a backup.")
    if _says(error, SQLITE_READ_ONLY, PG_READ_ONLY):
        return say("The contest's database cannot be written: it is read-only.")
    if _says(error, SQLITE_BUSY, ()):
        return say("The database is busy. Try again soon.")
    if isinstance(error, DBAPIError):
        return say("The database does not answer. Try again soon.")
    if isinstance(error, OSError):
        return say("The server's disk cannot be written ({why}).", why=error.strerror or type(error).__name__)
    return say("Something failed on our side.")


def damaged(where: str, why: object) -> DamagedDatabase:
    """Told to who opens it: what is wrong, and what to do."""
    return DamagedDatabase(
        say(
            "{where}: the contest's database is damaged ({why}). Nothing was changed. Move it aside with all that lies "
            "beside it, and restore a backup: palestra contest restore",
            where=where,
            why=why,
        )
    )


def lacking_room(*folders: Path) -> Words:
    """Where there is too little room to begin something, and how little; nothing where there is enough."""
    for folder in (*folders, Path(tempfile.gettempdir())):
        try:
            free = shutil.disk_usage(folder).free
        except OSError:  # not there, or a place that is no folder: then whoever writes there says so
            continue
        if free < ROOM_BYTES:
            return say(
                "only {free} are free on the disk of {folder}; at least {room} are needed",
                free=human_bytes(free),
                folder=folder,
                room=human_bytes(ROOM_BYTES),
            )
    return Words()


def try_file(folder: Path) -> None:
    """Write a small file and remove it, as whoever keeps something there will have to."""
    descriptor, name = tempfile.mkstemp(prefix=".health-", dir=folder)
    try:
        os.write(descriptor, b"\0" * 4096)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
        Path(name).unlink()
