"""The headers of a tar archive, read with bounds.

The standard library's tarfile believes the sizes that headers state, reads chains of headers by recursion, and in
some versions of Python 3.11 can be made to loop; here headers, names and chains are short, and nothing else is read.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from palestra.errors import clip, refuse
from palestra.text import say

BLOCK = 512
LONG_NAME, EXTRA = 4096, 16384  # bytes of a long name, and of a header of further facts
CHAIN = 8  # such headers before one member
BROKEN = (OSError, EOFError, zlib.error, ValueError)
KINDS = {
    b"0": "a file",
    b"\0": "a file",
    b"7": "a file",
    b"5": "a folder",
    b"1": "a link",
    b"2": "a link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}


@dataclass(frozen=True)
class TarEntry:
    """One member, and where its bytes begin in the unpacked stream."""

    name: str
    kind: str
    size: int
    start: int


def tar_stream(file: BinaryIO) -> BinaryIO:
    """The unpacked stream of a .tar or .tar.gz."""
    start = file.read(2)
    file.seek(0)
    return gzip.GzipFile(fileobj=file, mode="rb") if start == b"\x1f\x8b" else file  # type: ignore[return-value]


def tar_entries(stream: BinaryIO, name: str, max_bytes: int) -> Iterator[TarEntry]:
    """The members in order; a stream of more than `max_bytes` is refused before it is unpacked that far."""
    try:
        yield from _Headers(stream, name, max_bytes).entries()
    except BROKEN as error:
        refuse(
            name,
            say("an archive that cannot be unpacked ({clip})", clip=clip(str(error), 90)),
            say("a whole .tar or .tar.gz file"),
        )


class _Headers:
    def __init__(self, stream: BinaryIO, name: str, max_bytes: int) -> None:
        self.stream, self.name, self.max_bytes = stream, name, max_bytes
        self.at, self.chain = 0, 0
        self.facts: dict[bytes, bytes] = {}  # what goes before a member and changes what its header says

    def entries(self) -> Iterator[TarEntry]:
        while (block := self._exactly(BLOCK)).strip(b"\0"):
            self._check(block)
            kind, size = block[156:157], _number(block[124:136])
            if kind in b"xLKg":
                self._take_facts(kind, size)
                continue
            facts, self.facts, self.chain = self.facts, {}, 0
            size = _decimal(facts[b"size"]) if b"size" in facts else size
            raw = facts.get(b"path", _short_name(block))
            sparse = any(fact.startswith(b"GNU.sparse") for fact in facts)
            words = "a sparse file" if sparse else KINDS.get(kind, f"an entry of the type {clip(kind)}")
            if words == "a file" and raw.endswith(b"/"):
                words = "a folder"
            has_data = words in ("a file", "a sparse file") or kind not in KINDS
            yield TarEntry(raw.decode(errors="surrogateescape"), words, size if has_data else 0, self.at)
            self._skip(size if has_data else 0)

    def _check(self, block: bytes) -> None:
        if sum(block) - sum(block[148:156]) + 8 * 32 != _number(block[148:156]):
            place = "the beginning" if self.at == BLOCK else f"byte {self.at - BLOCK + 1:,}"
            refuse(f"{self.name}: {place}", say("no tar header"), say("a folder, or a .zip, .tar or .tar.gz file"))

    def _take_facts(self, kind: bytes, size: int) -> None:
        """A long name, or a block of `key=value` facts; those about all members, or about links, are passed over."""
        most = EXTRA if kind in b"xg" else LONG_NAME
        self.chain += 1
        if size > most or self.chain > CHAIN:
            found = say("a header of {size:,} bytes, the {chain}. in a row", size=size, chain=self.chain)
            refuse(
                say("{name}: byte {value:,}", name=self.name, value=self.at + 1),
                found,
                say("at most {most:,} bytes, and {chain} in a row", most=most, chain=CHAIN),
            )
        data = self._exactly(size)
        self._skip(0, padding_of=size)
        if kind == b"L":
            self.facts[b"path"] = data.rstrip(b"\0")
        elif kind == b"x":
            self.facts |= _facts(data)

    def _exactly(self, size: int) -> bytes:
        data = self.stream.read(size) if size else b""
        if self.at == 0 and len(data) < size:
            refuse(
                self.name,
                say("a file of {number} bytes", number=len(data)),
                say("a folder, or a .zip, .tar or .tar.gz file"),
            )
        if len(data) < size:
            refuse(
                say("{name}: byte {value:,}", name=self.name, value=self.at + 1),
                say("an archive that is cut short"),
                say("a whole archive"),
            )
        self.at += size
        return data

    def _skip(self, size: int, padding_of: int | None = None) -> None:
        """Go to the next header. The last byte is read, because seeking past the end is no error."""
        target = self.at + size + -(size if padding_of is None else padding_of) % BLOCK
        if target > self.max_bytes:
            refuse(
                say("{name}: byte {value:,}", name=self.name, value=self.at + 1),
                say("{target:,} bytes unpacked", target=target),
                say("at most {max_bytes:,}", max_bytes=self.max_bytes),
            )
        if target > self.at:
            self.stream.seek(target - 1)
            self.at = target - 1
            self._exactly(1)


def _number(field: bytes) -> int:
    """Octal digits, or, where the first bit is set, a number in base 256."""
    if field[0] & 0x80:
        return int.from_bytes(field, "big") - (0x80 << 8 * (len(field) - 1))
    digits = field.strip(b" \0")
    if not all(digit in b"01234567" for digit in digits):
        raise ValueError(f"a number in a header reads {clip(field)}")
    return int(digits or b"0", 8)


def _decimal(digits: bytes) -> int:
    if not (digits.isdigit() and len(digits) < 20):
        raise ValueError(f"a size reads {clip(digits)}")
    return int(digits)


def _short_name(block: bytes) -> bytes:
    name, _, _ = block[:100].partition(b"\0")
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _facts(data: bytes) -> dict[bytes, bytes]:
    """The records `<length> <key>=<value>` and a line end, one after the other."""
    facts, at = {}, 0
    while at < len(data):
        digits, blank, _ = data[at : at + 12].partition(b" ")
        length = _decimal(digits) if blank else 0
        key, equals, value = data[at + len(digits) + 1 : at + length].partition(b"=")
        if not equals or not value.endswith(b"\n") or at + length > len(data):
            raise ValueError(f"a fact in a header reads {clip(data[at : at + 40])}")
        facts[key] = value[:-1]
        at += length
    return facts
