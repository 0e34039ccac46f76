"""A contest's server on a port, with a clock of the test's, and plain sockets that speak to it."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from palestra.contest.setup.location import Place
from palestra.web.http_limits import Connections, HttpLimits
from palestra.web.server import Serve, options_of

PATIENCE_S = 30.0  # of a test; nothing waits that long unless it fails
LOOK_S = 0.01
ROUNDS = 20  # of the event loop: more than it takes to accept a connection and read what came on it


class Seconds:
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.up.set()


class Listening:
    """A server that runs in a thread."""

    def __init__(self, app: Any, limits: HttpLimits, proxies: str = "") -> None:
        self.clock = Seconds()
        options = options_of(Serve(Place(Path("contest.toml")), port=0, proxies=proxies), limits)
        options["http"] = Connections(replace(limits, clock=self.clock, look_s=LOOK_S), proxies)
        self._server = _Server(uvicorn.Config(app, **options))
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        assert self._server.up.wait(PATIENCE_S)

    def dial(self, sent: bytes = b"") -> socket.socket:
        one = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        one.sendall(sent)
        return one

    def pass_time(self, seconds: float) -> None:
        """Time passes after the server has read what was sent."""
        asyncio.run_coroutine_threadsafe(_rounds(), self._server.loop).result(PATIENCE_S)
        self.clock.at += seconds

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)
        self._socket.close()
        assert not self._thread.is_alive()


async def _rounds() -> None:
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


@contextlib.contextmanager
def listening(app: Any, limits: HttpLimits, proxies: str = "") -> Iterator[Listening]:
    one = Listening(app, limits, proxies)
    try:
        yield one
    finally:
        one.close()


def answer(one: socket.socket) -> bytes:
    """All that a connection still says, until its end."""
    said = bytearray()
    with one, contextlib.suppress(ConnectionResetError):
        while piece := one.recv(65_536):
            said += piece
    return bytes(said)


def status(one: socket.socket) -> int:
    """What a connection says before it is closed; 0, where that is nothing."""
    said = answer(one)
    return int(said.split(b" ", 2)[1]) if said else 0
