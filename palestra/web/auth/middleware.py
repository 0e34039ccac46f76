"""Who is at the door: finds the viewer of each request, slows down who asks too often, and lets no other site speak in
a viewer's name."""

import asyncio
import hashlib
import hmac
import logging
import secrets
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from sqlalchemy.exc import DBAPIError

from palestra.contest import NOBODY, Viewer, viewer_of
from palestra.contest.accounts import tokens
from palestra.errors import Forbidden, PalestraError, SignedOut
from palestra.text import say
from palestra.web.auth.request import is_program, language_of
from palestra.web.models import ErrorPage, Problem
from palestra.web.site import Site, render

log = logging.getLogger("palestra.web")
SESSION, BROWSER = "palestra_session", "palestra_browser"
SAFE = {"GET", "HEAD", "OPTIONS"}
UNMETERED = ("/static/", "/live", "/health", "/api/boards/")  # from memory: a hall has one address
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_NOT_KEPT = (b"cache-control", b"no-store")
_KEPT = (b"cache-control", b"public, max-age=31536000, immutable")  # an address with ?v= changes with its file
_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")


class FormRunOut(Forbidden):
    """A form that is not of this browser, or no longer."""


class Caller(msgspec.Struct, frozen=True):
    """A request's viewer, and how they showed who they are."""

    viewer: Viewer = NOBODY
    secret: str = ""  # of the browser: its session, or a number that only it knows
    by_token: bool = False
    address: str = ""

    @property
    def reader(self) -> Viewer:
        """As whom they look at things: with a token that is not for reading, as everybody does."""
        return self.viewer if self.viewer.may("read") or self.viewer.is_organiser else NOBODY

    @property
    def csrf(self) -> str:
        """What a form of ours has in it, and a form of another site cannot."""
        return hashlib.sha256(f"csrf:{self.secret}".encode()).hexdigest()


class Gate:
    """Stands before all routes, and before what is no route."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            send = _without_body(send)
        address = (scope["client"] or ("", 0))[0]
        # Connections have this limit already; those that a proxy holds for many are told apart only here.
        if not self.site.under_way.enter(address):
            told = PalestraError(say("Too many requests at the same time from this address. Close some pages."))
            await self._turn_away(scope, send, 429, told, 1)
            return
        try:
            await self._let_in(scope, receive, send, address)
        finally:
            self.site.under_way.leave(address)

    async def _let_in(self, scope: HTTPScope, receive: Receive, send: Send, address: str) -> None:
        path = scope["path"]
        if not path.startswith(UNMETERED) and (wait := self.site.buckets.take(address)):
            seconds = wait // 1000 + 1
            told = PalestraError(say("Too many requests from this address. Try again in {seconds} s.", seconds=seconds))
            await self._turn_away(scope, send, 429, told, seconds)
            return
        if "\0" in path or b"%00" in scope["query_string"]:  # databases take no such letter, and no name has one
            told = PalestraError(say("This address has a letter in it that nothing is named with."))
            await self._turn_away(scope, send, 400, told)
            return
        try:
            caller = await self._caller(dict(scope["headers"]), address)
        except DBAPIError as error:
            log.warning("the database does not answer: %s", error)
            told = PalestraError(say("The database does not answer. Try again soon."))
            await self._turn_away(scope, send, 503, told, 1)
            return
        fresh = "" if caller.secret or caller.by_token or path.startswith(UNMETERED) else secrets.token_urlsafe(24)
        if fresh:
            caller = msgspec.structs.replace(caller, secret=fresh)
        scope["state"]["caller"] = caller
        cookie = f"{BROWSER}={fresh}; Path=/; HttpOnly; SameSite=Lax" if fresh else ""
        await self.app(scope, receive, _with_headers(send, cookie, self.site.setup.secure, scope))

    async def _turn_away(
        self, scope: HTTPScope, send: Send, status: int, told: PalestraError, retry_s: int = 0
    ) -> None:
        """An answer that needs nothing but the request: a record for programs, a small page for people."""
        request: Request[Any, Any, Any] = Request(scope)
        language = language_of(request)
        message = told.in_language(language)
        kind, body = "application/json", msgspec.json.encode(Problem(status, message))
        if not is_program(request):
            page = ErrorPage(status=status, message=message)
            kind, body = "text/html; charset=utf-8", render("turned_away.html", language, page=page).encode()
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(b"retry-after", str(retry_s).encode())] if retry_s else []
        sending = _with_headers(send, "", self.site.setup.secure, scope)
        await sending({"type": "http.response.start", "status": status, "headers": headers})
        await sending({"type": "http.response.body", "body": body, "more_body": False})

    async def _caller(self, headers: dict[bytes, bytes], address: str) -> Caller:
        if given := headers.get(b"authorization"):
            kind, _, secret = given.decode("latin-1").partition(" ")
            viewer = await self._viewer("token", secret.strip()) if kind.lower() == "bearer" else NOBODY
            return Caller(viewer, by_token=True, address=address)
        cookies = _cookies(headers.get(b"cookie", b""))
        if session := cookies.get(SESSION):
            viewer = await self._viewer("session", session)
            if viewer.account:
                return Caller(viewer, session, address=address)
        return Caller(NOBODY, cookies.get(BROWSER, "")[:64], address=address)

    async def _viewer(self, kind: tokens.Kind, secret: str) -> Viewer:
        contest = self.site.contest
        key = await asyncio.to_thread(tokens.find, contest.engine, kind, secret, contest.now())
        account = contest.state.accounts.get(key.account) if key else None
        if key is None or account is None or account.closed:
            return NOBODY
        return viewer_of(account, tokens.powers(key, account.role) if kind == "token" else None)


def _cookies(header: bytes) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in header.decode("latin-1").split(";"))
    return {name: value for name, _, value in pairs}


def _with_headers(send: Send, cookie: str, secure: bool, scope: HTTPScope) -> Send:
    always = [*_HEADERS, *([_HTTPS_ONLY] if secure else [])]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            given = {name for name, _ in headers}
            headers += [pair for pair in [*always, *_caching(scope, message["status"])] if pair[0] not in given]
            if cookie:
                headers.append((b"set-cookie", (cookie + ("; Secure" if secure else "")).encode()))
            message["headers"] = headers
        await send(message)

    return sending


def _caching(scope: HTTPScope, status: int) -> list[tuple[bytes, bytes]]:
    if not scope["path"].startswith("/static/"):
        return [_NOT_KEPT]
    return [_KEPT] if status == 200 and scope["query_string"].startswith(b"v=") else []


def _without_body(send: Send) -> Send:
    """What is answered to HEAD is all but the body, whatever makes the answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return sending


