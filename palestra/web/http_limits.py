"""What one connection may cost before a request of it is whole, and how many connections there may be.

uvicorn has no limit to the size of a request's head, to how slowly it may come, or to how many connections one address
opens. Its protocol is what reads the bytes, so the limits stand there: what is too much is never kept.
"""

import asyncio
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from uvicorn.config import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from palestra.contest.accounts import AtOnce
from palestra.text import LANGUAGES, say
from palestra.web.site import PER_ADDRESS

MOST_FILES, SPARE_FILES = 65_536, 256  # open at once; those that are left for the database, uploads and downloads
LINGER_S = 2.0  # that somebody who still sends gets to read our last words
WORDS = {
    400: say("This request cannot be read."),
    408: say("This request came too slowly. Send it again."),
    414: say("The address of this request is too long."),
    429: say("Too many connections from this address. Close some, and try again."),
    431: say("The headers of this request are too large. Delete this site's cookies, and try again."),
    503: say("The server has as many connections as it can hold. Try again soon."),
}


@dataclass(frozen=True)
class HttpLimits:
    """What is taken from a client."""

    head_bytes: int = 32 << 10  # of a request's line and headers together
    headers: int = 100
    head_s: float = 15.0  # from the first byte of a request until its headers are whole
    body_s: float = 20.0  # that a body may be late, by how many bytes a second it should have
    body_bytes_per_s: int = 4 << 10
    stalled_s: float = 60.0  # without taking any of the answer
    pipelined: int = 16  # requests that wait for the answer to the one before
    per_address: int = PER_ADDRESS
    in_all: int = 10_000
    look_s: float = 1.0  # between two looks at who is late
    clock: Callable[[], float] = time.monotonic


class TooMuch(Exception):
    """Raised while bytes are read: the rest of them is not."""


class Connections:
    """All connections of one server process. uvicorn takes it for the class of its protocol."""

    def __init__(self, limits: HttpLimits, proxies: str = "") -> None:
        self.limits, self._proxies = limits, proxies
        self._open: set[Connection] = set()
        self._of_address = AtOnce(limits.per_address)

    def __call__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> "Connection":
        return Connection(self, config, server_state, app_state, _loop)

    def enter(self, connection: "Connection") -> int:
        """0, or the status to refuse a connection with. A proxy has as many as it likes: who stands behind it is
        counted by their requests."""
        if len(self._open) >= self.limits.in_all:
            return 503
        if not connection.proxied and not self._of_address.enter(connection.address):
            return 429
        if not self._open:
            self._look_again(connection.loop)
        self._open.add(connection)
        return 0

    def leave(self, connection: "Connection") -> None:
        if connection in self._open:
            self._open.discard(connection)
            if not connection.proxied:
                self._of_address.leave(connection.address)

    def is_proxy(self, address: str) -> bool:
        return bool(self._proxies) and address in self._trusted.trusted_hosts

    @cached_property
    def _trusted(self) -> ProxyHeadersMiddleware:
        """The same judge as that of whose word is taken on who asks."""
        return ProxyHeadersMiddleware(_nothing, self._proxies)

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_later(self.limits.look_s, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = self.limits.clock()
        for connection in list(self._open):
            connection.look(now)
        if self._open:
            self._look_again(loop)


class Connection(HttpToolsProtocol):
    """One connection: uvicorn's, with an eye on what comes and how fast."""

    def __init__(self, all_of_them: Connections, *given: Any) -> None:
        super().__init__(*given)
        self.all, self.limits = all_of_them, all_of_them.limits
        self.address, self.proxied = "", False
        self._status = 0  # what it was refused with; nothing is read of it any more
        self._begun = False  # whether any of a request is there
        self._whole = True  # whether all of the last request is there
        self._until = inf  # when it is late
        self._stalled_until = inf
        self._head_bytes = self._headers = 0
        self._unread = 0  # bytes since anything of a request was whole: they wait in the parser

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.proxied = self.all.is_proxy(self.address)
        self._until = self.limits.clock() + self.limits.head_s
        if status := self.all.enter(self):
            self._refuse(status)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self.all.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._status:
            return  # to close over what was not read would take our last words back
        self._unread += len(data)
        super().data_received(data)
        if not self._status and self._unread > self.limits.head_bytes:
            self._refuse(431)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = self._headers = 0
        self._begun, self._whole = True, False
        self._until = self.limits.clock() + self.limits.head_s
        self._require(len(self.pipeline) < self.limits.pipelined, 429)

    def on_url(self, url: bytes) -> None:
        self._head_bytes += len(url)
        self._require(self._head_bytes <= self.limits.head_bytes, 414)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._unread = 0
        self._headers += 1
        self._head_bytes += len(name) + len(value) + len(": \r\n")
        fits = self._head_bytes <= self.limits.head_bytes and self._headers <= self.limits.headers
        self._require(fits, 431)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unread = 0
        self._until = self.limits.clock() + self.limits.body_s
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        latest = self.limits.clock() + self.limits.body_s
        self._until = min(self._until + len(body) / self.limits.body_bytes_per_s, latest)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread = 0
        self._whole = True
        super().on_message_complete()
        self._rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._whole:
            self._rest()

    def _rest(self) -> None:
        """A request is whole: it may be answered for hours. Where it was answered, the next one is waited for."""
        self._begun = False
        answered = self.cycle is not None and self.cycle.response_complete
        self._until = self.limits.clock() + self.limits.head_s if answered else inf

    def pause_writing(self) -> None:
        self._stalled_until = self.limits.clock() + self.limits.stalled_s
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_until = inf
        super().resume_writing()

    def look(self, now: float) -> None:
        """Let go of whoever is late."""
        if now >= self._stalled_until or (self._status and now >= self._until):
            self.transport.abort()
        elif now < self._until:
            return
        elif self.flow.read_paused:  # it is us who do not read
            self._until = now + self.limits.body_s
        else:
            self._refuse(408 if self._begun else 0)
            self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing here speaks WebSocket: such a request is answered as any other, and fills nobody's log."""

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._status or 400)

    def _require(self, good: bool, status: int) -> None:
        if not good:
            self._status = status
            raise TooMuch  # the parser stops, and `send_400_response` is called

    def _refuse(self, status: int) -> None:
        """Say why, unless something else is being said, and read nothing more."""
        self._status, self._until = status or 408, self.limits.clock() + LINGER_S
        busy = self.cycle is not None and not self.cycle.response_complete
        if status and not self.pipeline and not (busy and self.cycle.response_started):
            self.transport.write(_answer(status))
        if busy:  # what the routes answer now would come after our last words
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if busy or not status:
            self.transport.close()


def _answer(status: int) -> bytes:
    body = "\n".join(WORDS[status].in_language(language) for language in LANGUAGES).encode()
    lines = [b"content-type: text/plain; charset=utf-8", b"content-length: %d" % len(body), b"connection: close"]
    return STATUS_LINE[status] + b"\r\n".join([*lines, b"", body])


async def _nothing(*given: Any) -> None:
    """No application stands behind the judge of proxies."""


def with_files(limits: HttpLimits) -> HttpLimits:
    """As many connections in all as this process may have files open, but for some: each connection is one. The system
    often allows more than it gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return replace(limits, in_all=max(min(soft, MOST_FILES) - SPARE_FILES, 1))
