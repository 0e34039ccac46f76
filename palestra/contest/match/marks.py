"""Two referees mark on their own. Where they agree it counts; where they differ the head referee rules."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.events import Entry, MatchOpened
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Appeal, CaseState, Held, Note, Ruling, Signature, Turn, case_of, unknown
from palestra.contest.match.turn import has_time, is_over
from palestra.errors import PalestraError
from palestra.text import joined, say

Standing = Literal["unscored", "marked", "agreed", "published"]


class Comparison(msgspec.Struct, frozen=True):
    """What the referees say of one attempt."""

    attempt: int
    by_seat: dict[str, tuple[str, ...]]  # sub-goals met, by who signed
    missing: tuple[str, ...]  # who has yet to sign
    differ: tuple[str, ...]  # sub-goals on which they do
    ruled: tuple[str, ...] | None  # the head referee's word

    @property
    def met(self) -> tuple[str, ...] | None:
        """What counts; nothing while it is open."""
        if self.ruled is not None:
            return self.ruled
        return None if self.missing or self.differ else next(iter(self.by_seat.values()))


def compared(opened: MatchOpened, turn: Turn, case: CaseState, attempt: int) -> Comparison:
    _, sheet = case_of(opened, case.id)
    by_seat: dict[str, tuple[str, ...]] = {}
    missing = []
    for seat in turn.seats:
        signed = _signature(case, seat, attempt)
        if signed is None:
            missing.append(seat[-1])
        else:
            by_seat[signed.referee] = signed.met
    differ = tuple(goal for goal in sheet.goal_ids() if len({goal in met for met in by_seat.values()}) > 1)
    ruling = case.rulings.get(attempt)
    return Comparison(attempt, by_seat, tuple(missing), differ, ruling.met if ruling else None)


def agreed_on(found: Comparison) -> tuple[str, ...]:
    """What all who have signed say is met: where a ruling begins."""
    signed = list(found.by_seat.values())
    return tuple(goal for goal in signed[0] if all(goal in met for met in signed)) if signed else ()


def _signature(case: CaseState, seat: list[str], attempt: int) -> Signature | None:
    """The last one of whoever had a seat."""
    found = [one for one in case.signatures if one.referee in seat and one.attempt == attempt]
    return found[-1] if found else None


def attempts_that_count(opened: MatchOpened, case: CaseState) -> list[int]:
    """None of a case that was abandoned or never started: it is 0 whatever was marked."""
    if case.ended not in ("stopped", "time", "match"):
        return []
    count = len(case.attempts)
    return [count] if opened.rules.counts == "last" else list(range(1, count + 1))


def counted(opened: MatchOpened, turn: Turn, case: CaseState) -> tuple[int, tuple[str, ...]]:
    """The attempt that counts and what is met in it. Before referees agree: what all of them have marked so far."""
    attempts = attempts_that_count(opened, case)
    if case.running:
        attempts = [len(case.attempts)]
    found = [(len(met), attempt, met) for attempt in attempts for met in (_met(opened, turn, case, attempt),)]
    _, attempt, met = max(found, default=(0, len(case.attempts), ()))
    return attempt, met


def _met(opened: MatchOpened, turn: Turn, case: CaseState, attempt: int) -> tuple[str, ...]:
    found = compared(opened, turn, case, attempt)
    if found.met is not None:
        return found.met
    return tuple(
        goal for goal in goals_of(opened, case) if all(_says(case, seat, attempt, goal) for seat in turn.seats)
    )


def _says(case: CaseState, seat: list[str], attempt: int, goal: str) -> bool:
    """What a seat has of a sub-goal now: its signature, else its switch."""
    if signed := _signature(case, seat, attempt):
        return goal in signed.met
    return any(_held(case, referee, attempt, goal) for referee in seat)


def _held(case: CaseState, referee: str, attempt: int, goal: str) -> bool:
    found = case.marks.get(referee, {}).get(attempt, {}).get(goal)
    return found is not None and found.on


def goals_of(opened: MatchOpened, case: CaseState) -> tuple[str, ...]:
    return case_of(opened, case.id)[1].goal_ids()


def standing_of(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> Standing:
    """unscored → marked (all have signed) → agreed → published."""
    if case.published_at is not None:
        return "published"
    if can_be_played(opened, turn, case, now):
        return "unscored"
    found = [compared(opened, turn, case, attempt) for attempt in attempts_that_count(opened, case)]
    if all(one.met is not None for one in found):
        return "agreed"
    return "unscored" if any(one.missing for one in found) else "marked"


def can_be_played(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> bool:
    """Whether it is under way or still to come: not when the turn is over, or its group has no time left."""
    if turn.begun_at is None or case.running:
        return True
    return not case.ended and not is_over(opened, turn, now) and has_time(opened, turn, case)


# Steps


def marked(opened: MatchOpened, turn: Turn, entry: Entry, body: e.GoalMarked) -> None:
    referee = body.referee or entry.by
    case = _markable(opened, turn, body.case, referee, body.attempt)
    _known(opened, body.case, (body.goal,))
    if _signature(case, [referee], body.attempt):
        raise PalestraError(say("You have signed this attempt. To change it, sign again and say why."))
    goals = case.marks.setdefault(referee, {}).setdefault(body.attempt, {})
    before = goals.get(body.goal)
    first = before.first_at if before and before.first_at is not None else (entry.when if body.on else None)
    goals[body.goal] = Held(body.on, entry.when, first)


def signed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.MarksSigned) -> None:
    referee = body.referee or entry.by
    case = _markable(opened, turn, body.case, referee, body.attempt)
    _known(opened, body.case, body.met)
    if not case.ended:
        raise PalestraError(say("Case {id} has not ended: what holds at its end is signed.", id=case.id))
    if body.attempt > len(case.attempts):
        raise PalestraError(say("There was no attempt {attempt} of this case.", attempt=body.attempt))
    if _signature(case, [referee], body.attempt) and not body.reason:
        raise PalestraError(say("You have signed already. To change it, say why."))
    met = _once_each(opened, case, body.met)
    case.signatures.append(Signature(referee, body.attempt, met, entry.when, body.reason))


def _markable(opened: MatchOpened, turn: Turn, case_id: str, referee: str, attempt: int) -> CaseState:
    """Marks are taken from the begin of the turn on: a page whose clock is a little off loses none."""
    case_of(opened, case_id)
    if turn.begun_at is None:
        raise PalestraError(say("This team's turn has not begun."))
    if referee not in turn.referees():
        raise PalestraError(say("Only the referees of this turn mark: {referees}.", referees=joined(turn.referees())))
    case = turn.cases[case_id]
    if case.published_at is not None:
        raise PalestraError(
            say("Case {case_id} is published: the head referee corrects it, with a reason.", case_id=case_id)
        )
    if not 1 <= attempt <= 1 + opened.rules.retries:
        raise PalestraError(
            say("Attempt {attempt}: a case has attempts 1 to {value}.", attempt=attempt, value=1 + opened.rules.retries)
        )
    return case


def _known(opened: MatchOpened, case_id: str, met: tuple[str, ...]) -> None:
    goals = case_of(opened, case_id)[1].goal_ids()
    for goal in met:
        if goal not in goals:
            raise unknown(say("sub-goal of case {case}", case=case_id), goal, goals)


def _once_each(opened: MatchOpened, case: CaseState, met: tuple[str, ...]) -> tuple[str, ...]:
    """A sub-goal that is named twice is met once."""
    return tuple(goal for goal in goals_of(opened, case) if goal in met)


def ruled(opened: MatchOpened, turn: Turn, entry: Entry, body: e.CaseRuled) -> None:
    """Where referees differ; and where something is published already, as a correction."""
    case_of(opened, body.case)
    _known(opened, body.case, body.met)
    case = turn.cases.get(body.case)
    if case is None or body.attempt not in attempts_that_count(opened, case):
        raise PalestraError(
            say(
                "Attempt {attempt} of case {case} does not count: there is nothing to rule on.",
                attempt=body.attempt,
                case=body.case,
            )
        )
    found = compared(opened, turn, case, body.attempt)
    if case.published_at is None and not found.differ:
        if found.missing:
            waiting = joined(found.missing)
            raise PalestraError(
                say(
                    "The head referee rules where referees differ; here they do not; yet to sign: {referees}.",
                    referees=waiting,
                )
            )
        raise PalestraError(say("The head referee rules where referees differ; here they do not, and they agree."))
    if case.published_at is not None or body.attempt in case.rulings:
        case.corrections.append(Note(entry.when, entry.by, body.reason, case.id))
    met = _once_each(opened, case, body.met)
    case.rulings[body.attempt] = Ruling(met, entry.when, entry.by, body.reason)


def time_corrected(opened: MatchOpened, turn: Turn, entry: Entry, body: e.TimeCorrected) -> None:
    """After the turn, so that nothing that was played on the clock changes."""
    case_of(opened, body.case)
    case = turn.cases.get(body.case)
    if case is None or case.started_at is None or not is_over(opened, turn, entry.when):
        raise PalestraError(say("A time is corrected when the turn is over, and of a case that was started."))
    others = sum(one.ran_ms(entry.when) for one in turn.cases.values() if one.id != case.id)
    most = min(opened.rules.limit_ms, TOTAL_MS - others)
    if not 0 <= body.ran_ms <= most:
        raise PalestraError(
            say(
                "{ran_ms} ms is not a time that this case can have run; expected 0 to {most} ms.",
                ran_ms=body.ran_ms,
                most=most,
            )
        )
    case.corrected_ms = body.ran_ms
    case.corrections.append(Note(entry.when, entry.by, body.reason, case.id))


def published(opened: MatchOpened, turn: Turn, entry: Entry, body: e.ResultsPublished) -> None:
    cases = [turn.cases[case_of(opened, name)[1].id] for name in body.cases if turn.cases]
    if not cases:
        raise PalestraError(say("This team has not played: there is nothing to publish."))
    for case in cases:
        _publishable(opened, turn, case, entry.when)
    for case in cases:
        case.published_at = entry.when


def _publishable(opened: MatchOpened, turn: Turn, case: CaseState, now: int) -> None:
    found = standing_of(opened, turn, case, now)
    if found == "published":
        raise PalestraError(say("Case {id} is published already.", id=case.id))
    if any(penalty.open and penalty.case in ("", case.id) for penalty in turn.penalties.values()):
        raise PalestraError(say("Case {id}: a penalty is open. Confirm it or withdraw it first.", id=case.id))
    if found == "agreed":
        return
    differ = sorted(
        {goal for n in attempts_that_count(opened, case) for goal in compared(opened, turn, case, n).differ}
    )
    if found == "marked":
        raise PalestraError(
            say(
                "Case {case}: the referees differ on {goals}. The head referee rules first.",
                case=case.id,
                goals=joined(differ),
            )
        )
    raise PalestraError(say("Case {id} is not marked by all its referees yet.", id=case.id))


def appealed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.AppealMade) -> None:
    case_of(opened, body.case)
    case = turn.cases.get(body.case)
    if case is None or case.published_at is None:
        raise PalestraError(say("There is no published result to appeal against."))
    minutes = opened.rules.appeal_ms // 60_000
    if entry.when > case.published_at + opened.rules.appeal_ms:
        raise PalestraError(
            say("An appeal is made within {minutes} minutes of publication; that time is over.", minutes=minutes)
        )
    if any(one.case == body.case and one.upheld is None for one in turn.appeals.values()):
        raise PalestraError(say("An appeal against this result is open already."))
    if body.appeal in turn.appeals:
        raise PalestraError(say("This appeal was made already."))
    turn.appeals[body.appeal] = Appeal(body.appeal, body.case, entry.when, entry.by, body.reason)


def decided(opened: MatchOpened, turn: Turn, entry: Entry, body: e.AppealDecided) -> None:
    appeal = turn.appeals.get(body.appeal)
    if appeal is None:
        raise unknown(say("appeal of this team"), body.appeal, turn.appeals)
    if appeal.upheld is not None:
        raise PalestraError(say("This appeal is decided."))
    appeal.upheld, appeal.answer, appeal.decided_at = body.upheld, body.reason, entry.when
