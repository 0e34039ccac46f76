"""Policy servers that are dialled, on real sockets: what they say, what they do not say, and what they should not."""

import re
import socket
import threading

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from palestra.entrants import websocket_messages
from palestra.entrants.policy_server import Dialled
from palestra.errors import PalestraError
from palestra.live.stream import FastLine, VirtualClock, run
from palestra.records import Tick
from tests.entrants.talking import EEG, ENOUGH_S, Time, free_port, hear, policy, pump, running, tick


def responding(*responses):
    """Handles a connection: one response to each request, then it waits until the other end goes."""

    def handle(connection):
        try:
            for response in responses:
                connection.recv()
                connection.send(response if isinstance(response, bytes | str) else websocket_messages.encode(response))
            connection.recv()
        except ConnectionClosed:
            return

    return handle


def echo(connection):
    """Answers every request with its own trial."""
    try:
        while True:
            asked = websocket_messages.decode(connection.recv())
            connection.send(websocket_messages.encode({"answer": asked["trial"]}))
    except ConnectionClosed:
        return


def silent(connection):
    """Takes everything, and says nothing."""
    try:
        while True:
            connection.recv()
    except ConnectionClosed:
        return


@pytest.fixture
def dial():
    lines = []

    def make(url, **settings):
        lines.append(Dialled("pi", url, **settings))
        return lines[-1]

    yield make
    for line in lines:
        line.close()


@pytest.fixture
def one(dial):
    """Dials a server with this handler, and gives the first reply to a tick that asks."""

    def reply(handle):
        with policy(handle) as url:
            line = dial(url)
            line.require_ready(ENOUGH_S)
            line.post(tick())
            return hear(line)[0]

    return reply


def test_a_tick_is_a_request_and_its_response_the_reply(dial):
    requests = []

    def handle(connection):
        requests.append(websocket_messages.decode(connection.recv()))
        connection.send(websocket_messages.encode({"answer": 3}))
        requests.append(websocket_messages.decode(connection.recv()))
        connection.send(websocket_messages.encode({"actions": np.ones((2, 2)), "server_timing": {"infer_ms": 1.5}}))
        responding()(connection)

    with policy(handle, {"model": "pi0"}) as url:
        line = dial(url + "/path?a=b")
        line.require_ready(ENOUGH_S)
        assert line.metadata == {"model": "pi0"}
        line.post(tick("t1", person=4))
        assert [(reply.trial, reply.answer, reply.note) for reply in hear(line)] == [("t1", 3, "")]
        line.post(tick("t2"))
        assert hear(line)[0].answer == {"actions": [[1, 1], [1, 1]], "server_timing": {"infer_ms": 1.5}}
    assert np.array_equal(requests[0].pop("eeg"), EEG)
    assert requests[0] == {"person": 4, "trial": "t1", "ask": True}


def test_responses_belong_to_requests_in_their_order_and_only_what_was_asked_is_a_reply(dial):
    with policy(echo) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        for number in range(40):
            line.post(tick(f"t{number}" if number % 4 == 0 else None))
        assert [(reply.trial, reply.answer) for reply in hear(line, 10)] == [
            (f"t{n}", f"t{n}") for n in range(0, 40, 4)
        ]


def test_a_response_in_many_frames_is_one(one):
    message = websocket_messages.encode({"answer": "x" * 1000})

    def handle(connection):
        connection.recv()
        connection.send(message[place : place + 10] for place in range(0, len(message), 10))
        responding()(connection)

    assert one(handle).answer == "x" * 1000


