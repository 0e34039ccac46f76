"""Whether a track is put together as it should be: seen when it is loaded, before any of its functions is called."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from palestra.authoring.guard import FUNCTIONS, PLAUSIBLE
from palestra.authoring.home import Home, Place
from palestra.authoring.slip import again, told
from palestra.errors import clip
from palestra.records import (
    Dataset,
    Display,
    EpisodeAnswers,
    FileAnswers,
    Metric,
    Plausible,
    RefereedMatch,
    RuleSettings,
    StreamAnswers,
    Study,
    Track,
)
from palestra.text import Words

FACETS = {
    "files": FileAnswers, "stream": StreamAnswers, "episode": EpisodeAnswers, "match": RefereedMatch,
    "dataset": Dataset, "display": Display, "study": Study, "settings": RuleSettings,
}  # fmt: skip
NEVER_NONE = ("dataset", "display")
NEEDED = {
    "trials", "truth", "score", "files.read", "stream.sittings", "stream.hear", "episode.cases", "episode.hear",
    "match.judged", "match.sheet", "study.pieces", "study.samples", "settings.configure",
}  # fmt: skip
TITLE = 'Put it in quotes, or write Words("…", "…") for English and Chinese.'


def faults_of(track: Track, home: Home) -> list[str]:
    """What is wrong with its fields: all of it, each with its line and what to do."""
    known = track.id if isinstance(track.id, str) else clip(track.id)
    return [
        told(known, place, f"found {found}, expected {expected}", f"{remedy} {again(known)}")
        for place, found, expected, remedy in _faults(track, home)
    ]


Problem = tuple[Place, str, str, str]  # where, what was found, what was expected, what to do


def _faults(track: Track, home: Home) -> Iterator[Problem]:
    if not isinstance(track.id, str):
        yield home.of_field("id"), f"id={clip(track.id)}", "a text", "Put it in quotes."
    if not isinstance(track.title, str | Words):
        yield home.of_field("title"), f"title={clip(track.title)}", "a text", TITLE
    facets = [name for name, kind in FACETS.items() if _is_facet(getattr(track, name), kind, name)]
    for name, kind in FACETS.items():
        if name not in facets:
            found = f"{name}={clip(getattr(track, name))}"
            yield home.of_field(name), found, f"{name}={kind.__name__}(…)", f"Write {name}={kind.__name__}(…)."
    yield from _plausible(track, home)
    yield from _metrics(track, home)
    yield from _names(track, home, facets)
    for field, given in FUNCTIONS.items():
        facet, _, inner = field.rpartition(".")
        holder = getattr(track, facet) if facet else track
        if holder is not None and (not facet or facet in facets):
            yield from _function(home, field, getattr(holder, inner), given)


def _is_facet(value: Any, kind: type, name: str) -> bool:
    return isinstance(value, kind) or (value is None and name not in NEVER_NONE)


def _plausible(track: Track, home: Home) -> Iterator[Problem]:
    given = track.files.plausible if isinstance(track.files, FileAnswers) else None
    if isinstance(given, Plausible):
        yield from _function(home, PLAUSIBLE, given.holds, ("rows",))
    elif given is not None:
        remedy = 'Write plausible=Plausible(lambda rows: …, "what may be").'
        yield home.of_field(PLAUSIBLE), f"plausible={clip(given)}", "plausible=Plausible(…)", remedy


def _metrics(track: Track, home: Home) -> Iterator[Problem]:
    place = home.of_field("metrics")
    if not isinstance(track.metrics, tuple | list) or not track.metrics:
        remedy = "Give one at least: metrics=(Metric(…),), with a comma before the last bracket."
        yield place, f"metrics={clip(track.metrics)}", "a tuple of Metric(…)", remedy
        return
    for metric in track.metrics:
        if not isinstance(metric, Metric):
            yield (
                place,
                f"{clip(metric)} among the metrics",
                "a Metric(…)",
                "Write Metric(name, unit=…, better=…, reduce=…).",
            )
        elif metric.better not in ("lower", "higher"):
            where = home.of_field("metrics", metric.name)
            yield where, f"better={clip(metric.better)}", "'lower' or 'higher'", "Say which values are better."
        elif not isinstance(metric.title, str | Words):
            yield home.of_field("metrics", metric.name), f"title={clip(metric.title)}", "a text", TITLE
        else:
            yield from _function(home, "metrics", metric.reduce, ("rows", "draws"), metric.name)


def _names(track: Track, home: Home, facets: list[str]) -> Iterator[Problem]:
    given = track.metrics if isinstance(track.metrics, tuple | list) else ()
    names = [metric.name for metric in given if isinstance(metric, Metric)]
    for name in track.ties:
        if name not in names:
            yield (
                home.of_field("ties"),
                f"ties={clip(track.ties)}",
                f"metrics of the track ({', '.join(names)})",
                "Name one.",
            )
    if "dataset" in facets and isinstance(track.dataset.hidden, str):
        remedy = f"Write hidden=({track.dataset.hidden!r},), with a comma."
        yield home.of_field("dataset"), f"hidden={clip(track.dataset.hidden)}", "a tuple of folders", remedy


def _function(home: Home, field: str, function: Any, given: tuple[str, ...], name: str = "") -> Iterator[Problem]:
    if function is None and field not in NEEDED:
        return
    if field == "missing" and isinstance(function, Mapping):
        return
    if field == "missing" and not callable(function):
        expected = "scores by their columns, or a function missing(rows)"
        yield home.of_field(field), f"missing={clip(function)}", expected, 'Write missing={"error": …}.'
        return
    where = f"reduce of {name!r}" if name else field
    call = f"{field.rpartition('.')[2] if not name else 'reduce'}({', '.join(given)})"
    if not callable(function):
        yield (
            home.of_field(field, name),
            f"{where}={clip(function)}",
            f"a function {call}",
            f"Give the function {call} itself.",
        )
        return
    try:
        inspect.signature(function).bind(*given)
    except TypeError as error:
        place = home.of_function(function) or home.of_field(field, name)
        remedy = f"Let it take {_count(given)}: {', '.join(given)}."
        yield place, f"a function for {where} that cannot be called as {call} ({error})", f"{call}", remedy
    except ValueError:  # a builtin, which does not say what it takes
        return


def _count(given: tuple[str, ...]) -> str:
    return "one argument" if len(given) == 1 else f"{len(given)} arguments"
