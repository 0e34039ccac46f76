"""A contest's files, kept by the digest of what is in them: in a folder, or in a bucket by its address.

An event that names a digest may be written as soon as that digest was returned: the file then lies on the disk, whole.
A folder is read and written without obstore, which does not wait for the disk, and whose threads a fork would lose.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote, urlsplit

from palestra.errors import PalestraError, clip, refuse
from palestra.formats import write_bytes
from palestra.text import human_bytes, say

if TYPE_CHECKING:
    from obstore.store import ObjectStore

DIGEST = re.compile(r"[0-9a-f]{64}")
LABEL = re.compile(r"[a-z0-9-]{1,40}")
CHUNK_BYTES = 1 << 20  # that are read at once
RANGE_BYTES = 8 << 20  # that are asked of a bucket at once: a request for all would outlast its time limit
READ_BYTES = 64_000_000  # that `read` takes into memory unless told otherwise


class MissingFile(PalestraError):
    """A digest that the store has no file for."""


class DamagedFile(PalestraError):
    """A file that is no longer what its digest says."""


class _Place(Protocol):
    """Where named files lie. A name is a digest, or a digest with a label."""

    def size(self, name: str) -> int: ...  # raises FileNotFoundError
    def chunks(self, name: str, start: int, end: int) -> Iterator[bytes]: ...
    def take(self, file: Path, name: str) -> None: ...  # the file is gone afterwards, and what it held is durable
    def aside(self) -> Path: ...  # a new folder for files that are about to be taken
    def path(self, name: str) -> Path | None: ...  # the file itself, where there is one


class Files:
    """The store. Whatever is put into it twice is there once, and nothing in it is ever changed."""

    def __init__(self, where: str, place: _Place) -> None:
        self.where = where  # opens the same store in another process
        self._place = place

    @staticmethod
    def open(where: str) -> Files:
        """A folder, which is made where it is not there, or the address of a bucket: s3://, gs://, az://, memory://."""
        if "://" not in where:
            return Files(where, _Folder(Path(where)))
        if where.startswith("file://"):
            return Files(where, _Folder(Path(unquote(urlsplit(where).path))))
        return Files(where, _Bucket(_open_bucket(where)))

    def put(self, data: bytes) -> str:
        return self.put_stream([data])[0]

    def put_file(self, file: Path) -> str:
        """Keep a copy of a file."""
        return self.put_stream(_chunks_of(file))[0]

    def put_stream(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        """The digest and the number of bytes of what comes, once all of it is kept."""
        sha, count = hashlib.sha256(), 0
        with self.aside() as folder:
            file = folder / "incoming"
            with file.open("wb") as out:
                for chunk in chunks:
                    sha.update(chunk)
                    out.write(chunk)
                    count += len(chunk)
            self.take(file, sha.hexdigest())
        return sha.hexdigest(), count

    def take(self, file: Path, digest: str) -> None:
        """Move a file of ours into the store, by the digest that we computed of it. It is gone from where it was."""
        self._place.take(file, require_digest(digest))

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A folder for files that are about to be taken, on the same disk where that is possible."""
        folder = self._place.aside()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def has(self, digest: str) -> bool:
        try:
            self._place.size(require_digest(digest))
        except FileNotFoundError:
            return False
        return True

    def size(self, digest: str) -> int:
        """In bytes."""
        try:
            return self._place.size(require_digest(digest))
        except FileNotFoundError:
            raise MissingFile(
                say("The file store has no file {digest}. Was it restored without its files?", digest=digest)
            ) from None

    def read(self, digest: str, limit_bytes: int = READ_BYTES) -> bytes:
        """The whole of a file, checked against its digest."""
        size = self.size(digest)
        if size > limit_bytes:
            refuse(
                digest[:12],
                human_bytes(size),
                say("at most {limit_bytes} to read at once", limit_bytes=human_bytes(limit_bytes)),
            )
        data = b"".join(self._place.chunks(digest, 0, size))
        _require_same(digest, hashlib.sha256(data).hexdigest())
        return data

    def stream(self, digest: str, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` until before `end`. What is wrong with them is said before the first is read."""
        size = self.size(digest)
        end = size if end is None else end
        if not 0 <= start <= end <= size:
            refuse(
                digest[:12],
                say("the bytes {start:,} to {end:,}", start=start, end=end),
                say("a range within its {size:,} bytes", size=size),
            )
        return self._place.chunks(digest, start, end)

    def verify(self, digest: str) -> None:
        """Raise unless the file is there and what its digest says."""
        sha = hashlib.sha256()
        for chunk in self.stream(digest):
            sha.update(chunk)
        _require_same(digest, sha.hexdigest())

    @contextmanager
    def local(self, digest: str, name: str = "") -> Iterator[Path]:
        """A path to read the file at: itself, or a copy that was checked. Readers that go by a file's suffix need a
        name for it. Nothing may be written there."""
        self.size(digest)
        if name in (".", "..") or "/" in name or "\0" in name:
            refuse(say("the name of a file"), clip(name), say("a name without folders"))
        path = self._place.path(digest)
        if path and not name:
            yield path
            return
        with self.aside() as folder:
            file = folder / (name or digest)
            if path:
                file.hardlink_to(path)
            else:
                self._copy(digest, file)
            yield file

    def _copy(self, digest: str, file: Path) -> None:
        sha = hashlib.sha256()
        with file.open("wb") as out:
            for chunk in self.stream(digest):
                sha.update(chunk)
                out.write(chunk)
        _require_same(digest, sha.hexdigest())

    def derived(self, digest: str, label: str, make: Callable[[], bytes]) -> bytes:
        """What can be computed from a file at any time, and takes long: kept beside it, and made where it is not."""
        if not LABEL.fullmatch(label):
            refuse(say("the label of something derived"), clip(label), say("small letters, digits and dashes"))
        name = f"{require_digest(digest)}.{label}"
        try:
            return b"".join(self._place.chunks(name, 0, self._place.size(name)))
        except FileNotFoundError:
            data = make()
        with self.aside() as folder:
            write_bytes(folder / "derived", data)
            self._place.take(folder / "derived", name)
        return data

    def sweep(self, older_than: int) -> int:
        """Remove what writers that died before that time (ms) left aside; how many of them."""
        return self._place.sweep(older_than) if isinstance(self._place, _Folder) else 0


class _Folder:
    """Files in a folder, in 256 folders by how their digests begin."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.incoming = self.root / "incoming"
        try:
            self.incoming.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PalestraError(
                say("{root}: no place for a contest's files ({strerror}).", root=root, strerror=error.strerror)
            ) from None

    def path(self, name: str) -> Path:
        return self.root / name[:2] / name

    def size(self, name: str) -> int:
        return self.path(name).stat().st_size

    def chunks(self, name: str, start: int, end: int) -> Iterator[bytes]:
        return _chunks_of(self.path(name), start, end)

    def take(self, file: Path, name: str) -> None:
        """Even over the same file: whoever wrote that may not have come to wait for the disk."""
        target = self.path(name)
        target.parent.mkdir(exist_ok=True)
        try:
            _replace(file, target)
        except OSError as error:
            if error.errno != errno.EXDEV:  # it lies on another disk
                raise
            near = self.aside()
            _replace(Path(shutil.copyfile(file, near / name)), target)
            near.rmdir()
            file.unlink()
        sync(target.parent)
        sync(self.root)

    def aside(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.incoming))

    def sweep(self, older_than: int) -> int:
        old = [path for path in self.incoming.iterdir() if path.stat().st_mtime_ns < older_than * 1_000_000]
        for path in old:
            shutil.rmtree(path)
        return len(old)


class _Bucket:
    """Objects in a bucket. An object appears whole or not at all."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store

    def path(self, name: str) -> None:
        return None

    def size(self, name: str) -> int:
        import obstore

        return obstore.head(self.store, f"{name[:2]}/{name}")["size"]

    def chunks(self, name: str, start: int, end: int) -> Iterator[bytes]:
        import obstore

        for at in range(start, end, RANGE_BYTES):
            stop = min(at + RANGE_BYTES, end)
            yield bytes(obstore.get_range(self.store, f"{name[:2]}/{name}", start=at, end=stop))

    def take(self, file: Path, name: str) -> None:
        import obstore

        if not self._holds(name, file.stat().st_size):  # else it would be sent over the network for nothing
            obstore.put(self.store, f"{name[:2]}/{name}", file)
        file.unlink()

    def _holds(self, name: str, size: int) -> bool:
        try:
            return self.size(name) == size
        except FileNotFoundError:
            return False

    def aside(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="palestra-"))


