"""Teams that dial in with `palestra.client`: one listener, a token and a line for each.

    they connect with    Authorization: Bearer TOKEN (or ?token=TOKEN), Palestra-Version: TEXT (or ?version=TEXT)
    we say               {"kind": "hello", "team": …, "track": …}
                         {"kind": "tick", "number": …, "trial": name or None, "ask": …, "deadline_s": seconds or None,
                          what is told about it, "data": {name: array}}
                         {"kind": "bye"}, and close with code 1000, when the run is over
    they say             {"kind": "done", "number": …, "answer": …}, or "note" for why there is no answer, or neither
                         where nothing was asked

Of two connections with one token the newer one is the team's. A team that comes back gets the newest tick that asks
something, if it is still open, with the time that is left. Nothing else that was posted while nobody was connected is
sent later. Versions are percent-encoded.

Before its token is known, a connection is a stranger's: few bytes, little time, and a limited number of them.
"""

import hmac
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote

from websockets.http11 import Request
from websockets.server import ServerProtocol

from palestra.entrants import websocket, websocket_messages
from palestra.entrants.poller import Bell
from palestra.entrants.websocket import MOST_NONSENSE, QUEUE_BYTES, REPLY_BYTES, Peer, Said
from palestra.errors import PalestraError, clean, text_of
from palestra.records import Reply, Tick
from palestra.text import Text, say

HANDSHAKE_BYTES, HANDSHAKE_S = 16 << 10, 10.0  # of one who has not said who it is
STRANGERS = 64  # at once; for one more, the oldest goes
ACCEPTED = 16  # at one look
READY_S = 120.0  # for a team to dial in
LEAVING_S = 2.0  # for the last words to be taken
MOST_ASKED = 1 << 14  # decisions that a team may still answer
MOST_CHANGES = 100  # of a team's version in one run
MOST_DEATHS = 100  # that are remembered
MOST_FIELDS = 16  # of a query
OVER, REPLACED, LATE, NONSENSE = 1000, 4001, 4002, 4003  # codes that we close with
RUN_OVER = say("the run is over")


