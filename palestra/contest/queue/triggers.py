"""What work follows from an event: queued in the same transaction, so that none is forgotten and none done twice."""

from collections.abc import Iterator

import msgspec

from palestra.contest.log import Body, State
from palestra.contest.log import events as e
from palestra.contest.rules import held_on_stage, track_of


class Order(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job is about."""

    submission: str = ""  # or a bundle
    rescoring: str = ""
    run: str = ""
    scores: str = ""  # digest of what a report is to show
    phase: str = ""  # of a baseline
    solution: str = ""  # that is to be run for it


class Task(msgspec.Struct, frozen=True):
    """A job to be queued."""

    key: str
    kind: str  # check, score, live, verify, pack, run
    order: Order


def tasks_after(body: Body, state: State) -> Iterator[Task]:
    """The state is that before the event."""
    match body:
        case e.SubmissionMade():
            yield Task(f"check:{body.submission}", "check", Order(body.submission))
        case e.SubmissionAccepted(rehearsal=None) if not _waits_for_the_stage(state, body.submission):
            yield _scoring(state, body.submission, "")
        case e.RescoringProposed():
            for submission in body.submissions:
                yield _scoring(state, submission, body.rescoring)
        case e.BundleMade():
            yield Task(f"verify:{body.submission}", "verify", Order(body.submission))
        case e.ResultMade(files={"scores": scores}) if not body.report:
            order = Order(body.submission, body.rescoring, scores=scores)
            yield Task(f"report:{body.submission}:{body.rescoring}:{scores[:16]}", "report", order)
        case e.RunStarted():
            yield Task(f"run:{body.run}", "run", Order(run=body.run))


def _waits_for_the_stage(state: State, submission: str) -> bool:
    """What was accepted before its phase was held on stage has no rehearsal, and is played nowhere else either."""
    return held_on_stage(state.phase(state.submission(submission).phase))


def _scoring(state: State, submission: str, rescoring: str) -> Task:
    phase = state.phase(state.submission(submission).phase)
    kind = "live" if track_of(phase).live else "score"
    return Task(f"score:{submission}:{rescoring}", kind, Order(submission, rescoring))
