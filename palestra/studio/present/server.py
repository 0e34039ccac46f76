"""The page and its server, on this machine alone."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, get, websocket
from litestar.connection import ASGIConnection
from litestar.exceptions import NotFoundException, PermissionDeniedException, WebSocketDisconnect
from litestar.handlers import BaseRouteHandler
from litestar.response import Stream

from palestra.errors import PalestraError
from palestra.studio.present.byte_ranges import part_of
from palestra.studio.present.film_files import FilmFile
from palestra.studio.present.page_words import page_words
from palestra.studio.present.reports import MESSAGE, Ping, Report, Where
from palestra.studio.present.run import Run
from palestra.text import said

PAGE = Path(__file__).with_name("page")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
OURS = ("127.0.0.1", "localhost")
REPLACED = 4001  # another window has taken over
OTHER = 4002  # the page is of a run that was shown here before
# Isolated pages have a clock of 5 µs instead of 100 µs.
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
}


class Presenter:
    """One run, shown to one page at a time. The newest page is the one that is listened to."""

    def __init__(self, run: Run, films: dict[int, FilmFile], language: str, on_end: Callable[[], None]) -> None:
        self.run, self.films, self.language, self._on_end = run, films, language, on_end
        self._link: Any = None

    def app(self) -> Litestar:
        @get("/", sync_to_thread=False)
        def index() -> Response[bytes]:
            return _file("index.html")

        @get("/page/{name:str}", sync_to_thread=False)
        def page(name: str) -> Response[bytes]:
            return _file(name)

        @get("/setup.json", sync_to_thread=False)
        def setup() -> Response[bytes]:
            return Response(self._setup(), media_type="application/json")

        @get("/films/{number:int}", sync_to_thread=False)
        def film(number: int, request: Request[Any, Any, Any]) -> Response[bytes] | Stream:
            return part_of(self._film(number).video, request.headers.get("range"))

        @get("/subtitles/{number:int}", sync_to_thread=False)
        def subtitles(number: int) -> Response[bytes] | Stream:
            file = self._film(number).subtitles
            if file is None:
                raise NotFoundException
            return part_of(file, None)

        @websocket("/link/{run:str}")
        async def link(run: str, socket: Any) -> None:
            await socket.accept()
            if run == self.run.id:
                await self._listen(socket)
            else:
                await socket.close(code=OTHER)

        return Litestar(
            [index, page, setup, film, subtitles, link],
            guards=[_only_this_machine],
            openapi_config=None,
            logging_config=None,  # what goes wrong is told by the command
            response_headers=HEADERS,
        )

    def _setup(self) -> bytes:
        captioned = [number for number, one in self.films.items() if one.subtitles]
        return msgspec.json.encode(
            {
                "plan": self.run.plan,
                "run": self.run.id,
                "language": self.language,
                "words": page_words(self.language),
                "captioned": captioned,
            }
        )

    def _film(self, number: int) -> FilmFile:
        if number not in self.films:
            raise NotFoundException
        return self.films[number]

    async def _listen(self, socket: Any) -> None:
        before, self._link = self._link, socket
        if before is not None:
            await before.close(code=REPLACED)
        self.run.write("joined")
        try:
            while True:
                await socket.send_data(self._answer(await socket.receive_data("text")), "text")
                if self.run.is_finished or self.run.is_aborted:
                    self._on_end()
        except WebSocketDisconnect:
            self.run.write("left")
        finally:
            if self._link is socket:
                self._link = None

    def _answer(self, text: str) -> str:
        try:
            message = MESSAGE.decode(text)
        except msgspec.DecodeError as error:
            return _json({"type": "refused", "why": str(error)})
        if isinstance(message, Ping):
            return _json({"type": "pong", "at_ms": message.at_ms, "host_s": time.monotonic()})
        if isinstance(message, Where):
            return _json({"type": "where", "next": self.run.next, "finished": self.run.is_finished})
        return _json(self._taken(message))

    def _taken(self, report: Report) -> dict[str, Any]:
        about = {"page": report.page, "seq": report.seq}
        try:
            self.run.take(report)
        except PalestraError as error:
            return {"type": "refused", "why": error.in_language(self.language), **about}
        except OSError as error:  # the page keeps it and sends it again
            why = said(
                self.language, "The log cannot be written: {why}. Nothing is lost; make room.", why=error.strerror
            )
            return {"type": "later", "why": why, **about}
        return {"type": "taken", **about}


def _only_this_machine(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """A page of another site must not reach in, by whatever name it calls this machine."""
    host = connection.headers.get("host", "")
    origin = connection.headers.get("origin", f"http://{host}")
    if host.rpartition(":")[0] not in OURS or origin != f"http://{host}":
        raise PermissionDeniedException


def _file(name: str) -> Response[bytes]:
    """A file of the page: nothing else is served."""
    if name not in {file.name for file in PAGE.iterdir() if file.suffix in TYPES}:
        raise NotFoundException
    file = PAGE / name
    return Response(file.read_bytes(), media_type=TYPES[file.suffix])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
