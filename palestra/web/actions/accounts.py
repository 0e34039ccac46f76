"""Signing in and out, accounts, passwords, tokens."""

import msgspec
from sqlalchemy import Connection

from palestra.contest.accounts import passwords, rate_limit, tokens
from palestra.contest.decisions import teams
from palestra.contest.log import new_id
from palestra.contest.rules import Role
from palestra.contest.storage import writing
from palestra.errors import PalestraError, TooOften
from palestra.text import say
from palestra.web.actions.registry import Done, Nothing, action
from palestra.web.auth import Caller
from palestra.web.site import Site, in_thread

DAY_MS = 86_400_000
REGISTRATIONS, REGISTRATION_MS = 20, 3_600_000  # from one address in an hour


class SignIn(msgspec.Struct, frozen=True):
    name: str
    password: str


class Register(msgspec.Struct, frozen=True):
    name: str
    password: str
    email: str = ""


class UseLink(msgspec.Struct, frozen=True):
    link: str
    name: str = ""  # of the first organiser
    password: str = ""
    keep_tokens: bool = False  # API tokens that the account has


class ChangePassword(msgspec.Struct, frozen=True):
    old: str
    new: str
    keep_tokens: bool = False


class MakeToken(msgspec.Struct, frozen=True):
    label: str
    scopes: list[str]
    days: int = 90


class Named(msgspec.Struct, frozen=True):
    id: str


class MakeAccount(msgspec.Struct, frozen=True):
    name: str
    role: Role
    email: str = ""


class ChangeRole(msgspec.Struct, frozen=True):
    account: str
    role: Role
    reason: str


class WithReason(msgspec.Struct, frozen=True):
    id: str
    reason: str


@action("sign-in", needs=None)
async def sign_in(site: Site, caller: Caller, data: SignIn) -> Done:
    """Sign in with a name and a password."""
    return await in_thread(lambda: _sign_in(site, caller, data))


