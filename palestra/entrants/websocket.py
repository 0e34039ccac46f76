"""A WebSocket on a socket that never waits: what both kinds of remote entrants are spoken to through.

`websockets` has the protocol, without its own reading and writing. What comes is read a bounded amount at a time: who
floods us holds up nobody. What waits for one who does not read has a limit.
"""

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol

from palestra.entrants import websocket_messages
from palestra.entrants.poller import Bell
from palestra.entrants.socket_frames import SEND_FLAGS
from palestra.errors import clean
from palestra.records import Reply, Tick
from palestra.text import Text, Words, human_bytes, joined, say

REPLY_BYTES, REPLY_ITEMS = 256 << 10, 1000  # of one message from an entrant: a chunk of actions, a note
QUEUE_BYTES = 64 << 20  # that may wait for one who does not read
READ_BYTES = 16 << 10  # at one look: at their worst they take ten milliseconds to read
MOST_NONSENSE = 1000  # messages that answer nothing, in one run; who says more is not listened to
PARTS = 64  # of what waits that are sent at once
COLON = Words(": ", "：")
LONGEST_REASON = 120  # bytes that a closing frame has for why
LOOK_S = 0.02  # between two looks at a line that is waited for: it may have a time to keep
KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}  # a peer without power is found out by then

Said = bytes | str | Request | Response


