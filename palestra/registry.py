"""Finds tracks and solutions: the folders are the registry, and installed packages add to it.

    tracks/near_eye/gaze_v1.py        near-eye-gaze-v1, by the names of its folder and file
    tracks/near_eye/solutions/        SOLUTIONS of that folder's tracks, each named by the module that holds it
    --tracks-dir FOLDER               any .py file there that ends in TRACK = Track(...)
    entry point palestra.tracks       a challenge that is a pip package: its id = "module" or "module:TRACK"

Nothing of a track is imported before somebody asks for it, and nothing of a solution before it is run. A track from
outside that cannot be loaded harms no other: `broken` says why, and only commands that name it are refused.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from palestra.errors import PalestraError, UnknownName
from palestra.records import Solution, Track

OUTSIDE = "PALESTRA_TRACKS"  # more folders with tracks, separated as in PATH; `--tracks-dir` adds to it
ENTRY_POINTS = "palestra.tracks"
PACKAGED = Path(__file__).parent / "tracks"


@dataclass(frozen=True)
class Source:
    """A module that ends in TRACK = Track(...)."""

    id: str  # of its track, as far as names tell; what the track itself says counts
    module: str
    folder: str = ""  # that the module is imported from, where it is not installed
    name: str = "TRACK"
    package: str = ""  # that brought it along, as pip calls it

    @property
    def where(self) -> str:
        if self.package:
            return f"{self.id} of the package {self.package}"
        return str(Path(self.folder, f"{self.module}.py")) if self.folder else self.module


@dataclass(frozen=True)
class Found:
    """All sources, loaded as far as they can be."""

    sources: dict[str, Source]  # by the id of their track
    broken: dict[str, str]  # what is wrong with the others, by the id that their names tell


def add_folder(folder: Path) -> None:
    """Look for tracks in this folder as well, in this process and in those that it starts."""
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "is not there"
        raise PalestraError(f"--tracks-dir {folder}: {found}; expected a folder with track files.")
    known = [part for part in os.environ.get(OUTSIDE, "").split(os.pathsep) if part]
    os.environ[OUTSIDE] = os.pathsep.join([*known, str(folder.resolve())])


def tracks() -> dict[str, Track]:
    """All tracks that can be loaded, by id."""
    return {name: _load(source) for name, source in _find().sources.items()}


def broken() -> dict[str, str]:
    """Why other tracks cannot be used, by the id that their names tell."""
    return _find().broken


def track(track_id: str, settings: Mapping[str, str] | None = None) -> Track:
    """The track with this id, under the given settings."""
    return configured(_load(_source(track_id)), settings or {})


def file_of(track_id: str) -> Path:
    """The Python file that ends in the track."""
    return Path(_load_module(_source(track_id)).__file__ or "")


def configured(track: Track, changes: Mapping[str, str]) -> Track:
    """The same track under other settings, given as text."""
    if not changes:
        return track
    if track.settings is None:
        raise PalestraError(f"{track.id} has no settings; --set takes none here.")
    known, kind = track.setting_values, type(track.settings.values)
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
    return track.settings.configure(msgspec.convert({**known, **changes}, kind, strict=False))


def _choices(kind: Any) -> str:
    """What a setting may be, in words."""
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return names.get(kind) or " or ".join(map(str, get_args(kind)))


def solutions(track_id: str | None = None) -> list[Solution]:
    """All reference solutions, or those of one track."""
    sources = [_source(track_id)] if track_id else _find().sources.values()
    listed = dict.fromkeys(one for source in sources for one in _solutions_beside(source))
    return [one for one in listed if track_id in (None, one.track)]


def solution(track_id: str, name: str) -> Solution:
    known = {item.name: item for item in solutions(track_id)}
    if name not in known:
        raise UnknownName(f"solution for {track_id}", name, known)
    return known[name]


def resolve(place: str) -> Any:
    """What "module:name" or "module" stands for. Where it cannot be imported, nothing else is harmed."""
    name, _, part = place.partition(":")
    try:
        module = importlib.import_module(name)
        return getattr(module, part) if part else module
    except PalestraError:
        raise
    except Exception as error:
        raise PalestraError(f"{place} cannot be loaded: {_told(error)}. What else there is still works.") from error


def _solutions_beside(source: Source) -> tuple[Solution, ...]:
    """SOLUTIONS of the package `solutions` beside a track, or of the track's own module."""
    package = source.module.rpartition(".")[0]
    if package and importlib.util.find_spec(f"{package}.solutions"):
        return tuple(resolve(f"{package}.solutions:SOLUTIONS"))
    return tuple(getattr(_load_module(source), "SOLUTIONS", ())) if not _is_packaged(source) else ()


