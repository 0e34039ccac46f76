"""Passwords: which ones are taken, and how they are kept. Only hashes are stored, and never in the log."""

import base64
import os
import threading
import unicodedata
from typing import NewType

from argon2 import PasswordHasher, Type
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import Connection, Engine, delete, insert, select, update

from palestra.contest.accounts import tokens
from palestra.contest.storage import passwords, reading, writing
from palestra.errors import Fault, Refused
from palestra.text import Words

# argon2id, the second recommended setting of RFC 9106: about 0.1 s and 64 MiB for each hash.
HASHER = PasswordHasher(time_cost=3, memory_cost=65_536, parallelism=4, hash_len=32, salt_len=16, type=Type.ID)
AT_ONCE = threading.BoundedSemaphore(4)  # so that a flood of sign-ins takes no more than 256 MiB
SHORTEST, LONGEST = 10, 1_000  # letters
FEWEST_LETTERS = 5  # that differ from each other
FEWEST_BESIDE_NAME = 4  # letters beside the account's name

# The most common ones, which people make long with digits and signs at the end.
_WORDS = """
password passwords passw0rd p@ssword p@ssw0rd pass admin administrator letmein welcome iloveyou iloveu monkey dragon
sunshine princess football baseball superman batman master shadow michael jessica charlie jordan trustno1 whatever
starwars pokemon computer internet samsung google test testing tester changeme secret default guest login root user
qwerty qwer asdf asd qwe zxc abc abcd abcabc abcdabcd zaq1zaq1 a1b2c3d4e5 woaini woaini520 woaini1314 mima palestra
contest 1234512345 12345678910 123123123123 1357924680 5201314520 1314520520
"""
COMMON = frozenset(_WORDS.split())
# Where fingers go by themselves: any stretch of these, forwards or backwards.
RUNS = (
    "01234567890123456789",
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
)

Hashed = NewType("Hashed", str)


def weaknesses(password: str, name: str) -> tuple[Words, ...]:
    """Why a password will not do for the account of that name; nothing where it will."""
    size = len(password)
    if size > LONGEST:
        return (Words(f"{size:,} characters; at most {LONGEST:,}", f"{size:,} 个字符；最多 {LONGEST:,} 个"),)
    found = []
    letters = _normal(password).casefold()
    if size < SHORTEST:
        found.append(Words(f"{size} characters; at least {SHORTEST}", f"{size} 个字符；至少 {SHORTEST} 个"))
    elif len(set(letters)) < FEWEST_LETTERS:
        found.append(Words("the same few characters again and again", "只是少数几个字符的重复"))
    if name and len(letters.replace(_normal(name).casefold(), "")) < FEWEST_BESIDE_NAME:
        found.append(Words("little more than the name of the account", "与用户名几乎相同"))
    if _is_common(letters):
        found.append(Words("one of the most common passwords", "属于最常见的密码"))
    return tuple(found)


def hashed(password: str, name: str) -> Hashed:
    """The hash of a password that keeps the rules; others are refused in words. It takes long: do it before the
    transaction of `set_password`, which keeps all other writers waiting."""
    found = weaknesses(password, name)
    if found:
        raise Refused([Fault("password", words.en, "a password that is hard to guess") for words in found], len(found))
    return _hash(password)


def set_password(connection: Connection, account: str, password: Hashed, now: int) -> None:
    """Give an account its password. Who was signed in with the one before, or held a link to reset it, is out."""
    connection.execute(delete(passwords).where(passwords.c.account == account))
    connection.execute(insert(passwords).values(account=account, hash=password, changed_at=now))
    tokens.revoke_all(connection, account, "session")
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


def _is_common(letters: str) -> bool:
    """Whether letters are a common password or a run of keys, as they are or with digits and signs after them."""
    base = letters.rstrip("0123456789!@#$%^&*()-_=+.,?~ ") or letters
    return any(text in COMMON or any(text in run or text[::-1] in run for run in RUNS) for text in (letters, base))
