"""Teams that dial in, on real sockets: who is let in, what they get, and what of what they say counts."""

import base64
import socket
import threading
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from palestra.entrants import websocket_messages
from palestra.entrants.dial_in_listener import HANDSHAKE_S, MOST_CHANGES, STRANGERS, Listening
from palestra.entrants.websocket import MOST_NONSENSE
from palestra.errors import PalestraError
from palestra.records import Tick
from tests.entrants.talking import EEG, ENOUGH_S, Time, during, frames, hear, pump, tick


class Hall:
    """A listener, its clock, and those who dial in."""

    def __init__(self, stack, **settings):
        self.clock = Time()
        self.listening = Listening("127.0.0.1", 0, "emotion-eeg-v1", self.clock, **settings)
        self._stack = stack
        stack.callback(self.listening.close)

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.listening.port}"

    def dial(self, line, **settings):
        """A client of that line's team, past the handshake."""
        headers = {"Authorization": f"Bearer {line.token}"}
        settings = {"additional_headers": headers, "compression": None, "close_timeout": 0.01} | settings
        entered = lambda: self._stack.enter_context(connect(self.url, **settings))  # noqa: E731
        return during([line], entered)[0]

    def refused(self, line, path="", **headers):
        """The response to a client that is not let in."""

        def knock():
            with pytest.raises(InvalidStatus) as refusal, connect(self.url + path, additional_headers=headers):
                pass
            return refusal.value.response

        response, _ = during([line], knock)
        return response.status_code, bytes(response.body).decode()

    def raw(self, data=b""):
        """A connection that sends these bytes and nothing else."""
        sock = self._stack.enter_context(socket.create_connection(("127.0.0.1", self.listening.port), ENOUGH_S))
        sock.sendall(data)
        return sock

    def ended(self, line, sock):
        """Whether a raw connection was ended by the other side: what it said last."""

        def read():
            said = b""
            while data := sock.recv(10_000):
                said += data
            return said

        return during([line], read)[0]


@pytest.fixture
def hall():
    with ExitStack() as stack:
        yield Hall(stack)


@pytest.fixture
def team(hall):
    return hall.listening.line("red")


def said(line, client):
    """What the client is told next."""
    return websocket_messages.decode(during([line], lambda: client.recv(ENOUGH_S))[0])


def done(number, **more):
    return websocket_messages.encode({"kind": "done", "number": number, **more})


