"""PostgreSQL's notifications, listened to again after its connection was lost."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from litestar.channels.backends.psycopg import PsycoPgChannelsBackend
from psycopg import Error as PostgresError

from palestra.contest import LOG_CHANNEL

RETRY_S = 1.0  # between two tries to listen again

log = logging.getLogger("palestra.web")


class ReturningChannels(PsycoPgChannelsBackend):
    """Listens again when its connection was lost, which Litestar's own does not."""

    async def stream_events(self) -> AsyncGenerator[tuple[str, bytes], None]:
        while True:
            try:
                async for said in super().stream_events():
                    yield said
            except PostgresError as error:
                log.warning("the database is not heard any more: %s", error)
            await self._listen_again()
            yield LOG_CHANNEL, b""  # what was said meanwhile is looked up

    async def _listen_again(self) -> None:
        wanted, self._subscribed_channels = self._subscribed_channels, set()
        while True:
            try:
                await self.on_startup()
                return await self.subscribe(wanted)
            except PostgresError as error:
                log.warning("the database does not answer: %s", error)
                await asyncio.sleep(RETRY_S)
