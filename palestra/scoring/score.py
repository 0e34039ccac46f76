"""Trials, truth and answers in, one Result out; the same for every way that answers arrive."""

from __future__ import annotations

import hashlib
import inspect
import math
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

import palestra
from palestra.authoring import Slip, again, place_of, told
from palestra.errors import Faults, PalestraError, Refused, clip, nearest_name
from palestra.metrics.bootstrap import MIN_UNITS, draw_weights, interval
from palestra.records import Draws, Estimate, Metric, Provenance, Result, Track
from palestra.scoring.truth_table import require_scored, require_truth
from palestra.text import OR, joined, say

ABOUT = {"latency_s": pl.Float64, "note": pl.String, "note_zh": pl.String}  # beside what the answer says
RESAMPLES = 1000
Advance = Callable[[int], None]  # told how many rows were done, for progress bars


@dataclass(frozen=True)
class Scored:
    """A Result with the scores of each trial that it was computed from."""

    result: Result
    rows: pl.DataFrame


@dataclass(frozen=True)
class Sheet:
    """A data set's trials and truth, loaded once for however many answers are scored against them."""

    trials: pl.DataFrame
    truth: pl.DataFrame  # with those public columns that units and groups need
    at: pl.Series  # the row of each trial of the truth among the trials
    digest: str
    data: Path | None = None  # where it was read


def load(track: Track, data: Path) -> Sheet:
    """Trials and truth of a data set."""
    trials, truth = track.trials(data), track.truth(data)
    for name, table in (("trials", trials), ("truth", truth)):
        double = table.filter(table["trial"].is_duplicated())
        if not double.is_empty():
            raise PalestraError(
                say(
                    "{data}: {double} is in the {name} more than once. Look for double rows in its tables.",
                    data=data,
                    double=double["trial"][0],
                    name=name,
                )
            )
    require_truth(track, data, trials, truth)
    shown = [
        name for name in trials.columns if name in (*track.units, *track.display.groups) and name not in truth.columns
    ]
    public = trials.select("trial", *shown).with_row_index(" at")
    joined = truth.join(public, on="trial", how="left", maintain_order="left")
    unknown = joined.filter(pl.col(" at").is_null())
    if not unknown.is_empty():
        raise PalestraError(
            say("{data}: its truth has {unknown}, which is none of its trials.", data=data, unknown=unknown["trial"][0])
        )
    return Sheet(trials, joined.drop(" at"), joined[" at"], digest(track, trials, truth), data)


def unscored(trials: pl.DataFrame, truth: pl.DataFrame) -> str:
    """Which trials have no truth, if any: that may be meant, or a row that was lost."""
    bare = trials.join(truth, on="trial", how="anti")["trial"]
    if bare.is_empty():
        return ""
    names = ", ".join(map(repr, bare.head(3))) + (", …" if len(bare) > 3 else "")
    return (
        f"{trials.height - len(bare):,} of {trials.height:,} trials have truth and are scored; the others ({names}) do "
        "not count."
    )


def score(
    track: Track,
    sheet: Sheet,
    answers: pl.DataFrame,
    entrant: str,
    seed: int = 0,
    advance: Advance | None = None,
    sandbox: str | None = None,
) -> Scored:
    """Score answers against the truth."""
    rows = score_trials(track, sheet, answers, advance)
    provenance = _provenance(track, sheet.digest, digest(track, answers), seed, sandbox)
    result = summarise(track, rows, entrant, provenance)
    _require_numbers(track, sheet, answers, result, rows)
    return Scored(result, rows)


def score_trials(track: Track, sheet: Sheet, answers: pl.DataFrame, advance: Advance | None = None) -> pl.DataFrame:
    """The scores of each trial, in the order of the truth. A trial without an answer keeps its row and is charged."""
    columns = [name for name in answers.columns if name not in ("trial", *ABOUT)]
    truth = sheet.truth
    _require_own_columns(columns, truth)
    rows = _aligned(sheet, answers)
    unanswered = pl.all_horizontal(pl.col(name).is_null() for name in columns)
    gaps = rows.filter(unanswered)
    answered = rows if gaps.is_empty() else rows.filter(~unanswered)
    faults = Faults()
    parts = list(_in_chunks(track.score, answered, track.chunk, faults, advance))
    _require_missing(track, parts)
    if track.inspect and answers.height > answered.height:
        unscored = answers.join(truth, on="trial", how="anti")
        list(_in_chunks(_only_look(track.inspect), unscored, track.chunk, faults, advance))
    if faults and track.inspect:
        # In the order of the trials: what is scored must not be told from what is not by which faults come first.
        look_into(track, answers)
    faults.finish()
    parts = [part.with_columns(answered=pl.lit(True)) for part in parts]
    if not gaps.is_empty():
        parts.append(_charged(track, gaps).with_columns(answered=pl.lit(False)))
        order = truth.select("trial")
        return order.join(pl.concat(parts, how="diagonal_relaxed"), on="trial", how="left", maintain_order="left")
    return pl.concat(parts, how="diagonal_relaxed")