@pytest.mark.parametrize(
    ("response", "note"),
    [
        ("Traceback (most recent call last):\n  File x\nValueError: no \x1b[31mred\n", "ValueError: no [31mred"),
        ("", "did not say how"),
        (websocket_messages.encode([1]), "responded with list, expected a map"),
        (b"\xc1", "no msgpack"),
        (b"", "no msgpack"),
        (b"\x81\xa6answer\xd4\x01a", "extension"),
        (websocket_messages.encode({"answer": np.zeros(2)}).replace(b"<f8", b">f8"), "dtype '>f8' is not taken"),
        (
            websocket_messages.encode({"answer": np.zeros(2)}).replace(b"\x91\x02", b"\x91\x03"),
            "has 24 bytes; the message has 16",
        ),
        (websocket_messages.encode({"answer": np.zeros(20_000, bool)}), "more than 8,192 numbers"),
        (websocket_messages.encode({"answer": {b"x": 1}}), "must be text"),
    ],
)
def test_what_is_no_answer_is_told_in_words_and_the_run_goes_on(dial, response, note):
    with policy(responding(response, {"answer": 5})) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        line.post(tick("t1"))
        line.post(tick("t2"))
        first, second = hear(line, 2)
    assert (first.trial, first.answer) == ("t1", None) and note in str(first.note)
    assert (second.trial, second.answer, second.note) == ("t2", 5, "")
    assert line.output == (response if isinstance(response, str) else "")


@pytest.mark.parametrize(
    ("sent", "note"),
    [
        (b"\x82\x7f" + (4 << 30).to_bytes(8, "big"), "4294967296 bytes exceeds limit"),
        (b"\xff" * 100, "sent what is not taken"),
        (b"\x83\x00", "invalid opcode"),
        (b"\x82\x85abcdefghi", "incorrect masking"),
        (b"\x88\x04\x03\xe8no", "code 1000: no"),
        (b"\x88\x02\x00\x00", "sent what is not taken"),
    ],
    ids=["4 GB", "garbage", "opcode", "mask", "close", "close code"],
)
def test_a_connection_that_breaks_costs_what_was_under_way_and_is_dialled_again(dial, sent, note):
    served = []

    def handle(connection):
        served.append(connection)
        if len(served) > 1:
            echo(connection)
            return
        connection.recv()
        connection.socket.sendall(sent)
        try:
            connection.recv()
        except ConnectionClosed:
            return

    with policy(handle) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        for trial in ("t1", None, "t2"):
            line.post(tick(trial))
        replies = hear(line, 2)
        assert [(reply.trial, reply.answer) for reply in replies] == [("t1", None), ("t2", None)]
        assert note in str(replies[0].note) and line.deaths == [replies[0].note]
        line.require_ready(ENOUGH_S)
        line.post(tick("t3"))
        assert hear(line)[0].answer == "t3"
        assert not line.dead()


def test_what_is_posted_without_a_connection_is_lost_but_for_the_newest_question(dial):
    served = []

    def handle(connection):
        served.append(connection)
        if len(served) > 1:
            echo(connection)
        else:
            connection.recv()

    with policy(handle) as url:
        line = dial(url, clock=Time())
        line.require_ready(ENOUGH_S)
        line.post(tick("t1"))
        assert hear(line)[0].trial == "t1"
        for trial in ("t2", None, "t3", None):
            line.post(tick(trial))
        replies = hear(line, 2)
    assert [(reply.trial, reply.answer) for reply in replies] == [("t2", None), ("t3", "t3")]
    assert "no connection" in str(replies[0].note)


def test_a_question_whose_deadline_passed_is_not_sent_when_the_connection_is_back(dial):
    clock, asked = Time(), []

    def handle(connection):
        try:
            while True:
                asked.append(websocket_messages.decode(connection.recv())["trial"])
                connection.send(websocket_messages.encode({}))
        except ConnectionClosed:
            return

    with policy(handle) as url:
        line = dial(url, clock=clock)
        line.post(tick("old"))
        clock.now += 0.6
        line.require_ready(ENOUGH_S)
        line.post(tick("new"))
        hear(line)
    assert asked == ["new"]