def request(token, *more):
    key = base64.b64encode(b"0123456789abcdef").decode()
    lines = ["GET / HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}"]
    lines += ["Sec-WebSocket-Version: 13", f"Authorization: Bearer {token}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def test_a_team_is_told_where_it_is_gets_ticks_and_answers(hall, team):
    client = hall.dial(team)
    assert said(team, client) == {"kind": "hello", "team": "red", "track": "emotion-eeg-v1"}
    team.post(tick("t1", person=3))
    got = said(team, client)
    assert np.array_equal(got.pop("data").pop("eeg"), EEG)
    assert got == {"kind": "tick", "number": 1, "trial": "t1", "ask": True, "deadline_s": 0.5, "person": 3}
    client.send(done(1, answer=np.int64(4)))
    (reply,) = hear(team)
    assert (reply.trial, reply.answer, reply.note) == ("t1", 4, "") and type(reply.answer) is int


def test_a_team_is_let_in_by_its_token_alone(hall, team):
    other = hall.listening.line("blue")
    assert len(team.token) >= 32 and team.token != other.token
    for word in ("", "Bearer", "Bearer x", f"Basic {team.token}", f"{team.token}"):
        headers = {"Authorization": word} if word else {}
        status, words = hall.refused(team, **headers)
        assert status == 401 and "Every team has its own" in words and team.token not in words
    assert hall.refused(team, "/?token=" + team.token, Authorization="Bearer x")[0] == 401
    assert hall.refused(team, "/?" + "a=1&" * 50 + "token=" + team.token)[0] == 401
    assert hall.ended(team, hall.raw(request("é"))).startswith(b"HTTP/1.1 401 ")
    assert not team.connected
    hall.dial(other)
    assert other.connected and not team.connected


def test_a_token_may_be_in_the_address(hall, team):
    def enter():
        with connect(f"{hall.url}/?token={team.token}&version=a%20b") as client:
            return websocket_messages.decode(client.recv(ENOUGH_S))

    assert during([team], enter)[0]["team"] == "red"
    assert team.version == "a b"


def test_what_asks_for_no_websocket_is_told_so(hall, team):
    sock = hall.raw(f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {team.token}\r\n\r\n".encode())
    assert hall.ended(team, sock).startswith(b"HTTP/1.1 426")
    assert not team.connected


def test_the_newer_of_two_connections_is_the_teams(hall, team):
    older = hall.dial(team)
    newer = hall.dial(team)
    assert said(team, older)["kind"] == "hello"
    with pytest.raises(ConnectionClosed) as closed:
        during([team], lambda: older.recv(ENOUGH_S))
    assert closed.value.rcvd.code == 4001
    team.post(tick())
    assert [said(team, newer)["kind"] for _ in range(2)] == ["hello", "tick"]
    assert [str(death) for death in team.deaths] == ["a newer connection took its place"]


def test_who_comes_back_gets_the_open_question_with_the_time_that_is_left(hall, team):
    client = hall.dial(team)
    for trial in ("t1", None, "t2", None):
        team.post(tick(trial))
    client.close()
    pump([team], lambda: not team.connected)
    hall.clock.now += 0.2
    client = hall.dial(team)
    assert said(team, client)["kind"] == "hello"
    again = said(team, client)
    assert (again["number"], again["trial"]) == (3, "t2") and again["deadline_s"] == pytest.approx(0.3)
    team.post(tick(None))
    assert said(team, client)["number"] == 5
    client.send(done(3, answer=7))
    assert [(reply.trial, reply.answer) for reply in hear(team)] == [("t2", 7)]


@pytest.mark.parametrize("why", ["answered", "too late"])
def test_what_is_open_no_more_is_not_sent_again(hall, team, why):
    client = hall.dial(team)
    team.post(tick("t1"))
    if why == "answered":
        client.send(done(1, answer=7))
        hear(team)
    else:
        hall.clock.now += 0.6
    client.close()
    pump([team], lambda: not team.connected)
    client = hall.dial(team)
    team.post(tick(None))
    assert [said(team, client).get("number") for _ in range(2)] == [None, 2]


def test_what_was_posted_while_nobody_was_there_is_not_sent_later_but_for_the_open_question(hall, team):
    for trial in ("t1", None, "t2", None, None):
        team.post(tick(trial, deadline_s=None))
    client = hall.dial(team)
    team.post(tick(None))
    assert [said(team, client).get("number") for _ in range(3)] == [None, 3, 6]


@pytest.mark.parametrize(
    "message",
    [
        done(2, answer=1),
        done(0, answer=1),
        done(-1, answer=1),
        done(4, answer=1),
        done(2**63, answer=1),
        done(True, answer=1),
        done("3", answer=1),
        done([3], answer=1),
        done(3.0, answer=1),
        done(np.int64(3), answer=1),
        websocket_messages.encode({"kind": "tick", "number": 3}),
        websocket_messages.encode({"kind": ["done"], "number": 3, "answer": 1}),
        websocket_messages.encode({"number": 3, "answer": 1}),
        websocket_messages.encode({"kind": "done", "answer": 1}),
        websocket_messages.encode([1, 2]),
        websocket_messages.encode(None),
        b"\xc1",
        b"",
        b"\x90" * 1000,
        websocket_messages.encode({"kind": "done", "number": 3, "answer": np.zeros(2)}).replace(b"<f8", b"|O8"),
        websocket_messages.encode({"kind": "done", "number": 3, "answer": np.zeros(2)}).replace(
            b"\x91\x02", b"\x91\x7f"
        ),
        websocket_messages.encode({"kind": "done", "number": 3, "answer": [None] * 9_990}) + b"\x00",
        "a text",
    ],
    ids=lambda message: str(message)[:40],
)
def test_nonsense_is_counted_and_the_run_goes_on(hall, team, message):
    client = hall.dial(team)
    for trial in ("t1", None, "t3"):
        team.post(tick(trial))
    client.send(message)
    client.send(done(3, answer=5))
    assert [(reply.trial, reply.answer) for reply in hear(team)] == [("t3", 5)]
    assert team.nonsense == 1 and team.connected


@pytest.mark.parametrize("message", [done(1), done(1, answer=1), b"\x90" * 900, "text"], ids=lambda one: str(one)[:20])
def test_who_says_nothing_but_nonsense_is_not_listened_to_for_ever(hall, team, message):
    client = hall.dial(team)
    team.post(tick("t1"))
    with suppress(ConnectionClosed):
        for _ in range(MOST_NONSENSE + 10):
            client.send(message)
    pump([team], lambda: not team.connected)
    assert str(team.dead()) == "said 1,000 times what answers nothing" and team.nonsense == MOST_NONSENSE
    status, words = hall.refused(team, Authorization=f"Bearer {team.token}")
    assert status == 429 and "1,000 times" in words


def test_an_answer_counts_once_and_for_the_trial_that_it_names(hall, team):
    client = hall.dial(team)
    for trial in ("t1", "t2", "t3"):
        team.post(tick(trial))
    for number in (1, 1, 3, 1, 3):
        client.send(done(number, answer=number))
    client.send(done(2, answer=2))
    assert [(reply.trial, reply.answer) for reply in hear(team, 3)] == [("t1", 1), ("t3", 3), ("t2", 2)]
    assert team.nonsense == 3


@pytest.mark.parametrize(
    ("message", "note"),
    [
        (done(1, note="ValueError: \x1b[0m no\nweights"), "ValueError: [0m no weights"),
        (done(1, note="x" * 10_000), "x" * 200),
        (done(1, note=[1]), "said nonsense"),
        (done(1, note="late", answer=3), "late"),
        (done(1), "gave no answer"),
        (done(1, answer=np.zeros(10_000)), "Arrays with more than 8,192 numbers are too much for an answer."),
        (done(1, answer={b"x": 1}), "The keys of an answer must be text."),
    ],
    ids=["note", "long", "no text", "both", "neither", "large", "keys"],
)
def test_why_there_is_no_answer_is_told(hall, team, message, note):
    client = hall.dial(team)
    team.post(tick("t1"))
    client.send(message)
    (reply,) = hear(team)
    assert (reply.trial, reply.answer, str(reply.note)) == ("t1", None, note)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"\x82\xff" + (4 << 30).to_bytes(8, "big"), "4294967296 bytes exceeds limit"),
        (b"\x82\xff" + (300_000).to_bytes(8, "big") + b"x" * 300_004, "300000 bytes exceeds limit"),
        (b"\x83\x80abcd", "invalid opcode"),
        (b"\x82\x05hello", "incorrect masking"),
    ],
    ids=["4 GB", "300 kB", "opcode", "mask"],
)
def test_who_breaks_the_protocol_is_dropped_and_may_come_back(hall, team, sent, why):
    client = hall.dial(team)
    client.socket.sendall(sent)
    pump([team], lambda: not team.connected)
    assert why in str(team.deaths[0]) and not team.dead()
    client = hall.dial(team)
    team.post(tick("t1"))
    client.send(done(1, answer=1))
    assert hear(team)[0].answer == 1