def _sign_in(site: Site, caller: Caller, data: SignIn) -> Done:
    engine, now = site.contest.engine, site.now
    wait = rate_limit.start_sign_in(engine, data.name.lower(), caller.address, now)
    if wait:
        raise TooOften(say("Too many tries. Wait {value} s, then try again.", value=wait // 1000 + 1))
    account = site.state.names.get(data.name.lower(), "")
    right = passwords.check(engine, account, data.password)
    if not right or site.state.accounts[account].closed:
        raise PalestraError(say("This name and this password do not belong together."))
    rate_limit.end_sign_in(engine, data.name.lower(), caller.address, now)
    with writing(engine) as connection:
        secret, _ = tokens.start_session(connection, account, now, caller.secret)
    return Done(account, session=secret)


@action("sign-out", needs="read")
async def sign_out(site: Site, caller: Caller, data: Nothing) -> Done:
    """End this session."""

    def end() -> None:
        engine, now = site.contest.engine, site.now
        key = tokens.find(engine, "session", caller.secret, now)
        if key:
            with writing(engine) as connection:
                tokens.revoke(connection, key.account, key.id)

    await in_thread(end)
    return Done(signed_out=True)


@action("register", needs=None)
async def register(site: Site, caller: Caller, data: Register) -> Done:
    """Make an account and sign in with it."""

    def make() -> Done:
        engine, now = site.contest.engine, site.now
        wait = rate_limit.take(
            engine, f"register:{rate_limit.network_of(caller.address)}", now, REGISTRATIONS, REGISTRATION_MS
        )
        if wait:
            raise TooOften(
                say("Too many accounts from this address. Try again in {value} min.", value=wait // 60000 + 1)
            )
        account, password = new_id("a"), _hashed(site, data.password, data.name)
        return _make_account(site, caller, account, data.name, "member", data.email, password)

    return await in_thread(make)


def _hashed(site: Site, password: str, name: str) -> passwords.Hashed:
    """The hash of a password that is not too easy for somebody who knows the account and the contest."""
    rules = site.state.rules()
    names = (rules.id, rules.name.en, rules.name.zh, rules.organiser.en, rules.organiser.zh)
    return passwords.hashed(password, name, ("palestra", "contest", *names))


def _make_account(
    site: Site,
    caller: Caller,
    account: str,
    name: str,
    role: Role,
    email: str,
    password: passwords.Hashed,
    link: str = "",
) -> Done:
    """Account and password, and the link that was used for it, in one transaction; then a session."""
    now = site.now

    def also(connection: Connection, _: object) -> None:
        if link:
            _require_unused(tokens.use_once(connection, link, now, "found"))
        passwords.set_password(connection, account, password, now)

    site.contest.act(account, lambda state, _: teams.make_account(state, account, name, role, email), also)
    with writing(site.contest.engine) as connection:
        secret, _ = tokens.start_session(connection, account, now, caller.secret)
    return Done(account, session=secret)


@action("use-link", needs=None)
async def use_link(site: Site, caller: Caller, data: UseLink) -> Done:
    """Use a one-time link: become the first organiser, or choose a new password."""
    return await in_thread(lambda: _use_link(site, caller, data))


def _use_link(site: Site, caller: Caller, data: UseLink) -> Done:
    now = site.now
    link = tokens.find(site.contest.engine, "link", data.link, now)
    if link is None or link.scopes not in (("found",), ("reset",)):
        raise PalestraError(say("This link is not valid any more. Ask the organiser for another one."))
    if link.scopes == ("found",):
        password, account = _hashed(site, data.password, data.name), new_id("a")
        return _make_account(site, caller, account, data.name, "organiser", "", password, data.link)
    password = _hashed(site, data.password, site.state.accounts[link.account].name)

    def also(connection: Connection, _: object) -> None:
        _require_unused(tokens.use_once(connection, data.link, now, "reset"))
        passwords.set_password(connection, link.account, password, now, data.keep_tokens)

    site.contest.act(link.account, lambda *_: teams.change_password(link.account, True, data.keep_tokens), also)
    return Done(link.account, go="/sign-in")


def _require_unused(link: tokens.Key | None) -> None:
    if link is None:
        raise PalestraError(say("This link was used already."))


@action("change-password", needs="read")
async def change_password(site: Site, caller: Caller, data: ChangePassword) -> Done:
    """Choose another password. All other sessions end, and API tokens, unless they are to be kept."""

    def change() -> Done:
        engine, viewer, now = site.contest.engine, caller.viewer, site.now
        if caller.by_token:
            raise PalestraError(say("A password is changed by signing in, not with a token."))
        wait = rate_limit.start_sign_in(engine, viewer.name.lower(), caller.address, now)
        if wait or not passwords.check(engine, viewer.account, data.old):
            raise PalestraError(say("The old password is not right. Wait a moment, then try again."))
        rate_limit.end_sign_in(engine, viewer.name.lower(), caller.address, now)
        password = _hashed(site, data.new, viewer.name)
        sessions: list[str] = []

        def also(connection: Connection, _: object) -> None:
            passwords.set_password(connection, viewer.account, password, now, data.keep_tokens)
            sessions.append(tokens.start_session(connection, viewer.account, now, caller.secret)[0])

        site.contest.act(
            viewer.account, lambda *_: teams.change_password(viewer.account, False, data.keep_tokens), also
        )
        return Done(viewer.account, session=sessions[0])

    return await in_thread(change)


@action("make-token", needs="read")
async def make_token(site: Site, caller: Caller, data: MakeToken) -> Done:
    """Make a token for programs. It is shown once."""

    def make() -> Done:
        if caller.by_token:
            raise PalestraError(say("A token cannot make tokens: sign in."))
        role = site.state.accounts[caller.viewer.account].role
        tokens.require_power(role, data.scopes)
        lifetime = max(data.days, 1) * DAY_MS
        with writing(site.contest.engine) as connection:
            account = caller.viewer.account
            secret, key = tokens.make(connection, "token", account, site.now, lifetime, data.scopes, data.label)
        return Done(key.id, secret=secret)

    return await in_thread(make)


@action("revoke-token", needs="read")
async def revoke_token(site: Site, caller: Caller, data: Named) -> Done:
    """Make a token worth nothing."""

    def revoke() -> bool:
        if caller.by_token:
            raise PalestraError(say("A token cannot revoke tokens: sign in."))
        with writing(site.contest.engine) as connection:
            return tokens.revoke(connection, caller.viewer.account, data.id)

    if not await in_thread(revoke):
        raise PalestraError(say("There is no such token."))
    return Done(data.id)


@action("make-account", needs="organise", desk=True)
async def make_account(site: Site, caller: Caller, data: MakeAccount) -> Done:
    """Make an account for somebody else. The link that comes back lets them choose a password, once."""
    account, now = new_id("a"), site.now
    secrets: list[str] = []
    await site.act(
        caller.viewer,
        lambda state, _: teams.make_account(state, account, data.name, data.role, data.email),
        lambda connection, _: secrets.append(tokens.make(connection, "link", account, now, 7 * DAY_MS, ("reset",))[0]),
    )
    return Done(account, secret=secrets[0])


@action("reset-password", needs="organise", desk=True)
async def reset_password(site: Site, caller: Caller, data: Named) -> Done:
    """Make a one-time link with which somebody chooses a new password."""

    def make() -> Done:
        if data.id not in site.state.accounts:
            raise PalestraError(say("There is no such account."))
        with writing(site.contest.engine) as connection:
            secret, key = tokens.make(connection, "link", data.id, site.now, DAY_MS, ("reset",))
        return Done(key.id, secret=secret)

    return await in_thread(make)


@action("change-role", needs="organise", desk=True)
async def change_role(site: Site, caller: Caller, data: ChangeRole) -> Done:
    """Give an account another role."""
    await site.act(caller.viewer, lambda state, _: teams.change_role(state, data.account, data.role, data.reason))
    return Done(data.account)


@action("close-account", needs="organise", desk=True)
async def close_account(site: Site, caller: Caller, data: WithReason) -> Done:
    """Close an account: nobody signs in with it any more."""
    await site.act(
        caller.viewer,
        lambda state, _: teams.close_account(state, data.id, data.reason),
        lambda connection, _: [tokens.revoke_all(connection, data.id, kind) for kind in ("token", "session", "link")],
    )
    return Done(data.id)
