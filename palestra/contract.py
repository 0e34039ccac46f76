"""What every track keeps, inside the package or out: `palestra --tracks-dir DIR tracks --check` runs it on yours."""

import re
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from palestra.errors import PalestraError, Refused
from palestra.records import Track
from palestra.scoring import collect, score

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*-v\d+")


def check_track(track: Track, data: Path) -> None:
    """Raise a PalestraError that says which promise of a track is broken, on a data set of it."""
    _require(track, bool(ID.fullmatch(track.id)), "its id is kebab-case and ends in a version, as blink-count-v1")
    _require(track, bool(track.title.strip()), "it has a title")
    _require(track, bool(track.metrics), "it has at least one metric")
    names = [metric.name for metric in track.metrics]
    _require(track, len(set(names)) == len(names), "the names of its metrics differ")
    _require(track, bool(track.arrives), "it says how answers arrive")
    trials, truth = track.trials(data), track.truth(data)
    _check_tables(track, trials, truth)
    answers = _perfect(track, trials, truth)
    if answers is not None:
        _check_scoring(track, data, answers)
    if track.writes and track.blank:
        _check_files(track, trials)
    if track.stream:
        _check_stream(track, data, trials)
    if track.episode:
        _check_episode(track, data, trials)


def _require(track: Track, holds: bool, promise: str) -> None:
    if not holds:
        raise PalestraError(f"{track.id} breaks the contract: it should hold that {promise}.")


def _check_tables(track: Track, trials: pl.DataFrame, truth: pl.DataFrame) -> None:
    for name, table in (("trials", trials), ("truth", truth)):
        _require(track, "trial" in table.columns, f"its {name} have a column `trial`")
        _require(track, table["trial"].dtype == pl.String, f"`trial` of its {name} is text")
        _require(track, table["trial"].is_unique().all(), f"each trial is once in its {name}")
        _require(track, not table.is_empty(), f"its {name} are not empty")
    _require(track, truth.join(trials, on="trial", how="anti").is_empty(), "every trial of the truth is a trial")
    shared = set(trials.columns) & set(truth.columns) - {"trial", *track.units, *track.display.groups}
    _require(track, not shared, f"its truth has no column that its trials show to contestants (both have {shared})")
    score.unit_of(track, trials.join(truth, on="trial", suffix="_truth"))


def _perfect(track: Track, trials: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame | None:
    """The truth as answers, where `truth_<name>` columns say how answers look; else the template's answers."""
    named = [name for name in truth.columns if name.startswith("truth_")]
    if track.blank:
        blank = track.blank(trials)
        answer_columns = [name for name in blank.columns if name != "trial"]
        if all(f"truth_{name}" in named for name in answer_columns):
            return truth.select("trial", **{name: pl.col(f"truth_{name}") for name in answer_columns})
        return blank
    return truth.select("trial", **{name.removeprefix("truth_"): pl.col(name) for name in named}) if named else None


def _check_scoring(track: Track, data: Path, answers: pl.DataFrame) -> None:
    sheet = score.load(track, data)
    scored = score.score(track, sheet, answers, "contract")
    rows, ranks = scored.rows, scored.result.metrics[track.ranks.name]
    _require(
        track,
        track.display.error in rows.columns,
        f"its scores have the column {track.display.error!r} that it names as error",
    )
    _require(track, not rows[track.display.error].cast(pl.Float64).is_nan().any(), "no score is NaN")
    _require(track, ranks.value == ranks.value, "its ranking metric is a number")
    again = score.score(track, sheet, answers.sample(fraction=1, shuffle=True, seed=1), "contract")
    _require(track, again.result.metrics == scored.result.metrics, "the order of answers does not matter")
    gone = score.score(track, sheet, answers.clear(), "contract")
    _require(track, gone.rows.height == rows.height, "a trial without an answer keeps its row")
    value = gone.result.metrics[track.ranks.name].value
    worse = value >= ranks.value if track.ranks.better == "lower" else value <= ranks.value
    _require(track, value == value and worse, "no answer at all is no better than answers, and is a number")


def _check_files(track: Track, trials: pl.DataFrame) -> None:
    if track.writes is None or track.blank is None:
        return
    blank = track.blank(trials)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"template{track.suffix}"
        track.writes(blank, file)
        answers = collect(track, file, trials)
        score.look_into(track, answers)
        _require(track, answers["trial"].equals(trials["trial"]), "a template that it writes is read back whole")
        file.write_bytes(b"")
        try:
            collect(track, file, trials)
        except Refused:
            return
    _require(track, False, "an empty file is refused")


def _check_episode(track: Track, data: Path, trials: pl.DataFrame) -> None:
    """There is a world for every trial, in order, and the same is left of it however often nothing is done in it."""
    if track.episode is None or track.hear is None or track.blank is None:
        _require(track, False, "a track with worlds has `hear` and `blank`")
        return
    cases = track.episode.cases(data)
    _require(
        track, [case.name for case in cases] == trials["trial"].to_list(), "it has a world for every trial, in order"
    )
    left = []
    for _ in range(2):
        with closing(cases[0].open()) as world:
            world.move(None)
            left.append(track.hear({**world.end(), "seconds": cases[0].period_s}))
    _require(track, left[0] == left[1], "the same actions leave the same behind")
    columns = track.blank(trials.head(1)).drop("trial").columns
    _require(track, list(left[0]) == columns, "an answer that is heard has the columns of `blank`, in their order")


def _check_stream(track: Track, data: Path, trials: pl.DataFrame) -> None:
    """What is sent asks for every trial once, in order, and says how much it is."""
    if track.stream is None or track.hear is None or track.blank is None:
        _require(track, False, "a live track has `hear` and `blank`")
        return
    asked: list[str] = []
    for sitting in track.stream.sittings(data):
        ticks, decisions, due_s = 0, 0, 0.0
        for tick in sitting.ticks():
            _require(track, tick.due_s >= due_s, "ticks are in the order in which they are due")
            ticks, decisions, due_s = ticks + 1, decisions + (tick.trial is not None), tick.due_s
            asked += [tick.trial] if tick.trial is not None else []
        told = (sitting.count, sitting.decisions, sitting.seconds)
        _require(track, told == (ticks, decisions, due_s), f"a sitting has what it says (of {sitting.name}: {told})")
    _require(track, asked == trials["trial"].to_list(), "its stream asks for every trial once, in their order")
    answer = track.blank(trials.head(1)).drop("trial").row(0)
    heard = track.hear(answer[0] if len(answer) == 1 else list(answer))
    _require(
        track, tuple(heard.values()) == answer, "an answer that is heard has the columns of `blank`, in their order"
    )
    refused: tuple[Any, ...] = (None, "x", True, [], {}, [None], float("nan"), [float("inf")] * 9, b"x")
    for nonsense in refused:
        try:
            track.hear(nonsense)
        except ValueError:
            continue
        _require(track, False, f"what is no answer is refused by `hear` with a ValueError; {nonsense!r} was not")
