"""Keys: secrets that are shown once and kept as digests. API tokens, browser sessions and one-time links.

A key says who somebody is; what they may do follows from their account's role of the moment, narrowed by the scopes of
a token (`powers`). Times are milliseconds since 1970, UTC.
"""

import hashlib
import re
import secrets
import string
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update

from palestra.contest.rules import Role
from palestra.contest.storage import keys, reading
from palestra.errors import PalestraError, UnknownName, clean, refuse
from palestra.text import Words, say

Kind = Literal["token", "session", "link"]

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
SESSION_IDLE_MS = 2 * DAY_MS  # without a request, a session ends
LONGEST_MS: dict[Kind, int] = {"token": 400 * DAY_MS, "session": 14 * DAY_MS, "link": 30 * DAY_MS}
MOST: dict[Kind, int] = {"token": 50, "session": 20, "link": 200}  # of one account; of links, for one purpose
TOUCHED_EVERY_MS = MINUTE_MS  # so that reading does not become writing

PREFIXES: dict[Kind, str] = {"token": "plt_", "session": "pls_", "link": "pll_"}
LETTERS = string.ascii_letters + string.digits  # a double click marks all of it, and no shell takes it for an option
LENGTH = 40  # 238 bits
_SHAPES = {kind: re.compile(rf"{prefix}[A-Za-z0-9]{{{LENGTH}}}") for kind, prefix in PREFIXES.items()}

# What a token may be used for.
SCOPES = {
    "read": say("See what your account may see: boards, your submissions and results, data you have been granted."),
    "submit": say("Send and withdraw submissions for your team."),
    "team": say("Manage your team: invite and remove members, request data, hand in a bundle for verification."),
    "judge": say("Run a table as its referee: clock, goals, retries."),
    "organise": say("Do all that an organiser may do: phases, re-scoring, promotion, accounts, exports."),
    "work": say("Work as a scoring machine: take jobs, read submissions and truth, hand in results."),
    "metrics": say("Read how the server is doing."),
}
KINDS: dict[Kind, Words] = {  # what is asked of each
    "token": say("scope of a token"), "session": say("scope of a session"), "link": say("purpose of a link"),
}  # fmt: skip
POWERS: dict[Role, frozenset[str]] = {
    "organiser": frozenset(SCOPES),
    "referee": frozenset({"read", "judge"}),
    "member": frozenset({"read", "submit", "team"}),
    "viewer": frozenset({"read"}),
}
# What a link may be used for, each once.
PURPOSES = {"found": "become the first organiser", "join": "join a team", "reset": "choose a new password"}


class Key(msgspec.Struct, frozen=True):
    """What is known of a key; its secret is not."""

    id: str
    kind: Kind
    account: str
    scopes: tuple[str, ...]  # of a token; of a link its purpose
    label: str
    made_at: int
    expires_at: int
    used_at: int  # to the minute; 0: never
    data: str


def make(
    connection: Connection,
    kind: Kind,
    account: str,
    now: int,
    lifetime_ms: int,
    scopes: Iterable[str] = (),
    label: str = "",
    data: str = "",
) -> tuple[str, Key]:
    """A new key, and its secret, which cannot be had again."""
    names = _checked(kind, scopes)
    if not 0 < lifetime_ms <= LONGEST_MS[kind]:
        refuse(
            say("lifetime of a {kind}", kind=kind),
            _days(lifetime_ms),
            say("more than nothing, and at most {days}", days=_days(LONGEST_MS[kind])),
        )
    _make_room(connection, kind, account, names, now)
    secret = PREFIXES[kind] + "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    key = Key(secrets.token_hex(8), kind, account, names, clean(label)[:80], now, now + lifetime_ms, 0, data)
    row = {**msgspec.structs.asdict(key), "scopes": " ".join(names), "digest": digest_of(secret)}
    connection.execute(insert(keys).values(row))
    return secret, key


def start_session(connection: Connection, account: str, now: int, before: str = "", label: str = "") -> tuple[str, Key]:
    """A session for somebody who has just signed in. The one that their browser brought along ends, so that a secret
    that was planted there is worth nothing."""
    connection.execute(delete(keys).where(keys.c.digest == digest_of(before), keys.c.kind == "session"))
    return make(connection, "session", account, now, SESSION_IDLE_MS, label=label)


def find(engine: Engine, kind: Kind, secret: str, now: int) -> Key | None:
    """The key of a secret, if it is valid now. It is looked up by its digest, so how long that takes tells nothing of
    other secrets."""
    if not _SHAPES[kind].fullmatch(secret):
        return None
    with reading(engine) as connection:
        row = connection.execute(select(keys).where(*_valid(kind, secret, now))).first()
    if row is None:
        return None
    key = _key(row)
    return _touch(engine, key, now) if now >= max(key.made_at, key.used_at) + TOUCHED_EVERY_MS else key


def use_once(connection: Connection, secret: str, now: int, purpose: str) -> Key | None:
    """Use a link up: however many try at once, one gets it. It is back if the transaction fails."""
    if not _SHAPES["link"].fullmatch(secret):
        return None
    used = delete(keys).where(*_valid("link", secret, now), keys.c.scopes == purpose).returning(keys)
    row = connection.execute(used).first()
    return None if row is None else _key(row)


