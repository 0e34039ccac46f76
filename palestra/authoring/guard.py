"""A track whose functions say whose slip it was: the same track, each of its functions in a shell that notes errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palestra.authoring.home import Function, Home, Place
from palestra.authoring.slip import Slip, again, note, of_error, told
from palestra.errors import PalestraError, clip
from palestra.records import Metric, Track

# Every function of a track, by its field, with what it is given.
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "trials": ("data",), "truth": ("data",), "score": ("rows",), "blank": ("trials",), "missing": ("rows",),
    "files.read": ("file", "trials"), "files.write": ("answers", "file"), "files.most_bytes": ("trials",),
    "files.inspect": ("answers",), "files.content": ("answers",), "files.apart": ("one", "other"),
    "stream.sittings": ("data",), "stream.hear": ("answer",), "stream.signal": ("data",),
    "episode.cases": ("data",), "episode.hear": ("left",),
    "match.judged": ("answers",), "match.sheet": ("data", "which"), "match.drawing": ("layout",),
    "match.manual": ("data",), "match.rehearse": ("data", "attempt"),
    "dataset.make": ("order",), "dataset.describe": ("data",), "dataset.in_part": ("data",),
    "display.charts": ("rows",), "display.picture": ("data", "row"), "display.caption": ("row",),
    "display.film": ("data", "name"), "display.still": ("data", "name"),
    "display.review": ("data", "recording", "entrant"), "display.films": ("data", "recording", "folder"),
    "study.pieces": ("data",), "study.samples": ("data", "pieces"), "study.judge": ("tested", "learnt"),
    "settings.configure": ("values",),
}  # fmt: skip
PLAUSIBLE = "files.plausible"  # a record with a function of its own
TABLES = ("trials", "truth", "score", "blank", "files.read")  # what these return has a row per trial


@dataclass(frozen=True)
class Guarded:
    """A function of a track. What it raises stays what it is, with a note that names file and line."""

    __wrapped__: Function
    track: str
    field: str
    home: Home
    name: str = ""  # of the metric that it belongs to

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            found = self.__wrapped__(*given, **named)
        except (PalestraError, Slip, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:
            if not (isinstance(error, ValueError) and self.field.endswith(".hear")):  # that is how it refuses
                note(error, self._told(error))
            raise
        except BaseException as error:  # a panic in polars, or sys.exit()
            raise Slip(self._told(error)) from error
        if self.field in TABLES:
            self._require_table(found)
        elif self.field == PLAUSIBLE:
            self._require_column(found, given[0])
        return found

    def _told(self, error: BaseException) -> str:
        return of_error(self.track, self.home, error, self.field, self.place, self.name)

    @property
    def place(self) -> Place:
        """Where it is written, or else where the track names it."""
        return self.home.of_function(self.__wrapped__) or self.home.of_field(self.field, self.name)

    def _require_table(self, found: Any) -> None:
        import polars as pl

        remedy = f"Return one, with a row per trial. {again(self.track)}"
        if not isinstance(found, pl.DataFrame):
            what = f"{self.field} returned {clip(found)}, expected a polars DataFrame"
            raise Slip(told(self.track, self.place, what, remedy))
        if "trial" not in found.columns:
            columns = clip(found.columns, 200)
            what = f"{self.field} returned a table with the columns {columns}, expected `trial` among them"
            raise Slip(told(self.track, self.place, what, f"Keep the column `trial`. {again(self.track)}"))

    def _require_column(self, found: Any, rows: Any) -> None:
        import polars as pl

        if isinstance(found, pl.Series) and found.dtype == pl.Boolean and len(found) == len(rows):
            return
        what = f"plausible returned {clip(found)}, expected a column that is true or false for each of {len(rows)} rows"
        remedy = f'Compare a column of the rows, as in rows["x"].is_between(0, 1). {again(self.track)}'
        raise Slip(told(self.track, self.place, what, remedy))


def guarded(track: Track, home: Home) -> Track:
    """The same track, its functions guarded."""
    changes: dict[str, Any] = {}
    for field in FUNCTIONS:
        facet, _, inner = field.rpartition(".")
        holder = changes.get(facet, getattr(track, facet)) if facet else track
        function = getattr(holder, inner) if holder else None
        if not callable(function) or isinstance(function, Guarded):
            continue
        shell = Guarded(function, track.id, field, home)
        if facet:
            changes[facet] = dataclasses.replace(holder, **{inner: shell})
        else:
            changes[inner] = shell
    if (files := changes.get("files", track.files)) and files.plausible:
        plausible = dataclasses.replace(
            files.plausible, holds=Guarded(files.plausible.holds, track.id, PLAUSIBLE, home)
        )
        changes["files"] = dataclasses.replace(files, plausible=plausible)
    return dataclasses.replace(track, metrics=tuple(_metric(one, track, home) for one in track.metrics), **changes)


def _metric(metric: Metric, track: Track, home: Home) -> Metric:
    if isinstance(metric.reduce, Guarded):
        return metric
    return dataclasses.replace(metric, reduce=Guarded(metric.reduce, track.id, "metrics", home, metric.name))


def guarded_like(track: Track, other: Track) -> Track:
    """A track that another one made of itself, guarded where that is."""
    return guarded(other, home_of(track)) if is_guarded(track) else other


def is_guarded(track: Track) -> bool:
    """Whether slips in its functions are told as such: of a track from outside, they are."""
    return isinstance(track.score, Guarded)


def home_of(track: Track) -> Home:
    """Where a track lies: as the registry found it, or by where its functions are written."""
    given = (track.score, track.trials, track.truth, track.blank)
    for function in given:
        if isinstance(function, Guarded):
            return function.home
    files = [code.co_filename for code in (getattr(one, "__code__", None) for one in given) if code]
    return Home.of_folder(Path(files[0] if files else __file__))


def place_of(track: Track, field: str, name: str = "") -> Place:
    """Where a track's function is written, or else the line that gives the field."""
    home = home_of(track)
    facet, _, inner = field.rpartition(".")
    holder = getattr(track, facet) if facet else track
    function = getattr(holder, inner, None) if holder else None
    return (home.of_function(function) if callable(function) else None) or home.of_field(field, name)
