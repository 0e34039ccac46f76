"""Policy servers that Palestra dials, in the protocol of `openpi`: what speaks it runs unchanged.

The server begins with its metadata, a map. Then every tick is one request and gets exactly one response, in order:

    request     {each array of the tick by its name, what is told about it, "trial": its name or None, "ask": whether
                 an answer is wanted}
    response    a map: its "answer" where it has one, else the whole of it; where nothing was asked, it is not looked at
    text        an error: what the server's own traceback says

A connection that breaks costs what was under way on it, and is dialled again. What is posted meanwhile is lost, but for
the newest tick that asks something: it goes out if the line is up again before its deadline.
"""

import errno
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidURI
from websockets.frames import CloseCode
from websockets.uri import WebSocketURI, parse_uri

from palestra.entrants import websocket, websocket_messages
from palestra.entrants.poller import Bell
from palestra.entrants.websocket import MOST_NONSENSE, QUEUE_BYTES, REPLY_BYTES, Peer, Said
from palestra.errors import PalestraError, clean, refuse, text_of
from palestra.records import Reply, Tick
from palestra.sandbox.public_addresses import places_of
from palestra.text import Text, say

OPENING_S = 10.0  # from the first packet to the metadata
TRIES = 10  # in a row; a server that answered once more has them all again
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0  # between two tries
MOST_DEATHS = 100  # that are remembered
OUTPUT_LETTERS = 10_000