def revoke(connection: Connection, account: str, key_id: str) -> bool:
    """End a key of that account; false where it has none of that id."""
    return _deleted(connection, keys.c.account == account, keys.c.id == key_id) > 0


def revoke_all(connection: Connection, account: str, kind: Kind, scopes: tuple[str, ...] = ()) -> int:
    """End all keys of a kind, or those with exactly these scopes: how many they were."""
    return _deleted(connection, *_alike(account, kind, scopes))


def of(engine: Engine, account: str, kind: Kind, now: int) -> list[Key]:
    """The keys of an account that are valid, the newest first."""
    asked = select(keys).where(*_alike(account, kind, ()), keys.c.expires_at > now)
    with reading(engine) as connection:
        return [_key(row) for row in connection.execute(asked.order_by(keys.c.made_at.desc(), keys.c.id))]


def sweep(connection: Connection, now: int) -> int:
    """Remove what is over."""
    return _deleted(connection, keys.c.expires_at <= now)


def digest_of(secret: str) -> str:
    """What is kept of a secret. It is long and random, so a plain digest cannot be turned back."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def powers(key: Key, role: Role) -> frozenset[str]:
    """What somebody with this key may do, given the role that their account has now: never more than the role."""
    if key.kind == "link":
        return frozenset()
    return POWERS[role] if key.kind == "session" else POWERS[role] & frozenset(key.scopes)


def require_power(role: Role, scopes: Iterable[str]) -> None:
    """Refuse a token that would promise more than its account may do."""
    beyond = sorted(set(scopes) - POWERS[role])
    if beyond:
        refuse(
            say("scopes"),
            ", ".join(beyond),
            say("some of what a {role} may do: {join}", role=role, join=", ".join(sorted(POWERS[role]))),
        )


def _checked(kind: Kind, scopes: Iterable[str]) -> tuple[str, ...]:
    names, known = tuple(dict.fromkeys(scopes)), _known(kind)
    for name in names:
        if name not in known:
            raise UnknownName(KINDS[kind], name, known)
    if kind == "token" and not names:
        refuse(say("scopes"), say("none"), say("at least one of {known}", known=", ".join(known)))
    if kind == "link" and len(names) != 1:
        refuse(
            say("scopes"),
            say("{number} purposes", number=len(names)),
            say("exactly one of {known}", known=", ".join(known)),
        )
    return names


def _known(kind: Kind) -> tuple[str, ...]:
    return {"token": tuple(SCOPES), "session": (), "link": tuple(PURPOSES)}[kind]


def _make_room(connection: Connection, kind: Kind, account: str, scopes: tuple[str, ...], now: int) -> None:
    """Nobody fills the table: the oldest session or link falls out. Programs rely on tokens, so there a person says
    which one goes."""
    alike = _alike(account, kind, scopes if kind == "link" else ())
    held = select(keys.c.id).where(*alike, keys.c.expires_at > now).order_by(keys.c.made_at.desc(), keys.c.id)
    ids = list(connection.execute(held).scalars())
    if len(ids) < MOST[kind]:
        return
    if kind == "token":
        raise PalestraError(
            say("This account has {number} tokens, as many as it may have. Revoke one first.", number=len(ids))
        )
    connection.execute(delete(keys).where(keys.c.id.in_(ids[MOST[kind] - 1 :])))


def _touch(engine: Engine, key: Key, now: int) -> Key:
    """Note that a key is in use, which also keeps a session alive, up to its longest time."""
    limit = min(now + SESSION_IDLE_MS, key.made_at + LONGEST_MS["session"])
    expires_at = max(key.expires_at, limit) if key.kind == "session" else key.expires_at
    untouched = (keys.c.id == key.id) & (keys.c.used_at == key.used_at)  # of many requests at once, one writes
    with engine.begin() as connection:  # it touches no event, so it need not wait for the log's writer
        connection.execute(update(keys).where(untouched).values(used_at=now, expires_at=expires_at))
    return msgspec.structs.replace(key, used_at=now, expires_at=expires_at)


def _valid(kind: Kind, secret: str, now: int) -> tuple[ColumnElement[bool], ...]:
    return keys.c.digest == digest_of(secret), keys.c.kind == kind, keys.c.expires_at > now


def _alike(account: str, kind: Kind, scopes: tuple[str, ...]) -> tuple[ColumnElement[bool], ...]:
    same = (keys.c.account == account, keys.c.kind == kind)
    return (*same, keys.c.scopes == " ".join(scopes)) if scopes else same


def _deleted(connection: Connection, *which: ColumnElement[bool]) -> int:
    return len(connection.execute(delete(keys).where(*which).returning(keys.c.id)).all())


def _key(row: Row[Any]) -> Key:
    fields = {name: value for name, value in row._asdict().items() if name != "digest"}
    return Key(**{**fields, "scopes": tuple(fields["scopes"].split())})


def _days(ms: int) -> str:
    return f"{ms / DAY_MS:g} days"
