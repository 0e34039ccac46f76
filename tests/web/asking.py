"""Asks the server as it is, without a client in between: what goes in and what comes out is a request's own bytes."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec


@dataclass
class Answer:
    """All that came back: of a stream, what came first."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def everything(self) -> bytes:
        """Headers and body, to be searched."""
        return "\n".join(f"{name}: {value}" for name, value in self.headers).encode() + b"\n\n" + self.body

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


Headers = dict[str, str] | list[tuple[str, str]]


def scope_of(method: str, path: str, headers: Headers, address: str = "127.0.0.1") -> dict[str, Any]:
    raw, _, query = path.partition("?")
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    given = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
    if all(name != b"host" for name, _ in given):
        given.append((b"host", b"contest.example"))
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(raw), "raw_path": raw.encode(), "query_string": query.encode(), "root_path": "",
        "headers": given, "client": (address, 1), "server": ("contest.example", 80),
    }  # fmt: skip


async def ask(
    app: Any,
    method: str,
    path: str,
    headers: Headers | None = None,
    body: bytes = b"",
    parts: list[bytes] | None = None,
    cut: bool = False,
    address: str = "127.0.0.1",
) -> Answer:
    """One request. `parts`: the body comes in pieces; `cut`: after them the connection is lost."""
    answer, gone = Answer(), asyncio.Event()
    pieces = list(parts if parts is not None else [body])

    async def receive() -> dict[str, Any]:
        if pieces:
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces) or cut}
        if not cut:
            await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = [
                (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in message["headers"]
            ]
            return
        answer.body += message.get("body", b"")
        streams = answer.header("content-type").startswith("text/event-stream")
        if not message.get("more_body") or (streams and answer.body):
            gone.set()

    await asyncio.wait_for(app(scope_of(method, path, headers or {}, address), receive, send), 20)
    return answer
