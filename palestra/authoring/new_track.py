"""A new challenge that works as it is: a folder of files to change, written whole or not at all.

What is written lies in starter/, where it runs under the name `example`; writing it gives it its own name.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palestra.errors import PalestraError, clip
from palestra.text import say

STARTER = Path(__file__).parent / "starter"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
VERSION = re.compile(r"-v([0-9]+)$")
PLACE = "tracks"  # of the track file, in the folder: the contest file names it
LONGEST = 40  # letters of a name: it stands in addresses, tables and file names


@dataclass(frozen=True)
class NewTrack:
    """What a new challenge is called."""

    name: str  # kebab-case, without the version

    @property
    def id(self) -> str:
        return f"{self.name}-v1"

    @property
    def module(self) -> str:
        return self.id.replace("-", "_")

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()


def named(text: str) -> NewTrack:
    """The name of a challenge from what somebody typed: kebab-case, or words."""
    kebab = re.sub(r"[\s_]+", "-", text.strip().lower())
    if (version := VERSION.search(kebab)) and version[1] != "1":
        raise PalestraError(say("Found {text}, expected a name without a version: a new track is v1.", text=clip(text)))
    name = VERSION.sub("", kebab)
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise PalestraError(
            say(
                "Found the name {text}, expected up to {longest} small letters, digits and hyphens "
                "that begin with a letter, as in blink-rate, or such words. The track is then called "
                "blink-rate-v1.",
                text=clip(text),
                longest=LONGEST,
            )
        )
    return NewTrack(name)


def write_track(track: NewTrack, folder: Path, live: bool, contest: str) -> list[Path]:
    """Write the folder, which is new or empty, with this contest file in it; the files that were written."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise PalestraError(
            say("{folder} exists and is not an empty folder. Nothing was written; name another one.", folder=folder)
        )
    starter = STARTER / ("live" if live else "file")
    with _aside(folder) as fresh:
        for source in _files(starter):
            target = fresh / _renamed(source.relative_to(starter).as_posix(), track)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed(source.read_text(encoding="utf-8"), track), encoding="utf-8")
        (fresh / "contest.toml").write_text(contest, encoding="utf-8")
    return [path.relative_to(folder) for path in _files(folder)]


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder beside the one that is wanted, or in an empty one; its files take their places once all are there."""
    empty = folder.is_dir()
    home = folder if empty else folder.absolute().parent
    home.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-track-", dir=home))
    try:
        fresh.chmod(0o755)
        yield fresh
        if empty:  # it may be where somebody's shell is, so it stays
            for path in fresh.iterdir():
                path.rename(folder / path.name)
            fresh.rmdir()
        else:
            fresh.rename(folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _renamed(text: str, track: NewTrack) -> str:
    """`example` in all its spellings, by what the track is called."""
    for old, new in (
        ("example_v", track.module.removesuffix("1")),
        ("example-v", track.id.removesuffix("1")),
        ("data/example", f"data/{track.name}"),
        ('"data" / "example"', f'"data" / "{track.name}"'),
        ("example answers.csv", f"{track.name} answers.csv"),
        ("example bundle.zip", f"{track.name} bundle.zip"),
        ("--phase example", f"--phase {track.name}"),
        ("Example", track.title),
    ):
        text = text.replace(old, new)
    return text
