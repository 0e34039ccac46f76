"""The database of a contest: its tables, its durability, and writers that go one by one."""

import subprocess
import sys
import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, insert, select, text

from palestra.contest.storage.database import (
    MIGRATIONS,
    connect,
    migrate,
    newest_version,
    open_database,
    reading,
    version_of,
    writing,
)
from palestra.contest.storage.tables import metadata, settings
from palestra.errors import PalestraError


def test_migrations_lead_to_the_tables_that_the_code_names(engine: Engine):
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_opening_again_changes_nothing(empty_database):
    first = open_database(empty_database)
    with writing(first) as connection:
        connection.execute(insert(settings).values(name="kept", value="yes"))
    first.dispose()
    second = open_database(empty_database)
    with reading(second) as connection:
        assert connection.execute(select(settings.c.value)).scalar_one() == "yes"
    second.dispose()


def test_processes_that_open_a_new_database_together_all_succeed(empty_database):
    line = "import sys; from palestra.contest.storage.database import open_database; open_database(sys.argv[1])"
    running = [
        subprocess.Popen([sys.executable, "-c", line, empty_database], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in running]
    assert [code for _, code in ended] == [0, 0], ended[0][0] + ended[1][0]


def test_writers_go_one_by_one_so_that_no_count_is_lost(engine: Engine):
    """Read, add one, write: with two writers at a time, some would overwrite the others' number."""
    with writing(engine) as connection:
        connection.execute(insert(settings).values(name="count", value="0"))

    def count() -> None:
        for _ in range(10):
            with writing(engine) as connection:
                seen = int(connection.execute(select(settings.c.value)).scalar_one())
                connection.execute(settings.update().values(value=str(seen + 1)))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(engine) as connection:
        assert connection.execute(select(settings.c.value)).scalar_one() == "40"


def test_what_fails_half_way_leaves_nothing(engine: Engine):
    with pytest.raises(ZeroDivisionError), writing(engine) as connection:
        connection.execute(insert(settings).values(name="half", value=""))
        _ = 1 / 0
    with reading(engine) as connection:
        assert connection.execute(select(settings)).all() == []


def test_a_commit_is_on_the_disk_before_it_is_confirmed(engine: Engine):
    asked = "PRAGMA synchronous" if engine.dialect.name == "sqlite" else "SHOW synchronous_commit"
    with reading(engine) as connection:
        assert connection.execute(text(asked)).scalar_one() in (2, "on")


@pytest.mark.parametrize("url", ["mysql://somewhere/contest", "contest.db", ""])
def test_what_is_no_database_is_refused_in_words(url):
    with pytest.raises(PalestraError, match=r"SQLite or PostgreSQL|not the address of a database"):
        connect(url)


def test_migrating_twice_is_harmless(engine: Engine):
    migrate(engine)
    migrate(engine)


def test_a_database_that_is_up_to_date_opens_without_alembic_which_takes_longer_to_load(engine: Engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "alembic", None)  # to import it is an error now
    migrate(engine)


def test_the_newest_version_is_the_one_that_alembic_would_come_to(engine: Engine):
    assert newest_version() == ScriptDirectory(str(MIGRATIONS)).get_current_head()
    with reading(engine) as connection:
        assert version_of(connection) == newest_version()


def test_a_database_that_was_left_at_another_version_is_brought_to_the_newest(engine: Engine):
    with writing(engine) as connection:
        connection.execute(text("DELETE FROM alembic_version"))
        for table in metadata.sorted_tables:
            connection.execute(text(f"DROP TABLE {table.name}"))
    migrate(engine)
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
