"""What hostile clients do with bare sockets: endless, slow and far too many requests, to a server without a proxy."""

import asyncio
import contextlib
import pickle
import resource
import socket
import tracemalloc
from collections.abc import Iterator

import pytest

from palestra.web.app import house
from palestra.web.http_limits import MOST_FILES, Connections, HttpLimits, with_files
from palestra.web.site.setup import Setup
from palestra.web.site.site import Site
from tests.web.asking import ask
from tests.web.conftest import World
from tests.web.raw_http import Listening, answer, listening, status

LIMITS = HttpLimits(head_bytes=8 << 10, headers=20, pipelined=4)
HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\n"
LAST = b"Connection: close\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
UPLOAD = b"POST /do/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
LIVE = b"GET /live?board=first HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
PIECE = b"a" * 65_536


@pytest.fixture
def server(world: World) -> Iterator[Listening]:
    with listening(world.app, LIMITS) as one:
        yield one


def pour(one: socket.socket, most: int) -> None:
    """Send without an end, or until nobody listens."""
    with contextlib.suppress(ConnectionError):
        for _ in range(most // len(PIECE)):
            one.sendall(PIECE)


def until_event(one: socket.socket) -> None:
    """Read a live page's first message."""
    said = b""
    while b"event: " not in said:
        piece = one.recv(65_536)
        assert piece, said
        said += piece


# Size


def test_a_request_within_the_limits_is_answered(server: Listening) -> None:
    assert status(server.dial(HEAD + LAST)) == 200
    assert status(server.dial(HEAD + b"X: " + b"a" * 8000 + b"\r\n" + LAST)) == 200


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (HEAD + b"X: " + b"a" * 8200 + b"\r\n" + LAST, 431),
        (HEAD + b"X: 1\r\n" * 20 + LAST, 431),
        (HEAD + b"x" * 9000 + b": 1\r\n" + LAST, 431),
        (b"GET /health?" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n" + LAST, 414),
        (CHUNKED + b"0\r\n" + b"X: 1\r\n" * 20 + b"\r\n", 431),
        (b"no request at all\r\n\r\n", 400),
    ],
    ids=["value", "count", "name", "address", "trailers", "nonsense"],
)
def test_a_head_that_is_too_large_is_refused_by_its_status(server: Listening, sent: bytes, found: int) -> None:
    one = server.dial(sent)
    server.pass_time(0)
    one.shutdown(socket.SHUT_WR)
    said = answer(one)
    assert said.split(b" ", 2)[1] == str(found).encode()
    assert said.count(b"HTTP/1.1 ") == 1


def test_requests_by_the_thousand_at_once_are_not_kept(server: Listening) -> None:
    assert answer(server.dial((HEAD + b"\r\n") * 3 + HEAD + LAST)).count(b"HTTP/1.1 200") == 4
    assert answer(server.dial((HEAD + b"\r\n") * 1000)).count(b"HTTP/1.1 200") <= LIMITS.pipelined + 1


@pytest.mark.parametrize(
    "start",
    [b"GET /", HEAD + b"X: ", HEAD + b"x", CHUNKED + b"0\r\nX: ", CHUNKED + b"1;"],
    ids=["address", "value", "name", "trailer", "extension"],
)
def test_what_never_ends_is_not_kept(server: Listening, start: bytes) -> None:
    tracemalloc.start()
    try:
        with server.dial(start) as one:
            pour(one, 16 << 20)
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20
    assert status(server.dial(HEAD + LAST)) == 200


# Time


def test_a_head_that_comes_in_time_is_answered(server: Listening) -> None:
    one = server.dial(HEAD)
    server.pass_time(LIMITS.head_s - 1)
    one.sendall(LAST)
    assert status(one) == 200


def test_a_head_that_drips_is_refused(server: Listening) -> None:
    one = server.dial(HEAD + b"X: ")
    for _ in range(3):
        server.pass_time(LIMITS.head_s / 3)
        with contextlib.suppress(ConnectionError):
            one.sendall(b"a")
    assert status(one) == 408


