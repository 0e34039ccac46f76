"""Results computed again, from the kept scores or from what was submitted, and compared with what the log says.

What referees judged is computed again from the events of the match, by the track's own metrics.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from palestra.contest.boards import public_part, rankable
from palestra.contest.log import Score, State, Submission
from palestra.contest.match import OnSite, numbers_again
from palestra.contest.rules import Phase, track_of
from palestra.contest.storage import Files
from palestra.contest.workers import Assignment, OursToMend, data_of, sheet_of, submitted
from palestra.errors import PalestraError
from palestra.records import Estimate, Provenance, Result, Track
from palestra.scoring import Scored, collect, score_file
from palestra.scoring import score as scoring
from palestra.text import say

CLOSE = 1e-9  # by which numbers may differ, relative to their size, and count as equal: another machine adds otherwise
CLOSE_DRAWS = 1e-5  # the same of resamples, which are kept as float32

Outcome = Literal["same bytes", "same numbers", "differs", "not checked"]
SAID: dict[Outcome, str] = {
    "same bytes": "equal byte for byte",
    "same numbers": "equal in numbers",
    "differs": "different",
    "not checked": "not checked",
}


class Checked(msgspec.Struct, frozen=True):
    """One result, computed again."""

    submission: str  # of what was judged: match and team, as "m1/t1"
    attempt: int
    how: Literal["answers", "scores", "events", ""]  # from what it was computed
    outcome: Outcome
    message: str = ""  # where it differs, or why it was not checked
    worst: float = 0.0  # the largest difference of a number, relative to its size


def reverify(
    state: State, files: Files, home: Path | None = None, submissions: Collection[str] | None = None
) -> list[Checked]:
    """Compute results again: all of them, or those of some submissions.

    Where the phase's data lies in `home` and answers came as a file, they are scored again from that file; else the
    Result is computed again from the scores of each trial.
    """
    for name in submissions or ():
        state.submission(name)
    chosen = [one for one in state.submissions.values() if submissions is None or one.id in submissions]
    found = [_checked(state, files, home, one, score) for one in chosen for score in one.scores]
    return found if submissions is not None else [*found, *_on_site(state)]


def _on_site(state: State) -> Iterator[Checked]:
    """The newest result of each team at a table."""
    for phase_id, teams in state.on_site.items():
        for team, kept in teams.items():
            if kept[-1].numbers:
                yield _judged_again(state, phase_id, team, kept)


def _judged_again(state: State, phase_id: str, team: str, kept: Sequence[OnSite]) -> Checked:
    one = kept[-1]
    name, said = f"{one.match}/{team}", {metric: Fraction(number) for metric, number in one.numbers.items()}
    try:
        again = numbers_again(track_of(state.phase(phase_id, one.at)), state.matches[one.match], team, one.at)
    except PalestraError as error:
        return Checked(name, len(kept), "", "not checked", str(error))
    differences = {metric: abs(again[metric] - float(number)) for metric, number in said.items()}
    far, worst = max(differences.items(), key=lambda item: item[1])
    if not worst <= CLOSE:
        return Checked(name, len(kept), "events", "differs", f"{far} is another number (by {worst:.3g}).", worst)
    return Checked(name, len(kept), "events", "same numbers", "", worst)


def told(found: Sequence[Checked]) -> str:
    """The outcome in words: how many of each, then everything that is not equal."""
    counts = Counter(one.outcome for one in found)
    lines = [
        ", ".join(f"{counts[outcome]:,} {said}" for outcome, said in SAID.items() if counts[outcome]) or "no results"
    ]
    lines += [f"{one.submission}, attempt {one.attempt}: {one.message}" for one in found if one.message]
    return "\n".join(lines)


def _checked(state: State, files: Files, home: Path | None, one: Submission, score: Score) -> Checked:
    phase = state.phase(one.phase, score.at)
    try:
        kept = score_file.decode(files.read(score.result))
        how, fresh = _again(files, home, phase, one, score, kept)
        outcome, worst, message = _compared(files, phase, score, kept, fresh)
    except (PalestraError, OursToMend, msgspec.MsgspecError) as error:
        return Checked(one.id, score.attempt, "", "not checked", str(error))
    return Checked(one.id, score.attempt, how, outcome, message, worst)


def _again(
    files: Files, home: Path | None, phase: Phase, one: Submission, score: Score, kept: Result
) -> tuple[Literal["answers", "scores"], Scored]:
    assignment = Assignment(
        kind="score", attempt=score.attempt, phase=phase, home=str(home or ""), files=files.where,
        submission=one.id, file=one.file, name=one.name,
    )  # fmt: skip
    track = track_of(phase)
    at_hand = home is not None and bool(phase.data) and data_of(assignment).is_dir()
    if at_hand and track.files and not track.live and files.has(one.file):
        return "answers", _from_answers(track, assignment, kept)
    if "scores" not in score.files:
        raise PalestraError(say("its scores were not kept, and its data or its file is not at hand."))
    with files.local(score.files["scores"]) as file:
        return "scores", score_file.rescore(score_file.load(file))


def _from_answers(track: Track, assignment: Assignment, kept: Result) -> Scored:
    sheet = sheet_of(assignment)
    with submitted(assignment) as file:
        answers = collect(track, file, sheet.trials, assignment.phase.allow_missing)
        return scoring.score(track, sheet, answers, kept.entrant, kept.provenance.seed)


def _compared(files: Files, phase: Phase, score: Score, kept: Result, fresh: Scored) -> tuple[Outcome, float, str]:
    """The whole result with the log, its page's result with the kept one, its resamples with the kept ones."""
    track = track_of(phase)
    shown = public_part.shown(phase, track, fresh)
    again = rankable(phase, track, fresh.result)
    differences = list(_differences("", score.metrics, again.metrics))
    if shown:
        again = rankable(phase, track, shown.result)
        differences += _differences("shown part, ", score.shown, again.metrics)
    differences += _differences("kept result, ", kept.metrics, again.metrics)
    worst = max((size for _, size in differences), default=0.0)
    if far := [name for name, size in differences if not size <= CLOSE]:
        return "differs", worst, f"{far[0]} is another number (by {worst:.3g} of its size)."
    if other := _other_input(kept.provenance, again.provenance):
        return "differs", worst, f"the numbers are equal, but they are of other {other}."
    equal_draws = [
        _draws_equal(files, track, one, digest)
        for one, digest in ((fresh, score.draws), (shown, score.shown_draws))
        if one and digest
    ]
    if any(equal is None for equal in equal_draws):
        return "differs", worst, "its numbers are equal, but the resamples that bands are made from are others."
    same = msgspec.structs.replace(again, provenance=kept.provenance)
    if worst == 0 and all(equal_draws) and msgspec.json.encode(same) == msgspec.json.encode(kept):
        return "same bytes", 0.0, ""
    return "same numbers", worst, ""


