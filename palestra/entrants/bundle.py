"""A contestant's bundle, made ready to run: a folder, .zip or .tar.gz with `Algorithm/MyAlgorithm.py` in it.

It is copied first, so that what runs is what was handed in, whatever becomes of the original. Wheels that it carries
are installed beside it, inside the sandbox. A `config.json` of the contest's own platform is let be: its image and
command have no meaning here.
"""

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palestra.entrants.parts import Parts, parts_of
from palestra.entrants.wheels import FOLDER as WHEELS
from palestra.entrants.wheels import install_wheels
from palestra.errors import clip, refuse
from palestra.formats import open_members, refusing, shown_name
from palestra.sandbox.launch import Backend
from palestra.text import Text, say

PROGRAM = "Algorithm/MyAlgorithm.py"
PREFIX = "palestra-bundle-"  # of places for bundles, in the system's folder for what is temporary
MOST_FILES, FILE_BYTES, TOTAL_BYTES = 20_000, 1 << 30, 4 << 30
YOUNG_S = 60.0  # a place is made a moment before it is held
log = logging.getLogger(__name__)

UNFIT = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)  # an archive may have what no folder can


@dataclass(frozen=True)
class Bundle:
    """A program that can be started."""

    folder: Path
    site: Path | None  # where its wheels are installed
    digest: str  # of its files: names and contents


@contextmanager
def unpacked(source: Path, backend: Backend) -> Iterator[Bundle]:
    """The bundle in a place of its own, for as long as it is needed."""
    with place(PREFIX) as home:
        copy(source, home / "bundle", (PROGRAM,), f"{PROGRAM}, with the class MyAlgorithm in it")
        yield Bundle(home / "bundle", installed(backend, home), _digest_of(home / "bundle"))


def parts_in(source: Path) -> Parts:
    """What a bundle is made of that was taken before; nothing of it is run."""
    with place(PREFIX) as home:
        copy(source, home / "bundle", (PROGRAM,), PROGRAM)
        return parts_of(home / "bundle")


@contextmanager
def written(plays: str) -> Iterator[Bundle]:
    """A bundle whose program is a class of a solution, "module:Class": it runs as a contestant's would."""
    module, _, name = plays.partition(":")
    with place(PREFIX) as home:
        file = home / "bundle" / PROGRAM
        file.parent.mkdir(parents=True)
        text = f"from {module} import {name} as MyAlgorithm\n"
        file.write_text(text)
        if _bring(module.partition(".")[0], home / "bundle"):
            yield Bundle(home / "bundle", None, _digest_of(home / "bundle"))
        else:
            yield Bundle(home / "bundle", None, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


def _bring(package: str, folder: Path) -> bool:
    """Copy the code of a challenge from outside into a bundle, for a sandbox may not show where it is installed."""
    found = None if package == "palestra" else importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return False
    origin = Path(found.origin)
    if found.submodule_search_locations:
        shutil.copytree(origin.parent, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(origin, folder / origin.name)
    _open_to_all(folder)
    return True


@contextmanager
def place(prefix: str, scratch: Path | None = None) -> Iterator[Path]:
    """A folder that the program, which runs as another user, can walk to; in `scratch`, where that is given."""
    home = Path(tempfile.mkdtemp(prefix=prefix, dir=scratch))
    home.chmod(0o755)
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a disk that knows no locks: there, `sweep` can hold nothing either
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield home
    finally:
        shutil.rmtree(home, onerror=_not_removed)
        os.close(descriptor)


def sweep(folder: Path, prefix: str) -> int:
    """Remove places that processes left which were killed; how many. A lock tells who lives: a process id would not,
    where workers in several containers, or on several machines, share a folder."""
    left = [path for path in folder.glob(f"{prefix}*") if _is_left(path)]
    for path in left:
        shutil.rmtree(path, onerror=_not_removed)
    return len(left)


def _is_left(path: Path) -> bool:
    """Whether it is ours, not quite new, and held by nobody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # removed meanwhile, or somebody else's
        return False
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < YOUNG_S:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)


def _not_removed(_: object, path: str, error: tuple[type[BaseException], BaseException, object]) -> None:
    """What came of a run counts, though something of it stays on the disk."""
    log.warning("%s could not be removed: %s", path, error[1])


def copy(source: Path, folder: Path, programs: Sequence[str], expected: Text) -> str:
    """Copy every file of a bundle, for all to read; the first of the programs that is among them."""
    with (
        refusing(source, expected),
        open_members(source, MOST_FILES, FILE_BYTES, TOTAL_BYTES, expected=tuple(programs)) as members,
    ):
        program = next((name for name in programs if name in members), None)
        if program is None:
            refuse(shown_name(source), _what_is_there(members), expected)
        for name in members:
            _write(folder / name, members.read(name), f"{shown_name(source)}: {clip(name)}")
    _open_to_all(folder)
    return program


def _open_to_all(folder: Path) -> None:
    """A program runs as another user."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def installed(backend: Backend, home: Path) -> Path | None:
    """Where the wheels are that the bundle in this place brought along, now installed."""
    folder, site = home / "bundle", home / "site"
    if (folder / WHEELS).is_dir():
        install_wheels(backend, folder, site)
    return site if site.is_dir() else None


def _digest_of(folder: Path) -> str:
    sha = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        sha.update(f"{file.relative_to(folder).as_posix()}\n{file.stat().st_size}\n".encode())
        with file.open("rb") as stream:  # of a gigabyte, it may be
            hashlib.file_digest(stream, lambda: sha)
    return f"sha256:{sha.hexdigest()}"


def _write(file: Path, data: bytes, where: Text) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        if error.errno not in UNFIT:
            raise
        refuse(
            where,
            say("what cannot be unpacked ({strerror})", strerror=error.strerror),
            say("names that are not too long, each of one thing"),
        )


def _what_is_there(members: object) -> str:
    names = sorted(map(str, members))[:3]  # type: ignore[call-overload]
    return f"{', '.join(names)} and so on" if names else "no files"