def test_a_server_that_is_gone_is_dialled_less_and_less_often_and_not_for_ever(dial):
    clock, over = Time(), threading.Event()
    with policy(lambda connection: over.wait(ENOUGH_S)) as url:
        line = dial(url, clock=clock)
        line.require_ready(ENOUGH_S)
        over.set()
    pump([line], lambda: line.deaths)
    waits, tried_at = [], clock.now
    while not line.dead():
        known = len(line.deaths)
        while len(line.deaths) == known:
            if line.fileno() < 0:
                clock.now += 0.05
            list(line.replies())
        waits.append(clock.now - tried_at)
        tried_at = clock.now
    assert "dialled 10 times in vain" in str(line.dead()) and "refused" in str(line.dead())
    assert waits == sorted(waits) and waits[-1] < 5.2 and sum(waits) > 15
    line.post(tick())
    assert list(line.replies()) == []


def test_nobody_waits_for_a_server_that_was_never_there(dial):
    line = dial(f"ws://127.0.0.1:{free_port()}")
    with pytest.raises(PalestraError, match=r"pi: ws://127.*Connection refused"):
        line.require_ready(ENOUGH_S)


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        (websocket_messages.encode([1, 2]), "began with list, expected a map"),
        (b"\xc1", "no msgpack"),
        ("Traceback:\nRuntimeError: no GPU", "RuntimeError: no GPU"),
    ],
)
def test_a_server_that_does_not_begin_with_metadata_is_refused(dial, greeting, words):
    def handle(connection):
        connection.send(greeting)
        connection.send(greeting)
        responding()(connection)

    with running(serve(handle, "127.0.0.1", 0, close_timeout=0.1)) as url:
        line = dial(url)
        with pytest.raises(PalestraError, match=words):
            line.require_ready(ENOUGH_S)


def test_a_server_that_never_says_what_it_is_is_not_waited_for(dial):
    clock = Time()
    with running(serve(responding(), "127.0.0.1", 0, close_timeout=0.1)) as url:
        line = dial(url, clock=clock)
        with pytest.raises(PalestraError, match="not ready after"):
            line.require_ready(0.1)
        clock.now += 11
        pump([line], line.dead)
    assert "did not say what it is within 10 s" in str(line.dead())


def test_another_http_server_is_told_from_a_policy_server(dial):
    def refuse(connection, request):
        return connection.respond(404, "no such \x07 page\n")

    with running(serve(echo, "127.0.0.1", 0, process_request=refuse)) as url:
        line = dial(url)
        with pytest.raises(PalestraError, match="answered HTTP 404 to the handshake: no such page"):
            line.require_ready(ENOUGH_S)


@pytest.mark.parametrize("sent", [b"SSH-2.0-OpenSSH_9.9\r\n\r\n", b"\0" * 100_000, b"HTTP/1.1 101 \r\n\r\n", b""])
def test_a_server_that_speaks_something_else_is_refused(dial, sent):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            sock, _ = server.accept()
            with sock:
                sock.recv(10_000)
                sock.sendall(sent)

        thread = threading.Thread(target=answer)
        thread.start()
        line = dial(f"ws://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(PalestraError, match=r"handshake failed|broke off"):
            line.require_ready(ENOUGH_S)
        thread.join(ENOUGH_S)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://host", "scheme"),
        ("ws://", "hostname"),
        ("ws://host:99999999", "address"),
        ("wss://localhost", "found wss://, expected ws://"),
        ("ws://no.such.host.invalid", "There is no host"),
    ],
)
def test_an_address_that_cannot_be_dialled_is_refused_in_words(url, words):
    with pytest.raises(PalestraError, match=words):
        Dialled("pi", url)


def test_a_server_that_does_not_read_is_dead_before_memory_is_full(dial):
    over = threading.Event()
    with policy(lambda connection: over.wait(ENOUGH_S)) as url:
        line = dial(url, queue_bytes=4_000_000)
        line.require_ready(ENOUGH_S)
        big = Tick(0.0, {"image": np.zeros(1_000_000, np.uint8)}, "t", 0.5)
        for _ in range(200):
            line.post(big)
        over.set()
    assert str(line.dead()) == "does not read: more than 4.0 MB waited for it"
    assert {reply.trial for reply in line.replies()} == {"t"}
    assert line.fileno() == -1