def test_a_message_of_endless_empty_pieces_costs_no_memory(hall, team):
    client = hall.dial(team)
    client.socket.sendall(b"\x02\x80abcd" + b"\x00\x80abcd" * 10_000)
    team.post(tick("t1"))
    client.socket.sendall(b"\x80\x80abcd")
    pump([team], lambda: team.nonsense)
    assert team.connected


def test_who_does_not_read_is_dropped_before_memory_is_full_and_may_come_back():
    with ExitStack() as stack:
        hall = Hall(stack, queue_bytes=4_000_000)
        team, other = hall.listening.line("red"), hall.listening.line("blue")
        deaf = hall.raw(request(team.token))
        pump([team, other], lambda: team.connected)
        client = hall.dial(other)
        big = {"image": np.zeros(1_000_000, np.uint8)}
        for number in range(100):
            one = Tick(0.0, big, f"t{number}", 0.5)
            team.post(one)
            other.post(one)
            client.send(done(number + 1, answer=number))
            assert said(other, client)["kind"] in ("hello", "tick")
            if team.dead():
                break
        assert str(team.dead()) == "does not read: more than 4.0 MB waited for it"
        assert not other.dead() and other.connected
        deaf.close()
        client = hall.dial(team)
        assert not team.dead() and said(team, client)["kind"] == "hello"


