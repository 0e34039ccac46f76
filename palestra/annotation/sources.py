"""What there is to annotate below a folder: pictures and videos, however deep, in natural order."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from palestra.annotation.table import TABLE, is_our_table
from palestra.errors import PalestraError
from palestra.text import say

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm"})
VIDEOS = frozenset({".mp4", ".mov", ".m4v", ".avi", ".mkv", ".webm"})
DEEPEST = 32  # folders within folders
MOST_FILES = 2_000_000


@dataclass(frozen=True)
class Source:
    """A picture or a video below the folder."""

    file: Path
    name: str  # its path from there, with slashes

    @property
    def is_video(self) -> bool:
        return self.file.suffix.lower() in VIDEOS

    @property
    def group(self) -> str:
        """What was taken by one device held one way: the pictures of a folder, or one video."""
        return self.name if self.is_video else str(PurePosixPath(self.name).parent)


def require_folder(folder: Path) -> None:
    if not folder.exists():
        raise PalestraError(
            say("{folder}: there is no such folder. Name the folder that your pictures are in.", folder=folder)
        )
    if not folder.is_dir():
        raise PalestraError(say("{folder} is a file. Name the folder that it is in.", folder=folder))
    if is_our_table(folder / TABLE):
        raise PalestraError(
            say(
                "{folder} is what `palestra annotate` wrote. Name the folder of the pictures themselves.", folder=folder
            )
        )


def sources_in(folder: Path) -> list[Source]:
    """Those of a folder and its folders, 2 before 10; what `palestra annotate` wrote is none."""
    require_folder(folder)
    found = []
    for file in _files(folder, 0):
        if file.suffix.lower() in PICTURES | VIDEOS:
            found.append(Source(file, file.relative_to(folder).as_posix()))
        if len(found) > MOST_FILES:
            raise PalestraError(say("{folder} holds more than {most:,} pictures.", folder=folder, most=MOST_FILES))
    if found:
        return sorted(found, key=lambda source: _natural(source.name))
    kinds = ", ".join(sorted(kind[1:] for kind in PICTURES | VIDEOS))
    raise PalestraError(
        say("{folder} has no pictures and no videos: expected files that end in {kinds}.", folder=folder, kinds=kinds)
    )


def _files(folder: Path, depth: int) -> Iterator[Path]:
    """Files that are not hidden; links to folders are not followed, as they may lead in a circle."""
    with os.scandir(folder) as entries:
        here = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    if depth and any(entry.name == TABLE for entry in here) and is_our_table(folder / TABLE):
        return
    for entry in here:
        if entry.is_dir(follow_symlinks=False):
            if depth < DEEPEST:
                yield from _files(Path(entry.path), depth + 1)
        elif not entry.is_dir():
            yield Path(entry.path)


def _natural(name: str) -> list[list[tuple[int, int, str]]]:
    return [_parts(part) for part in name.split("/")]


def _parts(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part] + [(2, 0, name)]


def output_names(sources: Sequence[Source], reserved: frozenset[str]) -> dict[str, str]:
    """What each one's outputs are called: its path without ending, unless another one has that too.

    A video's is the folder of its frames, and keeps its ending.
    """
    stems = {source.name: str(PurePosixPath(source.name).with_suffix("")) for source in sources if not source.is_video}
    counts: dict[str, int] = {}
    for stem in stems.values():
        counts[stem.lower()] = counts.get(stem.lower(), 0) + 1
    tops = {source.name.split("/")[0].lower() for source in sources}
    names = {}
    for source in sources:
        stem = stems.get(source.name, source.name)
        taken = counts.get(stem.lower(), 0) > 1 or stem.lower() in reserved
        names[source.name] = _aside(source.name if taken else stem, reserved, tops)
    return names


def _aside(name: str, reserved: frozenset[str], tops: set[str]) -> str:
    """A folder of pictures that is called as one of ours gets a longer name."""
    top, slash, rest = name.partition("/")
    if not slash or top.lower() not in reserved:
        return name
    while top.lower() in reserved | tops:
        top += "_"
    return f"{top}/{rest}"
