"""A server takes in what other processes write as soon as they have written it, on either database."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from palestra.contest.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.storage.database import connect, reading
from palestra.text import Words
from palestra.web import log_tail, postgres_channels
from tests.web.conftest import World

SOON_S = 60  # a limit for what hangs


@pytest.fixture
def other(world: World) -> Iterator[Contest]:
    """Another process's view of the same contest."""
    address = world.contest.engine.url.render_as_string(hide_password=False)
    other = Contest(connect(address), world.contest.files, world.clock)
    yield other
    other.engine.dispose()


@pytest.fixture(autouse=True)
def _woken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is not woken would take it in at last by looking; not here."""
    monkeypatch.setattr(log_tail, "LONGEST_S", 10 * SOON_S)
    monkeypatch.setattr(postgres_channels, "RETRY_S", 0.01)


def announce(contest: Contest, name: str) -> None:
    contest.act("olga", lambda state, now: [e.AnnouncementMade(name, Words("News", "消息"), Words("Good.", "好。"))])


async def taken_in(world: World, name: str, do: Callable[[], None]) -> None:
    """Return once the server has this announcement."""
    loop, seen = asyncio.get_running_loop(), asyncio.Event()

    def heard(events: object) -> None:
        if any(one.id == name for one in world.state.announcements):
            loop.call_soon_threadsafe(seen.set)

    world.contest.listen(heard)
    await asyncio.to_thread(do)
    await asyncio.wait_for(seen.wait(), SOON_S)


def test_what_another_process_writes_is_taken_in_at_once(world: World, other: Contest) -> None:
    async def serve() -> None:
        async with world.app.lifespan():
            await taken_in(world, "n8", lambda: announce(other, "n8"))

    asyncio.run(serve())


def cut(contest: Contest) -> None:
    """End all other connections to the database, as a restart of it does."""
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with reading(contest.engine) as connection:
        connection.execute(text(f"{others} AND pid <> pg_backend_pid()"))


def test_a_server_that_was_cut_off_its_database_listens_again(world: World, other: Contest) -> None:
    if world.contest.engine.dialect.name == "sqlite":
        pytest.skip("SQLite is a file: nobody can be cut off")

    async def serve() -> None:
        async with world.app.lifespan():
            await taken_in(world, "n8", lambda: announce(other, "n8"))
            await asyncio.to_thread(cut, other)
            await taken_in(world, "n9", lambda: announce(other, "n9"))

    asyncio.run(serve())
