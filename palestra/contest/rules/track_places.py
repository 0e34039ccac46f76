"""Where a contest's tracks lie: `tracks` of [contest] names folders beside the file, and pip packages.

It is read from the file on this machine, and never from the log or from what somebody sends: tracks are code that runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from palestra import registry
from palestra.contest.rules.checks import Problem
from palestra.contest.rules.value_parsers import PACKAGE
from palestra.errors import PalestraError
from palestra.text import say

KEY = ("contest", "tracks")


def place_problems(places: Iterable[str], home: Path) -> Iterator[Problem]:
    """Places of tracks that are not there."""
    for place in places:
        if place.startswith(PACKAGE):
            if not _is_installed(package := place.removeprefix(PACKAGE)):
                expected = say("a package that is installed: pip install {package}", package=package)
                yield Problem(KEY, say("the package {package!r}, which is not installed", package=package), expected)
        elif not (folder := home / place).is_dir():
            why = say("is a file") if folder.exists() else say("is not there")
            expected = say("a folder with track files: {folder}", folder=folder)
            yield Problem(KEY, say("the folder {place!r}, which {why}", place=place, why=why), expected)


def find_tracks(places: Iterable[str], home: Path) -> None:
    """Look for tracks in the folders that are there, in this process and in those that it starts; packages are found
    without."""
    known = os.environ.get(registry.OUTSIDE, "").split(os.pathsep)
    for folder in (home / place for place in places if not place.startswith(PACKAGE)):
        if not folder.is_dir() or str(folder.resolve()) in known:
            continue
        if os.pathsep in str(folder.resolve()):
            raise PalestraError(
                say(
                    "{folder}: found {mark!r} in the path of a folder with tracks. Move the contest.",
                    folder=folder,
                    mark=os.pathsep,
                )
            )
        registry.add_folder(folder)


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def shown_places(places: tuple[str, ...]) -> str:
    told = ", ".join(f'"{place}"' for place in places)
    return f"tracks = {f'[{told}]' if len(places) > 1 else told}" if places else ""