def test_who_says_nothing_is_let_go(server: Listening) -> None:
    fresh, used = server.dial(), server.dial(HEAD + b"\r\n")
    assert used.recv(65_536).startswith(b"HTTP/1.1 200")
    server.pass_time(LIMITS.head_s)
    assert answer(fresh) == b""
    assert answer(used) == b""


def test_a_body_that_drips_is_refused_and_one_that_flows_is_taken(server: Listening) -> None:
    flowing = server.dial(UPLOAD + b"Content-Length: 600000\r\n" + LAST)
    dripping = server.dial(UPLOAD + b"Content-Length: 600000\r\n" + LAST)
    for _ in range(10):
        flowing.sendall(b"a" * 60_000)
        with contextlib.suppress(ConnectionError):
            dripping.sendall(b"a")
        server.pass_time(LIMITS.body_s / 2)
    assert status(dripping) == 408
    assert status(flowing) not in (0, 408)


def test_a_body_after_its_answer_has_no_more_time_than_others(server: Listening) -> None:
    one = server.dial(HEAD + b"Content-Length: 600000\r\n\r\n")
    assert one.recv(65_536).startswith(b"HTTP/1.1 200")
    for _ in range(4):
        with contextlib.suppress(ConnectionError):
            one.sendall(b"a")
        server.pass_time(LIMITS.body_s / 2)
    assert status(one) in (0, 408)


def test_who_looks_on_live_may_do_so_for_days(server: Listening) -> None:
    one = server.dial(LIVE)
    until_event(one)
    server.pass_time(1e6)
    server.pass_time(0)
    assert status(server.dial(HEAD + LAST)) == 200
    one.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        assert one.recv(1)
    one.close()


# How many


def test_an_address_has_only_so_many_connections(world: World) -> None:
    with listening(world.app, HttpLimits(per_address=3)) as server:
        held = [server.dial(HEAD) for _ in range(3)]
        server.pass_time(0)
        assert status(server.dial()) == 429
        held[0].close()
        server.pass_time(0)
        assert status(server.dial(HEAD + LAST)) == 200


def test_live_viewers_count(world: World) -> None:
    with listening(world.app, HttpLimits(per_address=2)) as server:
        viewers = [server.dial(LIVE) for _ in range(2)]
        for one in viewers:
            until_event(one)
        assert status(server.dial()) == 429
        for one in viewers:
            one.close()


def test_all_addresses_together_leave_files_for_the_server_itself(world: World) -> None:
    with listening(world.app, HttpLimits(in_all=3)) as server:
        held = [server.dial(HEAD) for _ in range(3)]
        server.pass_time(0)
        assert status(server.dial()) == 503
        for one in held:
            one.close()
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert with_files(HttpLimits()).in_all < min(soft, MOST_FILES)


def test_a_proxy_is_not_one_address_and_those_behind_it_are(world: World) -> None:
    home = world.site.setup
    site = Site(world.contest, Setup(home.home, home.spool, requests_per_s=1e6, burst=10**6, per_address=2))
    house(world.app, site)

    def live(address: bytes) -> socket.socket:
        return server.dial(LIVE[:-2] + b"X-Forwarded-For: " + address + b"\r\n\r\n")

    with listening(world.app, HttpLimits(per_address=2), "127.0.0.1") as server:
        viewers = [live(address) for address in (b"192.0.2.1", b"192.0.2.1", b"192.0.2.2", b"192.0.2.2")]
        for one in viewers:
            until_event(one)
        refused = server.dial(HEAD + b"X-Forwarded-For: 192.0.2.1\r\n" + LAST)
        assert status(refused) == 429
        assert status(server.dial(HEAD + b"X-Forwarded-For: 192.0.2.3\r\n" + LAST)) == 200
        for one in viewers:
            one.close()


def test_a_request_that_was_answered_does_not_count_any_more(world: World) -> None:
    for _ in range(3):
        assert asyncio.run(ask(world.app, "GET", "/health")).status == 200
    assert len(world.site.under_way) == 0


def test_each_server_process_gets_the_limits() -> None:
    found = pickle.loads(pickle.dumps(Connections(HttpLimits(per_address=7), "127.0.0.1")))
    assert found.limits.per_address == 7
    assert found.is_proxy("127.0.0.1") and not found.is_proxy("192.0.2.1")
