"""Takes in what other processes write: woken by PostgreSQL where it can be, else by looking."""

import asyncio
import contextlib
import logging

from litestar.channels import ChannelsPlugin
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from palestra.contest import LIVE_CHANNEL, LOG_CHANNEL
from palestra.web.site import Site

LOOK_S = 0.01  # between two looks at SQLite, which wakes nobody
LONGEST_S = 5.0  # without taking in what there is: a notice may be lost with its connection

log = logging.getLogger("palestra.web")


def channels_of(engine: Engine) -> ChannelsPlugin | None:
    """How server processes hear of each other; nothing on SQLite."""
    if engine.dialect.name != "postgresql":
        return None
    from palestra.web.postgres_channels import ReturningChannels  # its driver takes longer to load than all of SQLite

    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return ChannelsPlugin(ReturningChannels(address), channels=[LOG_CHANNEL, LIVE_CHANNEL])


class _Watched:
    """A SQLite database, asked whether anybody has written to it: a few microseconds, so that it can be asked often."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.raw_connection()
        self._seen = -1

    def changed(self) -> bool:
        row = self._connection.cursor().execute("PRAGMA data_version").fetchone()
        before, self._seen = self._seen, row[0]
        return bool(before != row[0])

    def close(self) -> None:
        self._connection.close()


async def follow(site: Site, channels: ChannelsPlugin | None) -> None:
    """Until cancelled: take in events and notes of live runs as they are written."""
    woken = asyncio.Event()
    work = _listen(channels, woken) if channels else _look(site.contest.engine, woken)
    listening = asyncio.create_task(work)
    try:
        while True:
            try:
                await asyncio.to_thread(site.contest.catch_up)
                site.tell(await asyncio.to_thread(site.runs.catch_up))
            except DBAPIError as error:  # it may be restarting; what is missed now is taken in later
                log.warning("the database does not answer: %s", error)
            await _wait(woken, LONGEST_S)
            woken.clear()
    finally:
        listening.cancel()


async def _look(engine: Engine, woken: asyncio.Event) -> None:
    watched = _Watched(engine)
    try:
        while True:
            if watched.changed():
                woken.set()
            await asyncio.sleep(LOOK_S)
    finally:
        watched.close()


async def _wait(woken: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()


async def _listen(channels: ChannelsPlugin, woken: asyncio.Event) -> None:
    async with channels.start_subscription([LOG_CHANNEL, LIVE_CHANNEL]) as subscriber:
        async for _ in subscriber.iter_events():
            woken.set()