def test_one_team_that_stalls_holds_up_no_other(hall):
    red, blue = hall.listening.line("red"), hall.listening.line("blue")
    hall.raw(request(red.token))
    client = hall.dial(blue)
    pump([red], lambda: red.connected)
    heard = []
    for number in range(30):
        one = Tick(0.0, {"image": np.zeros(500_000, np.uint8)}, f"t{number}", 0.5)
        for line in (red, blue):
            line.post(one)
        client.send(done(number + 1, answer=number))
        pump([red, blue], lambda: len(heard) > number, heard)  # noqa: B023
        during([blue], lambda: client.recv(ENOUGH_S))
    assert [reply.answer for reply in heard] == list(range(30)) and not red.dead()


def test_who_never_finishes_the_handshake_is_dropped_in_time(hall, team):
    sock = hall.raw(b"GET / HTTP/1.1\r\nHost: x\r\n")
    pump([team], lambda: hall.listening._strangers)
    hall.clock.now += HANDSHAKE_S - 0.1
    list(team.replies())
    sock.sendall(b"X: y\r\n")
    list(team.replies())
    assert len(hall.listening._strangers) == 1
    hall.clock.now += 0.2
    assert hall.ended(team, sock) == b""
    assert not hall.listening._strangers


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 4000,
        b"GET / HTTP/1.1\r\nX: " + b"y" * 20_000,
        b"GET /" + b"y" * 20_000,
        b"\0" * 20_000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n",
        b"GET //[ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
    ],
    ids=["many headers", "long header", "long line", "zeros", "TLS", "POST", "odd path", "old"],
)
def test_what_is_no_handshake_is_ended_at_once(hall, team, data):
    sock = hall.raw()
    during([team], lambda: sock.sendall(data))
    try:
        assert hall.ended(team, sock)[:13] in (b"", b"HTTP/1.1 401 ", b"HTTP/1.1 414 ", b"HTTP/1.1 431 ")
    except ConnectionResetError:
        assert len(data) > 10_000  # more than is read of a stranger
    assert not team.connected


@pytest.mark.parametrize(
    "more", [b"\x82\x81abcd\x00", b"\x83\x80abcd", b"\x88\x80abcd"], ids=["talk", "fault", "close"]
)
@pytest.mark.parametrize("right", [True, False])
def test_who_talks_on_before_it_is_let_in_is_not(hall, team, more, right):
    sock = hall.raw(request(team.token if right else "x") + more)
    assert b" 101 " not in hall.ended(team, sock)
    assert not team.connected


def test_strangers_are_few_and_the_oldest_goes(hall, team):
    socks = [hall.raw(b"GET") for _ in range(STRANGERS)]
    pump([team], lambda: len(hall.listening._strangers) == STRANGERS)
    client = hall.dial(team)
    assert said(team, client)["kind"] == "hello"
    assert hall.ended(team, socks[0]) == b""
    assert len(hall.listening._strangers) == STRANGERS - 1


def test_versions_are_kept_with_their_times(hall, team):
    for version in ("v1", "v1", "v2 %C3%A9%0A\x09x", "v1"):
        headers = {"Authorization": f"Bearer {team.token}", "Palestra-Version": version}
        hall.dial(team, additional_headers=headers)
        hall.clock.now += 1
    declared = [(one.at, one.version) for one in team.versions]
    assert declared == [(100, "v1"), (102, "v2 é x"), (103, "v1")] and team.version == "v1"


def test_versions_do_not_change_without_end(hall, team):
    hall.dial(team)
    team.versions *= MOST_CHANGES
    status, words = hall.refused(team, **{"Authorization": f"Bearer {team.token}", "Palestra-Version": "new"})
    assert status == 429 and "changed 100 times" in words
    hall.dial(team)