def test_pings_are_answered(dial):
    ponged = []

    def handle(connection):
        ponged.append(connection.ping().wait(ENOUGH_S))
        responding()(connection)

    with policy(handle) as url:
        line = dial(url)
        pump([line], lambda: ponged)
    assert ponged == [True]


def test_a_response_to_nothing_is_counted_and_dropped(dial):
    def handle(connection):
        connection.send(websocket_messages.encode({"answer": 1}))
        echo(connection)

    with policy(handle) as url:
        line = dial(url)
        pump([line], lambda: line.nonsense)
        line.post(tick("t1"))
        assert hear(line)[0].answer == "t1"
    assert line.nonsense == 1


def test_a_server_that_talks_without_end_is_not_listened_to(dial):
    def handle(connection):
        try:
            while True:
                connection.send(b"\x90" * 900)
        except ConnectionClosed:
            return

    with policy(handle) as url:
        line = dial(url)
        pump([line], line.dead)
    assert "1,000 times without being asked" in str(line.dead()) and line.nonsense == 1000


def test_where_there_is_no_deadline_patience_ends(dial):
    clock = Time()
    with policy(silent) as url:
        line = dial(url, clock=clock, patience_s=5.0)
        line.require_ready(ENOUGH_S)
        line.post(tick("t1", deadline_s=None))
        list(line.replies())
        clock.now += 5.1
        assert [str(reply.note) for reply in line.replies()] == ["took longer than 5 s over one answer"]


def test_a_tick_can_be_waited_for(dial):
    with policy(echo) as url:
        line = dial(url)
        replies, seconds = line.ask(tick("t1"), ENOUGH_S)
        assert [reply.answer for reply in replies] == ["t1"] and 0 < seconds < ENOUGH_S
        assert line.ask(tick(None), ENOUGH_S)[0] == []


def test_a_tick_that_is_not_dealt_with_is_given_up(dial):
    with policy(silent) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        replies, _ = line.ask(tick("t1"), 0.05)
        assert [(reply.trial, str(reply.note)) for reply in replies] == [
            ("t1", "took longer than 0.05 s over one packet")
        ]
        assert not line.dead()


def test_a_whole_run_in_virtual_time(dial):
    class Decided(list):
        def sent(self, tick, at_s): ...
        def strayed(self, entrant, reply, at_s): ...

        decided = list.append

    with policy(echo) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        clock, log = VirtualClock(), Decided()
        ticks = [Tick(i * 0.2, {"eeg": EEG}, f"t{i}" if i % 5 == 4 else None, ENOUGH_S) for i in range(50)]
        run(ticks, [FastLine("pi", lambda tick: line.ask(tick, ENOUGH_S), clock, line.dead)], clock, log)
    assert [decision.answer for decision in log] == [f"t{i}" for i in range(4, 50, 5)]


def test_closing_tells_the_server(dial):
    codes = []

    def handle(connection):
        try:
            connection.recv()
        except ConnectionClosed as error:
            codes.append(error.rcvd.code)

    with policy(handle) as url:
        line = dial(url)
        line.require_ready(ENOUGH_S)
        line.close()
    assert codes == [1000]
    assert re.search("closed", str(line.dead())) and line.fileno() == -1 and list(line.replies()) == []


def test_servers_do_not_hold_each_other_up(dial):
    over = threading.Event()
    with policy(lambda connection: over.wait(ENOUGH_S)) as deaf, policy(echo) as quick:
        lines = [dial(deaf), dial(quick)]
        for line in lines:
            line.require_ready(ENOUGH_S)
        heard = []
        for number in range(30):
            for line in lines:
                line.post(Tick(0.0, {"image": np.zeros(1_000_000, np.uint8)}, f"t{number}", 0.5))
        pump(lines, lambda: len(heard) == 30, heard)
        assert not lines[0].dead()
        over.set()
    assert [reply.answer for reply in heard] == [f"t{number}" for number in range(30)]
