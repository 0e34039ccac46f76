"""The kinds of archive, each as entries with a name, a kind and a size, and a way to read one of them."""

import os
import stat
import struct
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from palestra.errors import clip, refuse
from palestra.formats.plain_files import is_folder, kind_of, open_regular, read_bytes, shown_name
from palestra.formats.tar import tar_entries, tar_stream
from palestra.text import Text, human_bytes, say

DIRECTORY_BYTES = 256  # of a zip's own directory for each entry; names of 30 letters need about 150
DEPTH = 16
# What zipfile and zlib raise on broken input; RuntimeError and NotImplementedError are for what they do not know.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, RuntimeError)


@dataclass(frozen=True)
class Entry:
    """One thing in an archive."""

    name: str  # as the archive has it
    kind: str  # "a file", "a folder", or what else, in words
    size: int  # as the archive has it
    handle: Any = None  # what its source needs to read it


class Source(Protocol):
    """An open archive."""

    def entries(self) -> Iterator[Entry]: ...

    def read(self, entry: Entry, limit: int, where: Text) -> bytes:
        """The entry's bytes, at most one more than `limit`."""

    def close(self) -> None: ...


def open_source(path: Path, max_bytes: int, max_entries: int) -> Source:
    """The archive at `path`, of whichever kind it is."""
    if is_folder(path):
        return Folder(path, max_entries)
    overhead = 2048 * max_entries + 1_000_000
    file = os.fdopen(open_regular(path, max_bytes + overhead), "rb")
    try:
        start = file.read(4)
        file.seek(0)
        if start in (b"PK\x03\x04", b"PK\x05\x06"):
            return Zip(file, shown_name(path), max_entries)
        return Tar(file, shown_name(path), max_bytes + overhead)
    except BaseException:
        file.close()
        raise


class Folder:
    """A folder; links in it are not followed."""

    def __init__(self, root: Path, max_entries: int) -> None:
        self.root, self.max_entries = root, max_entries

    def entries(self) -> Iterator[Entry]:
        waiting = [""]
        while waiting:
            folders = []
            for name, mode, size in self._list(waiting.pop()):
                if stat.S_ISDIR(mode):
                    folders.append(f"{name}/")
                yield Entry(name, kind_of(mode), size)
            waiting += reversed(folders)

    def _list(self, inside: str) -> list[tuple[str, int, int]]:
        if inside.count("/") > DEPTH:
            refuse(
                shown_name(self.root), say("folders inside folders, more than {depth} deep", depth=DEPTH), "S_0/1.npy"
            )
        found = []
        try:
            with os.scandir(self.root / inside) as listing:
                for entry in listing:
                    status = entry.stat(follow_symlinks=False)
                    found.append((inside + entry.name, status.st_mode, status.st_size))
                    if len(found) > self.max_entries:
                        refuse(
                            shown_name(self.root),
                            say("more than {max_entries:,} files", max_entries=self.max_entries),
                            say("fewer"),
                        )
        except OSError as error:
            refuse(
                shown_name(self.root),
                say("a folder that cannot be listed ({strerror})", strerror=error.strerror),
                say("a readable folder"),
            )
        return sorted(found)

    def read(self, entry: Entry, limit: int, where: Text) -> bytes:
        return read_bytes(f"{self.root}/{entry.name}", limit, may_be_empty=True, follow=False)

    def close(self) -> None:
        pass


class _Careful:
    """A file whose single reads are bounded: zipfile reads a zip's whole directory at once, as large as it says."""

    def __init__(self, file: BinaryIO, most: int, name: str) -> None:
        self.file, self.most, self.name = file, most, name
        self.seek, self.tell, self.close, self.seekable = file.seek, file.tell, file.close, file.seekable

    def read(self, n: int = -1) -> bytes:
        """At most so many bytes; without a number the rest, of which zipfile asks at the end of the file only."""
        if n > self.most:
            refuse(
                self.name,
                say("a directory of {n} in the zip", n=human_bytes(n)),
                say("at most {most}", most=human_bytes(self.most)),
            )
        return self.file.read(self.most if n < 0 else n)


class Zip:
    """A .zip; members are stored or deflated: other ways of packing take memory that the archive decides on."""

    METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

    def __init__(self, file: BinaryIO, name: str, max_entries: int) -> None:
        self.name, self.lock = name, threading.Lock()
        bounded: Any = _Careful(file, DIRECTORY_BYTES * max_entries + 65536, name)
        try:
            self.zip = zipfile.ZipFile(bounded)
        except (*BROKEN, ArithmeticError, LookupError) as error:
            refuse(name, say("a zip that cannot be read ({clip})", clip=clip(str(error), 90)), say("a whole zip file"))
        bounded.most = sys.maxsize  # members are bounded where they are read
        self.file = file

    def entries(self) -> Iterator[Entry]:
        for info in self.zip.infolist():
            yield Entry(info.orig_filename, self._kind(info), info.file_size, info)

    def _kind(self, info: zipfile.ZipInfo) -> str:
        mode = info.external_attr >> 16
        if info.flag_bits & 0x41:
            return "an encrypted file"
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            return kind_of(mode)
        if info.filename.endswith("/"):  # is_dir() fails on an empty name
            return "a folder"
        return "a file" if info.compress_type in self.METHODS else f"a file packed by method {info.compress_type}"

    def read(self, entry: Entry, limit: int, where: Text) -> bytes:
        try:
            with self.lock:  # zipfile counts its open members without one
                stream = self.zip.open(entry.handle)
            try:
                return stream.read(limit + 1)
            finally:
                with self.lock:
                    stream.close()
        except BROKEN as error:
            refuse(
                where,
                say("a member that cannot be unpacked ({clip})", clip=clip(str(error), 90)),
                say("a whole zip file"),
            )

    def close(self) -> None:
        self.zip.close()
        self.file.close()


class Tar:
    """A .tar or .tar.gz."""

    def __init__(self, file: BinaryIO, name: str, max_bytes: int) -> None:
        self.file, self.name, self.max_bytes = file, name, max_bytes
        self.stream, self.lock = tar_stream(file), threading.Lock()

    def entries(self) -> Iterator[Entry]:
        for found in tar_entries(self.stream, self.name, self.max_bytes):
            yield Entry(found.name, found.kind, found.size, found.start)

    def read(self, entry: Entry, limit: int, where: Text) -> bytes:
        try:
            with self.lock:
                self.stream.seek(entry.handle)
                return self.stream.read(min(entry.size, limit + 1))
        except BROKEN as error:
            refuse(
                where,
                say("a member that cannot be unpacked ({clip})", clip=clip(str(error), 90)),
                say("a whole tar file"),
            )

    def close(self) -> None:
        self.stream.close()
        self.file.close()
