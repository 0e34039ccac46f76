"""A page that opens the camera of a phone or laptop and pushes its frames here, and the WebSocket that takes them.

A headset's own program speaks the same, to the same address (docs/studio-capture.md):

    we say      {"ask": n}, which is to be answered at once: by it the clocks are compared
                {"go": true}, once they were: from now on frames are taken
                {"kept": n, "lost": n}, now and then
    it says     {"answer": n, "at_ms": its time}
                a frame, in bytes: its time in ms (float64), how many it left out before it (uint32), little-endian,
                and a JPEG or PNG

Of two connections the newer one counts. Whoever has no token gets nothing; whoever has is bounded in what is kept of
it: so many bytes in a message, so many messages that wait, so much nonsense.
"""

import asyncio
import hmac
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from palestra.errors import PalestraError
from palestra.studio.capture.source import Notice, Offset, notice, now_ns
from palestra.studio.capture.sources.picture_bytes import MOST_BYTES, size_of
from palestra.studio.capture.sources.push_words import page
from palestra.text import say

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; media-src blob:"
)
HEAD = struct.Struct("<dI")
ROUNDS, ANSWER_S = 5, 5.0  # asks of one measurement, of which the quickest counts
TOLD_S, EVERY_TOLD = 1.0, 5  # between two counts that a device is told, of which clocks are compared at every fifth
MOST_NONSENSE = 20  # messages of a connection that are nothing, before it is closed
MOST_TEXT = 1000
MOST_CONNECTIONS = 8
REPLACED, NONSENSE = 4001, 4003  # codes that we close with
START_S = 10.0


class Answer(msgspec.Struct):
    """What a page says to an ask."""

    answer: int
    at_ms: float


@dataclass(frozen=True)
class Pushed:
    """A frame as it came, not yet decoded."""

    data: bytes
    taken_ns: int
    arrived_ns: int
    left_out: int  # by the page, just before it


Take = Callable[[Pushed | Offset | Notice], bool]  # whether there was room for it
ANSWER = msgspec.json.Decoder(Answer)


