"""What every track keeps, inside the package or out: `palestra --tracks-dir DIR tracks --check` runs it on yours."""

import math
import os
import pickle
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from palestra.authoring import Slip, blame, guarded, home_of, of_error, place_of
from palestra.entrants.runner.answers import told
from palestra.errors import PalestraError, Refused, brief
from palestra.records import Order, Sitting, Tick, Track
from palestra.scoring import collect, most_bytes, require_scored, require_template, score

ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*-v\d+")


def check_track(track: Track, data: Path) -> None:
    """Raise a PalestraError that says which promise of a track is broken, on a data set of it: with the file and line
    that break it, and what to do."""
    with _told(guarded(track, home_of(track))) as known:
        _check(known, data)


def check_start(track: Track, data: Path) -> None:
    """The cheap part of the contract, before anybody hands anything in: the tables agree, the template is read back and
    has a score."""
    with _told(guarded(track, home_of(track))) as known:
        sheet = _load(known, data)
        if known.blank is None:
            return
        _check_blank(known, sheet.trials)
        _check_template(known, sheet)
        if not known.match:
            score.score(known, sheet, known.blank(sheet.trials), "template")


@contextmanager
def _told(track: Track) -> Iterator[Track]:
    """What goes wrong with a track, as a PalestraError."""
    home = home_of(track)
    try:
        yield track
    except PalestraError:
        raise
    except Slip as slip:
        raise PalestraError(str(slip)) from slip
    except Exception as error:
        raise PalestraError(blame(error, {track.id: home}) or of_error(track.id, home, error)) from error


def _check(track: Track, data: Path) -> None:
    named = "its id is kebab-case and ends in a version, as blink-count-v1"
    _require(track, bool(ID.fullmatch(track.id)), named, "id", f"Call it {_as_id(track.id)!r}, perhaps.")
    _require(track, bool(str(track.title).strip()), "it has a title", "title", "Say in a few words what it is.")
    _require(track, bool(track.metrics), "it has at least one metric", "metrics", "The first one ranks.")
    names = [metric.name for metric in track.metrics]
    _require(track, len(set(names)) == len(names), "the names of its metrics differ", "metrics", "Rename one.")
    ways = "Give files=FileAnswers(…), stream=StreamAnswers(…), episode=EpisodeAnswers(…) or match=RefereedMatch(…)."
    _require(track, bool(track.arrives), "it says how answers arrive", "TRACK", ways)
    sheet = _load(track, data)
    trials, truth = sheet.trials, sheet.truth
    _check_blank(track, trials)
    if track.writes and track.blank:  # before scores are computed from what a template has
        _check_template(track, sheet)
        _check_files(track, trials)
        _check_reader(track, trials)
    if track.stream:
        _check_stream(track, data, sheet)
    answers = _perfect(track, trials, truth)
    if answers is not None:
        _check_scoring(track, sheet, answers)
    if track.episode:
        _check_episode(track, data, trials)
    _check_plan(track)


def _load(track: Track, data: Path) -> score.Sheet:
    with _refusals(track, "trials", f"{data} cannot be read as its data"):
        trials, truth = track.trials(data), track.truth(data)
    _check_tables(track, trials, truth)
    return score.load(track, data)


def _require(track: Track, holds: bool, promise: str, field: str = "TRACK", remedy: str = "", name: str = "") -> None:
    """`field` is what of the track breaks the promise where it does not hold, `name` of which metric."""
    if not holds:
        _break(track, place_of(track, field, name), promise, remedy)


def _break(track: Track, place: object, promise: str, remedy: str) -> None:
    said = f"{track.id}: {place}: breaks the contract: it should hold that {promise}. {remedy}"
    raise PalestraError(said.strip())


@contextmanager
def _refusals(track: Track, field: str, what: str) -> Iterator[None]:
    """A refusal of the track's own reader, on what no contestant wrote, is a slip of its author."""
    try:
        yield
    except Refused as refusal:
        remedy = "Correct the reader, or what it reads."
        raise PalestraError(f"{track.id}: {place_of(track, field)}: {what}: {refusal.faults[0]}. {remedy}") from refusal


