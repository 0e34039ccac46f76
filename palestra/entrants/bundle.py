"""A contestant's bundle, made ready to run: a folder, .zip or .tar.gz with `Algorithm/MyAlgorithm.py` in it.

It is copied first, so that what runs is what was handed in, whatever becomes of the original. Wheels that it carries
are installed beside it, inside the sandbox. A `config.json` of the contest's own platform is let be: its image and
command have no meaning here.
"""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palestra.entrants.sandbox import Backend
from palestra.entrants.wheels import FOLDER as WHEELS
from palestra.entrants.wheels import install_wheels
from palestra.errors import clip, refuse
from palestra.formats.archive import open_members
from palestra.formats.files import shown_name

PROGRAM = "Algorithm/MyAlgorithm.py"
MOST_FILES, FILE_BYTES, TOTAL_BYTES = 20_000, 1 << 30, 4 << 30
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
    with _place() as home:
        folder, site = home / "bundle", home / "site"
        digest = _copy(source, folder)
        if (folder / WHEELS).is_dir():
            install_wheels(backend, folder, site)
        yield Bundle(folder, site if site.is_dir() else None, digest)


@contextmanager
def written(plays: str) -> Iterator[Bundle]:
    """A bundle whose program is a class of ours, "module:Class": it runs as a contestant's would."""
    module, _, name = plays.partition(":")
    with _place() as home:
        file = home / "bundle" / PROGRAM
        file.parent.mkdir(parents=True)
        text = f"from {module} import {name} as MyAlgorithm\n"
        file.write_text(text)
        yield Bundle(home / "bundle", None, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


@contextmanager
def _place() -> Iterator[Path]:
    """A folder that the program, which runs as another user, can walk to."""
    home = Path(tempfile.mkdtemp(prefix="palestra-bundle-"))
    home.chmod(0o755)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _copy(source: Path, folder: Path) -> str:
    """Copy every file, for all to read; returns a digest of them."""
    sha = hashlib.sha256()
    with open_members(source, MOST_FILES, FILE_BYTES, TOTAL_BYTES, expected=(PROGRAM,)) as members:
        if PROGRAM not in members:
            refuse(shown_name(source), _what_is_there(members), f"{PROGRAM}, with the class MyAlgorithm in it")
        for name in members:
            _write(folder / name, members.read(name), f"{shown_name(source)}: {clip(name)}")
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        sha.update(f"{file.relative_to(folder).as_posix()}\n{file.stat().st_size}\n".encode() + file.read_bytes())
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return f"sha256:{sha.hexdigest()}"


def _write(file: Path, data: bytes, where: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        if error.errno not in UNFIT:
            raise
        refuse(where, f"what cannot be unpacked ({error.strerror})", "names that are not too long, each of one thing")


def _what_is_there(members: object) -> str:
    names = sorted(map(str, members))[:3]  # type: ignore[call-overload]
    return f"{', '.join(names)} and so on" if names else "no files"
