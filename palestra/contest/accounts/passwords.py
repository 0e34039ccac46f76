"""Passwords: which ones are taken, and how they are kept. Only hashes are stored, and never in the log."""

import base64
import os
import threading
import unicodedata
from collections.abc import Iterable
from typing import NewType

from argon2 import PasswordHasher, Type
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import Connection, Engine, delete, insert, select, update

from palestra.contest.accounts import password_strength, tokens
from palestra.contest.storage import passwords, reading, writing
from palestra.errors import Fault, Refused
from palestra.text import message, say

# argon2id, the second recommended setting of RFC 9106: about 0.1 s and 64 MiB for each hash.
HASHER = PasswordHasher(time_cost=3, memory_cost=65_536, parallelism=4, hash_len=32, salt_len=16, type=Type.ID)
AT_ONCE = threading.BoundedSemaphore(4)  # so that a flood of sign-ins takes no more than 256 MiB
SHORTEST, LONGEST = 10, 1_000  # letters
HARD = message("a password that is hard to guess")

Hashed = NewType("Hashed", str)


def weaknesses(password: str, name: str, contest: Iterable[str] = ()) -> list[Fault]:
    """Why a password will not do for the account of that name, in a contest of these names; nothing where it will."""
    size = len(password)
    if size > LONGEST:
        return [
            Fault.of(
                say("password"), say("{size:,} characters; at most {longest:,}", size=size, longest=LONGEST), say(HARD)
            )
        ]
    short = (
        [
            Fault.of(
                say("password"), say("{size} characters; at least {shortest}", size=size, shortest=SHORTEST), say(HARD)
            )
        ]
        if size < SHORTEST
        else []
    )
    known = [_normal(text[:LONGEST]) for text in (name, *contest)]
    return short + password_strength.faults(_normal(password), known)


def hashed(password: str, name: str, contest: Iterable[str] = ()) -> Hashed:
    """The hash of a password that keeps the rules; others are refused in words. It takes long: do it before the
    transaction of `set_password`, which keeps all other writers waiting."""
    found = weaknesses(password, name, contest)
    if found:
        raise Refused(found, len(found))
    return _hash(password)


def set_password(connection: Connection, account: str, password: Hashed, now: int, keep_tokens: bool = False) -> None:
    """Give an account its password. Who was signed in with the one before, or held a link to reset it, is out; and
    whoever has a token, as somebody may have made one who knew the password."""
    connection.execute(delete(passwords).where(passwords.c.account == account))
    connection.execute(insert(passwords).values(account=account, hash=password, changed_at=now))
    tokens.revoke_all(connection, account, "session")
    if not keep_tokens:
        tokens.revoke_all(connection, account, "token")
    tokens.revoke_all(connection, account, "link", ("reset",))


def check(engine: Engine, account: str, password: str) -> bool:
    """Whether that is the account's password. An account that is not there, or has none, takes as long to refuse."""
    if len(password) > LONGEST:
        return False
    with reading(engine) as connection:
        kept = connection.execute(select(passwords.c.hash).where(passwords.c.account == account)).scalar()
    right = _matches(kept or _nobodys(), password)
    if kept is None or not right:
        return False
    if HASHER.check_needs_rehash(kept):
        _keep_anew(engine, account, kept, _hash(password))
    return True


def _keep_anew(engine: Engine, account: str, before: str, after: Hashed) -> None:
    """Put a hash with today's parameters in place of an older one, unless the password was changed meanwhile."""
    with writing(engine) as connection:
        same = (passwords.c.account == account) & (passwords.c.hash == before)
        connection.execute(update(passwords).where(same).values(hash=after))


def _matches(kept: str, password: str) -> bool:
    try:
        with AT_ONCE:
            return HASHER.verify(kept, _bytes(password))
    except VerifyMismatchError:
        return False


def _hash(password: str) -> Hashed:
    with AT_ONCE:
        return Hashed(HASHER.hash(_bytes(password)))


def _nobodys() -> str:
    """A hash that no password has, with today's parameters: to check it takes as long as to check a real one."""
    salt, digest = (base64.b64encode(os.urandom(size)).decode().rstrip("=") for size in (16, 32))
    return f"$argon2id$v=19$m={HASHER.memory_cost},t={HASHER.time_cost},p={HASHER.parallelism}${salt}${digest}"


def _bytes(password: str) -> bytes:
    return _normal(password).encode("utf-8", "surrogatepass")  # half a pair is odd, but no reason to fall over


def _normal(text: str) -> str:
    """One form of letters that can be typed in several ways: é as one character or two, wide or narrow digits."""
    return unicodedata.normalize("NFKC", text)