def look_into(track: Track, answers: pl.DataFrame, advance: Advance | None = None) -> None:
    """Open every heavy answer and refuse what is wrong in it; needs no truth."""
    if track.inspect:
        faults = Faults()
        list(_in_chunks(_only_look(track.inspect), answers, track.chunk, faults, advance))
        faults.finish()


def summarise(track: Track, rows: pl.DataFrame, entrant: str, provenance: Provenance) -> Result:
    """A Result from the scores of each trial: a pure function of them and the seed."""
    unit = unit_of(track, rows)
    draws = draw(rows, unit, provenance.resamples, provenance.seed)
    metrics = {metric.name: _estimate(metric, rows, draws) for metric in track.metrics}
    groups = [name for name in dict.fromkeys((unit, *track.display.groups)) if name in rows.columns]
    by = {name: _breakdown(track.metrics, rows, name) for name in groups}
    return Result(track.id, entrant, True, [], unit, metrics, by, provenance)


def unit_of(track: Track, rows: pl.DataFrame) -> str:
    """The column that intervals resample: the first of the track's units that this data has."""
    for name in track.units:
        if name in rows.columns:
            return name
    raise PalestraError(
        say("{id}: neither its trials nor its truth has a column {units}.", id=track.id, units=joined(track.units, OR))
    )


def draw(rows: pl.DataFrame, unit: str, resamples: int, seed: int) -> Draws:
    """Resamples of the units, the same for every entrant with the same units: so differences are paired."""
    names = rows[unit].unique().sort()
    index = pl.DataFrame({unit: names, "index": np.arange(len(names))})
    found = rows.select(unit).join(index, on=unit, how="left", maintain_order="left", nulls_equal=True)
    of_row = found["index"].to_numpy()
    return Draws(of_row, draw_weights(len(names), resamples, seed))


def whole(rows: pl.DataFrame) -> Draws:
    """Every row once: the draw that gives a metric's value itself."""
    return Draws(np.zeros(rows.height, np.int64), np.ones((1, 1)))


def digest(track: Track, *tables: pl.DataFrame) -> str:
    """A digest of what tables of a track hold, whatever the memory layout and wherever files lie."""
    sha = hashlib.sha256()
    for table in (track.content(table) if track.content else table for table in tables):
        for column in table.iter_columns():
            sha.update(f"{column.name}:{column.dtype}:{len(column)}\n".encode())
            plain = column.dtype.is_numeric() and column.null_count() == 0
            sha.update(column.to_numpy().tobytes() if plain else msgspec.json.encode(column.to_list()))
    return f"sha256:{sha.hexdigest()}"


def _require_own_columns(columns: Iterable[str], truth: pl.DataFrame) -> None:
    """A file must not bring columns that scoring takes for its own; a track's template says which it may bring."""
    faults = Faults()
    for name in columns:
        if name in truth.columns:
            faults.add(say("the answers"), say("a column {name}", name=clip(name)), say("no column that the truth has"))
    faults.finish()


def _aligned(sheet: Sheet, answers: pl.DataFrame) -> pl.DataFrame:
    """Truth with its answers beside it; null where there is none."""
    if answers["trial"].equals(sheet.trials["trial"]):  # as a whole submission is: no need to search
        return sheet.truth.hstack(answers.drop("trial")[sheet.at])
    return sheet.truth.join(answers, on="trial", how="left", maintain_order="left")


def _in_chunks(
    work: Callable[[pl.DataFrame], pl.DataFrame],
    rows: pl.DataFrame,
    chunk: int,
    faults: Faults,
    advance: Advance | None,
) -> Iterator[pl.DataFrame]:
    """Each chunk's outcome; what is refused in one does not hide what is wrong in the next."""
    for part in rows.iter_slices(chunk):
        try:
            yield work(part)
        except Refused as refusal:
            faults.absorb(refusal)
        if advance:
            advance(part.height)


