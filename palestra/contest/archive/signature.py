"""A contest's signature: an Ed25519 key in a file beside its database, and how anybody checks what was signed with it.

The private key is in that file and in backups; never in the log, in an export or on a page.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from palestra.contest.archive.verify_archive import fingerprint, key_of, pem_of
from palestra.contest.storage import sync
from palestra.errors import PalestraError, refuse
from palestra.formats import read_bytes
from palestra.text import say

__all__ = ["NAME", "Key", "fingerprint", "key_of", "open_key", "pem_of", "same_fingerprint", "verify"]

NAME = "contest.key"  # of the file beside the database, or in the contest's folder where that is elsewhere
MOST_BYTES = 10_000  # of such a file


class Key:
    """A contest's key pair."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def __repr__(self) -> str:
        return f"Key({self.fingerprint})"

    @property
    def fingerprint(self) -> str:
        """Words to compare by telephone."""
        return fingerprint(self.public)

    def sign(self, data: bytes) -> bytes:
        return self._private.sign(data)


def verify(data: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether this was signed with the private part of that key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except (InvalidSignature, ValueError):  # ValueError: no key of 32 bytes
        return False
    return True


def same_fingerprint(told: str, found: str) -> bool:
    """Whether a fingerprint is the one that a person was told, however they typed it."""
    return "".join(filter(str.isalpha, told.lower())) == found.replace("-", "")


def open_key(file: Path) -> Key:
    """The key in a file; it is made where there is none."""
    if not file.exists():
        _make(file)
    mode = file.stat().st_mode
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        found = say("a private key that others may read (mode {s_imode:o})", s_imode=stat.S_IMODE(mode))
        refuse(str(file), found, say("one for its owner alone: chmod 600 {file}", file=file))
    try:
        private = load_pem_private_key(read_bytes(file, MOST_BYTES), password=None)
    except (ValueError, TypeError):
        raise PalestraError(
            say(
                "{file}: found no private key in it, expected one that Palestra made. Put it back "
                "from a backup; without it, later exports are signed with another key, which whoever "
                "kept the old one will notice.",
                file=file,
            )
        ) from None
    if not isinstance(private, Ed25519PrivateKey):
        refuse(str(file), say("a key of another kind"), say("an Ed25519 private key"))
    return Key(private)


def _make(file: Path) -> None:
    """Whole or not at all, and never over another: of two processes that make one at once, the first one's stays."""
    private = Ed25519PrivateKey.generate()
    text = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(6)}")
    write_private(fresh, text)
    try:
        with contextlib.suppress(FileExistsError):
            file.hardlink_to(fresh)
    finally:
        fresh.unlink()
    sync(file.parent)


def write_private(file: Path, data: bytes) -> None:
    """Write a new file that only its owner may read, from its first byte on."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
