"""Signing in through another site, where the organiser has set one up."""

import secrets
from typing import TYPE_CHECKING, Any

from litestar import Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect
from sqlalchemy import Connection, select

from palestra.contest.accounts import tokens
from palestra.contest.decisions import teams
from palestra.contest.log import State, new_id
from palestra.contest.storage import reading, writing
from palestra.contest.storage import settings as kept_settings
from palestra.errors import Missing, PalestraError
from palestra.text import say
from palestra.web.actions import Done
from palestra.web.api import keep_session
from palestra.web.auth import Caller, address_of, caller_of
from palestra.web.site import Oidc, Site, in_thread

if TYPE_CHECKING:
    from palestra.web.auth import Identity

COOKIE = "palestra_outside"
SEAL = "outside.seal"  # the setting that has the secret which cookies are sealed with


def _settings(site: Site) -> Oidc:
    if site.setup.oidc is None:
        raise Missing(say("Sign-in through another site is not set up here."))
    return site.setup.oidc


@get("/sign-in/outside", include_in_schema=False)
async def leave(site: Site, request: Request[Any, Any, Any]) -> Response[Any]:
    """Send the browser to the other site."""
    from palestra.web.auth import oidc  # its libraries take a tenth of a server's start, and few contests need them

    settings = _settings(site)
    url, kept = await oidc.begin(settings, f"{address_of(site, request)}/sign-in/back", site.now)
    seal = await in_thread(lambda: seal_of(site))
    response = Redirect(url, status_code=303)
    response.set_cookie(
        COOKIE, oidc.seal(kept, seal), max_age=oidc.KEPT_MS // 1000, httponly=True, samesite="lax",
        secure=site.setup.secure, path="/sign-in",
    )  # fmt: skip
    return response


@get("/sign-in/back", include_in_schema=False)
async def back(site: Site, request: Request[Any, Any, Any]) -> Response[Any]:
    """Take in who comes back from there."""
    from palestra.web.auth import oidc

    settings = _settings(site)
    seal = await in_thread(lambda: seal_of(site))
    kept = oidc.unseal(request.cookies.get(COOKIE, ""), seal)
    identity = await oidc.finish(settings, kept, dict(request.query_params), site.now)
    done = await in_thread(lambda: _sign_in(site, caller_of(request), identity))
    response = Redirect("/", status_code=303)
    response.delete_cookie(COOKIE, path="/sign-in")
    keep_session(site, done, response)
    return response


def _sign_in(site: Site, caller: Caller, identity: "Identity") -> Done:
    from palestra.web.auth import oidc

    with reading(site.contest.engine) as connection:
        account = oidc.account_of(connection, identity)
    if account is None:
        account = _make_account(site, identity)
    if site.state.accounts[account].closed:
        raise PalestraError(say("This account is closed. Ask the organiser."))
    with writing(site.contest.engine) as connection:
        secret, _ = tokens.start_session(connection, account, site.now, caller.secret)
    return Done(account, session=secret)


def _make_account(site: Site, identity: "Identity") -> str:
    """A new member, under the name that the other site gave, or one like it that is free."""
    from palestra.web.auth import oidc

    account = new_id("a")

    def also(connection: Connection, _: object) -> None:
        oidc.bind(connection, identity, account)

    site.contest.act(
        account,
        lambda state, _: teams.make_account(state, account, _free_name(state, identity), "member", identity.email),
        also,
    )
    return account


def _free_name(state: State, identity: "Identity") -> str:
    name = (identity.name or identity.email.partition("@")[0] or "member")[: teams.LONGEST_NAME - 6]
    return name if name.lower() not in state.names else f"{name}-{secrets.token_hex(2)}"


def seal_of(site: Site) -> bytes:
    """The secret that cookies are sealed with; all server processes have the same one."""
    with writing(site.contest.engine) as connection:
        found = connection.execute(select(kept_settings.c.value).where(kept_settings.c.name == SEAL)).scalar()
        if found is None:
            found = secrets.token_hex(32)
            connection.execute(kept_settings.insert().values(name=SEAL, value=found))
    return bytes.fromhex(found)


OUTSIDE: list[HTTPRouteHandler] = [leave, back]
