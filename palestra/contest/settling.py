"""Between the queue and the log: what a job needs to be done, and what is written down when it is."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
from sqlalchemy import Connection

from palestra.contest import events as e
from palestra.contest import jobs
from palestra.contest.contest import Contest, Decide
from palestra.contest.events import Body
from palestra.contest.jobs import Job
from palestra.contest.standing import entry_of, track_of
from palestra.contest.state import Bundle, State, Submission
from palestra.contest.tasks import Order
from palestra.contest.work import Assignment, Entrant, Failure, Other, Outcome
from palestra.contest.worker import Fault

WARMED = 4  # phases whose data a worker reads before it is asked for; as many as it keeps
MOST_OTHERS = 500  # submissions that a new one is compared with, the newest of other teams


class Desk:
    """Prepares and settles the jobs of one contest."""

    def __init__(self, contest: Contest, home: Path) -> None:
        self.contest, self.home = contest, home

    def begin(self, job: Job) -> Assignment:
        """Write down that an attempt has begun, and say what is to be done."""
        order = msgspec.json.decode(job.body, type=Order)
        self.contest.catch_up()
        if job.kind in ("score", "live") and not order.rescoring:
            started = e.AttemptStarted(order.submission, job.attempt, job.worker)
            self.contest.act(f"worker:{job.worker}"[:80], lambda state, now: [started])
        with self.contest.lock:
            return assignment(self.contest.state, job, order, str(self.home), self.contest)

    def warm_up(self) -> list[Assignment]:
        """A look at the data of each phase that is open now."""
        state, now = self.contest.state, self.contest.now()
        phases = [state.phase(phase.id, now) for phase in state.rules(now).phases]
        return [
            Assignment(kind="check", attempt=0, phase=phase, home=str(self.home), files=self.contest.files.where)
            for phase in phases
            if phase.opens <= now < phase.closes
        ][:WARMED]

    def settle(self, job: Job, outcome: Outcome | Fault) -> None:
        """Write down what came of a job, once: whoever has lost the lease meanwhile writes nothing."""
        order = msgspec.json.decode(job.body, type=Order)
        failure = outcome.failure if isinstance(outcome, Outcome) else Failure(*msgspec.structs.astuple(outcome))
        if failure is None:
            bodies = outcome.bodies if isinstance(outcome, Outcome) else ()
            self._write(job, lambda state, now: _still_wanted(state, order, bodies))
            return
        trace = self.contest.files.put(failure.trace.encode()) if failure.trace else ""
        again = jobs.retry_at(job, self.contest.now()) if failure.fault == "platform" else None
        bodies = tuple(_failed(job, order, failure, trace, last=again is None))
        self._write(job, lambda state, now: _still_wanted(state, order, bodies), failure.message, again)

    def _write(self, job: Job, decide: Decide, message: str = "", again: int | None = None) -> None:
        def ours(connection: Connection, _: object) -> bool:
            now = self.contest.now()
            if message:
                return jobs.give_up(connection, job, message, now, again)
            return jobs.finish(connection, job, now)

        self.contest.act(f"worker:{job.worker}"[:80], decide, ours)


def _still_wanted(state: State, order: Order, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Nothing, where the set or the run that it belongs to has ended meanwhile."""
    if order.rescoring and state.rescorings[order.rescoring].state != "open":
        return ()
    if order.run and state.runs[order.run].outcome:
        return ()
    return bodies


def _failed(job: Job, order: Order, failure: Failure, trace: str, last: bool) -> Iterator[Body]:
    if job.kind in ("baseline", "report"):
        return  # the job itself says why, on the desk
    if job.kind == "verify":
        if last:
            yield e.VerificationMade(order.submission, "", "failed", failure.message, trace)
    elif job.kind == "run":
        if last:
            yield e.RunEnded(order.run, "failed", message=failure.message)
    elif order.rescoring:
        if last:
            yield e.RescoringFailed(order.rescoring, order.submission, failure.message, trace)
    else:
        yield e.AttemptFailed(order.submission, job.attempt, failure.fault, failure.message, trace, last)


def assignment(state: State, job: Job, order: Order, home: str, contest: Contest) -> Assignment:
    """A job with all that is needed to do it."""
    if order.solution:
        return Assignment(
            kind=job.kind,
            attempt=job.attempt,
            phase=state.phase(order.phase),
            home=home,
            files=contest.files.where,
            name=order.solution,
        )
    if order.run:
        return _run(state, job, order, home, contest)
    if job.kind == "verify":
        return _verification(state, job, state.bundles[order.submission], home, contest)
    one = state.submission(order.submission)
    return Assignment(
        kind=job.kind,
        attempt=job.attempt,
        phase=state.phase(one.phase),
        home=home,
        files=contest.files.where,
        submission=one.id,
        team=_name(state, one),
        file=order.scores or one.file,
        name=one.name,
        rescoring=order.rescoring,
        others=tuple(_others(state, one)) if job.kind == "score" else (),
        answers=_recording(one) if order.rescoring else "",
    )


def _recording(one: Submission) -> str:
    """What a bundle said when it was played; a live result is scored again from that, and nothing is played."""
    return one.scores[-1].files.get("recording", "") if one.scores else ""


def _name(state: State, one: Submission) -> str:
    return one.baseline or state.teams[one.team].name


def _others(state: State, one: Submission) -> Iterator[Other]:
    """Other teams' scored submissions in the same phase."""
    found = []
    for whose, names in state.of_team.get(one.phase, {}).items():
        if whose != one.team:
            found += [state.submissions[name] for name in names if state.submissions[name].scores]
    for other in sorted(found, key=lambda other: other.at)[-MOST_OTHERS:]:
        marks = other.scores[-1].files.get("fingerprint")
        if marks:
            yield Other(other.id, marks, bool(other.baseline))


def _run(state: State, job: Job, order: Order, home: str, contest: Contest) -> Assignment:
    run = state.runs[order.run]
    chosen = [state.submission(name) for name in run.submissions]
    return Assignment(
        kind=job.kind,
        attempt=job.attempt,
        phase=state.phase(run.phase),
        home=home,
        files=contest.files.where,
        run=run.id,
        database=contest.engine.url.render_as_string(hide_password=False),
        entries=tuple(Entrant(one.id, _name(state, one), one.file, one.name, one.team) for one in chosen),
    )


def _verification(state: State, job: Job, bundle: Bundle, home: str, contest: Contest) -> Assignment:
    """A bundle is compared with the submission that its team stood on the board with."""
    phase = state.phase(bundle.phase)
    entry = entry_of(state, phase, track_of(phase), bundle.team, state.at, "whole")
    if entry is None:
        raise LookupError(f"team {bundle.team} has no scored submission in {phase.id}")
    best = state.submission(entry.submission)
    return Assignment(
        kind=job.kind,
        attempt=job.attempt,
        phase=phase,
        home=home,
        files=contest.files.where,
        submission=bundle.id,
        team=state.teams[bundle.team].name,
        file=bundle.file,
        name=bundle.name,
        of=best.id,
        answers=_recording(best) if track_of(phase).stream else best.file,
        answers_name=best.name,
    )