class PushServer:
    """Serves the page and takes frames, in a thread of its own."""

    def __init__(self, host: str, port: int, token: str, encrypted: ssl.SSLContext | None, take: Take) -> None:
        self._where, self._token, self._encrypted, self._take = (host, port), token, encrypted, take
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self._current: ServerConnection | None = None
        self._count = 0  # of connections
        self.lost = 0  # frames that came and could not be kept, not yet told to anybody
        self.kept = self.lost_in_all = 0
        self.port = port
        self._thread = threading.Thread(target=self._run, daemon=True, name="push server")

    def start(self) -> None:
        """Listen; a PalestraError says why nobody can push there."""
        self._thread.start()
        self._ready.wait(START_S)
        if self._failed:
            host, port = self._where
            raise PalestraError(
                say("Nothing can be pushed to {host}:{port}: {why}. Name another port, or 0 for any.",
                    host=host, port=port, why=self._failed.strerror)
            )  # fmt: skip

    def close(self) -> None:
        if self._ready.is_set() and not self._failed and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(START_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await self._listen()
        except OSError as error:
            self._failed = error
            self._ready.set()
            return
        async with server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._ready.set()
            await self._ended.wait()

    async def _listen(self) -> Server:
        host, port = self._where
        return await serve(
            self._meet,
            host,
            port,
            ssl=self._encrypted,
            process_request=self._answer_request,
            max_size=MOST_BYTES,
            max_queue=2,
            compression=None,
            close_timeout=1,
            server_header=None,
        )

    def _answer_request(self, connection: ServerConnection, request: Request) -> Response | None:
        path = request.path.partition("?")[0]
        if hmac.compare_digest(path.encode(), f"/{self._token}/push".encode()):
            full = self._count >= MOST_CONNECTIONS
            return _response(HTTPStatus.SERVICE_UNAVAILABLE, b"Too many devices.\n", "text/plain") if full else None
        if hmac.compare_digest(path.encode(), f"/{self._token}".encode()):
            return _response(HTTPStatus.OK, page(), "text/html; charset=utf-8")
        return _response(HTTPStatus.NOT_FOUND, b"Nothing here.\n", "text/plain")

    async def _meet(self, connection: ServerConnection) -> None:
        """One connection from beginning to end."""
        self._count += 1
        before, self._current = self._current, connection
        if before:
            await before.close(REPLACED, "another device connected")
        self._take(notice(say("A device connected.")))
        meeting = _Meeting(self, connection)
        try:
            await meeting.run()
        finally:
            self._take(notice(say("The device's connection ended ({why}).", why=_why(connection))))
            self._count -= 1
            if self._current is connection:
                self._current = None

    def hand_on(self, pushed: Pushed) -> None:
        """A frame for whoever takes them; one for which there is no room is counted."""
        if self._take(pushed):
            self.kept += 1
        else:
            self.lose(1 + pushed.left_out)

    def hand_on_offset(self, offset: Offset) -> None:
        self._take(offset)

    def lose(self, count: int) -> None:
        self.lost += count
        self.lost_in_all += count

    def lost_until_now(self) -> int:
        """Frames lost since this was last asked."""
        count, self.lost = self.lost, 0
        return count


class _Meeting:
    """One connected device."""

    def __init__(self, server: PushServer, connection: ServerConnection) -> None:
        self._server, self._connection = server, connection
        self._asked: dict[int, int] = {}  # number of an ask → when it was sent
        self._answers: asyncio.Queue[tuple[int, int, float]] = asyncio.Queue(ROUNDS)
        self._goes = False
        self._nonsense = 0

    async def run(self) -> None:
        comparing = asyncio.create_task(self._compare_clocks())
        try:
            async for message in self._connection:
                await self._heard(message, now_ns())
        except ConnectionClosed:
            pass  # how it ended is told by whoever called
        finally:
            comparing.cancel()

    async def _heard(self, message: str | bytes, at_ns: int) -> None:
        if not (self._frame(message, at_ns) if isinstance(message, bytes) else self._answer(message, at_ns)):
            self._nonsense += 1
            if self._nonsense > MOST_NONSENSE:
                await self._connection.close(NONSENSE, "too many messages that are no pictures")

    def _frame(self, message: bytes, at_ns: int) -> bool:
        """Take a frame; whether it is one."""
        if not self._goes or len(message) <= HEAD.size or size_of(message[HEAD.size :]) is None:
            self._server.lose(1)
            return False
        taken_ms, left_out = HEAD.unpack_from(message)
        if not abs(taken_ms) < 1e15:  # also what is no number
            self._server.lose(1)
            return False
        self._server.hand_on(Pushed(message[HEAD.size :], round(taken_ms * 1e6), at_ns, left_out))
        return True

    def _answer(self, message: str, at_ns: int) -> bool:
        if len(message) > MOST_TEXT:
            return False
        try:
            said = ANSWER.decode(message)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return False
        sent_ns = self._asked.pop(said.answer, None)
        if sent_ns is None or not abs(said.at_ms) < 1e15 or self._answers.full():
            return False
        self._answers.put_nowait((sent_ns, at_ns, said.at_ms))
        return True

    async def _compare_clocks(self) -> None:
        """Ask for the device's time, again and again; of each few round trips the quickest counts."""
        with suppress(ConnectionClosed):  # then there is nobody to ask
            await self._compare_for_ever()

    async def _compare_for_ever(self) -> None:
        number = 0
        while True:
            self._asked.clear()
            trips: list[tuple[int, int, float]] = []
            for _ in range(ROUNDS):
                number += 1
                self._asked[number] = now_ns()
                await self._connection.send(msgspec.json.encode({"ask": number}).decode())
                try:
                    trips.append(await asyncio.wait_for(self._answers.get(), ANSWER_S))
                except TimeoutError:
                    break
            if trips:
                self._server.hand_on_offset(_offset(trips))
                if not self._goes:
                    self._goes = True
                    await self._connection.send('{"go":true}')
            for _ in range(EVERY_TOLD if self._goes else 1):
                told = {"kept": self._server.kept, "lost": self._server.lost_in_all}
                await self._connection.send(msgspec.json.encode(told).decode())
                await asyncio.sleep(TOLD_S)


def _offset(trips: list[tuple[int, int, float]]) -> Offset:
    sent_ns, heard_ns, at_ms = min(trips, key=lambda trip: trip[1] - trip[0])
    half_ns = (heard_ns - sent_ns) // 2
    return Offset(heard_ns, sent_ns + half_ns - round(at_ms * 1e6), half_ns)


def _why(connection: ServerConnection) -> str:
    """How a connection ended, as its close codes have it."""
    close = connection.protocol.close_sent or connection.protocol.close_rcvd
    return f"{close.code} {close.reason}".strip() if close else "1006"


def _response(status: HTTPStatus, body: bytes, kind: str) -> Response:
    headers = Headers(
        {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
