"""Both ends of a WebSocket in one test: lines are looked after here while the other end talks in a thread."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st
from websockets.sync.server import ServerConnection, serve

from palestra.entrants import websocket_messages
from palestra.records import Reply, Tick

ENOUGH_S = 30.0  # for anything here, on a busy machine
# What a client may send once it is let in: frames of any kind, whole or in pieces, with anything in them.
frames = st.lists(
    st.builds(
        lambda head, data: bytes([head, 0x80 | len(data)]) + b"\0\0\0\0" + data,
        st.sampled_from([0x00, 0x01, 0x02, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A, 0x0A, 0x83, 0xC2]),
        st.binary(max_size=30),
    ),
    max_size=8,
).map(b"".join)
EEG = np.arange(6, dtype=np.float32).reshape(2, 3)


class Time:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def tick(trial: str | None = "t1", deadline_s: float | None = 0.5, **about: Any) -> Tick:
    return Tick(0.0, {"eeg": EEG}, trial, deadline_s, about)


def pump(lines: Sequence[Any], done: Callable[[], object], replies: list[Reply] | None = None) -> list[Reply]:
    """Look after lines until something is so; what they said meanwhile."""
    replies = [] if replies is None else replies
    deadline = time.monotonic() + ENOUGH_S
    while True:
        for line in lines:
            replies += line.replies()
        if done():
            return replies
        assert time.monotonic() < deadline, f"it never came to this; heard {replies}"
        poll = select.poll()
        for line in lines:
            if line.fileno() >= 0:
                poll.register(line.fileno(), select.POLLIN)
        poll.poll(10)


def hear(line: Any, count: int = 1) -> list[Reply]:
    """The next replies of a line, so many."""
    replies: list[Reply] = []
    return pump([line], lambda: len(replies) >= count, replies)


def during(lines: Sequence[Any], action: Callable[[], Any]) -> tuple[Any, list[Reply]]:
    """Do something that waits for the other end, while lines are looked after."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action)
        replies = pump(lines, future.done)
        return future.result(), replies


@contextmanager
def policy(handle: Callable[[ServerConnection], None], metadata: Any = None) -> Iterator[str]:
    """A policy server whose connections are handled by a function, after the metadata."""

    def greet(connection: ServerConnection) -> None:
        connection.send(websocket_messages.encode({} if metadata is None else metadata))
        handle(connection)

    with running(serve(greet, "127.0.0.1", 0, compression=None, close_timeout=0.1)) as url:
        yield url


@contextmanager
def running(server: Any) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "ws://{}:{}".format(*server.socket.getsockname())
    finally:
        server.shutdown()
        thread.join(ENOUGH_S)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])