class Listening:
    """Where teams dial in. Whoever looks after one of its lines looks after the listener, too."""

    def __init__(
        self,
        host: str,
        port: int,
        track: str = "",
        clock: Callable[[], float] = time.monotonic,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        self.track, self.clock, self._queue_bytes = track, clock, queue_bytes
        try:
            self._sock = socket.create_server((host, port), backlog=STRANGERS)
        except OSError as error:
            raise PalestraError(
                say("Nobody can dial in at {host}:{port}: {strerror}.", host=host, port=port, strerror=error.strerror)
            ) from None
        self._sock.setblocking(False)
        self.bell = Bell()
        self.bell.watch(self._sock)
        self._lines: dict[str, TeamLine] = {}
        self._strangers: dict[Peer, float] = {}  # who is no team yet, or no more → when it must be gone
        self.number = 0  # of the newest tick
        self._tick: Tick | None = None
        self._message = b""

    @property
    def port(self) -> int:
        return int(self._sock.getsockname()[1])

    def line(self, team: str, token: str = "", patience_s: float | None = None) -> "TeamLine":
        """The line to a team. Its token, a new one where none is given, is for the team alone."""
        token = token or secrets.token_hex()  # no sign among them that a shell or a parser takes for something else
        if team in self._lines or any(line.token == token for line in self._lines.values()):
            raise PalestraError(say("There is a line to {team!r}, or with its token, already.", team=team))
        self._lines[team] = TeamLine(self, team, token, patience_s)
        return self._lines[team]

    def message(self, tick: Tick) -> tuple[int, bytes]:
        """A tick's number and message. All teams get the same, so it is made once."""
        if tick is not self._tick:
            self._tick, self.number = tick, self.number + 1
            self._message = _message(tick, self.number, tick.deadline_s)
        return self.number, self._message

    def tend(self) -> None:
        """Let in who knocks, and see off who leaves."""
        if self.fileno() < 0:
            return  # it was closed
        now, rung = self.clock(), self.bell.rung()
        if self._sock.fileno() in rung:
            self._accept(now)
        for peer, until in list(self._strangers.items()):
            if now > until:
                peer.close()
            elif peer.fileno() in rung:
                self._meet(peer)
            if peer.closed:
                self._strangers.pop(peer, None)

    def _accept(self, now: float) -> None:
        for _ in range(ACCEPTED):
            try:
                sock, _address = self._sock.accept()
            except OSError:  # nobody knocks any more, or no descriptor is left to meet them with
                return
            protocol = ServerProtocol(max_size=REPLY_BYTES)
            self._host(Peer(sock, protocol, self.bell, self._queue_bytes), now + HANDSHAKE_S)

    def _host(self, peer: Peer, until: float) -> None:
        if len(self._strangers) >= STRANGERS:
            oldest = next(iter(self._strangers))
            oldest.close()
            del self._strangers[oldest]
        self._strangers[peer] = until

    def see_off(self, peer: Peer) -> None:
        """Take over a connection that is no team's any more."""
        if not peer.closed:
            peer.move(self.bell)
            self._host(peer, self.clock() + LEAVING_S)

    def _meet(self, peer: Peer) -> None:
        """Read a stranger's request, and answer it."""
        if peer.why:
            peer.see_off()
            return
        said = peer.receive(HANDSHAKE_BYTES - peer.received)
        if len(said) == 1 and isinstance(said[0], Request) and not peer.why and not peer.protocol.eof_sent:
            self._answer(peer, said[0])
        elif said or peer.received >= HANDSHAKE_BYTES:
            peer.close()  # it talks on before it is let in, or never comes to an end

    def _answer(self, peer: Peer, request: Request) -> None:
        protocol = peer.protocol
        assert isinstance(protocol, ServerProtocol)
        line, refusal = self._admitted(request)
        response = protocol.reject(refusal[0], refusal[1] + "\n") if refusal else protocol.accept(request)
        protocol.send_response(response)
        if line is None or response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            peer.leave("was not let in")
            return
        del self._strangers[peer]
        line.take(peer, _version(request))

    def _admitted(self, request: Request) -> tuple["TeamLine | None", tuple[HTTPStatus, str] | None]:
        """Whose connection a request is for; or why for nobody's."""
        token = _token(request).encode(errors="replace")
        found = [line for line in self._lines.values() if hmac.compare_digest(line.token.encode(), token)]
        if not found:
            words = "This token is none of this run's. Every team has its own; it goes in the header"
            return None, (HTTPStatus.UNAUTHORIZED, f"{words} 'Authorization: Bearer TOKEN'.")
        line = found[0]
        if line.dead() == RUN_OVER:
            return None, (HTTPStatus.GONE, "The run is over.")
        if line.nonsense >= MOST_NONSENSE:
            return None, (HTTPStatus.TOO_MANY_REQUESTS, f"This team said {MOST_NONSENSE:,} times what answers nothing.")
        if len(line.versions) >= MOST_CHANGES and _version(request) != line.version:
            return None, (HTTPStatus.TOO_MANY_REQUESTS, f"The version has changed {MOST_CHANGES} times in this run.")
        return line, None

    def fileno(self) -> int:
        return self.bell.fileno()

    def close(self) -> None:
        """End all lines, and wait a moment until the teams have taken our last words."""
        for line in self._lines.values():
            line.close()

        def gone() -> bool:
            self.tend()
            return not any(peer.why for peer in self._strangers)

        websocket.wait(self, gone, LEAVING_S)
        for peer in self._strangers:
            peer.close()
        self._strangers.clear()
        self._sock.close()
        self.bell.close()


@dataclass(frozen=True)
class Declared:
    """A version that a team said it plays with."""

    at: float  # by the listener's clock
    version: str


@dataclass(frozen=True)
class _Asked:
    """The newest tick that asks something: a team that comes back gets it again."""

    number: int
    trial: str
    tick: Tick
    at: float  # when it was posted


class TeamLine:
    """The line to one team. While it is dead because nobody is there, somebody may still come back."""

    output = ""  # what it prints stays on its machine

    def __init__(self, listening: Listening, name: str, token: str, patience_s: float | None) -> None:
        self.name, self.token = name, token
        self.version = ""
        self.versions: list[Declared] = []  # each change of it
        self.deaths: list[Text] = []  # why each connection ended, for the organiser
        self.nonsense = 0  # messages that answer nothing
        self._listening, self._patience_s, self._clock = listening, patience_s, listening.clock
        self._bell = Bell()
        self._bell.add(listening.bell)
        self._peer: Peer | None = None
        self._since = self._clock()  # when the last one left
        self._asked: dict[int, str] = {}  # number of a tick → what is decided on it
        self._newest: _Asked | None = None
        self._awaited: int | None = None  # number of the newest tick, until it is dealt with
        self._ticked_off = 0  # ticks that nothing was to be said to, and nothing was
        self._lost: list[Reply] = []
        self._why: Text = ""

    @property
    def connected(self) -> bool:
        return self._peer is not None

    def require_ready(self, within_s: float = READY_S) -> None:
        """Wait until the team has dialled in; refuse it in words if it does not."""

        def ready() -> bool:
            self._listening.tend()
            return self.connected

        if not websocket.wait(self, ready, within_s):
            raise PalestraError(
                say(
                    "{name}: nobody dialled in with its token within {within_s:g} s.", name=self.name, within_s=within_s
                )
            )

    def post(self, tick: Tick) -> None:
        """Send a tick; what the team does not take yet waits here and holds up nobody."""
        if self._why == RUN_OVER:
            return
        number, message = self._listening.message(tick)
        if tick.trial is not None:
            self._newest = _Asked(number, tick.trial, tick, self._clock())
            self._asked[number] = tick.trial
            if len(self._asked) > MOST_ASKED:
                del self._asked[next(iter(self._asked))]
        self._awaited = number if tick.trial is not None or self._peer else None
        if self._peer is not None:
            self._peer.send(message)
            self._look_after(self._peer)

    def replies(self) -> Iterator[Reply]:
        """What has come."""
        self._listening.tend()
        replies: list[Reply] = []
        if self._peer is not None:
            for said in self._peer.receive():
                replies += self._heard(said) if self.nonsense < MOST_NONSENSE else []
            self._look_after(self._peer)
        self._keep_time()
        replies += self._lost
        self._lost = []
        yield from replies

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        """Give a tick and wait until it is dealt with: the replies, and the seconds that it took."""
        return websocket.ask(self, tick, within_s)

    def settled(self) -> bool:
        return self._awaited is None

    def give_up(self, why: Text) -> None:
        newest, self._awaited = self._newest, None
        if newest and self._asked.pop(newest.number, None) is not None:
            self._lost.append(Reply(newest.trial, None, why))
        self._part(LATE, why)

    def dead(self) -> Text:
        if self._why or self._peer is not None or not self._patience_s:
            return self._why
        absent = self._clock() - self._since > self._patience_s
        return say("nobody has been connected for {limit:g} s", limit=self._patience_s) if absent else ""

    def fileno(self) -> int:
        return self._bell.fileno()

    def close(self) -> None:
        """Tell the team that the run is over. `Listening.close` waits until it has heard."""
        if self._why != RUN_OVER:
            if self._peer is not None:
                self._peer.send(websocket_messages.encode({"kind": "bye"}))
            self._part(OVER, RUN_OVER)
            self._why = RUN_OVER
            self._bell.close()

    def take(self, peer: Peer, version: str) -> None:
        """A new connection is the team's: tell it where we are."""
        self._part(REPLACED, say("a newer connection took its place"))
        self._peer, self._why = peer, ""
        peer.move(self._bell)
        if version != self.version or not self.versions:
            self.version = version
            self.versions.append(Declared(self._clock(), version))
        peer.send(websocket_messages.encode({"kind": "hello", "team": self.name, "track": self._listening.track}))
        newest = self._newest
        if newest is not None and newest.number in self._asked:
            left_s = newest.tick.deadline_s
            if left_s is not None:
                left_s -= self._clock() - newest.at
            if left_s is None or left_s >= 0:
                peer.send(_message(newest.tick, newest.number, left_s))

    def _look_after(self, peer: Peer) -> None:
        """Let go of a connection that has ended, or has to."""
        if self.nonsense >= MOST_NONSENSE:
            self._why = say("said {count} times what answers nothing", count=f"{MOST_NONSENSE:,}")
            self._part(NONSENSE, self._why)
        elif peer.why:
            self._part(OVER, peer.why)
            self._why = peer.why if peer.deaf else ""

    def _part(self, code: int, why: Text) -> None:
        """Let go of the connection, if there is one."""
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.bid_farewell(code, why)
            self._listening.see_off(peer)
            self._since = self._clock()
            if peer.why != RUN_OVER:
                self.deaths = [*self.deaths, peer.why][-MOST_DEATHS:]
            if self._awaited not in self._asked:
                self._awaited = None  # it will not be sent again

    def _keep_time(self) -> None:
        """A rule without a deadline does not wait for ever."""
        newest, patience_s = self._newest, self._patience_s
        if patience_s and newest and newest.number in self._asked and newest.tick.deadline_s is None:
            late = self._clock() - newest.at > patience_s
            if late:
                self.give_up(say("took longer than {limit:g} s over one answer", limit=patience_s))

    def _heard(self, said: Said) -> list[Reply]:
        """A message as the reply that it is, if it is one."""
        message = _read(said)
        number = message.get("number")
        if message.get("kind") != "done" or type(number) is not int or not 0 < number <= self._listening.number:
            self.nonsense += 1
            return []
        if self._awaited is not None and number >= self._awaited:
            self._awaited = None
        trial = self._asked.pop(number, None)
        if trial is not None:
            return [_reply(trial, message)]
        self._ticked_off += 1
        if "answer" in message or "note" in message or self._ticked_off > self._listening.number:
            self.nonsense += 1  # it answers what was not asked, or was answered
        return []


def _read(said: Said) -> dict[Any, Any]:
    """What a team said; nothing where it is no map."""
    try:
        message = websocket.read(said) if isinstance(said, bytes) else None
    except websocket_messages.BadMessage:
        return {}
    return message if isinstance(message, dict) else {}


def _reply(trial: str, message: dict[Any, Any]) -> Reply:
    note = message.get("note", "")
    if note:
        return Reply(trial, None, clean(note) if isinstance(note, str) else say("said nonsense"))
    if "answer" not in message:
        return Reply(trial, None, say("gave no answer"))
    try:
        return Reply(trial, websocket_messages.plain(message["answer"]))
    except websocket_messages.BadMessage as error:
        return Reply(trial, None, text_of(error))


def _message(tick: Tick, number: int, deadline_s: float | None) -> bytes:
    about = {**tick.about, "trial": tick.trial, "ask": tick.trial is not None, "deadline_s": deadline_s}
    return websocket_messages.encode({**about, "kind": "tick", "number": number, "data": dict(tick.payload)})


def _token(request: Request) -> str:
    """The token in a request: in its header, or, where it has none, in its query."""
    headers = request.headers.get_all("Authorization")
    if not headers:
        return _query(request, "token")
    scheme, _, token = headers[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _version(request: Request) -> str:
    headers = request.headers.get_all("Palestra-Version")
    return clean(unquote(headers[0]) if headers else _query(request, "version"))


def _query(request: Request, name: str) -> str:
    try:
        return parse_qs(request.path.partition("?")[2], max_num_fields=MOST_FIELDS).get(name, [""])[0]
    except ValueError:  # more fields than anybody needs
        return ""
