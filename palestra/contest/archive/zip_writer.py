"""A zip that is written piece by piece, with the digests of its members, and a digest of all its bytes at the end."""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from palestra.contest.archive.verify_archive import CHUNK_BYTES, SEAL, SEAL_BYTES

Advance = Callable[[int], None]  # told how many bytes more were written


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sha256: str
    bytes: int


class SealedZip:
    """Members are added in order; once it is closed, `seal` its file. The same members give the same bytes."""

    def __init__(self, out: BinaryIO, at: int, advance: Advance | None = None) -> None:
        self._zip = zipfile.ZipFile(out, "w")
        self._zip.comment = SEAL.ljust(SEAL_BYTES, b"0")
        self._time = _zip_time(at)
        self._advance = advance or (lambda count: None)
        self.members: dict[str, Member] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()

    def add(self, name: str, chunks: Iterable[bytes], deflate: bool = True) -> Member:
        sha, size = hashlib.sha256(), 0
        info = zipfile.ZipInfo(name, self._time)
        info.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
        info.create_system, info.external_attr = 3, 0o100644 << 16  # Unix, a plain file
        with self._zip.open(info, "w", force_zip64=True) as stream:  # how large it gets is not known before
            for chunk in chunks:
                stream.write(chunk)
                sha.update(chunk)
                size += len(chunk)
                self._advance(len(chunk))
        self.members[name] = Member(sha.hexdigest(), size)
        return self.members[name]


def _zip_time(at: int) -> tuple[int, int, int, int, int, int]:
    """As zips have it: between 1980 and 2107, in steps of two seconds."""
    moment = datetime.fromtimestamp(min(max(at // 1000, 315_532_800), 4_354_819_198), UTC)
    return moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second // 2 * 2


def seal(file: Path) -> None:
    """The digest of all bytes before, at the end: one wrong byte is found wherever it is, even between members."""
    sha, left = hashlib.sha256(), file.stat().st_size - SEAL_BYTES
    with file.open("r+b") as stream:
        while left:
            chunk = stream.read(min(left, CHUNK_BYTES))
            sha.update(chunk)
            left -= len(chunk)
        stream.seek(-SEAL_BYTES, os.SEEK_END)
        stream.write(SEAL + sha.hexdigest().encode())
