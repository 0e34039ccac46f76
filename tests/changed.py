"""A track with something in it replaced, whichever of its facets that belongs to."""

import dataclasses
from typing import Any

from palestra.records import FileAnswers, Track

FACETS = ("files", "stream", "episode", "match", "dataset", "display")


def changed(track: Track, **fields: Any) -> Track:
    """`changed(track, charts=…, hidden=…)`: fields of the track itself, or of a facet that it has."""
    for name, value in fields.items():
        track = dataclasses.replace(track, **_placed(track, name, value))
    return track


def _placed(track: Track, name: str, value: Any) -> dict[str, Any]:
    if name in {field.name for field in dataclasses.fields(track)}:
        return {name: value}
    for facet in FACETS:
        given = getattr(track, facet)
        if given is None and facet == "files" and name in {field.name for field in dataclasses.fields(FileAnswers)}:
            given = FileAnswers(read=lambda file, trials: trials)
        if given is not None and name in {field.name for field in dataclasses.fields(given)}:
            return {facet: dataclasses.replace(given, **{name: value})}
    raise TypeError(f"{track.id} has nothing called {name}")
