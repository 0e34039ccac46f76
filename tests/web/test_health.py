"""Is the server well? It is asked for a write, and says in words why it is not."""

import errno
import os
from typing import Any

import pytest
from litestar.testing import TestClient
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from palestra.contest.log.clock import Watched
from palestra.contest.storage import reading
from palestra.web.site import writes
from palestra.web.site.writes import Writes
from tests.web.conftest import World


def told(world: World, client: TestClient[Any]) -> tuple[int, str]:
    """Asked anew, as after some seconds."""
    world.site.writes = Writes()
    answer = client.get("/health")
    return answer.status_code, answer.json().get("error", "")


def test_a_server_that_is_well_has_written(world: World, client: TestClient[Any]) -> None:
    assert told(world, client) == (200, "")
    with reading(world.site.contest.engine) as connection:
        assert connection.execute(text(f"SELECT value FROM settings WHERE name = '{writes.TRIED}'")).scalar_one()
    assert not list(world.site.setup.spool.glob(".health-*")), "nothing is left of a try"


def test_who_asks_often_does_not_have_it_tried_as_often(world: World, client: TestClient[Any], monkeypatch) -> None:
    tries: list[object] = []
    monkeypatch.setattr(writes, "try_file", tries.append)
    for _ in range(20):
        assert client.get("/health").status_code == 200
    assert len(tries) == len(world.site.folders)


def test_a_database_that_cannot_be_written_is_said_in_words(world: World, client: TestClient[Any]) -> None:
    engine = world.site.contest.engine
    if engine.dialect.name != "sqlite":
        pytest.skip("SQLite's way to refuse a write")

    def close_to_writers(connection, _):
        connection.execute("PRAGMA query_only = ON")

    engine.dispose()
    event.listen(engine, "connect", close_to_writers)
    try:
        assert told(world, client) == (503, "The contest's database cannot be written: it is read-only.")
    finally:
        event.remove(engine, "connect", close_to_writers)
        engine.dispose()
    assert told(world, client)[0] == 200, "and it is well again by itself"


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "The server's disk is full"), (errno.EIO, "cannot be written (Input/output error)")],
)
def test_a_disk_that_takes_no_file_is_said_in_words(world: World, client: TestClient[Any], monkeypatch, number, said):
    def refuse(descriptor, data):
        raise OSError(number, os.strerror(number), "/secret/place")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        world.site.writes = Writes()
        why = str(world.site.writes.why_not(world.site.contest, world.site.folders))
    assert said in why and "/secret" not in why


def test_a_clock_that_was_set_ahead_is_said_in_words(world: World, client: TestClient[Any]) -> None:
    contest = world.site.contest
    right, contest.now = contest.now, Watched(contest.now, steady=lambda: 0, base=0)
    try:
        status, said = told(world, client)
    finally:
        contest.now = right
    assert status == 503 and "clock was set ahead" in said


def test_a_page_whose_write_found_no_room_says_so_and_not_that_something_broke(world: World, client: TestClient[Any]):
    from palestra.web.responses.errors import problem_of

    full = OperationalError("INSERT", {}, Exception("x"))
    full.orig = type("Full", (Exception,), {"sqlite_errorcode": 13})("database or disk is full")
    assert problem_of(full).status == 503 and "disk is full" in problem_of(full).error
    problem = problem_of(OSError(errno.ENOSPC, "No space left on device"))
    assert problem.status == 507 and "disk is full" in problem.error
    assert "磁盘已满" in problem_of(full, "zh").error