def _open_bucket(address: str) -> ObjectStore:
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    try:
        return from_url(address)
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise PalestraError(
            say(
                "{address}: not a place for files ({reason}). Expected a folder, s3://, gs://, az:// "
                "or memory://, and its account in the environment.",
                address=address,
                reason=reason,
            )
        ) from None


def require_digest(text: str) -> str:
    """A digest as it came, if it is one: it becomes part of a path."""
    if not DIGEST.fullmatch(text):
        refuse(say("the digest of a file"), clip(text), say("64 small hexadecimal digits (SHA-256)"))
    return text


def digest_of(file: Path) -> str:
    """What a file on this disk would be called in the store."""
    sha = hashlib.sha256()
    for chunk in _chunks_of(file):
        sha.update(chunk)
    return sha.hexdigest()


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(file: Path, target: Path) -> None:
    file.chmod(0o444)
    sync(file)
    file.replace(target)


def _chunks_of(file: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    with file.open("rb") as stream:
        stream.seek(start)
        left = os.fstat(stream.fileno()).st_size - start if end is None else end - start
        while left and (chunk := stream.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk


def _require_same(digest: str, found: str) -> None:
    if found != digest:
        raise DamagedFile(
            say(
                "The file {digest} of the store is damaged: its bytes have the digest {found}. "
                "Restore it from a backup.",
                digest=digest,
                found=found,
            )
        )
