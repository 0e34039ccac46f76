"""Checks an exported contest: all that is in it, the chain of its log, and its signature.

    python verify.py                   the folder that it lies in: the unpacked archive
    python verify.py EXPORT.zip        the archive itself

Every archive carries this file as verify.py. It needs nothing but Python 3.10 or newer; for the signature it also needs
the package `cryptography` (pip install cryptography), or the openssl command that README.md shows.
"""

import base64
import hashlib
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MANIFEST, SIGNATURE, PUBLIC_KEY, LOG = "manifest.json", "manifest.sig", "public.pem", "log.jsonl"
BESIDE = (MANIFEST, SIGNATURE, PUBLIC_KEY)  # what the manifest does not list
NOTHING = "0" * 64  # the hash before the first event
SEAL = b"palestra-export sha256 "  # the archive ends with this and the digest of all bytes before, in hexadecimal
SEAL_BYTES = len(SEAL) + 64
CHUNK_BYTES = 1 << 20
SPKI = bytes.fromhex("302a300506032b6570032100")  # how every Ed25519 public key begins in a .pem file
CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"


def fingerprint(public_key: bytes) -> str:
    """Eight words that stand for a key, to be read out and compared: 16 bits each, as proquints."""
    digest = hashlib.sha256(public_key).digest()[:16]
    return "-".join(_word(int.from_bytes(digest[i : i + 2], "big")) for i in range(0, 16, 2))


def _word(n: int) -> str:
    c, v = CONSONANTS, VOWELS
    return c[n >> 12] + v[n >> 10 & 3] + c[n >> 6 & 15] + v[n >> 4 & 3] + c[n & 15]


def pem_of(public_key: bytes) -> bytes:
    text = base64.b64encode(SPKI + public_key)
    return b"-----BEGIN PUBLIC KEY-----\n" + text + b"\n-----END PUBLIC KEY-----\n"


def key_of(pem: bytes) -> bytes:
    """The 32 bytes of the key in a .pem file; it is written in one way only."""
    lines = pem.split(b"\n")
    try:
        public_key = base64.b64decode(lines[1], validate=True)[len(SPKI) :]
    except (ValueError, IndexError):
        public_key = b""
    if len(public_key) != 32 or pem_of(public_key) != pem:
        raise ValueError(f"{PUBLIC_KEY} holds no Ed25519 public key.")
    return public_key


def linked(before: str, seq: int, at: int, by: str, body: str) -> str:
    """The hash of an event: over the hash before it and all that is kept of it."""
    return hashlib.sha256(f"{before}\n{seq}\n{at}\n{by}\n{body}".encode()).hexdigest()


def seal_faults(archive: Path) -> Iterator[str]:
    """Whether an archive has the very bytes that were exported."""
    size = archive.stat().st_size
    sha, left = hashlib.sha256(), max(size - SEAL_BYTES, 0)
    with archive.open("rb") as stream:
        while left:
            chunk = stream.read(min(left, CHUNK_BYTES))
            if not chunk:
                break
            sha.update(chunk)
            left -= len(chunk)
        end = stream.read()
    if not end.startswith(SEAL):
        yield "The archive has no seal at its end: it was cut, packed again, or is no export of Palestra."
    elif end != SEAL + sha.hexdigest().encode():
        yield "The archive does not fit its seal: some of its bytes were changed since it was exported."


class Folder:
    """An unpacked archive."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        return [path.relative_to(self.root).as_posix() for path in sorted(self.root.rglob("*")) if not path.is_dir()]

    def chunks(self, name: str) -> Iterator[bytes]:
        with (self.root / name).open("rb") as stream:
            yield from iter(lambda: stream.read(CHUNK_BYTES), b"")


class Zip:
    """An archive as it was exported."""

    def __init__(self, file: Path) -> None:
        self.zip = zipfile.ZipFile(file)

    def names(self) -> list[str]:
        return self.zip.namelist()

    def chunks(self, name: str) -> Iterator[bytes]:
        with self.zip.open(name) as stream:
            yield from iter(lambda: stream.read(CHUNK_BYTES), b"")


Place = Folder | Zip


def member_faults(place: Place, manifest: dict[str, Any]) -> Iterator[str]:
    """Members that are missing, too many, or not what the manifest says."""
    names, members = place.names(), manifest["members"]
    if len(names) != len(set(names)):
        yield "Some names are in the archive twice."
    for name in sorted(set(names) - set(members) - set(BESIDE)):
        yield f"{name} is not in the manifest."
    for name in sorted(set(members) - set(names)):
        yield f"{name} is missing."
    for name in sorted(set(members) & set(names)):
        sha = hashlib.sha256()
        for chunk in place.chunks(name):
            sha.update(chunk)
        if sha.hexdigest() != members[name]["sha256"]:
            yield f"{name} is not what the manifest says: it was changed."
        elif name.startswith("files/") and name != f"files/{sha.hexdigest()}":
            yield f"{name} has another digest than its name says."


def log_faults(lines: Iterable[bytes], head: dict[str, Any]) -> Iterator[str]:
    """Events that do not fit their hashes, or are not as many as the manifest says."""
    before, seq = NOTHING, 0
    for line in lines:
        event = json.loads(line)
        seq += 1
        if event["seq"] != seq:
            yield f"Event {seq} is missing, or out of its place."
            return
        if event["hash"] != linked(before, seq, event["at"], event["by"], event["body"]):
            yield f"Event {seq} does not fit its hash: it, or the one before it, was changed."
            return
        before = event["hash"]
    if (seq, before) != (head["seq"], head["hash"]):
        yield f"The log ends with event {seq}; the manifest says {head['seq']}, with another hash or more events."


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest


def signature_fits(manifest: bytes, signature: bytes, public_key: bytes) -> bool | None:
    """Null where it cannot be told here."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return None
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, manifest)
    except InvalidSignature:
        return False
    return True


def main(arguments: list[str]) -> int:
    path = Path(arguments[0]) if arguments else Path(__file__).resolve().parent
    faults = [] if path.is_dir() else list(seal_faults(path))
    try:
        faults += _look_into(Folder(path) if path.is_dir() else Zip(path))
    except (OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        faults.append(f"It cannot be read as an export: {error}")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults." if faults else "All of it is as it was exported.")
    return 1 if faults else 0


def _look_into(place: Place) -> Iterator[str]:
    text, signature, pem = (b"".join(place.chunks(name)) for name in BESIDE)
    manifest, public_key = json.loads(text), key_of(pem)
    yield from member_faults(place, manifest)
    if LOG in manifest["members"]:
        yield from log_faults(lines_of(place.chunks(LOG)), manifest["head"])
    fits = signature_fits(text, signature, public_key)
    if fits is False:
        yield "The signature does not fit the manifest: it was changed, or signed with another key."
    said = "checked" if fits else "NOT checked: pip install cryptography" if fits is None else "does not fit"
    print(f"Contest {manifest['contest']}, event {manifest['head']['seq']}. Signature: {said}.")
    print(f"Signed with the key {fingerprint(public_key)}: ask the organiser whether it is theirs.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