def _as_id(text: str) -> str:
    """An id that is like this one."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "my-track"
    return words if re.search(r"-v\d+$", words) else f"{words}-v1"


def _check_tables(track: Track, trials: pl.DataFrame, truth: pl.DataFrame) -> None:
    for name, table in (("trials", trials), ("truth", truth)):
        text = 'Read it as text: schema_overrides={"trial": pl.String}.'
        _require(track, table["trial"].dtype == pl.String, f"`trial` of its {name} is text", name, text)
        double = table.filter(table["trial"].is_duplicated())["trial"].head(1).to_list()
        _require(
            track, not double, f"each trial is once in its {name}", name, f"{double} is there more than once: drop one."
        )
        _require(track, not table.is_empty(), f"its {name} are not empty", name, "Look at the files that it reads.")
    unknown = truth.join(trials, on="trial", how="anti")["trial"].head(3).to_list()
    _require(
        track, not unknown, "every trial of the truth is a trial", "truth", f"The trials lack {unknown}: add or rename."
    )
    shared = set(trials.columns) & set(truth.columns) - {"trial", *track.units, *track.display.groups}
    shown = f"its truth has no column that its trials show to contestants (both have {sorted(shared)})"
    _require(track, not shared, shown, "trials", "Select the public columns alone.")
    joined = trials.join(truth, on="trial", suffix="_truth")
    unit = f"its trials or its truth have a column {' or '.join(track.units)}"
    whom = "It says whom a row came from; units=(…) names another one."
    _require(track, any(name in joined.columns for name in track.units), unit, "trials", whom)


def _check_blank(track: Track, trials: pl.DataFrame) -> None:
    """The template has the trials, and columns beside them."""
    if track.blank is None:
        return
    blank = track.blank(trials)
    same = blank["trial"].equals(trials["trial"])
    rows = 'Begin with trials.select("trial", …).'
    _require(track, same, "`blank` has every trial once, in the order of the trials", "blank", rows)
    _require(track, blank.width > 1, "`blank` has a column for the answer", "blank", "Add it beside `trial`.")


def _check_template(track: Track, sheet: score.Sheet) -> None:
    """The reader takes the template that the track writes."""
    try:
        require_template(track, sheet.trials)
    except Slip as slip:
        if isinstance(slip.__cause__, Refused):
            _require_names(track, sheet, str(slip.__cause__.faults[0]))
        raise


def _require_names(track: Track, sheet: score.Sheet, why: str) -> None:
    """Where names of answers do not agree, those of the truth say which one is misspelt."""
    if track.blank is None:
        return
    meant = {name.removeprefix("truth_") for name in sheet.truth.columns if name.startswith("truth_")}
    given = set(track.blank(sheet.trials.head(1)).columns) - {"trial"}
    for name in sorted(given - meant):
        if near := get_close_matches(name, meant - given, n=1):
            promise = f"`blank` names what is answered; {name!r} is not taken ({why})"
            _require(track, False, promise, "blank", f"Call it {near[0]!r}, as truth_{near[0]} says.")


def _check_reader(track: Track, trials: pl.DataFrame) -> None:
    """What a reader reads has the columns of the template."""
    if track.writes is None or track.blank is None:
        return
    blank = track.blank(trials)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"template{track.suffix}"
        track.writes(blank, file)
        read = collect(track, file, trials)
    told = f"found {read.columns}, and the template has {blank.columns}"
    same = set(read.columns) == set(blank.columns)
    _require(track, same, f"a submission is read with the columns of `blank` ({told})", "files.read", "Let them agree.")
    for name in blank.columns:
        kinds = (read.schema[name], blank.schema[name])
        agree = kinds[0] == kinds[1] or all(kind.is_numeric() for kind in kinds)
        promise = f"a submission is read with the types of `blank` ({name}: found {kinds[0]}, expected {kinds[1]})"
        _require(track, agree, promise, "files.read", "Name the type in columns={…}, or change the template's.")


def _check_plan(track: Track) -> None:
    """Parts of a data set are written by other processes, which they are sent to."""
    if track.dataset.make is None:
        return
    for part in track.dataset.make(Order()).parts:
        try:
            pickle.dumps(part.write)
        except Exception as error:  # of any kind: objects say themselves how they are pickled
            place = home_of(track).of_function(part.write) or place_of(track, "dataset.make")
            remedy = (
                "Use functools.partial with a function of the module, in the place of a lambda or an inner function."
            )
            _break(track, place, f"the part {part.name!r} can be sent to another process ({brief(error)})", remedy)


def _perfect(track: Track, trials: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame | None:
    """The truth as answers, where columns `truth_<name>` have what `<name>` is in the template; else the template's
    answers."""
    named = [name for name in truth.columns if name.startswith("truth_")]
    if track.blank:
        blank = track.blank(trials)
        answer_columns = [name for name in blank.columns if name != "trial"]
        if all(f"truth_{name}" in named and _alike(truth, blank, name) for name in answer_columns):
            return truth.select("trial", **{name: pl.col(f"truth_{name}") for name in answer_columns})
        return blank
    return truth.select("trial", **{name.removeprefix("truth_"): pl.col(name) for name in named}) if named else None


def _alike(truth: pl.DataFrame, blank: pl.DataFrame, name: str) -> bool:
    kinds = truth.schema[f"truth_{name}"], blank.schema[name]
    return kinds[0] == kinds[1] or all(kind.is_numeric() for kind in kinds)


def _check_scoring(track: Track, sheet: score.Sheet, answers: pl.DataFrame) -> None:
    error = track.display.error
    scores = score.score_trials(track, sheet, answers)
    each = "Let it add columns to the rows that it gets: rows.with_columns(…)."
    kept = scores["trial"].equals(sheet.truth["trial"])
    _require(track, kept, "`score` gives back every row that it gets, in their order", "score", each)
    named = f"its scores have the column {error!r} that it names as error"
    _require(track, error in scores.columns, named, "score", f"Add {error!r}, or name another in Display(error=…).")
    wrong = scores.filter(pl.col(error).cast(pl.Float64).is_nan())["trial"].head(3).to_list()
    if wrong:
        require_scored(track, sheet.data, sheet.truth, scores)
    _require(track, not wrong, "no score is NaN", "score", f"Look at {wrong}: 0/0, perhaps.")
    _check_metrics(track, scores)
    scored = score.score(track, sheet, answers, "contract")
    again = score.score(track, sheet, answers.sample(fraction=1, shuffle=True, seed=1), "contract")
    order = again.result.metrics == scored.result.metrics
    _require(track, order, "the order of answers does not matter", "score", each)
    plain = track.blank(sheet.trials) if track.blank else answers  # answers that differ from the truth
    guessed = score.score_trials(track, sheet, plain)
    _check_rows(track, sheet, plain, guessed)
    gone = score.score_trials(track, sheet, answers.clear())
    _require(track, gone.height == scores.height, "a trial without an answer keeps its row", "missing", each)
    _check_missing(
        track, [name for name in scores.columns if name not in (*sheet.truth.columns, *answers.columns)], gone
    )
    value = _ranking(track, gone)
    costs = "Let missing={…} cost at least as much as the worst answer."
    for rows in (scores, guessed):
        if math.isnan(_ranking(track, rows)):
            require_scored(track, sheet.data, sheet.truth, rows)
        other, empty = _ranking(track, rows), rows.filter(pl.col(error).is_null())["trial"].head(3).to_list()
        look = f"{empty} have no score: is their truth there?" if empty else "Look at the scores that it takes."
        _require(track, other == other, "its ranking metric is a number", "metrics", look, track.ranks.name)
        worse = value >= other if track.ranks.better == "lower" else value <= other
        found = f"found {value:.6g}, and {other:.6g} for answers"
        none = f"no answer at all is no better than answers, and is a number ({found})"
        _require(track, value == value and worse, none, "missing", costs)


def _ranking(track: Track, rows: pl.DataFrame) -> float:
    """The metric that ranks, of scored rows."""
    return float(track.ranks.reduce(rows, score.whole(rows))[0])


def _check_rows(track: Track, sheet: score.Sheet, answers: pl.DataFrame, scores: pl.DataFrame) -> None:
    """A row's score is its own, whichever rows are scored with it."""
    parts = score.score_trials(replace(track, chunk=max(scores.height // 3, 1)), sheet, answers)
    one, other = (table[track.display.error].cast(pl.Float64).to_numpy() for table in (scores, parts))
    same = one.shape == other.shape and np.allclose(one, other, rtol=1e-6, equal_nan=True)
    alone = "Take nothing from other rows: no mean(), max() or sort() of a column. What needs all rows is a metric."
    _require(track, same, "the score of a row depends on that row alone", "score", alone)


def _check_metrics(track: Track, scores: pl.DataFrame) -> None:
    """A metric gives one number per resample."""
    draws = score.draw(scores, score.unit_of(track, scores), 7, seed=0)
    for metric in track.metrics:
        found = metric.reduce(scores, draws)
        fits = isinstance(found, np.ndarray) and found.shape == (7,)
        shape = f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else f"{type(found).__name__}"
        promise = f"the metric {metric.name!r} gives one number per resample (of 7, found {shape})"
        ways = "Use one of palestra.reduce, or multiply by draws.weights."
        _require(track, fits, promise, "metrics", ways, metric.name)


def _check_missing(track: Track, added: list[str], gone: pl.DataFrame) -> None:
    """What no answer costs has the columns that the error and the metrics need."""
    lacking = [name for name in added if name not in gone.columns or gone[name].is_null().all()]
    promise = f"`missing` says what a trial without an answer scores ({', '.join(lacking)} has no value)"
    remedy = f"Give missing={{…}} a value for {', '.join(lacking)}."
    _require(track, track.display.error not in lacking, promise, "missing", remedy)
    if lacking:
        try:
            value = _ranking(track, gone)
        except pl.exceptions.ColumnNotFoundError:
            value = float("nan")
        _require(track, value == value, promise, "missing", remedy)


def _check_files(track: Track, trials: pl.DataFrame) -> None:
    if track.files is None or track.writes is None or track.blank is None:
        return
    blank = track.blank(trials)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"template{track.suffix}"
        track.writes(blank, file)
        answers = collect(track, file, trials)
        score.look_into(track, answers)
        _require(track, answers["trial"].equals(trials["trial"]), "a template that it writes is read back whole")
        written = file.read_bytes() if file.is_file() else b""
        for what, wrong in _wrong_answers(blank):
            _require(track, _is_refused(track, wrong, file, trials, written), f"{what} is refused")
        _require(track, _charges_gaps(track, blank.tail(-1), file, trials), "a missing answer can be charged")
        for what, size in (("an empty file", 0), ("an oversize file", most_bytes(track.files, trials) + 1)):
            file.write_bytes(written)
            os.truncate(file, size)
            _require(track, _refuses(track, file, trials), f"{what} is refused")


def _wrong_answers(blank: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The template with one thing wrong in its first row."""
    first, rest = blank.head(1), blank.tail(-1)
    numbers = [name for name, kind in blank.drop("trial").schema.items() if kind.is_numeric()]
    for value in (math.nan, math.inf, -math.inf) if numbers else ():
        odd = first.with_columns(pl.lit(value).alias(numbers[0]))
        yield f"an answer that is {value}", pl.concat([odd, rest], how="vertical_relaxed")
    if numbers:
        odd = blank.with_columns(pl.lit("many").alias(numbers[0]))
        yield "a text where a number belongs", odd
    yield "a file with a column too few", blank.drop(blank.columns[-1])
    yield "a file with a column too many", blank.with_columns(extra=pl.lit(1))
    yield "a second answer to a trial", pl.concat([first, blank])
    known, unknown = set(blank["trial"]), f"{first['trial'][0]}9"
    while unknown in known:
        unknown += "9"
    yield "an answer to an unknown trial", pl.concat([blank, first.with_columns(trial=pl.lit(unknown))])


def _is_refused(track: Track, wrong: pl.DataFrame, file: Path, trials: pl.DataFrame, template: bytes) -> bool:
    """Whether no such answers can be handed in: a writer may refuse them too, or have no way to write them down."""
    if track.writes is None:
        return True
    try:
        track.writes(wrong, file)
    except (PalestraError, ValueError, TypeError, LookupError, pl.exceptions.PolarsError):
        return True
    return file.read_bytes() == template or _refuses(track, file, trials)


def _charges_gaps(track: Track, answers: pl.DataFrame, file: Path, trials: pl.DataFrame) -> bool:
    """Whether a file that lacks an answer is refused as it is, and read where gaps are charged."""
    if track.writes is None or answers.is_empty():
        return True
    track.writes(answers, file)
    return _refuses(track, file, trials) and collect(track, file, trials, allow_missing=True).height == answers.height


def _refuses(track: Track, file: Path, trials: pl.DataFrame) -> bool:
    try:
        collect(track, file, trials)
    except Refused:
        return True
    return False


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


def _check_stream(track: Track, data: Path, sheet: score.Sheet) -> None:
    """What is sent asks for every trial once, in order, and says how much it is."""
    if track.stream is None or track.hear is None or track.blank is None:
        _require(
            track, False, "a live track has `hear` and `blank`", "stream", "blank(trials) says what answers look like."
        )
        return
    trials = sheet.trials
    asked: list[str] = []
    for sitting in track.stream.sittings(data):
        asked += _asked_by(track, sitting)
    known, each = trials["trial"].to_list(), "its stream asks for every trial once, in their order"
    strange = next((trial for trial in asked if trial not in set(known)), None)
    odd = next((pair for pair in zip(asked, known, strict=False) if pair[0] != pair[1]), None)
    remedy = (
        f"It asks for {strange!r}, which is none of the trials."
        if strange is not None
        else f"It asks for {odd[0]!r} where {odd[1]!r} is due."
        if odd
        else f"It asks for {len(asked)} of {len(known)}."
    )
    _require(track, asked == known, each, "stream.sittings", remedy)
    blank = track.blank(trials.head(1)).drop("trial")
    answer = blank.row(0)
    said = told(answer[0] if len(answer) == 1 else list(answer))  # as the class of a contestant may say it
    kinds = "An answer is a number, a text, a boolean, or a list of these."
    given = f"what `blank` has is an answer that a program can give ({', '.join(map(str, blank.dtypes))} is none)"
    _require(track, "answer" in said, given, "blank", kinds)
    try:
        heard = track.hear(said["answer"])
    except ValueError as error:
        why = f"what `blank` has is an answer that `hear` takes ({brief(error)})"
        _require(track, False, why, "stream.hear", "Let them agree.")
        return
    same = "an answer that is heard has the columns of `blank`, in their order"
    if list(heard) != blank.columns:
        _require_names(track, sheet, f"`hear` gives {', '.join(heard)}")
    agrees = list(heard) == blank.columns and tuple(heard.values()) == answer
    _require(track, agrees, same, "stream.hear", f"It gave {heard}.")
    for nonsense in _nonsense(blank):
        try:
            track.hear(nonsense)
        except ValueError:
            continue
        why = f"what is no answer is refused by `hear` with a ValueError; {nonsense!r} was not"
        bools = "to Python, True is an int. Where True and False are answers, `blank` has a Boolean column."
        _require(track, False, why, "stream.hear", f"Look at the type first: {bools}")


def _nonsense(blank: pl.DataFrame) -> Iterator[Any]:
    """What is no answer to a track with such a template."""
    yield from (None, [], {}, [None], float("nan"), [float("inf")] * 9, b"x")
    kinds = blank.dtypes
    if pl.Boolean not in kinds:
        yield True
    if not any(kind in (pl.String, pl.Categorical, pl.Enum) for kind in kinds):
        yield "x"


def _asked_by(track: Track, sitting: Sitting) -> list[str]:
    """The trials that a sitting asks for; it has the ticks that it says."""
    asked: list[str] = []
    ticks, due_s = 0, 0.0
    place = home_of(track).of_function(sitting.ticks) or place_of(track, "stream.sittings")
    for tick in sitting.planned():
        if not isinstance(tick, Tick):
            _break(track, place, f"a sitting sends Tick(…), and not {tick!r:.60}", "Yield Tick(due_s=…, payload=…).")
        if tick.due_s < due_s:
            late = f"of {sitting.name}, {tick.due_s:g} s comes after {due_s:g} s"
            _break(track, place, f"ticks are in the order in which they are due ({late})", "Sort them by due_s.")
        ticks, due_s = ticks + 1, tick.due_s
        asked += [tick.trial] if tick.trial is not None else []
    told, found = (sitting.count, sitting.decisions, sitting.seconds), (ticks, len(asked), due_s)
    if told != found:
        said = f"a sitting has what it says (of {sitting.name}: count, decisions and seconds are {told}, found {found})"
        _break(track, place_of(track, "stream.sittings"), said, "Count them from what it sends.")
    return asked