def _require_solutions(source: Source) -> None:
    """A slip in the list of an outside track's solutions is told when the track is loaded."""
    try:
        _solutions_beside(source)
    except Exception as error:
        raise PalestraError(f"{source.where}: its solutions fail when they are listed: {_told(error)}") from error


def _source(track_id: str) -> Source:
    # A file is named after its track, so one track does not pay for importing all of them.
    named = [source for source in _sources() if source.id == track_id and _load(source).id == track_id]
    if len(named) > 1:
        raise PalestraError(_contested(track_id, named))
    if named:
        return named[0]
    found = _find()
    if track_id in found.sources:
        return found.sources[track_id]
    if track_id in found.broken:
        raise PalestraError(found.broken[track_id])
    kind = "track (one outside the package needs --tracks-dir)"
    raise UnknownName(kind, track_id, found.sources, found.broken.values())


def _find() -> Found:
    claims: dict[str, list[Source]] = {}
    broken: dict[str, str] = {}
    for source in _sources():
        try:
            claims.setdefault(_load(source).id, []).append(source)
        except PalestraError as error:
            broken[source.id] = str(error)
    broken |= {track_id: _contested(track_id, some) for track_id, some in claims.items() if len(some) > 1}
    return Found({track_id: some[0] for track_id, some in sorted(claims.items()) if track_id not in broken}, broken)


def _contested(track_id: str, sources: Iterable[Source]) -> str:
    places = " and ".join(source.where for source in sources)
    return f"Several tracks have the id {track_id!r}: {places}. Ids must differ: rename one, or uninstall its package."


def _sources() -> Iterator[Source]:
    """Those of the package, of folders and of installed packages; the last take longest to find."""
    yield from _packaged()
    for folder in dict.fromkeys(part for part in os.environ.get(OUTSIDE, "").split(os.pathsep) if part):
        for file in sorted(Path(folder).glob("[!_]*.py")):
            yield Source(file.stem.replace("_", "-"), file.stem, folder)
    yield from _installed(tuple(sys.path))


@lru_cache
def _installed(path: tuple[str, ...]) -> tuple[Source, ...]:
    """Of pip packages, looked for once where the same can be imported: it takes as long as serving a page."""
    from importlib.metadata import entry_points

    points = entry_points(group=ENTRY_POINTS)
    names = [(point, point.dist.name if point.dist else "?") for point in points]
    return tuple(Source(one.name, one.module, name=one.attr or "TRACK", package=package) for one, package in names)


@lru_cache
def _packaged() -> tuple[Source, ...]:
    """Looked for once: a page that is served asks for the track of every phase."""
    files = sorted(PACKAGED.glob("[!_]*/*v[0-9]*.py"))
    named = [(file.parent.name, file.stem) for file in files]
    return tuple(Source(f"{a}_{b}".replace("_", "-"), f"palestra.tracks.{a}.{b}") for a, b in named)


def _is_packaged(source: Source) -> bool:
    return source.module.startswith("palestra.tracks.")


@lru_cache
def _load(source: Source) -> Track:
    found: Any = getattr(_load_module(source), source.name, None)
    if not isinstance(found, Track):
        raise PalestraError(
            f"{source.where}: a track file ends in {source.name} = Track(...), and this one has {found!r}."
        )
    if source.package and found.id != source.id:
        raise PalestraError(f"{source.where}: its track has the id {found.id!r}. Name the entry point after it.")
    if not _is_packaged(source):
        _require_solutions(source)
    return found


def _load_module(source: Source) -> ModuleType:
    """Import a track's module by its name, so that worker processes can import it as well."""
    if source.folder and source.folder not in sys.path:
        sys.path.append(source.folder)
    try:
        module = importlib.import_module(source.module)
    except (Exception, SystemExit) as error:  # a script may end itself
        if _is_packaged(source):
            raise
        raise PalestraError(f"{source.where}: fails when it is loaded: {_told(error)}") from error
    if source.folder and Path(module.__file__ or "").resolve() != Path(source.where).resolve():
        raise PalestraError(
            f"{source.where}: another Python module is called {source.module!r} already. Name the file otherwise."
        )
    return module


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
