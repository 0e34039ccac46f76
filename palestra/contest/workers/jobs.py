"""Which work a job is: one function for each kind, called in a process of its own."""

from collections.abc import Callable

from palestra.contest.rules import track_of
from palestra.contest.workers.check import check
from palestra.contest.workers.score import Assignment, Outcome, data_of, guarded, score, sheet_of, write_report

SCORING: dict[str, Callable[[Assignment], Outcome]] = {"check": check, "score": score, "report": write_report}


def do(assignment: Assignment) -> Outcome:
    """Do a job. Whatever goes wrong comes back in words."""
    return guarded(_work_of(assignment.kind), assignment)


def _work_of(kind: str) -> Callable[[Assignment], Outcome]:
    """Loaded when it is needed: a file that waits to be scored should not wait for what plays live runs."""
    if kind in SCORING:
        return SCORING[kind]
    from palestra.contest.workers import baselines, live_run, verify_bundle

    return {
        "live": live_run.play_one,
        "run": live_run.play_all,
        "verify": verify_bundle.verify,
        "baseline": baselines.solve,
    }[kind]


def warm_up(assignments: list[Assignment]) -> None:
    """Load what the first job would have to wait for. What cannot be read now is told of by the job that needs it."""
    for assignment in assignments:
        if track_of(assignment.phase).files and data_of(assignment).is_dir():
            guarded(_read, assignment)


def _read(assignment: Assignment) -> Outcome:
    sheet_of(assignment)
    return Outcome()
