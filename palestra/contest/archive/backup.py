"""Backups of a contest while it runs, and the way back: into SQLite or PostgreSQL, whichever it came from.

A backup is a SQLite file with the tables of one moment, secrets among them, and the files that its log names. Many
backups in one folder share their files, so that each further one copies only what is new.

    backups/contest-20221109T132000Z-1042.sqlite    mode 0600: password hashes, tokens and sessions are in it
    backups/contest.key                             mode 0600: what exports are signed with
    backups/contest.toml                            the rules' file, as it was at the last backup
    backups/files/                                  mode 0700: a file store
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine, Integer, Select, func, inspect, select, text
from sqlalchemy.exc import DatabaseError

from palestra.contest.archive.folder_lock import turn
from palestra.contest.archive.referenced_files import all_named, checked
from palestra.contest.archive.signature import MOST_BYTES as KEY_BYTES
from palestra.contest.archive.signature import NAME as KEY_NAME
from palestra.contest.archive.signature import write_private
from palestra.contest.log import Head, Verdict, chain, events
from palestra.contest.storage import (
    DamagedFile,
    Files,
    MissingFile,
    connect,
    migrate,
    open_database,
    reading,
    sqlite_address,
    sync,
    tables,
    writing,
)
from palestra.errors import PalestraError, refuse
from palestra.formats import read_bytes, write_bytes
from palestra.text import human_bytes, say

# Made anew from the log, or by workers when they come; what is being uploaded lies outside of the database.
LEFT_OUT = (tables.snapshots, tables.workers)
ROWS = 5_000  # at a time
NAME = re.compile(r"contest-\d{8}T\d{6}Z-\d+\.sqlite")
RULES_NAME = "contest.toml"
MOST_RULES_BYTES = 1_000_000

Advance = Callable[[int], None]  # told how many files more were done


class Beside(msgspec.Struct, frozen=True):
    """Files of a contest outside of its database and store."""

    key: Path | None = None
    rules: Path | None = None  # contest.toml


ALONE = Beside()


class Saved(msgspec.Struct, frozen=True):
    """A backup that was made."""

    file: str
    verdict: Verdict  # of a look at the log in the backup
    files: int  # that the log names and the backup has
    copied: int  # of them, this time
    copied_bytes: int
    lacking: dict[str, str]  # files that the store had not, or not whole, and why

    @property
    def ok(self) -> bool:
        return self.verdict.ok and not self.lacking

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {self.verdict.head.seq:,} events, {self.files:,} files ({self.copied:,} new, "
            f"{human_bytes(self.copied_bytes)}).",
            "It holds secrets (password hashes, tokens, the signing key): keep it where only you can read it.",
            f"Head of the log: {self.verdict.head}",
            *self.verdict.faults,
            *self.lacking.values(),
        ]
        return "\n".join(lines)


class Restored(msgspec.Struct, frozen=True):
    """A contest that is there again."""

    head: Head
    files: int
    lacking: dict[str, str]


# Making one


def backup(
    engine: Engine, files: Files, target: Path, now: int, beside: Beside = ALONE, advance: Advance | None = None
) -> Saved:
    """Copy a contest to a folder. Servers and workers go on meanwhile: what they write after now is in the next one.

    First the tables, then the files: what a log names was in the store before.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    with turn(target, ".making-*"), tempfile.TemporaryDirectory(prefix=".making-", dir=target) as folder:
        fresh = Path(folder) / "contest.sqlite"
        verdict, named = _copy_database(engine, fresh)
        file = target / f"contest-{_stamp(now)}-{verdict.head.seq}.sqlite"
        (target / "files").mkdir(mode=0o700, exist_ok=True)
        copied, lacking = copy_files(files, Files.open(str(target / "files")), named, advance)
        if beside.key and beside.key.exists():
            _copy_key(beside.key, target / KEY_NAME)
        if beside.rules:
            write_bytes(target / RULES_NAME, read_bytes(beside.rules, MOST_RULES_BYTES))
        sync(fresh)
        fresh.replace(file)
    sync(target)
    return Saved(str(file), verdict, len(named) - len(lacking), len(copied), sum(copied.values()), lacking)


