"""Verification: the bundle that a team handed in is run again, and its answers compared with those that counted."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from palestra.contest.log import events as e
from palestra.contest.rules import Verification, track_of
from palestra.contest.storage import Files, recorded
from palestra.contest.workers import verify_bundle_report
from palestra.contest.workers.compare import Comparison, Difference, compare, differences, summed
from palestra.contest.workers.live_run import Unplayable, alone, require_sandbox
from palestra.contest.workers.predict import LIMITS, predicted
from palestra.contest.workers.score import MESSAGE, Assignment, Outcome, data_of, our_part, sheet_of, submitted
from palestra.errors import PalestraError
from palestra.live import answers_of, hear_recorded
from palestra.records import Block, Track
from palestra.report import sandbox_label
from palestra.sandbox import backends
from palestra.scoring import collect, score
from palestra.text import Text, Words, human_bytes, joined, message, say, say_as, words_of

__all__ = ["Comparison", "compare", "verify"]

Verdict = Literal["reproduced", "differs", "failed"]


@dataclass(frozen=True)
class Again:
    """What a bundle answered, and what it printed meanwhile."""

    answers: pl.DataFrame
    output: str


def verify(assignment: Assignment) -> Outcome:
    """Run a bundle and compare its answers with those of the submission that it stands for."""
    track = track_of(assignment.phase)
    tolerance = (assignment.phase.verification or Verification(0)).tolerance
    with our_part():
        trials = sheet_of(assignment).trials
    run = _played if track.live else _predicted
    try:
        with run(assignment, track, trials) as again, _submitted(assignment, track, trials) as before, our_part():
            rows = differences(track, before, again.answers, tolerance)
            found = summed(rows)
            blocks = list(verify_bundle_report.blocks(track, trials, found, rows, tolerance))
            blocks += verify_bundle_report.printed(again.output)
            verdict, words = _verdict(found), _words(found, tolerance)
            return _made(assignment, verdict, words, _page(assignment, track, verdict, words, blocks), found)
    except Unplayable as error:
        report = _page(assignment, track, "failed", error.reason, verify_bundle_report.printed(error.output))
        return _made(assignment, "failed", words_of(error.text), report, Comparison(0, 0, 0.0))


def _verdict(found: Comparison) -> Verdict:
    return "differs" if found.different else "reproduced"


def _words(found: Comparison, tolerance: float) -> Words:
    if found.different:
        return _different(found, tolerance)
    same = (
        message("All {count:,} answers are the same, within {tolerance:g} (largest difference: {worst:g}).")
        if tolerance
        else message("All {count:,} answers are the same, exactly (largest difference: {worst:g}).")
    )
    return say(same, count=found.rows, tolerance=tolerance, worst=found.worst)


def _different(found: Comparison, tolerance: float) -> Words:
    told = say(
        message("{different:,} of {count:,} answers are not the same within {tolerance:g}; the first is {first}.")
        if tolerance
        else message("{different:,} of {count:,} answers are not the same exactly; the first is {first}."),
        different=found.different,
        count=found.rows,
        tolerance=tolerance,
        first=_first(found.first[0]),
    )
    parts = [told, say("The largest difference is {worst:g}.", worst=found.worst)]
    if found.lone:
        parts.append(say("Answered in one of the two runs alone: {count:,}.", count=found.lone))
    return joined(parts, Words(" ", ""))


def _first(one: Difference) -> Text:
    return one.trial if one.apart is None else say("{trial} by {apart:g}", trial=one.trial, apart=one.apart)


def _made(assignment: Assignment, verdict: Verdict, message: Words, report: str, found: Comparison) -> Outcome:
    counts = (found.rows, found.different, found.worst)
    said = message.cut(MESSAGE)
    made = e.VerificationMade(
        assignment.submission, assignment.of, verdict, said.en, report, *counts, message_zh=e.chinese_of(said)
    )
    return Outcome((made,))


def _page(assignment: Assignment, track: Track, verdict: Verdict, message: Words, blocks: Sequence[Block]) -> str:
    """Write the report into the file store; its digest."""
    title, name = assignment.phase.title, assignment.phase.id
    about: list[tuple[Text, Text]] = [
        (say_as("verification", "Team"), assignment.team),
        (say_as("verification", "Bundle"), assignment.name),
        (say_as("verification", "Phase"), title or name),
        (say_as("verification", "Submission"), assignment.of),
        (say_as("verification", "Sandbox"), sandbox_label(str(backends.choose()))),
    ]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "verification.html"
        verify_bundle_report.write(page, track, about, verdict, message, blocks)
        return Files.open(assignment.files).put_file(page)


@contextmanager
def _predicted(assignment: Assignment, track: Track, trials: pl.DataFrame) -> Iterator[Again]:
    """The answers of a bundle for a track of files."""
    most = assignment.phase.limit_bytes
    limits = msgspec.structs.replace(LIMITS, tmp_bytes=max(LIMITS.tmp_bytes, most))
    with our_part():
        backend = backends.choose()
    with submitted(assignment) as file, _theirs(), \
         predicted(track, data_of(assignment), file, backend, Path(assignment.home), limits) as ran:  # fmt: skip
        if ran.failed:
            raise Unplayable(say("{why}.", why=ran.failed), ran.output)
        if (size := ran.answers.stat().st_size) > most:
            wrote = say(
                "It wrote {size}; a submission has at most {most}.", size=human_bytes(size), most=human_bytes(most)
            )
            raise Unplayable(wrote, ran.output)
        try:
            answers = collect(track, ran.answers, trials, assignment.phase.allow_missing)
            score.look_into(track, answers)
        except PalestraError as error:
            raise Unplayable(say("What it wrote is no submission: {why}", why=error.text), ran.output) from None
        yield Again(answers, ran.output)


@contextmanager
def _theirs() -> Iterator[None]:
    """What is wrong with a bundle, before it runs, is its team's; but not if nothing runs here."""
    try:
        yield
    except Unplayable:
        raise
    except PalestraError as error:
        require_sandbox()
        raise Unplayable(error.text) from None


@contextmanager
def _played(assignment: Assignment, track: Track, trials: pl.DataFrame) -> Iterator[Again]:
    """The answers of a bundle for a live track, which is played to again."""
    with alone(assignment) as one:
        if not one.scored.result.valid:
            raise RuntimeError(f"The host spoiled the run: {one.scored.result.invalid_because[0]}")
        yield Again(answers_of(track, trials, one.heard), one.output)


@contextmanager
def _submitted(assignment: Assignment, track: Track, trials: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The answers that counted."""
    files = Files.open(assignment.files)
    if track.live:
        with our_part(), recorded(files, assignment.answers, assignment.of) as (recording, name):
            answers = answers_of(track, trials, hear_recorded(track, recording, name))
        yield answers
        return
    counted = msgspec.structs.replace(assignment, file=assignment.answers, name=assignment.answers_name)
    with submitted(counted) as file:
        with our_part():
            answers = collect(track, file, trials, assignment.phase.allow_missing)
        yield answers
