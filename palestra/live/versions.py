"""Versions of a program that a team hands in between sittings.

During a window a team may register another version; outside it what was registered stands. Every version is copied,
and its digest goes to a log that is only added to.

    versions.jsonl              one line for each version, in the order they came
    versions/<team>/<number>    what was handed in: a folder, or the archive that it was

Times are seconds since the start of the run, and come from outside.
"""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec

from palestra.errors import PalestraError, UnknownName, clip, refuse
from palestra.records import Sitting
from palestra.text import Text, say

LOG, KEPT = "versions.jsonl", "versions"
TEAM = re.compile(r"\w[\w .-]{0,39}")  # a file name everywhere: no separator, no leading dot, not too long
MOST_FILES, MOST_BYTES, MOST_DEEP = 20_000, 4 << 30, 16
BLOCK_BYTES = 1 << 20
READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe must not hold us up


@dataclass(frozen=True)
class Window:
    """When versions may be registered."""

    before: str  # the sitting that follows
    opens_s: float
    closes_s: float


@dataclass(frozen=True)
class Version:
    """What a team registered."""

    team: str
    number: int  # of the team's versions, from 1
    digest: str
    at_s: float
    window: str  # the sitting that the window was before
    folder: Path  # the copy: a folder, or the archive that was handed in


class _Line(msgspec.Struct, frozen=True):
    """A version as the log has it; where the copy lies depends on where the run lies."""

    team: str
    number: int
    digest: str
    at_s: float
    window: str


def windows(sittings: Sequence[Sitting], starts_s: float = 0.0) -> list[Window]:
    """The windows of a run: each sitting follows its own, and the next opens when the sitting's last tick is due."""
    found = []
    for sitting in sittings:
        closes_s = starts_s + sitting.window_s
        if sitting.window_s > 0:
            found.append(Window(sitting.name, starts_s, closes_s))
        starts_s = closes_s + sitting.seconds
    return found


def digest_of(bundle: Path, most_bytes: int = MOST_BYTES) -> str:
    """A digest of a file, or of the names and contents of all files in a folder; modes and times do not count."""
    sha = hashlib.sha256()
    for name, file in _files(bundle, most_bytes):
        if name:
            sha.update(f"{name}\n{os.fstat(file).st_size}\n".encode())
        for block in _blocks(file):
            sha.update(block)
    return f"sha256:{sha.hexdigest()}"


