"""Backups while a contest runs, and the way back, from each sort of database into each."""

import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from palestra.contest.archive import backup
from palestra.contest.archive.backup import Beside
from palestra.contest.archive.signature import open_key
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.chain import Verdict
from palestra.contest.queue import jobs
from palestra.contest.storage import tables
from palestra.contest.storage.database import open_database, reading, sqlite_address, writing
from palestra.contest.storage.file_store import Files
from palestra.errors import PalestraError, Refused
from tests import postgres
from tests.contest.conftest import START_MS
from tests.contest.leaving import PASSWORD_HASH, contents, small, told

__all__ = ["small", "told"]  # fixtures


@pytest.fixture
def target(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def empty(tmp_path):
    return sqlite_address(tmp_path / "empty.db"), str(tmp_path / "empty-files")


@pytest.fixture(params=["sqlite", "postgresql"])
def elsewhere(request, tmp_path):
    """Another database, of each sort."""
    if request.param == "sqlite":
        yield sqlite_address(tmp_path / "elsewhere.db")
        return
    if postgres.ADDRESS not in os.environ:
        pytest.skip("needs PostgreSQL: python -m tests.postgres pytest …")
    with postgres.fresh_database() as address:
        yield address


def save(small, target, **more):
    return backup.backup(small.engine, small.files, target, small.clock(), **more)


def test_what_was_saved_from_one_database_is_the_same_in_the_other(small, target, elsewhere, tmp_path):
    with writing(small.engine) as connection:
        for number in range(3):
            jobs.queue(connection, f"score:{number}", "score", "{}", START_MS)
        connection.execute(insert(tables.answered).values(key="k", at=1, status=201, body=b"\0\xff"))
    saved = save(small, target)
    restored = backup.restore(target, elsewhere, str(tmp_path / "files2"))
    engine = open_database(elsewhere)
    assert contents(engine) == contents(small.engine)
    with reading(engine) as connection:
        assert chain.verify(connection) == Verdict(True, saved.verdict.head, [])
    files = Files.open(str(tmp_path / "files2"))
    assert restored.files == saved.files > 30
    for one in small.state().submissions.values():
        assert files.read(one.file) == small.files.read(one.file)
    engine.dispose()


def test_a_restored_database_counts_on(small, target, elsewhere, tmp_path):
    with writing(small.engine) as connection:
        jobs.queue(connection, "a", "score", "{}", START_MS)
    save(small, target)
    backup.restore(target, elsewhere, str(tmp_path / "files2"))
    engine = open_database(elsewhere)
    with writing(engine) as connection:
        assert jobs.queue(connection, "b", "score", "{}", START_MS)
        connection.execute(insert(tables.tries).values(what="login:mallory", at=START_MS))
        chain.append(connection, [e.TeamRenamed("ada", "Restored")], "acc-ada", START_MS)
    with reading(engine) as connection:
        assert chain.verify(connection).ok
    engine.dispose()


def test_a_backup_says_that_it_has_secrets_and_is_for_its_owner_alone(small, target, tmp_path):
    key = open_key(tmp_path / "contest.key")
    saved = save(small, target, beside=Beside(key=tmp_path / "contest.key"))
    assert "secrets" in str(saved)
    assert str(saved.verdict.head) in str(saved)
    assert open_key(target / "contest.key").public == key.public
    file = next(target.glob("*.sqlite"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (target, file, target / "contest.key", target / "files")] == [
        0o700, 0o600, 0o600, 0o700,
    ]  # fmt: skip
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT hash FROM passwords").fetchall() == [(PASSWORD_HASH,)]
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_a_further_backup_copies_only_files_that_are_new(small, target):
    first = save(small, target)
    small.clock.advance(1000)
    second = save(small, target)
    assert (first.copied, second.copied, second.copied_bytes) == (first.files, 0, 0)
    small.submit("s9", "ada", "open", 7)
    small.clock.advance(1000)
    third = save(small, target)
    assert (third.copied, third.files) == (1, first.files + 1)
    assert len(list(target.glob("*.sqlite"))) == 3


def test_the_newest_backup_of_a_folder_is_restored_or_the_one_that_is_named(small, target, empty, tmp_path):
    first = save(small, target)
    (target / "contest-of-last-year.sqlite").write_bytes(b"put there by hand")
    small.clock.advance(60_000)
    small.say(e.TeamRenamed("ada", "Later"))
    second = save(small, target)
    assert backup.restore(target, *empty).head == second.verdict.head
    other = sqlite_address(tmp_path / "other.db")
    assert backup.restore(Path(first.file), other, empty[1]).head == first.verdict.head


def test_writers_go_on_while_a_backup_is_made_and_it_has_one_moment(small, target, monkeypatch):
    copy, said = backup.copy_tables, []

    def slowly(source, into):
        source.execute(select(tables.settings)).all()  # the moment that is copied
        writer = threading.Thread(target=lambda: said.append(small.say(e.TeamRenamed("ada", "Meanwhile"))))
        writer.start()
        writer.join(60)
        copy(source, into)

    monkeypatch.setattr(backup, "copy_tables", slowly)
    before = small.rows()[-1][0]
    saved = save(small, target)
    assert said == [None]
    assert saved.ok
    assert saved.verdict.head.seq == before
    assert small.rows()[-1][0] == before + 1


def test_a_damaged_log_is_saved_and_told_but_not_restored(small, target, empty):
    with writing(small.engine) as connection:
        connection.execute(update(tables.events).where(tables.events.c.seq == 5).values(body="{}"))
    saved = save(small, target)
    assert not saved.ok
    assert "Event 5 does not fit" in str(saved)
    with pytest.raises(PalestraError, match="Event 5 does not fit"):
        backup.restore(target, *empty)


def test_missing_and_damaged_files_are_told(small, target):
    lost, rotten = (small.files.put(data) for data in (b"lost", b"rotten"))
    small.say(e.DataPacked("split", "view", lost, 4), e.DataPacked("split", "truth", rotten, 6))
    (small.folder / "files" / lost[:2] / lost).unlink()
    path = small.folder / "files" / rotten[:2] / rotten
    path.chmod(0o644)
    path.write_bytes(b"rotted")
    saved = save(small, target)
    assert set(saved.lacking) == {lost, rotten}
    assert not saved.ok
    assert "damaged" in str(saved)
    assert not Files.open(str(target / "files")).has(rotten)


def test_a_file_that_was_cut_in_the_backup_is_copied_again(small, target):
    save(small, target)
    file = small.state().submissions["s1"].file
    kept = target / "files" / file[:2] / file
    kept.chmod(0o644)
    kept.write_bytes(b"cut")
    small.clock.advance(1000)
    assert save(small, target).copied == 1
    assert Files.open(str(target / "files")).read(file) == small.files.read(file)


def test_a_contest_is_restored_into_an_empty_place_only(small, target, database_url, tmp_path):
    save(small, target)
    before = contents(small.engine)
    with pytest.raises(Refused, match=r"rows in .*expected an empty database"):
        backup.restore(target, database_url, str(tmp_path / "files2"))
    assert contents(small.engine) == before


def test_a_database_of_something_else_is_left_alone(small, target, tmp_path):
    save(small, target)
    connection = sqlite3.connect(tmp_path / "shop.db")
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    with pytest.raises(Refused, match="customers"):
        backup.restore(target, sqlite_address(tmp_path / "shop.db"), str(tmp_path / "files2"))


def test_a_restore_that_was_broken_off_can_be_begun_again(small, target, elsewhere, tmp_path, monkeypatch):
    save(small, target)

    def fail(connection, head):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backup, "require_verified", fail)
        with pytest.raises(KeyboardInterrupt):
            backup.restore(target, elsewhere, str(tmp_path / "files2"))
    backup.restore(target, elsewhere, str(tmp_path / "files2"))
    engine = open_database(elsewhere)
    assert contents(engine) == contents(small.engine)
    engine.dispose()


def test_key_and_rules_come_back_beside(small, target, empty, tmp_path):
    key = open_key(tmp_path / "contest.key")
    (tmp_path / "contest.toml").write_text("# rules")
    save(small, target, beside=Beside(tmp_path / "contest.key", tmp_path / "contest.toml"))
    place = tmp_path / "new"
    place.mkdir()
    backup.restore(target, *empty, beside=Beside(place / "contest.key", place / "contest.toml"))
    assert open_key(place / "contest.key").public == key.public
    assert (place / "contest.toml").read_text() == "# rules"


def test_another_contests_key_is_not_overwritten(small, target, empty, tmp_path):
    for name in ("contest.key", "other.key"):
        open_key(tmp_path / name)
    save(small, target, beside=Beside(tmp_path / "contest.key"))
    with pytest.raises(Refused, match="another signing key"):
        save(small, target, beside=Beside(tmp_path / "other.key"))
    with pytest.raises(Refused, match="another signing key"):
        backup.restore(target, *empty, beside=Beside(tmp_path / "other.key"))


def test_what_is_under_way_outside_of_the_database_is_left_out(small, target, empty):
    upload = {"account": "a", "team": "t", "phase": "p", "purpose": "answers", "name": "n", "bytes": 9, "made_at": 1}
    with writing(small.engine) as connection:
        for name, became in (("begun", ""), ("done", "s1")):
            values = {**upload, "id": name, "touched_at": 1, "submission": became}
            connection.execute(insert(tables.uploads).values(**values))
        connection.execute(
            insert(tables.workers).values(id="w", kinds="score", executor="pool", started_at=1, seen_at=1)
        )
    save(small, target)
    backup.restore(target, *empty)
    engine = open_database(empty[0])
    found = contents(engine, left_out=())
    assert [row["id"] for row in found["uploads"]] == ["done"]
    assert found["workers"] == []
    engine.dispose()


def test_what_a_killed_backup_left_is_removed_by_the_next(small, target):
    (target / ".making-old").mkdir(parents=True)
    (target / ".making-old" / "contest.sqlite").write_bytes(b"secrets")
    save(small, target)
    assert not list(target.glob(".making*"))


def test_no_backup_is_told_in_words(empty, tmp_path):
    for source in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(Refused, match="no backup"):
            backup.restore(source, *empty)
    (tmp_path / "contest-x-1.sqlite").write_bytes(b"not a database at all, but long enough to look at" * 50)
    with pytest.raises(PalestraError, match="not a backup"):
        backup.restore(tmp_path / "contest-x-1.sqlite", *empty)


def test_a_backup_of_a_newer_version_is_told(small, target, empty):
    file = save(small, target).file
    connection = sqlite3.connect(file)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(PalestraError, match="newer version of Palestra"):
        backup.restore(target, *empty)


def test_a_damaged_backup_is_not_restored(small, target, empty):
    file = save(small, target).file
    with open(file, "r+b") as stream:  # noqa: PTH123
        stream.seek(3 * 4096)
        stream.write(b"\xff" * 8 * 4096)
    with pytest.raises(PalestraError, match="damaged"):
        backup.restore(target, *empty)
