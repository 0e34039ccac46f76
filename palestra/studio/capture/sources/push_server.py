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
import threading
from http import HTTPStatus

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from palestra.errors import PalestraError
from palestra.studio.capture.source import notice
from palestra.studio.capture.sources.picture_bytes import MOST_BYTES
from palestra.studio.capture.sources.push_meeting import Inbox, Meeting
from palestra.studio.capture.sources.push_words import page
from palestra.text import say

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; media-src blob:"
)
MOST_CONNECTIONS = 8
REPLACED = 4001  # the code that we close with
START_S = 10.0


class PushServer:
    """Serves the page and takes frames, in a thread of its own."""

    def __init__(self, host: str, port: int, token: str, encrypted: ssl.SSLContext | None, inbox: Inbox) -> None:
        self._where, self._token, self._encrypted, self._inbox = (host, port), token, encrypted, inbox
        self._ready = threading.Event()
        self._failed: OSError | None = None
        self._current: ServerConnection | None = None
        self._count = 0  # of connections
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
        self._inbox.tell(notice(say("A device connected.")))
        meeting = Meeting(self._inbox, connection)
        try:
            await meeting.run()
        finally:
            self._inbox.tell(notice(say("The device's connection ended ({why}).", why=_why(connection))))
            self._count -= 1
            if self._current is connection:
                self._current = None


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