class Dialled:
    """One policy server."""

    version = ""

    def __init__(
        self,
        name: str,
        url: str,
        patience_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        queue_bytes: int = QUEUE_BYTES,
        private: bool = True,
    ) -> None:
        self.name, self.url = name, url
        self.metadata: dict[Any, Any] = {}
        self.deaths: list[Text] = []  # why each connection ended, for the organiser
        self.output = ""  # the newest error that the server told, for the organiser
        self.nonsense = 0  # responses to nothing
        self._patience_s, self._clock, self._queue_bytes = patience_s, clock, queue_bytes
        self._uri = _uri(url)
        # Now: to look names up takes time, and one that is allowed now may lead elsewhere later.
        self._addresses = places_of(self._uri.host, self._uri.port, private)
        self._bell = Bell()
        self._peer: Peer | None = None
        self._ready = self._was_ready = False
        self._tries = 0  # since the server last answered
        self._at = self._clock()  # when it was dialled, or is to be dialled again
        self._under_way: deque[tuple[str | None, float]] = deque()  # what was asked, and when
        self._held: tuple[Tick, float] | None = None  # goes out when the connection is up
        self._lost: list[Reply] = []
        self._why: Text = ""
        self._tend()

    def require_ready(self, within_s: float = OPENING_S) -> None:
        """Wait until the server has said what it is; refuse it in words if it does not."""

        def ready() -> bool:
            self._hear()
            return self._ready or bool(self._why)

        if not websocket.wait(self, ready, within_s):
            raise PalestraError(
                say(
                    "{name}: {url} was not ready after {within_s:g} s.", name=self.name, url=self.url, within_s=within_s
                )
            )
        if self._why:
            raise PalestraError(
                say("{name}: {url} cannot be played with: {why}.", name=self.name, url=self.url, why=self._why)
            )

    def post(self, tick: Tick) -> None:
        """Send a tick; what the server does not take yet waits here and holds up nobody."""
        self._tend()
        if self._why:
            return
        if self._ready:
            self._send(tick, self._clock())
        elif tick.trial is not None:
            self._let_go_of_held()
            self._held = (tick, self._clock())

    def replies(self) -> Iterator[Reply]:
        """What has come."""
        yield from self._hear()
        lost, self._lost = self._lost, []
        yield from lost

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        """Give a tick and wait until it is dealt with: the replies, and the seconds that it took."""
        return websocket.ask(self, tick, within_s)

    def settled(self) -> bool:
        return not self._under_way and not self._held

    def give_up(self, why: Text) -> None:
        self._let_go_of_held(why)
        if self._peer is not None:
            self._break(why)

    def dead(self) -> Text:
        return self._why

    def fileno(self) -> int:
        return -1 if self._peer is None else self._bell.fileno()

    def close(self) -> None:
        self._why = self._why or say("it was closed")
        if self._peer is not None:
            self._peer.bid_farewell(CloseCode.NORMAL_CLOSURE, "the run is over")
            self._peer.close()
            self._peer = None
        self._bell.close()

    def _send(self, tick: Tick, at: float) -> None:
        assert self._peer is not None
        request = {**tick.payload, **tick.about, "trial": tick.trial, "ask": tick.trial is not None}
        self._under_way.append((tick.trial, at))
        self._peer.send(websocket_messages.encode(request))
        if self._peer.why:
            self._break(self._peer.why)

    def _hear(self) -> list[Reply]:
        """Take what the server said, and keep the times."""
        self._tend()
        peer = self._peer
        if peer is None:
            return []
        replies: list[Reply] = []
        for said in peer.receive():
            if self._peer is peer:  # and was not let go of for what it said before
                replies += self._heard(said)
        if self._peer is peer and peer.why:
            self._break(peer.why)
        self._tend()
        return replies

    def _heard(self, said: Said) -> list[Reply]:
        if not isinstance(said, bytes | str):
            return []  # the handshake
        if isinstance(said, str):
            self.output = said[-OUTPUT_LETTERS:]
        if not self._ready:
            self._greet(said)
            return []
        if not self._under_way:
            self.nonsense += 1
            if self.nonsense >= MOST_NONSENSE:
                self._why = say("said something {count} times without being asked", count=f"{MOST_NONSENSE:,}")
                self._break(self._why)
            return []
        trial, _ = self._under_way.popleft()
        if isinstance(said, bytes):
            self._tries = 0
        return [] if trial is None else [_reply(trial, said)]

    def _greet(self, said: bytes | str) -> None:
        """Take the metadata; from now on it is spoken to."""
        try:
            found = said if isinstance(said, str) else websocket.read(said)
        except websocket_messages.BadMessage as error:
            found = str(error)
        if not isinstance(found, dict):
            self._break(say("began with {value}, expected a map of metadata", value=_shown(found)))
            return
        self.metadata, self._ready, self._was_ready = found, True, True
        if self._held is not None:
            (tick, at), self._held = self._held, None
            if tick.deadline_s is None or self._clock() - at <= tick.deadline_s:
                self._send(tick, at)

    def _tend(self) -> None:
        """Dial, dial again, and end what takes too long."""
        now = self._clock()
        if self._why:
            return
        if self._peer is None:
            if now >= self._at:
                self._dial(now)
        elif not self._ready and now - self._at > OPENING_S:
            self._break(say("did not say what it is within {limit:g} s", limit=OPENING_S))
        elif self._patience_s and self._under_way and now - self._under_way[0][1] > self._patience_s:
            self._break(say("took longer than {limit:g} s over one answer", limit=self._patience_s))

    def _dial(self, now: float) -> None:
        family, address = self._addresses[self._tries % len(self._addresses)]
        protocol = ClientProtocol(self._uri, max_size=REPLY_BYTES)
        protocol.send_request(protocol.connect())
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        failure = sock.connect_ex(address)
        self._at, self._ready = now, False
        self._peer = Peer(sock, protocol, self._bell, self._queue_bytes)
        if failure not in (0, errno.EINPROGRESS):
            self._break(say("the connection broke off: {why}", why=os.strerror(failure)))

    def _break(self, why: Text) -> None:
        """Let a connection go, with what was under way on it, and say when to dial again."""
        peer, self._peer, self._ready = self._peer, None, False
        assert peer is not None
        peer.close()
        self.deaths = [*self.deaths, why][-MOST_DEATHS:]
        self._lost += [Reply(trial, None, why) for trial, _ in self._under_way if trial is not None]
        self._under_way.clear()
        self._tries += 1
        most = TRIES if self._was_ready else len(self._addresses)  # one that was never there need not be waited for
        if not self._why and (peer.deaf or self._tries >= most):
            tried = say("{why}; it was dialled {count} times in vain", why=why, count=self._tries)
            self._why = why if peer.deaf or self._tries == 1 else tried
        waits = 0.0 if self._tries == 1 or not self._was_ready else FIRST_WAIT_S * 2.0 ** (self._tries - 2)
        self._at = self._clock() + min(waits, LONGEST_WAIT_S)

    def _let_go_of_held(self, why: Text = "") -> None:
        if self._held is not None and self._held[0].trial is not None:
            self._lost.append(Reply(self._held[0].trial, None, why or say("there was no connection to send it on")))
        self._held = None


def _reply(trial: str, said: bytes | str) -> Reply:
    """A response to a tick that asked, as the reply that it is."""
    if isinstance(said, str):
        return Reply(trial, None, say("the server failed: {why}", why=_last_line(said)))
    try:
        found = websocket.read(said)
        if not isinstance(found, dict):
            return Reply(trial, None, say("responded with {value}, expected a map", value=_shown(found)))
        return Reply(trial, websocket_messages.plain(found.get("answer", found)))
    except websocket_messages.BadMessage as error:
        return Reply(trial, None, say("responded with what cannot be read: {why}", why=text_of(error)))


def _last_line(text: str) -> str:
    """The line of a traceback that says what happened."""
    lines = [line for line in text[-OUTPUT_LETTERS:].splitlines() if line.strip()]
    return clean(lines[-1]) if lines else "it did not say how"


def _shown(value: Any) -> str:
    return f"the text {_last_line(value)!r}" if isinstance(value, str) else type(value).__name__


def _uri(url: str) -> WebSocketURI:
    try:
        uri = parse_uri(url)
    except (InvalidURI, ValueError) as error:
        raise PalestraError(
            say("{url} is no address of a policy server ({error}); expected ws://host:port/path.", url=url, error=error)
        ) from None
    if uri.secure:
        refuse(url, "wss://", say("ws://: an encrypted server is reached through a tunnel that ends on this machine"))
    return uri