def _only_look(inspect: Callable[[pl.DataFrame], None]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def look(rows: pl.DataFrame) -> pl.DataFrame:
        inspect(rows)
        return rows.clear()

    return look


def _require_missing(track: Track, parts: list[pl.DataFrame]) -> None:
    """A slip in what no answer costs is told by the first answers, and not by the first that are missing."""
    if callable(track.missing) or not parts:
        return
    scores, costs = parts[0].columns, list(track.missing)
    odd = [name for name in costs if name not in scores]
    if odd or (track.display.error in scores and track.display.error not in costs):
        what = f"`missing` has {', '.join(map(repr, costs)) or 'nothing'}, expected columns that `score` adds"
        lacking = track.display.error if track.display.error not in costs else ""
        remedy = (
            f"Give it a value for {lacking!r}." if lacking else f"{nearest_name(odd[0], scores)} Rename {odd[0]!r}."
        )
        raise Slip(told(track.id, place_of(track, "missing"), what, f"{remedy} {again(track.id)}"))


def _charged(track: Track, gaps: pl.DataFrame) -> pl.DataFrame:
    if callable(track.missing):
        return track.missing(gaps)
    return gaps.with_columns(**{name: pl.lit(cost) for name, cost in track.missing.items()})


def _estimate(metric: Metric, rows: pl.DataFrame, draws: Draws) -> Estimate:
    value = float(metric.reduce(rows, whole(rows))[0])
    if draws.weights.shape[1] < MIN_UNITS:
        return Estimate(value)
    low, high = interval(metric.reduce(rows, draws))
    # A number that some resamples do not have (they missed a group) has no interval.
    return Estimate(value, low, high) if math.isfinite(low) and math.isfinite(high) else Estimate(value)


def _require_numbers(track: Track, sheet: Sheet, answers: pl.DataFrame, result: Result, rows: pl.DataFrame) -> None:
    """Answers were finite, so what is not comes from the track. A metric that does not rank may be NaN: there may be
    nothing to compute it from."""
    for metric in track.metrics:
        value = result.metrics[metric.name].value
        if math.isinf(value) or (math.isnan(value) and metric == track.ranks and _is_ranked(track, sheet, answers)):
            require_scored(track, sheet.data, sheet.truth, rows)
            what = f"its metric {metric.name} came out as {value}, expected a finite number"
            remedy = "Mend `score`, `missing` or the metric's `reduce`."
            place = place_of(track, "metrics", metric.name)
            raise Slip(told(track.id, place, what, f"{remedy} {again(track.id)}"))


def _is_ranked(track: Track, sheet: Sheet, answers: pl.DataFrame) -> bool:
    """Whether this data has anything that ranks. It may lack the pieces that a protocol ranks: then there is no number
    for no answers at all either."""
    if track.study is None:
        return True
    rows = score_trials(track, sheet, answers.clear())
    return not math.isnan(float(track.ranks.reduce(rows, whole(rows))[0]))


def _breakdown(metrics: tuple[Metric, ...], rows: pl.DataFrame, name: str) -> list[dict[str, Any]]:
    parts = rows.partition_by(name, as_dict=True)
    table = []
    for (value,), part in sorted(parts.items(), key=lambda item: _natural(item[0][0])):
        numbers = {metric.name: float(metric.reduce(part, whole(part))[0]) for metric in metrics}
        table.append({name: value, "trials": part.height, **numbers})
    return table


def _natural(value: Any) -> list[Any]:
    """Sorts S_2 before S_10, and what is unknown last."""
    parts = re.split(r"(\d+)", str(value))
    return [value is None, [(not part.isdecimal(), int(part) if part.isdecimal() else part) for part in parts if part]]


def _provenance(track: Track, data: str, answers: str, seed: int, sandbox: str | None) -> Provenance:
    return Provenance(
        palestra=version("palestra"),
        code=code_digest(track),
        data=data,
        answers=answers,
        settings=track.setting_values,
        seed=seed,
        resamples=RESAMPLES,
        sandbox=sandbox,
        host=f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def code_digest(track: Track) -> str:
    """A digest of the source of palestra and of the track, so that a Result names exactly the code that made it."""
    own = Path(inspect.getfile(inspect.unwrap(track.score)))
    return _source_digest(own)


@cache
def _source_digest(own: Path) -> str:
    """Of palestra, and of a track from outside: its file, or all of the package that the file is in."""
    root = Path(palestra.__path__[0])
    files = {str(file.relative_to(root)): file for file in root.rglob("*.py")}
    if not own.is_relative_to(root):
        while (own.parent / "__init__.py").is_file():
            own = own.parent
        files |= {str(file.relative_to(own.parent)): file for file in (own.rglob("*.py") if own.is_dir() else [own])}
    sha = hashlib.sha256()
    for name, file in sorted(files.items()):
        sha.update(f"{name}\n".encode() + file.read_bytes())
    return f"sha256:{sha.hexdigest()[:16]}"