def test_at_the_end_teams_are_told_and_nobody_is_let_in_again(hall, team):
    other = hall.listening.line("blue")
    client = hall.dial(team)
    client.send(done(9, answer="unread"))
    team.close()
    assert [said(other, client)["kind"] for _ in range(2)] == ["hello", "bye"]
    with pytest.raises(ConnectionClosed) as closed:
        during([other], lambda: client.recv(ENOUGH_S))
    assert closed.value.rcvd.code == 1000
    assert hall.refused(other, Authorization=f"Bearer {team.token}") == (410, "The run is over.\n")
    team.post(tick())
    assert str(team.dead()) == "the run is over" and list(team.replies()) == [] and team.fileno() == -1


def test_a_line_of_a_listener_that_was_closed_is_silent(hall, team):
    hall.listening.close()
    hall.listening.close()
    team.close()
    team.post(tick())
    assert list(team.replies()) == [] and team.dead()


def test_closing_the_listener_waits_until_teams_have_heard(hall, team):
    client = hall.dial(team)
    client.send(done(9, answer="unread"))
    hall.listening.close()
    assert [websocket_messages.decode(client.recv(ENOUGH_S))["kind"] for _ in range(2)] == ["hello", "bye"]
    with pytest.raises(ConnectionClosed) as closed:
        client.recv(ENOUGH_S)
    assert closed.value.rcvd.code == 1000


def test_where_there_is_no_deadline_patience_ends(hall):
    team = hall.listening.line("red", patience_s=5.0)
    hall.dial(team)
    team.post(tick("t1", deadline_s=None))
    hall.clock.now += 5.1
    (reply,) = hear(team)
    assert (reply.trial, str(reply.note)) == ("t1", "took longer than 5 s over one answer")
    assert not team.connected and not team.dead()
    hall.clock.now += 5.1
    assert str(team.dead()) == "nobody has been connected for 5 s"
    hall.dial(team)
    assert not team.dead()


def test_a_tick_can_be_waited_for(hall, team):
    client = hall.dial(team)

    def answer():
        for _ in range(3):
            message = websocket_messages.decode(client.recv(ENOUGH_S))
            if message["kind"] == "tick":
                client.send(done(message["number"], **({"answer": 8} if message["ask"] else {})))

    thread = threading.Thread(target=answer)
    thread.start()
    first, second = team.ask(tick(None), ENOUGH_S), team.ask(tick("t2"), ENOUGH_S)
    thread.join(ENOUGH_S)
    assert first[0] == [] and [reply.answer for reply in second[0]] == [8] and second[1] > 0
    assert team.nonsense == 0


def test_a_tick_that_is_not_dealt_with_is_given_up(hall, team):
    hall.dial(team)
    replies, _ = team.ask(tick("t1"), 0.05)
    assert [(reply.trial, str(reply.note)) for reply in replies] == [("t1", "took longer than 0.05 s over one packet")]
    assert team.ask(tick(None), ENOUGH_S)[0] == [], "nobody is there to wait for"


def test_a_team_that_does_not_dial_in_is_not_waited_for(team):
    with pytest.raises(PalestraError, match="red: nobody dialled in with its token"):
        team.require_ready(0.05)


def test_every_team_has_one_line(hall, team):
    for settings_ in (("red",), ("blue", team.token)):
        with pytest.raises(PalestraError, match="already"):
            hall.listening.line(*settings_)


def test_a_port_that_is_taken_is_told(hall):
    with pytest.raises(PalestraError, match="Nobody can dial in"):
        Listening("127.0.0.1", hall.listening.port)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400) | frames, st.booleans())
def test_whatever_bytes_come_nothing_is_raised_and_the_next_is_served(data, known):
    with ExitStack() as stack:
        hall = Hall(stack)
        team = hall.listening.line("red")
        sock = hall.raw(request(team.token) if known else b"")
        if known:
            pump([team], lambda: team.connected)
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            hall.ended(team, sock)
        client = hall.dial(team)
        team.post(tick("t1"))
        client.send(done(1, answer=1))
        assert hear(team)[0].answer == 1


def test_a_token_is_never_taken_for_an_option(hall):
    assert all(hall.listening.line(f"team{i}").token.isalnum() for i in range(200))