class Versions:
    """The versions of a run. The log on disk is all that it knows, so several processes may share it."""

    def __init__(self, folder: Path, windows: Sequence[Window], most_bytes: int = MOST_BYTES) -> None:
        self._folder, self._most_bytes = folder, most_bytes
        self._windows = {window.before: window for window in windows}

    def register(self, team: str, bundle: Path, at_s: float) -> Version:
        """Keep a copy of a bundle as the team's next version; refused when no window is open."""
        if not TEAM.fullmatch(team):
            refuse(
                say("team"),
                clip(team),
                say("at most 40 letters, digits, spaces and . _ -, beginning with a letter or digit"),
            )
        return self.keep(team, bundle, at_s, self._open_window(at_s).before)

    def keep(self, team: str, bundle: Path, at_s: float, sitting: str) -> Version:
        """Keep a copy of a bundle that came in the window before a sitting, whoever saw to it that it was open."""
        home = self._home(team)
        fresh = home / f".{secrets.token_hex(8)}.part"
        try:
            _copy(bundle, fresh, self._most_bytes)
            digest = digest_of(fresh, self._most_bytes)
            with self._locked() as log:
                number = 1 + sum(line.team == team for line in self._lines())
                line = _Line(team, number, digest, at_s, sitting)
                _remove(home / str(number))  # the copy of one that was killed before it was in the log
                fresh.rename(home / str(number))
                self._append(log, line)
        finally:
            _remove(fresh)
        return self._version(line)

    def in_force(self, team: str, sitting: str) -> Version | None:
        """The version that plays in a sitting: the team's last one of that window and those before; None without."""
        begins_s = self._window(sitting).closes_s
        in_time = [line for line in self._lines() if self._window(line.window).closes_s <= begins_s]
        own = [line for line in in_time if line.team == team]
        return self._version(own[-1]) if own else None

    def all(self) -> list[Version]:
        """Every version, in the order they came."""
        return [self._version(line) for line in self._lines()]

    def _window(self, sitting: str) -> Window:
        if sitting not in self._windows:
            raise UnknownName(say("sitting with a window before it"), sitting, self._windows)
        return self._windows[sitting]

    def _open_window(self, at_s: float) -> Window:
        for window in self._windows.values():
            if window.opens_s <= at_s < window.closes_s:
                return window
        coming = [window for window in self._windows.values() if window.opens_s > at_s]
        now = say("It is {clock} since the start of the run, and versions are frozen", clock=_clock(at_s))
        if not coming:
            raise PalestraError(say("{now}: no other window opens in this run.", now=now))
        opens, closes = _clock(coming[0].opens_s), _clock(coming[0].closes_s)
        raise PalestraError(
            say(
                "{now} until the window before {before}, from {opens} to {closes}.",
                now=now,
                before=coming[0].before,
                opens=opens,
                closes=closes,
            )
        )

    def _home(self, team: str) -> Path:
        home = self._folder / KEPT / _folder_name(team)
        for folder in (home.parent, home):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)  # programs run as another user
        return home

    def _version(self, line: _Line) -> Version:
        folder = self._folder / KEPT / _folder_name(line.team) / str(line.number)
        return Version(line.team, line.number, line.digest, line.at_s, line.window, folder)

    def _lines(self) -> list[_Line]:
        """What the log has. A last line without an end was cut short by a kill, and never counted."""
        file = self._folder / LOG
        if not file.is_file():
            return []
        whole = file.read_bytes().split(b"\n")[:-1]
        return [_decoded(text, f"{LOG}, line {number}") for number, text in enumerate(whole, 1)]

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The log, for one writer at a time."""
        with (self._folder / LOG).open("a+b") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            yield log

    def _append(self, log: BinaryIO, line: _Line) -> None:
        log.seek(0)
        log.truncate(log.read().rfind(b"\n") + 1)  # what a kill cut short must not spoil what follows
        log.write(msgspec.json.encode(line) + b"\n")
        log.flush()
        os.fsync(log.fileno())


def _folder_name(team: str) -> str:
    """Teams of a contest may be called anything."""
    return team if TEAM.fullmatch(team) else f"@{hashlib.sha256(team.encode()).hexdigest()[:16]}"


def _decoded(text: bytes, where: Text) -> _Line:
    try:
        return msgspec.json.decode(text, type=_Line)
    except msgspec.MsgspecError as error:
        refuse(where, f"{clip(text)} ({error})", say("a version as it was written; the log is never edited"))


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(max(seconds, 0.0))))


def _copy(bundle: Path, target: Path, most_bytes: int) -> None:
    """Copy a bundle; everybody may read the copy."""
    count = 0
    for name, file in _files(bundle, most_bytes):
        place = target / name if name else target
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as out:
            out.writelines(_blocks(file))
        place.chmod(0o755 if os.fstat(file).st_mode & 0o111 else 0o644)
        count += 1
    if not count:
        refuse(_shown(bundle), say("a folder without files"), say("a bundle"))
    for folder in (path for path in (target, *target.rglob("*")) if path.is_dir()):
        folder.chmod(0o755)


def _shown(bundle: Path) -> str:
    return clip(bundle.name or str(bundle))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@dataclass
class _Allowance:
    """How much a bundle holds, and whether it may."""

    bundle: str
    most_bytes: int
    files: int = 0  # so far, folders among them
    bytes: int = 0

    def take(self, size: int) -> None:
        self.files += 1
        self.bytes += size
        if self.files > MOST_FILES:
            refuse(
                self.bundle,
                say("more than {most_files:,} files and folders", most_files=MOST_FILES),
                say("at most {most_files:,}", most_files=MOST_FILES),
            )
        if self.bytes > self.most_bytes:
            refuse(
                self.bundle,
                say("{bytes:,} bytes or more", bytes=self.bytes),
                say("at most {most_bytes:,}", most_bytes=self.most_bytes),
            )


def _files(bundle: Path, most_bytes: int) -> Iterator[tuple[str, int]]:
    """Every file of a folder, by its name inside and opened for reading, in the order of names; a file alone has none.

    Each is opened from the folder that it is in, and no link is followed: what is put in the place of a folder
    meanwhile leads nowhere.
    """
    yield from _opened(str(bundle), None, (), _Allowance(_shown(bundle), most_bytes))


def _opened(entry: str, at: int | None, parts: tuple[str, ...], allowance: _Allowance) -> Iterator[tuple[str, int]]:
    """One file, or those of one folder."""
    name, mode = "/".join(parts), os.stat(entry, dir_fd=at, follow_symlinks=False).st_mode
    where = f"{allowance.bundle}: {clip(name)}" if name else allowance.bundle
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        refuse(
            where,
            say("a link") if stat.S_ISLNK(mode) else say("neither a file nor a folder"),
            say("files and folders alone"),
        )
    if not name.isprintable() or len(parts) > MOST_DEEP:
        refuse(
            where,
            say("a name that is unprintable or too deep"),
            say("printable names in at most {most_deep} folders", most_deep=MOST_DEEP),
        )
    opened = os.open(entry, READING, dir_fd=at)
    try:
        found = os.fstat(opened)  # not `mode`: something else may have taken its place
        if stat.S_ISDIR(found.st_mode):
            allowance.take(0)
            for inner in _entries(opened):
                yield from _opened(inner, opened, (*parts, inner), allowance)
        elif stat.S_ISREG(found.st_mode):
            allowance.take(found.st_size)
            yield name, opened
    finally:
        os.close(opened)


def _entries(folder: int) -> list[str]:
    """The names in a folder; no more than are needed to see that there are too many."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in islice(entries, MOST_FILES + 1))


def _blocks(file: int) -> Iterator[bytes]:
    """What a file holds, and no more than when it was opened."""
    left = os.fstat(file).st_size
    while left and (block := os.read(file, min(left, BLOCK_BYTES))):
        left -= len(block)
        yield block
