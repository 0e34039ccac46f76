"""Files from strangers: what is looked at before a byte is read, and how our own are written whole or not at all."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from palestra.errors import SHOWN, Fault, Faults, refuse
from palestra.records import CAPTURE_FILE, CAPTURES
from palestra.text import Text, Words, human_bytes, say

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
    stat.S_IFREG: "a file",
}


READ_BYTES = 1 << 30  # the kernel reads at most two gigabytes at once


def shown_name(path: str | Path) -> str:
    """The file's own name, safe to print: strangers choose it."""
    name = Path(path).name or str(path)
    return name if name.isprintable() and len(name) <= 120 else ascii(name)[:120]


def kind_of(mode: int) -> str:
    """What a `st_mode` is, in words."""
    return KINDS.get(stat.S_IFMT(mode), "something that is not a file")


def regular_file(path: str | Path, max_bytes: int, *, may_be_empty: bool = False) -> Path:
    """The path of a plain file of a size that can be read; anything else is refused without opening it."""
    path = Path(path)
    _check_regular(path, _status(path), max_bytes, may_be_empty)
    return path


def is_folder(path: str | Path) -> bool:
    """Whether a folder is there, and no file; refuses where there is neither."""
    return stat.S_ISDIR(_status(Path(path)).st_mode)


def folder(path: str | Path) -> Path:
    """The path of a folder; a file in its place is refused."""
    path = Path(path)
    mode = _status(path).st_mode
    if not stat.S_ISDIR(mode):
        refuse(shown_name(path), kind_of(mode), say("a folder"))
    return path


def folders_in(path: Path) -> list[Path]:
    """The folders in a folder, without those that hide themselves (.DS_Store, .ipynb_checkpoints and their like)."""
    return [inside for inside in folder(path).iterdir() if inside.is_dir() and not inside.name.startswith(".")]


def open_regular(path: str | Path, max_bytes: int, *, may_be_empty: bool = False, follow: bool = True) -> int:
    """A descriptor of a plain file, checked after opening, so that nothing can be put in its place in between."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)  # O_NONBLOCK: a pipe must not hold us up
    except OSError as error:
        regular_file(path, max_bytes, may_be_empty=may_be_empty)  # says what is wrong, mostly
        refuse(
            shown_name(path),
            say("a file that cannot be opened ({strerror})", strerror=error.strerror),
            say("a file that can be read"),
        )
    try:
        _check_regular(path, os.fstat(descriptor), max_bytes, may_be_empty)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_bytes(path: str | Path, max_bytes: int, *, may_be_empty: bool = False, follow: bool = True) -> bytes:
    """The whole of a plain file of at most `max_bytes`."""
    descriptor = open_regular(path, max_bytes, may_be_empty=may_be_empty, follow=follow)
    try:
        # One more than the file has: enough to see that it grew, and no buffer for the most it may have.
        data = _read_up_to(descriptor, min(os.fstat(descriptor).st_size, max_bytes) + 1)
    except OSError as error:
        refuse(
            shown_name(path),
            say("a file that cannot be read ({strerror})", strerror=error.strerror),
            say("a file that can be read"),
        )
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        _refuse_size(path, len(data), max_bytes)
    return data


def _read_up_to(descriptor: int, most: int) -> bytes:
    parts = []
    while most and (part := os.read(descriptor, min(most, READ_BYTES))):
        parts.append(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write in place of another: it takes its name when it is whole, and is gone if it never is."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield fresh
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file whole or not at all: a reader sees the old one or the new one, never half of it."""
    path = Path(path)
    part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(6)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as stream:  # noqa: PTH123 - pathlib opens no descriptors
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


class FileFaults(Faults):
    """The faults of one file. What refuses the file is shown before its gaps, which could otherwise fill the list."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.name = shown_name(path)
        self.gaps: list[Fault] = []
        self.gap_count = 0

    def at(self, place: Text) -> Words:
        """A place in this file, as `where` has it."""
        return say("{file}: {place}", file=self.name, place=place)

    def gap(self, where: Text, found: Text, expected: Text, count: int = 1) -> None:
        """Note an answer that cannot be used; it is shown after the faults that refuse the file."""
        self.gap_count += count
        if len(self.gaps) < SHOWN:
            self.gaps.append(Fault.of(where, found, expected))

    def __bool__(self) -> bool:
        return self.count + self.gap_count > 0

    def finish(self, usable: object = None) -> None:
        """Raise `Refused` if anything was noted; `usable` is what remains if only gaps were."""
        self.shown = (self.shown + self.gaps)[:SHOWN]
        self.count += self.gap_count
        self.gaps, self.gap_count = [], 0
        super().finish(usable)


def place_of_byte(data: bytes, offset: int) -> str:
    """Where a byte is, as an editor shows it: line 3, byte 14."""
    line, before = data.count(b"\n", 0, offset) + 1, data.rfind(b"\n", 0, offset)
    return f"line {line:,}, byte {offset - before:,}"


def decode_text(data: bytes, path: str | Path) -> str:
    """Text in UTF-8, with or without a byte order mark; other encodings are refused by name and place."""
    name, expected = shown_name(path), say("text in UTF-8")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        refuse(name, say("text in UTF-16 (by its byte order mark)"), expected)
    nul = data.find(b"\0")
    if nul >= 0:
        odd, even = data[1:2000:2].count(0), data[:2000:2].count(0)
        likely = say("text in UTF-16") if max(odd, even) > 0.4 * min(len(data), 2000) / 2 else say("a NUL byte")
        refuse(f"{name}: {place_of_byte(data, nul)}", likely, expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The codec drops the mark before it counts.
        start = error.start + (3 if data.startswith(b"\xef\xbb\xbf") and len(error.object) < len(data) else 0)
        found = say("the byte 0x{data:02x}, which is not UTF-8 (Latin-1, perhaps)", data=data[start])
        refuse(f"{name}: {place_of_byte(data, start)}", found, expected)


def captures_people(data: Path) -> bool:
    """Whether people of a data set may still be to come: they are captured while they are played."""
    return (data / CAPTURES / CAPTURE_FILE).is_file()


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        refuse(shown_name(path), say("nothing there"), say("a file or folder at {path!a}", path=str(path)))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        refuse(
            shown_name(path), say("a path that cannot be looked at ({reason})", reason=reason), say("a file or folder")
        )


def _check_regular(path: str | Path, status: os.stat_result, max_bytes: int, may_be_empty: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        refuse(shown_name(path), kind_of(status.st_mode), say("a file"))
    if status.st_size > max_bytes:
        _refuse_size(path, status.st_size, max_bytes)
    if status.st_size == 0 and not may_be_empty:
        refuse(shown_name(path), say("an empty file"), say("a file with something in it"))


def _refuse_size(path: str | Path, size: int, max_bytes: int) -> None:
    refuse(shown_name(path), human_bytes(size), say("at most {max_bytes}", max_bytes=human_bytes(max_bytes)))
