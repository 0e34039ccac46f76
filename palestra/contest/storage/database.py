"""Opens a contest's database: SQLite by default, PostgreSQL by its address."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from palestra.errors import PalestraError
from palestra.text import say

BUSY_S = 30.0  # how long one writer waits for another
MIGRATIONS = Path(__file__).parent / "migrations"
WRITER_LOCK = 7_238_141_526  # the number of PostgreSQL's lock that makes writers go one by one


def open_database(url: str) -> Engine:
    """A database whose tables are there and up to date."""
    engine = connect(url)
    migrate(engine)
    return engine


def connect(url: str) -> Engine:
    """An engine, with what a contest needs of it: durable commits, and writers that go one by one."""
    try:
        address = make_url(url)
        if address.get_backend_name() == "postgresql":
            return create_engine(address.set(drivername="postgresql+psycopg"), pool_pre_ping=True, pool_size=10)
        if address.get_backend_name() != "sqlite":
            raise PalestraError(
                say(
                    "{get_backend_name}: a contest lies in SQLite or PostgreSQL.",
                    get_backend_name=address.get_backend_name(),
                )
            )
    except (ValueError, ArgumentError) as error:
        raise PalestraError(say("{url}: not the address of a database ({error}).", url=url, error=error)) from None
    engine = create_engine(address, connect_args={"timeout": BUSY_S, "check_same_thread": False})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


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
