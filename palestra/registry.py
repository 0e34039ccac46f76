"""Finds tracks and solutions: the folders are the registry, and installed packages add to it.

    tracks/near_eye/gaze_v1.py        near-eye-gaze-v1, by the names of its folder and file
    tracks/near_eye/solutions/        SOLUTIONS of that folder's tracks, each named by the module that holds it
    --tracks-dir FOLDER               any .py file there that ends in TRACK = Track(...)
    entry point palestra.tracks       a challenge that is a pip package: its id = "module" or "module:TRACK"

Nothing of a track is imported before somebody asks for it, and nothing of a solution before it is run. A track from
outside that cannot be loaded harms no other: `broken` says why, and only commands that name it are refused. Functions
of a track from outside are guarded: what fails in them is told with the file and line of its author (`slip_of`).
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

from palestra.authoring import Home, blame, faults_of, guarded, guarded_like, of_load
from palestra.errors import PalestraError, UnknownName, clip
from palestra.records import Solution, Track
from palestra.text import say

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
    def is_outside(self) -> bool:
        """Whether it is not one of Palestra's own."""
        return not _is_packaged(self)

    @property
    def where(self) -> str:
        if self.package:
            return f"{self.id} of the package {self.package}"
        return str(self.file) if self.folder else self.module

    @property
    def file(self) -> Path:
        """Of a track in a folder."""
        return Path(self.folder, f"{self.module}.py")

    @property
    def who(self) -> str:
        return self.where if self.package else self.id


class BrokenTrack(PalestraError):
    """A track from outside that cannot be used, by a slip of its author."""


class NoTrack(BrokenTrack):
    """A file in a folder with tracks that has none: a helper, perhaps."""


@dataclass(frozen=True)
class Found:
    """All sources, loaded as far as they can be."""

    sources: dict[str, Source]  # by the id of their track
    broken: dict[str, str]  # what is wrong with the others, by the id that their names tell
    skipped: dict[str, str]  # files that have no track, and are none therefore


def add_folder(folder: Path) -> None:
    """Look for tracks in this folder as well, in this process and in those that it starts."""
    if not folder.is_dir():
        found = say("is a file") if folder.exists() else say("is not there")
        raise PalestraError(
            say("--tracks-dir {folder}: {found}; expected a folder with track files.", folder=folder, found=found)
        )
    inside = folder / "tracks"
    if not any(folder.glob("*.py")) and inside.is_dir():
        raise PalestraError(
            say("--tracks-dir {folder}: no track files there. Did you mean {inside}?", folder=folder, inside=inside)
        )
    known = [part for part in os.environ.get(OUTSIDE, "").split(os.pathsep) if part]
    os.environ[OUTSIDE] = os.pathsep.join([*known, str(folder.resolve())])


def tracks() -> dict[str, Track]:
    """All tracks that can be loaded, by id."""
    return {name: _load(source) for name, source in _find().sources.items()}


def broken() -> dict[str, str]:
    """Why other tracks cannot be used, by the id that their names tell."""
    return _find().broken


def skipped() -> list[str]:
    """What else lies in folders with tracks, in a sentence for each file."""
    return list(_find().skipped.values())


def slip_of(error: BaseException) -> str:
    """Whose slip an error was, in words with file and line, where a track from outside brought it about; else ""."""
    for one in (error, error.__cause__):
        if isinstance(one, BrokenTrack):
            return str(one)
    return blame(error, _homes)


def track(track_id: str, settings: Mapping[str, str] | None = None) -> Track:
    """The track with this id, under the given settings."""
    return configured(_load(_source(track_id)), settings or {})


def file_of(track_id: str) -> Path:
    """The Python file that ends in the track."""
    return Path(_load_module(_source(track_id)).__file__ or "")


def source_of(track_id: str) -> Source:
    """Where a track comes from."""
    return _source(track_id)


def configured(track: Track, changes: Mapping[str, str]) -> Track:
    """The same track under other settings, given as text."""
    if not changes:
        return track
    if track.settings is None:
        raise PalestraError(say("{id} has no settings; --set takes none here.", id=track.id))
    known, kind = track.setting_values, type(track.settings.values)
    for name, text in changes.items():
        if name not in known:
            raise UnknownName(say("setting of {track}", track=track.id), name, known)
        try:
            msgspec.convert({**known, name: text}, kind, strict=False)
        except msgspec.ValidationError:
            raise PalestraError(
                say(
                    "--set {name}={text}: found {text!r}, expected {choices}; the default is {lower}.",
                    name=name,
                    text=text,
                    choices=_choices(get_type_hints(kind)[name]),
                    lower=str(known[name]).lower(),
                )
            ) from None
    return guarded_like(track, track.settings.configure(msgspec.convert({**known, **changes}, kind, strict=False)))


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
        raise UnknownName(say("solution for {track}", track=track_id), name, known)
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
        raise PalestraError(
            say("{place} cannot be loaded: {told}. What else there is still works.", place=place, told=_told(error))
        ) from error


