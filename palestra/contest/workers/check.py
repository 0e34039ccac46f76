"""Whether what a team hands in can be scored, or played: looked into before anything else, without any truth."""

import traceback
from collections.abc import Iterable
from pathlib import Path

from palestra.contest.log import events as e
from palestra.contest.rules import held_on_stage, track_of
from palestra.contest.storage import Files
from palestra.contest.workers.score import MESSAGE, Assignment, Outcome, our_part, sheet_of, submitted
from palestra.entrants import PARTS, Parts, bundle, parts_of
from palestra.errors import PalestraError, Refused, clean
from palestra.formats import refusing
from palestra.sandbox import backends
from palestra.scoring import collect
from palestra.scoring import score as scoring
from palestra.text import Words, say, words_of

MOST_NAMED, LONGEST_NAME = 20, 200  # files of code that changed, and letters of a name


def check(assignment: Assignment) -> Outcome:
    """Whether a submission can be scored; needs no truth."""
    track = track_of(assignment.phase)
    with submitted(assignment) as file:
        try:
            if track.live:
                return Outcome((_checked_bundle(assignment, file),))
            answers = collect(track, file, sheet_of(assignment).trials, assignment.phase.allow_missing)
            with refusing(file, say("answers that can be opened")):
                scoring.look_into(track, answers)
        except Refused as refusal:
            faults, trace = [fault.text for fault in refusal.faults], _trace_of(assignment, refusal)
            return _refused(assignment, faults, refusal.count, trace)
        except PalestraError as error:
            return _refused(assignment, [words_of(error.text)], 1, _trace_of(assignment, error))
    return Outcome((e.SubmissionAccepted(assignment.submission),))


def _trace_of(assignment: Assignment, error: PalestraError) -> str:
    """What the organiser reads where a reader had no words of its own: its traceback, kept."""
    if error.__cause__ is None:
        return ""
    return Files.open(assignment.files).put("".join(traceback.format_exception(error)).encode())


def _refused(assignment: Assignment, faults: Iterable[Words], count: int, trace: str = "") -> Outcome:
    told = [fault.cut(MESSAGE) for fault in faults]
    english, chinese = tuple(fault.en for fault in told), tuple(map(e.chinese_of, told))
    said = chinese if any(chinese) else ()
    return Outcome((e.SubmissionRefused(assignment.submission, english, count, said, trace),))


def _checked_bundle(assignment: Assignment, file: Path) -> e.SubmissionAccepted:
    if held_on_stage(assignment.phase):
        from palestra.contest.workers import rehearsal  # which loads all that live runs need

        found, parts = rehearsal.rehearsed(assignment, file)
        return e.SubmissionAccepted(assignment.submission, found, _compared(assignment, parts))
    with our_part():
        backend = backends.choose(trusted=False)
    with bundle.unpacked(file, backend) as unpacked:
        parts = parts_of(unpacked.folder)
    return e.SubmissionAccepted(assignment.submission, parts=_compared(assignment, parts))


def _compared(assignment: Assignment, parts: Parts) -> e.BundleParts:
    """What a bundle is made of, and which code in it is not that of the bundle that it is to be like."""
    changed: list[str] = []
    if assignment.of:
        with our_part(), Files.open(assignment.files).local(assignment.answers, assignment.answers_name) as before:
            changed = parts.changed(bundle.parts_in(before))
    digests = {part: parts.digest(part) for part in PARTS}
    named = tuple(clean(name)[:LONGEST_NAME] for name in changed[:MOST_NAMED])
    return e.BundleParts(**digests, of=assignment.of, changed=named)