async def require_csrf(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Before each request: what changes something comes from a page of ours, or with a token."""
    caller = caller_of(request)
    if request.method in SAFE or caller.by_token:
        return None
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "")
    if not given and kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        given = str((await request.form()).get("csrf", ""))
    elsewhere = request.headers.get("sec-fetch-site", "") == "cross-site"  # browsers say it, and pages cannot
    if elsewhere or not hmac.compare_digest(given.encode(), caller.csrf.encode()):
        raise FormRunOut(
            say("This form has run out, or did not come from this site. Load the page again, and send it once more.")
        )
    return None


def caller_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Caller:
    found: Caller = connection.scope["state"]["caller"]
    return found


def viewer_from(request: Request[Any, Any, Any]) -> Viewer:
    """Who looks at something. Who does something is the caller's viewer."""
    return caller_of(request).reader


def signed_out(connection: ASGIConnection[Any, Any, Any, Any]) -> SignedOut:
    """What to tell somebody who is not signed in; who came with a token hears that it is of no use."""
    if caller_of(connection).by_token:
        return SignedOut(
            say("This token is unknown, was revoked or has run out. Make another one under your account on the site.")
        )
    return SignedOut(say("Sign in first."))


def needs(scope: str) -> Any:
    """A guard: only who is signed in, with a token that reaches so far where they came with one."""

    def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        viewer = caller_of(connection).viewer
        if not viewer.account:
            raise signed_out(connection)
        if viewer.role == "nobody" or scope not in tokens.POWERS[viewer.role]:
            raise Forbidden(say("Your account may not do this."))
        if not viewer.may(scope):
            raise Forbidden(say("This token does not reach so far: it lacks the scope {scope!r}.", scope=scope))

    guard.needs = scope  # type: ignore[attr-defined]  # the walk over all routes reads it
    return guard


def organisers_only(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """A guard: only organisers."""
    needs("organise")(connection, handler)
    if not caller_of(connection).viewer.is_organiser:
        raise Forbidden(say("Only the organiser may do this."))
