"""Sign-in through another site (OpenID Connect), where the organiser has set one: authorization code with PKCE.

`begin` gives the address to send a browser to, and what must be kept until it is back (`seal` puts that in a cookie).
`finish` takes what it came back with, and says who that is. Nothing is fetched unless an issuer is set. The other site
is believed only in what it signed, and its answers are limited in size and time. `now` is in ms since 1970, UTC.
"""

import asyncio
import base64
import hmac
import ipaddress
import secrets
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

import httpx
import msgspec
from authlib.oauth2 import ClientAuth, OAuth2Client  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import prepare_token_request  # type: ignore[import-untyped]
from authlib.oidc.discovery import get_well_known_url  # type: ignore[import-untyped]
from sqlalchemy import Connection, insert, select

from palestra.contest.storage import identities
from palestra.errors import PalestraError, clean, clip
from palestra.sandbox.public_addresses import places_of
from palestra.text import say
from palestra.web.auth.id_token import Identity, identity_of
from palestra.web.site import Oidc

KEPT_MS = 10 * 60_000  # how long somebody may take to sign in there
LONGEST_BYTES = 256 * 1024  # of any answer

# What reading JSON may raise: text that is not UTF-8, and brackets by the thousand, have errors of their own.
NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

T = TypeVar("T")


class Kept(msgspec.Struct, frozen=True):
    """What is kept in the browser while somebody signs in elsewhere."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    made_at: int


class Provider(msgspec.Struct, frozen=True):
    """What the other site says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Tokens(msgspec.Struct):
    id_token: str


class _Fault(msgspec.Struct):
    error: str
    error_description: str = ""


class _Keys(msgspec.Struct):
    keys: list[dict[str, Any]]


async def begin(settings: Oidc, redirect_uri: str, now: int) -> tuple[str, Kept]:
    """Where to send the browser, and what to keep until it is back."""
    provider = await _discover(settings)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    kept = Kept(state, nonce, verifier, redirect_uri, now)
    return authorization_url(settings, provider, kept), kept


def authorization_url(settings: Oidc, provider: Provider, kept: Kept) -> str:
    scope = " ".join(dict.fromkeys(("openid", *settings.scopes)))
    client = OAuth2Client(None, settings.client_id, scope=scope, code_challenge_method="S256")
    url, _ = client.create_authorization_url(
        provider.authorization_endpoint, kept.state, kept.verifier, redirect_uri=kept.redirect_uri, nonce=kept.nonce
    )
    return str(url)


async def finish(settings: Oidc, kept: Kept, query: Mapping[str, str], now: int) -> Identity:
    """Who came back, by the query they came back with."""
    code = code_of(settings, kept, query, now)
    provider = await _discover(settings)
    token = await _exchange(settings, provider, kept, code)
    keys = await _fetch(settings, "GET", provider.jwks_uri, _Keys)
    return identity_of(settings.issuer, settings.client_id, token, keys.keys, kept.nonce, now)


def code_of(settings: Oidc, kept: Kept, query: Mapping[str, str], now: int) -> str:
    """The code that somebody came back with, if it is the answer to what we asked of this very browser."""
    if not kept.made_at <= now < kept.made_at + KEPT_MS:
        raise PalestraError(say("Signing in took longer than 10 minutes. Please begin again."))
    if not _same(query.get("state", ""), kept.state):
        raise PalestraError(
            say("This sign-in was not begun in this browser, or another one was begun after it. Begin again.")
        )
    if query.get("iss", settings.issuer) != settings.issuer:
        raise PalestraError(
            say("The answer comes from {clip}, expected {issuer}.", clip=clip(query["iss"]), issuer=settings.issuer)
        )
    if "error" in query:
        said = clean(query.get("error_description") or query["error"])
        raise PalestraError(say("{issuer} did not sign you in. It says: {said}", issuer=settings.issuer, said=said))
    if not query.get("code"):
        raise PalestraError(say("{issuer} sent you back without a code. Please begin again.", issuer=settings.issuer))
    return query["code"]


def account_of(connection: Connection, identity: Identity) -> str | None:
    """The account of somebody who signed in before."""
    asked = select(identities.c.account).where(identities.c.subject == _subject(identity))
    return connection.execute(asked).scalar()


def bind(connection: Connection, identity: Identity, account: str) -> None:
    """Remember whose account it is; the connection is that of the only writer, who found that it has none."""
    connection.execute(insert(identities).values(subject=_subject(identity), account=account))


def seal(kept: Kept, secret: bytes) -> str:
    """What is kept, as a cookie that only we can have made."""
    body = _base64(msgspec.json.encode(kept))
    return f"{body}.{_base64(_signature(body, secret))}"


def unseal(cookie: str, secret: bytes) -> Kept:
    body, _, signature = cookie.partition(".")
    if not _same(signature, _base64(_signature(body, secret))):
        raise PalestraError(say("What this browser kept of the sign-in is missing or was changed. Please begin again."))
    return msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=Kept)


def check_settings(settings: Oidc) -> None:
    """Refuse settings that cannot work or would not be safe."""
    if not settings.issuer:
        raise PalestraError(say("Sign-in through another site is not set up: no issuer is set."))
    parts = _require_safe(settings.issuer, "issuer", loopback=True)
    if parts.query:
        raise PalestraError(
            say(
                "{issuer}: an issuer is an address without a query, as the site names itself.",
                issuer=clip(settings.issuer),
            )
        )
    if not settings.client_id:
        raise PalestraError(
            say("{issuer}: no client id is set; the site gives one when you register there.", issuer=settings.issuer)
        )


