"""WebSockets that never wait: what is shared by those who are dialled and those who dial in."""

import select
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.protocol import State
from websockets.server import ServerProtocol

from palestra.entrants import websocket
from palestra.entrants.poller import Bell
from palestra.entrants.websocket import Peer
from tests.entrants.talking import ENOUGH_S, frames


class Pair:
    """A peer of ours whose handshake is done, and the raw socket at the other end."""

    def __init__(self, **settings):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.other = socket.create_connection(server.getsockname(), ENOUGH_S)
            sock, _ = server.accept()
        self.bell = Bell()
        self.peer = Peer(sock, ServerProtocol(state=State.OPEN, max_size=1000), self.bell, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.close()
        self.bell.close()
        self.other.close()

    def rings(self, timeout_ms=0):
        poll = select.poll()
        poll.register(self.bell.fileno(), select.POLLIN)
        return bool(poll.poll(timeout_ms))


@pytest.fixture
def pair():
    with Pair() as made:
        yield made


def test_the_bell_rings_when_something_comes_and_when_more_is_taken(pair):
    assert not pair.rings()
    pair.other.sendall(b"\x82\x82\0\0\0\0hi")
    assert pair.rings(30_000)
    assert pair.peer.receive() == [b"hi"]
    assert not pair.rings()
    message = b"x" * 20_000_000
    pair.peer.send(message)
    assert not pair.rings(), "nothing more is taken now"
    got = 0
    while got < len(message):
        got += len(pair.other.recv(1 << 20))
        if pair.rings():
            assert pair.peer.receive() == []


def test_one_look_reads_a_bounded_amount(pair):
    frame = b"\x82\xfe" + (900).to_bytes(2, "big") + b"\0\0\0\0" + b"x" * 900
    pair.other.setblocking(False)
    sent = 0
    try:
        while sent < 4 * websocket.READ_BYTES:
            sent += pair.other.send(frame * 100)
    except BlockingIOError:
        pass
    heard = len(pair.peer.receive())
    assert 0 < heard * len(frame) <= websocket.READ_BYTES


def test_pings_are_answered_and_one_who_does_not_read_the_answers_is_ended():
    with Pair(queue_bytes=10_000) as pair:
        pair.other.sendall(b"\x89\x82\0\0\0\0hi")
        while not pair.rings(30_000):
            pass
        assert pair.peer.receive() == []
        assert pair.other.recv(100) == b"\x8a\x02hi"
        pair.other.settimeout(0.0)
        pings = b"\x89\xfd\0\0\0\0" + b"x" * 125
        for _ in range(100_000):
            try:
                pair.other.send(pings * 100)
            except (BlockingIOError, ConnectionError):
                if pair.peer.why:
                    break
            pair.peer.receive()
        assert pair.peer.deaf and pair.peer.closed and "does not read" in str(pair.peer.why)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400) | frames, st.integers(1, 400))
def test_any_bytes_are_messages_or_the_end(data, at_once):
    with Pair() as pair:
        pair.other.sendall(data)
        pair.other.shutdown(socket.SHUT_WR)
        said = []
        while not pair.peer.why:
            assert pair.rings(30_000)
            said += pair.peer.receive(at_once)
        assert all(isinstance(one, bytes | str) and len(one) <= 1000 for one in said)
        assert str(pair.peer.why).isprintable() and len(str(pair.peer.why)) < 300


def test_last_words_are_heard_over_what_was_not_read(pair):
    pair.other.sendall(b"\x82\x82\0\0\0\0hi" * 1000)
    pair.peer.bid_farewell(1000, "é" * 100)
    assert pair.peer.why and not pair.peer.see_off()
    said = b""
    while data := pair.other.recv(1000):
        said += data
    assert said[:4] == b"\x88\x7a\x03\xe8" and said[4:].decode() == "é" * 60
    pair.other.close()
    while not pair.peer.see_off():
        assert pair.rings(30_000)


def test_what_strangers_write_is_cut_and_printable():
    assert websocket.clean("a\x00\x1b[0m\n\u202e b") == "a [0m b"
    assert websocket.clean("x" * 10_000) == "x" * 200
