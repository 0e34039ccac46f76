"""The hall's screen for a match: clock, team, case, instruction, sub-goals as they fall, and who stands where.

What a case asks for is shown once its clock has started. While it runs, a sub-goal lights up when all referees have
switched it on; once it has ended nothing changes until it is published. The standing is of published results alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from palestra.contest.match import (
    TOTAL_MS,
    Case,
    CaseState,
    Group,
    Match,
    Placed,
    Tally,
    Turn,
    at_table,
    at_time,
    case_left_ms,
    case_of,
    counted,
    current,
    is_over,
    ranked,
    why,
)
from palestra.contest.match import shown as clock_text
from palestra.text import Words, say
from palestra.web.match.models import Dial
from palestra.web.match.results import published
from palestra.web.site import Site, render
from palestra.web.stream import Said, Write

TOPICS = {"hall": say("hall")}
MOST_ROWS = 8  # of the standing that fit beside a case
Mode = Literal["waiting", "preparing", "running", "checking", "published", "over"]


class HallGoal(msgspec.Struct, frozen=True):
    text: Words
    met: bool


class HallCase(msgspec.Struct, frozen=True, kw_only=True):
    """The case that is shown."""

    id: str
    number: int  # in the order that they are played
    of: int
    group: Words
    attempt: int
    attempts: int  # that there may be
    instruction: Words
    goals: tuple[HallGoal, ...]
    dial: Dial  # of its clock
    budget_ms: int

    @property
    def met(self) -> int:
        return sum(goal.met for goal in self.goals)


class HallRow(msgspec.Struct, frozen=True, kw_only=True):
    rank: int | None
    team: str
    name: str
    score: str  # of 10
    time: str
    full: int
    cases: int
    why: Words = Words()  # it is before the next one, where their scores are equal
    out: str = ""


class HallPage(msgspec.Struct, frozen=True, kw_only=True):
    match: str
    title: Words
    rehearsal: bool
    mode: Mode
    team: str = ""  # name
    next: str = ""
    held: str = ""  # why the clock stands
    dial: Dial = Dial()  # of the 55 minutes
    total_ms: int = TOTAL_MS
    case: HallCase | None = None
    rows: tuple[HallRow, ...] = ()
    more: int = 0  # teams of the standing that do not fit
    live: str = ""


def hall(site: Site, match_id: str) -> HallPage:
    match, now = site.state.match(match_id), site.now
    team = at_table(match, now) or _last(match)
    turn = at_time(match, team, now) if team else None
    case = _case_shown(match, turn, now) if turn else None
    standing = ranked(published(site.state, match, now))
    waiting = [name for name in match.setup.order or match.turns if match.turns[name].begun_at is None]
    return HallPage(
        match=match_id,
        title=site.state.phase(match.opened.phase, now).title,
        rehearsal=match.opened.rehearsal,
        mode=_mode(match, turn, case, now),
        team=match.name_of(team) if team else "",
        next=match.name_of(waiting[0]) if waiting else "",
        held=turn.held if turn else "",
        dial=_turn_dial(match, turn, now),
        case=_case(match, turn, case, now) if turn and case else None,
        rows=tuple(rows_of(standing[:MOST_ROWS])),
        more=max(len(standing) - MOST_ROWS, 0),
        live=f"/live?hall={match_id}",
    )


def _last(match: Match) -> str:
    """Who was at the table last; nobody before the first turn."""
    begun = [turn for turn in match.turns.values() if turn.begun_at is not None]
    return max(begun, key=lambda turn: turn.begun_at or 0).team if begun else ""


def _case_shown(match: Match, turn: Turn, now: int) -> CaseState | None:
    """The one at the table; the one before it until its scene is laid."""
    over = is_over(match.opened, turn, now)
    here = None if over else current(match.opened, turn)
    ended = [case for case in turn.cases.values() if case.ended and case.started_at is not None]
    if here and (here.running or here.scenes or here.confirmed_at is not None or not ended):
        return here
    return max(ended, key=lambda case: case.ended_at, default=here)


def _mode(match: Match, turn: Turn | None, case: CaseState | None, now: int) -> Mode:
    if turn is None:
        return "waiting"
    if turn.cases and all(one.published_at is not None for one in turn.cases.values()):
        return "published"
    if case is None or (is_over(match.opened, turn, now) and not case.running):
        return "over"
    if case.running:
        return "running"
    return "checking" if case.ended else "preparing"


def _turn_dial(match: Match, turn: Turn | None, now: int) -> Dial:
    """A turn that is over stands where it ended; nobody stops its clock by hand."""
    if turn is None:
        return Dial()
    if is_over(match.opened, turn, now):
        ends = max((case.ended_at for case in turn.cases.values()), default=now)
        return Dial(min(turn.clock.elapsed(turn.closed_at or ends), TOTAL_MS))
    return Dial(turn.clock.ran_ms, turn.clock.since)


def _case(match: Match, turn: Turn, case: CaseState, now: int) -> HallCase:
    group, sheet = case_of(match.opened, case.id)
    begun = case.started_at is not None
    left_ms = case_left_ms(match.opened, turn, case, now) if not begun else 0
    return HallCase(
        id=case.id,
        number=list(turn.cases).index(case.id) + 1,
        of=len(turn.cases),
        group=group.title,
        attempt=max(len(case.attempts), 1),
        attempts=match.opened.rules.retries + 1,
        instruction=sheet.instruction if begun else Words(),
        goals=tuple(_goals(match, turn, case, (group, sheet))) if begun else (),
        dial=Dial(case.ran_ms(now)) if case.ended else Dial(case.clock.ran_ms, case.clock.since),
        budget_ms=case.budget_ms if begun else left_ms,
    )


def _goals(match: Match, turn: Turn, case: CaseState, sheet: tuple[Group, Case]) -> Iterator[HallGoal]:
    met = set(_met(match, turn, case))
    return (HallGoal(goal.text, goal.id in met) for goal in sheet[1].goals)


def _met(match: Match, turn: Turn, case: CaseState) -> Iterator[str]:
    """While it runs, and when it is published, what counts. In between what all had switched on when the clock
    stopped: what referees say after that is theirs until it is published."""
    if case.running or case.published_at is not None:
        yield from counted(match.opened, turn, case)[1] if case.ended != "abandoned" else ()
        return
    attempt = len(case.attempts)
    for goal in case_of(match.opened, case.id)[1].goal_ids():
        marks = [case.marks.get(seat[-1], {}).get(attempt, {}).get(goal) for seat in turn.seats]
        if marks and all(mark and mark.on and mark.at <= case.ended_at for mark in marks):
            yield goal


# The standing


def rows_of(standing: Sequence[Placed]) -> list[HallRow]:
    """Each with why it is before the next, where that is not plain from their scores."""
    reasons = [_tie(first.tally, second.tally) for first, second in pairwise(standing)] + [Words()]
    return [_row(placed, reason) for placed, reason in zip(standing, reasons, strict=False)]


def _tie(first: Tally, second: Tally) -> Words:
    tied = first.score == second.score and not first.out and not second.out
    return why(first, second) if tied else Words()


def _row(placed: Placed, reason: Words) -> HallRow:
    one = placed.tally
    return HallRow(
        rank=placed.rank,
        team=one.team,
        name=one.name,
        score=f"{float(one.score * 10):.2f}",
        time=clock_text(one.time_s * 1000),
        full=one.full,
        cases=one.cases,
        why=reason,
        out=one.out,
    )


# Live


def topic_of(site: Site, language: str, match_id: str) -> dict[str, Write] | None:
    """What the screen is sent: the same for everybody. Its name begins as those of all topics of the match do."""
    if match_id not in site.state.matches:
        return None

    def said() -> Said:
        page = msgspec.structs.replace(hall(site, match_id), live="")
        return Said("hall", render("match/screen_body.html", language, page=page), str(site.state.seq))

    return {f"match:{match_id}:hall:{language}": said}