def _differences(where: str, kept: dict[str, Estimate], fresh: dict[str, Estimate]) -> Iterator[tuple[str, float]]:
    """How far each number is off, relative to its size; infinitely, where only one has it."""
    for name in sorted(kept.keys() | fresh.keys()):
        one, other = kept.get(name), fresh.get(name)
        for part in ("value", "low", "high"):
            a, b = getattr(one, part, None), getattr(other, part, None)
            yield f"{where}{name} ({part})", _difference(a, b)


def _difference(a: float | None, b: float | None) -> float:
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b))


def _other_input(kept: Provenance, fresh: Provenance) -> str:
    """What else a result was computed from. Host, time and code may be others: that is what is tried."""
    names = {"data": "data", "answers": "answers", "settings": "settings", "seed": "resamples"}
    return next((said for name, said in names.items() if getattr(kept, name) != getattr(fresh, name)), "")


def _draws_equal(files: Files, track: Track, scored: Scored, digest: str) -> bool | None:
    """Whether resamples are the same to the last bit; null where they are others."""
    draws = scoring.draw(scored.rows, scored.result.unit, scoring.RESAMPLES, seed=0)
    fresh = track.ranks.reduce(scored.rows, draws).astype(np.float32)
    if hashlib.sha256(fresh.tobytes()).hexdigest() == digest:
        return True
    kept = np.frombuffer(files.read(digest), np.float32)
    close = kept.shape == fresh.shape and np.allclose(kept, fresh, rtol=CLOSE_DRAWS, atol=0)
    return False if close else None
