"""Opens a contest's database: SQLite by default, PostgreSQL by its address."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError

from palestra.contest.storage.trouble import damaged, is_damaged
from palestra.errors import PalestraError
from palestra.text import say

BUSY_S = 30.0  # how long one writer waits for another
MIGRATIONS = Path(__file__).parent / "migrations"
WRITER_LOCK = 7_238_141_526  # the number of PostgreSQL's lock that makes writers go one by one


def open_database(url: str) -> Engine:
    """A database whose tables are there and up to date."""
    engine = connect(url)
    with told_if_damaged(engine):
        migrate(engine)
    return engine


def require_undamaged(connection: Connection) -> None:
    """Look through all of a database's pages: what nobody reads may be damaged, too. PostgreSQL sees to its own."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("PRAGMA quick_check(1)")).scalar()
        if found != "ok":
            raise damaged(_shown(connection.engine), str(found).splitlines()[-1])


@contextmanager
def told_if_damaged(engine: Engine) -> Iterator[None]:
    """Damage is told with what to do, also where an event cannot be read any longer."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        if is_damaged(error):
            why = getattr(error, "orig", None) or error
            raise damaged(_shown(engine), str(why).splitlines()[0]) from error
        raise
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(_shown(engine), f"something in it cannot be read: {error}") from error


def _shown(engine: Engine) -> str:
    """Where it is, without a password."""
    return str(engine.url.database) if engine.dialect.name == "sqlite" else engine.url.render_as_string()


def require_begun(engine: Engine) -> None:
    if not is_begun(engine):
        raise PalestraError(say("{where}: no contest's log in it.", where=_shown(engine)))


def is_begun(engine: Engine) -> bool:
    """Whether there is a log in it: a database that is missing, empty or without an event holds no contest."""
    if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).is_file():
        return False  # to look would make the file
    with told_if_damaged(engine), reading(engine) as connection:
        return inspect(connection).has_table("events") and connection.execute(text(FIRST)).first() is not None


FIRST = "SELECT 1 FROM events LIMIT 1"


def connect(url: str, read_only: bool = False, copy: str = "") -> Engine:
    """An engine, with what a contest needs of it: durable commits, and writers that go one by one. To read, a copy of
    its file may be given; what is wrong is told of the file itself."""
    try:
        address = make_url(url)
        if address.get_backend_name() == "postgresql":
            engine = create_engine(address.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=10)
            return engine.execution_options(postgresql_readonly=True) if read_only else engine
        if address.get_backend_name() != "sqlite":
            raise PalestraError(
                say(
                    "{get_backend_name}: a contest lies in SQLite or PostgreSQL.",
                    get_backend_name=address.get_backend_name(),
                )
            )
    except (ValueError, ArgumentError) as error:
        raise PalestraError(say("{url}: not the address of a database ({error}).", url=url, error=error)) from None
    if read_only:
        return _begins(create_engine(address, creator=partial(_connect_to_read, copy or str(address.database))))
    engine = create_engine(address, connect_args={"timeout": BUSY_S, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    return _begins(engine)


def _begins(engine: Engine) -> Engine:
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _connect_to_read(file: str) -> sqlite3.Connection:
    """Where nobody writes (no file beside it waits to be taken in), nothing is made beside it either."""
    how = "mode=ro" if Path(f"{file}-wal").exists() else "mode=ro&immutable=1"
    address = f"file:{quote(file)}?{how}"
    return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_S, check_same_thread=False)


def sqlite_address(file: Path) -> str:
    return f"sqlite:///{file.resolve()}"


def _prepare_sqlite(connection: Any, _: object) -> None:
    """SQLAlchemy's driver begins transactions late by itself; we begin them, so that a writer locks at once."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction of the only writer: what is read in it stays true until it is committed."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": WRITER_LOCK})
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection, connection.begin():
        yield connection


def migrate(engine: Engine) -> None:
    """Bring the tables to the newest version. Where they have it, Alembic is not even loaded: that takes longer than to
    open the database."""
    with reading(engine) as connection:
        if version_of(connection) == newest_version():
            return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def newest_version() -> str:
    """The last of our steps; their files are named after their versions."""
    return max(file.stem.partition("_")[0] for file in MIGRATIONS.glob("versions/[0-9]*.py"))


def version_of(connection: Connection) -> str:
    """The step that a database's tables are at; empty for one without tables."""
    if not connection.dialect.has_table(connection, "alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")