class Peer:
    """One WebSocket. It is of use until `why` says why not; what can still be said then is a farewell."""

    def __init__(
        self, sock: socket.socket, protocol: ClientProtocol | ServerProtocol, bell: Bell, queue_bytes: int = QUEUE_BYTES
    ) -> None:
        self.protocol, self.deaf, self.received = protocol, False, 0
        self.why: Text = ""
        self._sock, self._bell, self._queue_bytes = sock, bell, queue_bytes
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._part, self._is_text = bytearray(), False  # of a message that comes in several frames
        _prepare(sock)
        self.flush()

    @property
    def is_open(self) -> bool:
        """Whether both sides have agreed to talk, and still do."""
        return not self.why and self.protocol.state is State.OPEN

    @property
    def closed(self) -> bool:
        return self._sock.fileno() < 0

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, message: bytes) -> None:
        """Queue a message, and send what is taken now."""
        if self.is_open:
            self.protocol.send_binary(message)
            self.flush()

    def receive(self, most: int = READ_BYTES) -> list[Said]:
        """What has come: messages, and the request or response that a connection begins with. Reads once."""
        data = None if self.why else self._read(most)
        self.flush()
        if data is None:
            return []
        said: list[Said] = []
        try:
            if data:
                self.protocol.receive_data(data)
            else:
                self.protocol.receive_eof()
            for event in self.protocol.events_received():
                said += self._joined(event) if isinstance(event, Frame) else [event]
        except Exception as error:  # a fault of the library's on hostile bytes may not end everybody's run
            self._end(say("sent what cannot be read ({kind})", kind=type(error).__name__))
        self.flush()
        if not self.why and (self.protocol.handshake_exc or self.protocol.state in (State.CLOSING, State.CLOSED)):
            self.why = self._reason()
        return said

    def _read(self, most: int) -> bytes | None:
        """What is there; nothing at the end of the stream; None where there is nothing yet."""
        try:
            data = self._sock.recv(most)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            self._end(say("the connection broke off: {why}", why=error.strerror))
            return None
        self.received += len(data)
        return data

    def _joined(self, frame: Frame) -> list[Said]:
        """The message that is whole with this frame, if one is."""
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._part, self._is_text = bytearray(frame.data), frame.opcode is Opcode.TEXT
        elif frame.opcode is Opcode.CONT:
            self._part += frame.data
        else:
            return []
        if not frame.fin:
            return []
        message, self._part = self._part, bytearray()
        return [message.decode(errors="replace") if self._is_text else bytes(message)]

    def flush(self) -> None:
        """Send what the socket takes now. One who lets more wait than is allowed is not spoken to any longer."""
        if self.closed:
            return
        for data in self.protocol.data_to_send():
            self._waiting.append(memoryview(data))  # the last one may be SEND_EOF: half a farewell
            self._waiting_bytes += len(data)
        try:
            while self._waiting and self._send_some():
                pass
        except OSError as error:
            self._end(say("the connection broke off: {why}", why=error.strerror))
            return
        self._bell.watch(self._sock, bool(self._waiting))
        if self._waiting_bytes > self._queue_bytes and not self.why:
            self.deaf = True
            self._end(say("does not read: more than {size} waited for it", size=human_bytes(self._queue_bytes)))

    def _send_some(self) -> bool:
        """Send from the front of the queue; whether anything was taken."""
        if self._waiting[0] == SEND_EOF:
            self._waiting.popleft()
            self._sock.shutdown(socket.SHUT_WR)
            return True
        parts = [self._waiting[place] for place in range(min(len(self._waiting), PARTS))]
        try:
            sent = self._sock.sendmsg(parts, (), SEND_FLAGS)
        except (BlockingIOError, InterruptedError):
            return False
        self._waiting_bytes -= sent
        while self._waiting and sent >= len(self._waiting[0]) > 0:
            sent -= len(self._waiting.popleft())
        if sent:
            self._waiting[0] = self._waiting[0][sent:]
        return True

    def bid_farewell(self, code: int, why: Text) -> None:
        """Say that it is over, and why."""
        if self.is_open:
            self.protocol.send_close(code, str(why).encode()[:LONGEST_REASON].decode(errors="ignore"))
            if isinstance(self.protocol, ServerProtocol):
                self.protocol.send_eof()
        self.leave(why)

    def leave(self, why: Text) -> None:
        """Say nothing more than what was said. The other end is still to be seen off."""
        self.flush()
        self.why = self.why or why

    def see_off(self) -> bool:
        """Read on until the other end closes: to close over unread bytes would take our last words back. Whether it is
        gone."""
        self.flush()
        if not self.closed and self._read_on():
            self.close()
        return self.closed

    def _read_on(self) -> bool:
        try:
            return not self._sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def move(self, bell: Bell) -> None:
        """Ring another bell from now on."""
        self._bell.forget(self._sock)
        self._bell = bell
        self.flush()

    def close(self) -> None:
        self._end(say("it was closed"))

    def _end(self, why: Text) -> None:
        self.why = self.why or why
        if not self.closed:
            self._bell.forget(self._sock)
            self._sock.close()
        self._waiting.clear()
        self._waiting_bytes = 0

    def _reason(self) -> Text:
        """Why the protocol came to its end, in words."""
        protocol, failed = self.protocol, self.protocol.handshake_exc
        if isinstance(failed, InvalidStatus):
            body = clean(failed.response.body.decode(errors="replace"))
            said = say("answered HTTP {status} to the handshake", status=failed.response.status_code)
            return joined((said, body), COLON) if body else said
        if failed is not None:
            return say("the handshake failed: {why}", why=clean(str(failed)))
        if protocol.parser_exc is not None and not isinstance(protocol.parser_exc, EOFError):
            return say("sent what is not taken: {why}", why=clean(str(protocol.parser_exc)))
        if protocol.close_rcvd is not None:
            reason = clean(protocol.close_rcvd.reason)
            said = say("closed the connection with code {code}", code=protocol.close_rcvd.code)
            return joined((said, reason), COLON) if reason else said
        return say("the connection broke off")


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # By the kernel and not by pings: a model that computes for a minute answers no ping, and is alive.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Awaited(Protocol):
    """A line that can be waited for, where there is no clock that may not wait."""

    def post(self, tick: Tick) -> None: ...
    def replies(self) -> Iterable[Reply]: ...
    def dead(self) -> Text: ...
    def fileno(self) -> int: ...

    def settled(self) -> bool:
        """Whether nothing is awaited of what was posted."""

    def give_up(self, why: Text) -> None:
        """Await nothing of it any longer."""


def ask(line: Awaited, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
    """Give a tick and wait until it is dealt with: the replies, and the seconds that it took."""
    started = time.monotonic()
    line.post(tick)
    replies: list[Reply] = []

    def settled() -> bool:
        replies.extend(line.replies())
        return line.settled() or bool(line.dead())

    if not wait(line, settled, within_s):
        line.give_up(say("took longer than {limit:g} s over one packet", limit=within_s))
        replies += line.replies()
    return replies, time.monotonic() - started


def wait(line: Any, done: Callable[[], bool], within_s: float) -> bool:
    """Wait until something is so; whether it was in time."""
    deadline = time.monotonic() + within_s
    while not done():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        poll = select.poll()
        if line.fileno() >= 0:
            poll.register(line.fileno(), select.POLLIN)
        poll.poll(min(left_s, LOOK_S) * 1e3)
    return True


def read(message: bytes) -> Any:
    """What a message from an entrant says."""
    return websocket_messages.decode(message, REPLY_BYTES, REPLY_ITEMS)