def _stamp(now: int) -> str:
    """A time such that names sort by it."""
    return datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def _copy_database(engine: Engine, file: Path) -> tuple[Verdict, list[str]]:
    """All tables as they were at one moment, in a SQLite file of its own; then what its log says, read from there."""
    write_private(file, b"")
    copy = open_database(sqlite_address(file))
    try:
        with _moment(engine) as source, writing(copy) as target:
            copy_tables(source, target)
        with reading(copy) as connection:
            found = chain.verify(connection), all_named(_bodies(connection))
    finally:
        copy.dispose()
    _make_portable(file)
    return found


def _make_portable(file: Path) -> None:
    """One file, that can be read where nothing can be written."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


@contextmanager
def _moment(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees the database as it was when it began. SQLite's are so; PostgreSQL is asked for it."""
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**level) as connection, connection.begin():
        yield connection


def copy_tables(source: Connection, target: Connection) -> None:
    for table in tables.metadata.sorted_tables:
        if table in LEFT_OUT:
            continue
        query: Select[tuple[object, ...]] = select(table).order_by(*table.primary_key)
        if table is tables.uploads:
            query = query.where(table.c.submission != "")
        for part in source.execute(query, execution_options={"yield_per": ROWS}).mappings().partitions():
            target.execute(table.insert(), [dict(row) for row in part])


def _bodies(connection: Connection) -> Iterator[events.Body]:
    """What can be read of a log; what cannot is in its verdict."""
    for _, _, _, body, _ in chain.rows(connection):
        with contextlib.suppress(msgspec.MsgspecError):
            yield events.decode(body)


def copy_files(
    source: Files, target: Files, digests: Iterable[str], advance: Advance | None = None
) -> tuple[dict[str, int], dict[str, str]]:
    """Copy what is not there yet: the bytes of what was copied, and why some were not."""
    copied, lacking = dict[str, int](), dict[str, str]()
    for digest in digests:
        try:
            size = source.size(digest)
            if not (target.has(digest) and target.size(digest) == size):
                target.put_stream(checked(source, digest))
                copied[digest] = size
        except (MissingFile, DamagedFile) as error:
            lacking[digest] = str(error)
        if advance:
            advance(1)
    return copied, lacking


def _copy_key(source: Path, target: Path) -> None:
    """One that is there already is another contest's, or the same."""
    data = read_bytes(source, KEY_BYTES)
    if target.exists():
        if read_bytes(target, KEY_BYTES) != data:
            refuse(
                str(target),
                say("another signing key"),
                say("the one in {source}: give this contest a folder of its own", source=source),
            )
        return
    write_private(target, data)


# The way back


def restore(
    source: Path, database_url: str, files_url: str, beside: Beside = ALONE, advance: Advance | None = None
) -> Restored:
    """Put a contest back into an empty place, from a backup or from the newest one of a folder of them.

    Files come first, all tables in one transaction after: a restore that was broken off leaves an empty database and
    can be begun again.
    """
    file = _newest(source)
    with _opened(file) as kept:
        with reading(kept) as connection:
            verdict, named = chain.verify(connection), all_named(_bodies(connection))
        if not verdict.ok:
            raise PalestraError(
                say(
                    "{file}: its log does not verify, so it was not restored. {faults}",
                    file=file,
                    faults=verdict.faults[0],
                )
            )
        engine = open_empty(database_url)
        try:
            _put_beside(file.parent, beside)
            copied = copy_files(Files.open(str(file.parent / "files")), Files.open(files_url), named, advance)
            with reading(kept) as rows, writing(engine) as target:
                copy_tables(rows, target)
                count_on(target)
                require_verified(target, verdict.head)
        finally:
            engine.dispose()
    return Restored(verdict.head, len(named) - len(copied[1]), copied[1])