async def _discover(settings: Oidc) -> Provider:
    check_settings(settings)
    address = get_well_known_url(settings.issuer, external=True)
    provider = await _fetch(settings, "GET", address, Provider)
    if provider.issuer != settings.issuer:
        raise PalestraError(
            say(
                "{address} names itself {issuer}, expected exactly {issuer2!r}.",
                address=address,
                issuer=clip(provider.issuer),
                issuer2=settings.issuer,
            )
        )
    loopback = _is_loopback(urlsplit(settings.issuer).hostname)
    for field in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        _require_safe(getattr(provider, field), f"{field} of {settings.issuer}", loopback)
    return provider


async def _exchange(settings: Oidc, provider: Provider, kept: Kept, code: str) -> str:
    """The ID token for a code."""
    form = prepare_token_request(
        "authorization_code", redirect_uri=kept.redirect_uri, code=code, code_verifier=kept.verifier
    )
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    url, headers, form = _client_auth(settings, provider).prepare("POST", provider.token_endpoint, headers, form)
    return (await _fetch(settings, "POST", url, _Tokens, content=form, headers=headers)).id_token


def _client_auth(settings: Oidc, provider: Provider) -> ClientAuth:
    """How we show the other site that it is us who ask."""
    if not settings.client_secret:
        return ClientAuth(settings.client_id, "", "none")
    if "client_secret_basic" in provider.token_endpoint_auth_methods_supported:
        # Quoted, as RFC 6749 asks for in 2.3.1; Authlib puts them into the header as they are.
        both = (quote(text, safe="") for text in (settings.client_id, settings.client_secret))
        return ClientAuth(*both, "client_secret_basic")
    return ClientAuth(settings.client_id, settings.client_secret, "client_secret_post")


async def _fetch(settings: Oidc, method: str, url: str, kind: type[T], **sent: Any) -> T:
    """An answer of the other site, as the record it should be."""
    try:
        async with asyncio.timeout(settings.answer_s):
            status, body = await _bytes_of(settings, method, url, **sent)
    except TimeoutError:
        raise PalestraError(
            say("{url} did not answer within {answer_s:g} s. Please try again.", url=url, answer_s=settings.answer_s)
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = clean(str(error)) or type(error).__name__
        raise PalestraError(say("{url} cannot be reached ({why}).", url=url, why=why)) from None
    if status != 200:
        raise PalestraError(
            say(
                "{url} answered {status}{fault_in}. Please begin again.",
                url=url,
                status=status,
                fault_in=_fault_in(body),
            )
        )
    try:
        return msgspec.json.decode(body, type=kind)
    except NO_JSON as error:
        raise PalestraError(
            say("{url} answered something else than OpenID Connect asks for ({error}).", url=url, error=error)
        ) from None


async def _bytes_of(settings: Oidc, method: str, url: str, **sent: Any) -> tuple[int, bytes]:
    """The status and the body of an answer; how long that may take, `_fetch` limits for all of it together."""
    if settings.private:
        return await _read(method, url, by_name=True, **sent)
    # By the address that was looked at, and not by the name: it may lead elsewhere when it is looked up again.
    to = httpx.URL(url)
    named = {**sent.pop("headers", {}), "Host": to.netloc.decode()}
    port = to.port or {"https": 443}.get(to.scheme, 80)
    places = await asyncio.to_thread(places_of, to.host, port)
    for place in places:
        try:
            there = str(to.copy_with(host=place.ip))
            return await _read(method, there, headers=named, extensions={"sni_hostname": to.host}, **sent)
        except httpx.ConnectError:
            if place is places[-1]:
                raise
    raise AssertionError("there is at least one place")


async def _read(method: str, url: str, by_name: bool = False, **sent: Any) -> tuple[int, bytes]:
    """A proxy of the environment is used only where names are: it would look them up once more."""
    # Unpacked by nobody: a few packed bytes could be gigabytes. Redirects are not followed: they would lead anywhere.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", **sent.pop("headers", {})}
    body = bytearray()
    async with (
        httpx.AsyncClient(verify=_tls(), timeout=None, follow_redirects=False, trust_env=by_name) as client,
        client.stream(method, url, headers=headers, **sent) as answer,
    ):
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) > LONGEST_BYTES:
                raise PalestraError(
                    say("{url} answered more than {value} KiB; that is not read.", url=url, value=LONGEST_BYTES // 1024)
                )
    return answer.status_code, bytes(body)


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # reads all certificates, so once


def _fault_in(body: bytes) -> str:
    try:
        fault = msgspec.json.decode(body, type=_Fault)
    except NO_JSON:
        return ""
    return f": {clean(fault.error_description or fault.error)}"


def _require_safe(url: str, what: str, loopback: bool) -> SplitResult:
    """Refuse an address that could be listened in on: https, or on this very machine where that is meant."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise PalestraError(
            say("{url} is not an address ({error}); it is given as {what}.", url=clip(url), error=error, what=what)
        ) from None
    secure = parts.scheme == "https" or (parts.scheme == "http" and loopback and _is_loopback(host))
    one_line = url.isprintable() and " " not in url  # it goes into a header
    if not (secure and host and one_line) or parts.username is not None or parts.fragment:
        raise PalestraError(
            say(
                "{url}, given as {what}, is not safe; expected https://… without user or #part.",
                url=clip(url),
                what=what,
            )
        )
    return parts


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    """Compared in a time that does not tell where they differ; an empty text is like nothing."""
    return bool(one) and hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _subject(identity: Identity) -> str:
    return f"{identity.issuer} {identity.subject}"  # an issuer has no space in it, so this can be read in one way only


def _signature(body: str, secret: bytes) -> bytes:
    return hmac.digest(secret, b"oidc " + body.encode("utf-8", "replace"), "sha256")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
