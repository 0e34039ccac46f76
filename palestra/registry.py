"""Finds tracks and solutions: the folders are the registry."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

import palestra.solutions
import palestra.tracks
from palestra.errors import PalestraError, UnknownName
from palestra.records import Solution, Track

OUTSIDE = "PALESTRA_TRACKS"  # more folders with tracks, separated as in PATH; `--tracks-dir` adds to it


def add_folder(folder: Path) -> None:
    """Look for tracks in this folder as well, in this process and in those that it starts."""
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "is not there"
        raise PalestraError(f"--tracks-dir {folder}: {found}; expected a folder with track files.")
    known = [part for part in os.environ.get(OUTSIDE, "").split(os.pathsep) if part]
    os.environ[OUTSIDE] = os.pathsep.join([*known, str(folder.resolve())])


def tracks() -> dict[str, Track]:
    """All tracks by id."""
    return _by_id(_track_files())


def track(track_id: str, settings: Mapping[str, str] | None = None) -> Track:
    """The track with this id, under the given settings."""
    # A file is named after its track, so one track does not pay for importing all of them.
    named = [file for file in _track_files() if file.stem == track_id.replace("-", "_")]
    found = _by_id(named)
    if track_id not in found:
        found = tracks()
    if track_id not in found:
        raise UnknownName("track (one outside the package needs --tracks-dir)", track_id, found)
    return configured(found[track_id], settings or {})


def configured(track: Track, changes: Mapping[str, str]) -> Track:
    """The same track under other settings, given as text."""
    if not changes:
        return track
    if track.settings is None or track.configure is None:
        raise PalestraError(f"{track.id} has no settings; --set takes none here.")
    known = msgspec.to_builtins(track.settings)
    kind = type(track.settings)
    for name, text in changes.items():
        if name not in known:
            raise UnknownName(f"setting of {track.id}", name, known)
        try:
            msgspec.convert({**known, name: text}, kind, strict=False)
        except msgspec.ValidationError:
            raise PalestraError(
                f"--set {name}={text}: found {text!r}, expected {_choices(get_type_hints(kind)[name])}; "
                f"the default is {str(known[name]).lower()}."
            ) from None
    return track.configure(msgspec.convert({**known, **changes}, kind, strict=False))


def _choices(kind: Any) -> str:
    """What a setting may be, in words."""
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(kind) or " or ".join(map(str, get_args(kind)))


def solutions(track_id: str | None = None) -> list[Solution]:
    """All reference solutions, or those of one track."""
    folder = Path(palestra.solutions.__path__[0])
    # What solutions stand on may be heavy, and is not imported to list them.
    files = [file for file in sorted(folder.glob("[!_]*.py")) if b"SOLUTION" in file.read_bytes()]
    found: list[Solution] = [importlib.import_module(f"palestra.solutions.{file.stem}").SOLUTION for file in files]
    return [item for item in found if track_id in (None, item.track)]


def solution(track_id: str, name: str) -> Solution:
    known = {item.name: item for item in solutions(track_id)}
    if name not in known:
        raise UnknownName(f"solution for {track_id}", name, known)
    return known[name]


def _by_id(files: list[Path]) -> dict[str, Track]:
    found: dict[str, Track] = {}
    for file in files:
        track = _load_track(file)
        if track.id in found:
            raise PalestraError(f"{file}: a track with the id {track.id!r} exists already. Ids must differ.")
        found[track.id] = track
    return dict(sorted(found.items()))


def _track_files() -> list[Path]:
    folders = [Path(palestra.tracks.__path__[0])]
    folders += [Path(part) for part in os.environ.get(OUTSIDE, "").split(os.pathsep) if part]
    return [file for folder in dict.fromkeys(folders) for file in sorted(folder.glob("[!_]*.py"))]


@lru_cache
def _load_track(file: Path) -> Track:
    inside = file.parent == Path(palestra.tracks.__path__[0])
    module = importlib.import_module(f"palestra.tracks.{file.stem}") if inside else _load_outside(file)
    found: Any = getattr(module, "TRACK", None)
    if not isinstance(found, Track):
        raise PalestraError(f"{file}: a track file ends in TRACK = Track(...), and this one has {found!r}.")
    return found


def _load_outside(file: Path) -> ModuleType:
    """Import a track by its file's name, from its folder, so that worker processes can import it as well."""
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    try:
        module = importlib.import_module(file.stem)
    except Exception as error:
        raise PalestraError(f"{file}: fails when it is loaded: {type(error).__name__}: {error}") from error
    if Path(module.__file__ or "").resolve() != file.resolve():
        raise PalestraError(f"{file}: another Python module is called {file.stem!r} already. Name the file otherwise.")
    return module