def _solutions_beside(source: Source) -> tuple[Solution, ...]:
    """SOLUTIONS of the package `solutions` beside a track, or of the track's own module."""
    package = source.module.rpartition(".")[0]
    if package and importlib.util.find_spec(f"{package}.solutions"):
        return tuple(resolve(f"{package}.solutions:SOLUTIONS"))
    return tuple(getattr(_load_module(source), "SOLUTIONS", ())) if not _is_packaged(source) else ()


def _require_solutions(source: Source, home: Home) -> None:
    """A slip in the list of an outside track's solutions is told when the track is loaded."""
    try:
        _solutions_beside(source)
    except Exception as error:
        place = home.of_error(error) or home.file
        raise BrokenTrack(
            f"{source.who}: {place}: its solutions fail when they are listed: {_told(error)}. "
            "SOLUTIONS is a tuple of Solution(...)."
        ) from error


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
        raise BrokenTrack(found.broken[track_id])
    unusable = [*found.broken.values(), *found.skipped.values()]
    hint = say("A track from outside Palestra needs --tracks-dir.")
    raise UnknownName(say("track"), track_id, found.sources, unusable, hint)


def _find() -> Found:
    claims: dict[str, list[Source]] = {}
    broken: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for source in _sources():
        try:
            claims.setdefault(_load(source).id, []).append(source)
        except NoTrack as error:
            skipped[source.id] = str(error)
        except PalestraError as error:
            broken[source.id] = str(error)
    broken |= {track_id: _contested(track_id, some) for track_id, some in claims.items() if len(some) > 1}
    usable = {track_id: some[0] for track_id, some in sorted(claims.items()) if track_id not in broken}
    return Found(usable, broken, skipped)


def _contested(track_id: str, sources: Iterable[Source]) -> str:
    places = " and ".join(_where_named(source) for source in sources)
    return f"Several tracks have the id {track_id!r}: {places}. Ids must differ: rename one, or uninstall its package."


def _where_named(source: Source) -> str:
    """Where a track has its id, to the line if it is from outside."""
    if _is_packaged(source):
        return source.where
    place = _home(source).of_field("id")
    return f"{source.where} ({place})" if source.package else str(place)


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


_homes: dict[str, Home] = {}  # of the tracks from outside that were loaded, by their ids


@lru_cache
def _load(source: Source) -> Track:
    module = _load_module(source)
    found: Any = getattr(module, source.name, None)
    if _is_packaged(source):
        if not isinstance(found, Track):
            raise PalestraError(
                say("{where}: a track file ends in {name} = Track(...).", where=source.where, name=source.name)
            )
        return found
    home = _home(source)
    if not isinstance(found, Track):
        raise _not_a_track(source, home, found)
    _homes[found.id if isinstance(found.id, str) else source.id] = home
    if source.package and found.id != source.id:
        place, name = home.of_field("id"), clip(found.id)
        raise BrokenTrack(f"{source.who}: {place}: its track has the id {name}. Name the entry point after it.")
    if faults := faults_of(found, home):
        raise BrokenTrack("\n".join(faults))
    _require_solutions(source, home)
    return guarded(found, home)


def _not_a_track(source: Source, home: Home, found: Any) -> BrokenTrack:
    """What a module has in the place of a track; in a folder, one that has nothing there is no track file at all."""
    remedy = f"A track file ends in {source.name} = Track(...)"
    if found is not None:
        place = home.of_field("")
        return BrokenTrack(f"{source.who}: {place}: {source.name} is {clip(found)}, expected a Track. {remedy}.")
    if misnamed := home.misnamed():
        name, place = misnamed
        return BrokenTrack(f"{source.who}: {place}: its track is called {name}. Call it {source.name}: {remedy}.")
    missing = f"{source.who}: {home.file}:1: has no {source.name}. {remedy}"
    if source.folder:
        return NoTrack(f"{missing}; a file that is not one is left alone if its name begins with _.")
    return BrokenTrack(f"{missing}.")


def _load_module(source: Source) -> ModuleType:
    """Import a track's module by its name, so that worker processes can import it as well."""
    if source.folder and source.folder not in sys.path:
        sys.path.append(source.folder)
    try:
        module = importlib.import_module(source.module)
    except (Exception, SystemExit) as error:  # a script may end itself
        if _is_packaged(source):
            raise
        raise BrokenTrack(of_load(source.who, source.id, _home(source), error)) from error
    if source.folder and Path(module.__file__ or "").resolve() != source.file.resolve():
        raise PalestraError(
            say(
                "{where}: another Python module is called {module!r} already. Name the file otherwise.",
                where=source.where,
                module=source.module,
            )
        )
    return module


def _home(source: Source) -> Home:
    """Where a track from outside lies, whether it can be loaded or not."""
    if source.folder:
        return Home.of_folder(source.file)
    loaded = sys.modules.get(source.module)
    if loaded is not None and loaded.__file__:
        return Home.of_module(Path(loaded.__file__))
    top = importlib.util.find_spec(source.module.partition(".")[0])  # this imports nothing
    return Home.of_module(Path(top.origin if top and top.origin else source.module))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
