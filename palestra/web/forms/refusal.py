"""A form that was refused comes back as the form: what was typed is still there, and what is wrong stands beside it."""

import asyncio
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from litestar import MediaType, Request, Response
from litestar.datastructures import FormMultiDict

from palestra.errors import PalestraError
from palestra.web.auth import BROWSER, NO_PAGES, caller_of, language_of, local_path
from palestra.web.models import ErrorPage
from palestra.web.responses import page, problem_of
from palestra.web.site import Refusal, Sent

OF_THE_CONNECTION = ("type", "asgi", "http_version", "scheme", "client", "server", "root_path")
OF_A_BODY = (b"content-type", b"content-length", b"transfer-encoding")


def fields_of(form: FormMultiDict | Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """The texts of a form, by the names of its fields."""
    found: dict[str, list[str]] = {}
    for name, value in form.multi_items() if isinstance(form, FormMultiDict) else form:
        found.setdefault(name, []).append(str(value))
    return found


async def refused(request: Request[Any, Any, Any], sent: Sent, error: PalestraError) -> Response[str]:
    """The page that the form was on, as whoever sent it sees it now."""
    where = _first(sent, "page") or _first(sent, "next")
    return await back_on(request, where, _first(sent, "again") or request.url.path, sent, error)


async def back_on(
    request: Request[Any, Any, Any], where: str, action: str, sent: Sent, error: PalestraError
) -> Response[str]:
    """A page that says why a form was refused, beside the form of an action if it is there, with what was sent in it; a
    page about the error where there is none that says so."""
    problem = problem_of(error, language_of(request))
    back, faults = local_path(where or "/"), tuple(problem.faults)
    refusal = Refusal(action, sent, problem.error, faults)
    html = await _page_at(request, back, refusal) if where else ""
    if html and refusal.is_told:
        return Response(html, media_type=MediaType.HTML, status_code=problem.status)
    view = ErrorPage(status=problem.status, message=problem.error, faults=faults, back=back)
    return page(request, "error.html", view, problem.status)


def _first(sent: Sent, name: str) -> str:
    return next(iter(sent.get(name, ())), "")


async def _page_at(request: Request[Any, Any, Any], address: str, refusal: Refusal) -> str:
    """A page of ours as whoever asks would get it; empty where there is none. It is asked of the server itself, with
    their own cookies, so whoever may not see it does not get it here either."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if path.startswith(NO_PAGES):
        return ""
    scope = {
        **{key: value for key, value in request.scope.items() if key in OF_THE_CONNECTION},
        "method": "GET", "path": path, "raw_path": parts.path.encode(), "query_string": parts.query.encode(),
        "headers": _headers(request), "state": {"refusal": refusal},
    }  # fmt: skip
    answer = _Answer()
    await request.app(scope, answer.receive, answer.send)  # type: ignore[arg-type]
    return answer.page


def _headers(request: Request[Any, Any, Any]) -> list[tuple[bytes, bytes]]:
    """Those of whoever asks. Who came without a number of their browser gets one with the answer to their own request:
    the forms of the page must be of that one."""
    kept = [(name.lower(), value) for name, value in request.scope["headers"] if name.lower() not in OF_A_BODY]
    caller = caller_of(request)
    if caller.viewer.account:
        return kept
    cookies = [value for name, value in kept if name == b"cookie"]
    cookie = b"; ".join([*cookies, f"{BROWSER}={caller.secret}".encode()])
    return [*((name, value) for name, value in kept if name != b"cookie"), (b"cookie", cookie)]


class _Answer:
    """What the server answers to itself."""

    def __init__(self) -> None:
        self._is_page, self._body = False, bytearray()
        self._asked = False

    @property
    def page(self) -> str:
        return self._body.decode() if self._is_page else ""

    async def receive(self) -> Any:
        if self._asked:
            await asyncio.Event().wait()  # nobody leaves before the answer
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            self._is_page = message["status"] == 200 and kind.startswith(b"text/html")
        elif self._is_page:
            self._body += message.get("body", b"")