def _put_beside(source: Path, beside: Beside) -> None:
    """A rules' file that is there already stays: somebody may have begun with it."""
    if beside.key and (source / KEY_NAME).exists():
        _copy_key(source / KEY_NAME, beside.key)
    if beside.rules and (source / RULES_NAME).exists() and not beside.rules.exists():
        write_bytes(beside.rules, read_bytes(source / RULES_NAME, MOST_RULES_BYTES))


def _newest(source: Path) -> Path:
    if source.is_file():
        return source
    found = [file for file in source.iterdir() if NAME.fullmatch(file.name)] if source.is_dir() else []
    if not found:
        refuse(str(source), say("no backup"), say("a folder that `palestra contest backup` wrote to, or a file in it"))
    return max(found, key=_made)


def _made(file: Path) -> tuple[str, int]:
    """When a backup was made, and how far its log goes, by its name."""
    _, stamp, seq = file.stem.split("-")
    return stamp, int(seq)


@contextmanager
def _opened(file: Path) -> Iterator[Engine]:
    """A copy of a backup, brought up to date: an older version of Palestra may have made it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = connect(sqlite_address(Path(shutil.copyfile(file, Path(folder) / "contest.sqlite"))))
        try:
            _bring_up_to_date(copy, file)
            yield copy
        finally:
            copy.dispose()


def _bring_up_to_date(copy: Engine, file: Path) -> None:
    from alembic.util import CommandError

    try:
        with reading(copy) as connection:
            found = connection.execute(text("PRAGMA integrity_check(1)")).scalar()
        if found != "ok":
            raise PalestraError(say("{file}: a damaged backup ({found}). Take an earlier one.", file=file, found=found))
        migrate(copy)
    except DatabaseError as error:
        raise PalestraError(
            say("{file}: not a backup, or a damaged one ({orig}).", file=file, orig=error.orig)
        ) from None
    except CommandError as error:
        raise PalestraError(
            say("{file}: made by a newer version of Palestra ({error}). Update this one.", file=file, error=error)
        ) from None


def open_empty(database_url: str) -> Engine:
    """A database with a contest's tables and nothing in them; refuses one that holds anything."""
    engine = connect(database_url)
    try:
        _require_empty(engine)
        migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _require_empty(engine: Engine) -> None:
    where, ours = engine.url.render_as_string(), set(tables.metadata.tables)
    expected = say("an empty database: nothing is restored over what is there. Name another one")
    there = inspect(engine).get_table_names()
    if others := [name for name in there if name not in ours | {"alembic_version"}]:
        refuse(where, say("tables of something else ({others})", others=others[0]), expected)
    with reading(engine) as connection:
        for name in there:
            if name in ours:
                count = connection.execute(select(func.count()).select_from(tables.metadata.tables[name])).scalar()
                if count:
                    refuse(where, say("a contest ({count:,} rows in {name})", count=count, name=name), expected)


def count_on(connection: Connection) -> None:
    """PostgreSQL counts by itself, and must go on after what was put in; SQLite looks at what is there."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables.metadata.sorted_tables:
        for column in table.primary_key:
            if isinstance(column.type, Integer) and column.autoincrement is not False:
                name = f"pg_get_serial_sequence('{table.name}', '{column.name}')"
                last = connection.execute(select(func.max(column))).scalar()
                if last is not None:
                    connection.execute(text(f"SELECT setval({name}, :last)"), {"last": last})


def require_verified(connection: Connection, head: Head) -> None:
    """Look at what was written, before it is committed."""
    verdict = chain.verify(connection, [head])
    if not verdict.ok:
        raise PalestraError(
            say("What was written does not verify, and was taken back. {faults}", faults=verdict.faults[0])
        )
