"""Between the queue and the log: what a job needs to be done, and what is written down when it is."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
from sqlalchemy import Connection, Engine

from palestra.contest import Contest
from palestra.contest.boards import entry_of
from palestra.contest.decisions import PLAYABLE, promoted_with
from palestra.contest.log import Body, Bundle, Run, State, Submission
from palestra.contest.log import events as e
from palestra.contest.queue import Job, Order, jobs
from palestra.contest.rules import track_of
from palestra.contest.storage import lacking_room
from palestra.contest.workers.score import Assignment, Entrant, Failure, Other, Outcome
from palestra.contest.workers.worker import Fault
from palestra.text import Words

WARMED = 4  # phases whose data a worker reads before it is asked for; as many as it keeps
MOST_OTHERS = 500  # submissions that a new one is compared with, the newest of other teams

New = Callable[..., Assignment]  # makes one, with what is the same for all jobs


class Desk:
    """Prepares and settles the jobs of one contest."""

    def __init__(self, contest: Contest, home: Path) -> None:
        self.contest, self.home = contest, home

    def begin(self, job: Job) -> Assignment:
        """Write down that an attempt has begun, unless it was cancelled meanwhile, and say what is to be done."""
        order = msgspec.json.decode(job.body, type=Order)
        self.contest.catch_up()
        if job.kind in ("score", "live") and not order.rescoring:
            started = e.AttemptStarted(order.submission, job.attempt, job.worker)
            by = f"worker:{job.worker}"[:80]
            self.contest.act(by, lambda state, now: [started], lambda connection, _: jobs.is_ours(connection, job))
        with self.contest.lock:
            return assignment(self.contest, job, order, str(self.home))

    def lacking_room(self) -> Words:
        """Why nothing may be begun: a disk that is full, or nearly."""
        where = self.contest.files.where
        return lacking_room(self.home, *([] if "://" in where else [Path(where)]))

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
        if isinstance(outcome, Fault):
            outcome = Outcome(failure=Failure(outcome.whose, outcome.message, outcome.trace))
        if outcome.failure is None:
            self._write(job, order, outcome.bodies, partial(jobs.finish, job=job, now=self.contest.now()))
            return
        now, failure = self.contest.now(), outcome.failure
        if failure.full and self.lacking_room():  # nobody's fault: it waits for room, as if it had not been begun
            jobs.hand_back(self.contest.engine, job, now)
            return
        trace = self.contest.files.put(failure.trace.encode()) if failure.trace else ""
        again = jobs.retry_at(job, now) if failure.fault == "platform" else None
        bodies = tuple(_failed(job, order, failure, trace, last=again is None))
        message = (
            Words.same(failure.slip) if failure.slip else failure.message
        )  # of a job: on the desk, which only organisers see
        end = partial(jobs.give_up, job=job, message=message, now=now, retry_at=again)
        self._write(job, order, bodies, end)

    def _write(self, job: Job, order: Order, bodies: tuple[Body, ...], end: Callable[[Connection], bool]) -> None:
        """Events and the end of their job, together or not at all."""
        self.contest.act(
            f"worker:{job.worker}"[:80],
            lambda state, now: _wanted(state, order, bodies) if _is_wanted(state, job, order) else (),
            lambda connection, _: end(connection),
        )


def _is_wanted(state: State, job: Job, order: Order) -> bool:
    """Not where the set or the run that it belongs to has ended meanwhile. Reports take longer than results: those of
    a set may come when that counts already."""
    if order.rescoring:
        ended = state.rescorings[order.rescoring].state
        return ended == "open" or (job.kind == "report" and ended == "applied")
    return not (order.run and state.runs[order.run].outcome)


def _wanted(state: State, order: Order, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Of a run on the stage, nothing of what was cancelled while it was under way."""
    if not order.run:
        return bodies
    found = {name for name in state.runs[order.run].submissions if state.submission(name).stage == "cancelled"}
    return tuple(body for body in bodies if getattr(body, "submission", "") not in found)


def _failed(job: Job, order: Order, failure: Failure, trace: str, last: bool) -> Iterator[Body]:
    if job.kind in ("baseline", "report"):
        return  # the job itself says why, on the desk
    chinese = e.chinese_of(failure.message)
    if job.kind == "verify":
        if last:
            yield e.VerificationMade(order.submission, "", "failed", failure.message.en, trace, message_zh=chinese)
    elif job.kind == "run":
        if last:
            yield e.RunEnded(order.run, "failed", message=failure.message.en, message_zh=chinese)
    elif order.rescoring:
        if last:
            yield e.RescoringFailed(order.rescoring, order.submission, failure.message.en, trace, chinese)
    else:
        message = failure.message.en
        yield e.AttemptFailed(order.submission, job.attempt, failure.fault, message, trace, last, chinese)


def assignment(contest: Contest, job: Job, order: Order, home: str) -> Assignment:
    """A job with all that is needed to do it."""
    state = contest.state
    new = partial(Assignment, kind=job.kind, attempt=job.attempt, home=home, files=contest.files.where)
    if order.solution:
        return new(phase=state.phase(order.phase), name=order.solution)
    if order.run:
        return _run(new, state, state.runs[order.run], contest.engine)
    if job.kind == "verify":
        return _verification(new, state, state.bundles[order.submission])
    one = state.submission(order.submission)
    if job.kind == "check" and (model := model_of(state, one)):
        new = partial(new, of=model.id, answers=model.file, answers_name=model.name)
    else:
        new = partial(new, answers=_recording(one) if order.rescoring else "")
    return new(
        phase=state.phase(one.phase),
        submission=one.id,
        team=_name(state, one),
        file=order.scores or one.file,
        name=one.name,
        rescoring=order.rescoring,
        others=tuple(_others(state, one)) if job.kind == "score" else (),
    )


def model_of(state: State, one: Submission) -> Submission | None:
    """The bundle whose code a bundle is to have, where a team may change its weights alone: what it was promoted with,
    else the first that it handed in here."""
    phase = state.phase(one.phase)
    if phase.changes != "weights" or not one.team:
        return None
    if before := promoted_with(state, phase, one.team):
        return before
    earlier = [state.submissions[name] for name in state.of_team[phase.id][one.team]]
    return next((other for other in earlier if other.stage in PLAYABLE and other.id != one.id), None)


def _recording(one: Submission) -> str:
    """What a bundle said when it was played; a live result is scored again from that, and nothing is played."""
    return one.scores[-1].files.get("recording", "") if one.scores else ""


def _name(state: State, one: Submission) -> str:
    return one.baseline or state.teams[one.team].name


def _others(state: State, one: Submission) -> Iterator[Other]:
    """Scored submissions of others in the same phase: all baselines, and the newest of other teams."""
    scored = [
        state.submissions[name]
        for whose, names in state.of_team.get(one.phase, {}).items()
        for name in names
        if whose != one.team and state.submissions[name].scores
    ]
    baselines, teams = ([other for other in scored if bool(other.baseline) is which] for which in (True, False))
    for other in (*baselines, *sorted(teams, key=lambda other: other.at)[-MOST_OTHERS:]):
        marks = other.scores[-1].files.get("fingerprint")
        if marks:
            yield Other(other.id, marks, bool(other.baseline))


def _run(new: New, state: State, run: Run, engine: Engine) -> Assignment:
    chosen = [state.submission(name) for name in run.submissions]
    return new(
        phase=state.phase(run.phase),
        run=run.id,
        database=engine.url.render_as_string(hide_password=False),
        entries=tuple(Entrant(one.id, _name(state, one), one.file, one.name, one.team) for one in chosen),
    )


def _verification(new: New, state: State, bundle: Bundle) -> Assignment:
    """A bundle is compared with the submission that its team stood on the board with."""
    phase = state.phase(bundle.phase)
    entry = entry_of(state, phase, bundle.team, state.at, "whole")
    if entry is None or not entry.submission:
        raise LookupError(f"team {bundle.team} has no scored submission in {phase.id}")
    best = state.submission(entry.submission)
    return new(
        phase=phase,
        submission=bundle.id,
        team=state.teams[bundle.team].name,
        file=bundle.file,
        name=bundle.name,
        of=best.id,
        answers=_recording(best) if track_of(phase).live else best.file,
        answers_name=best.name,
    )
