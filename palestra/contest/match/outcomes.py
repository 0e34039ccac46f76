"""What every team has come to, case by case: from a match and the time to the rows that are scored."""

from __future__ import annotations

from collections.abc import Iterable

from palestra.contest.match.cases import cases_of
from palestra.contest.match.events import Entry
from palestra.contest.match.marks import can_be_played, counted, standing_of
from palestra.contest.match.penalties import deducted, voided
from palestra.contest.match.reducer import at_time, fold
from palestra.contest.match.state import CaseState, Match, Turn
from palestra.contest.match.turn import running_case
from palestra.scoring import Ended, Judged


def judged(entries: Iterable[Entry], now: int) -> list[Judged]:
    """Straight from events."""
    return outcomes(fold(entries), now)


def outcomes(match: Match, now: int) -> list[Judged]:
    """Every team and case, in the order of the sheet."""
    return [row for team in match.turns for row in outcomes_of(match, team, now)]


def outcomes_of(match: Match, team: str, now: int) -> list[Judged]:
    turn = at_time(match, team, now)
    return [_outcome(match, turn, group.id, case.id, now) for group, case in cases_of(match.opened.groups)]


def _outcome(match: Match, turn: Turn, group: str, name: str, now: int) -> Judged:
    case = turn.cases.get(name) or CaseState(name, group)
    sheet = next(one for one in match.opened.groups if one.id == group)
    total = next(len(one.goals) for one in sheet.cases if one.id == name)
    ended = _ended(match, turn, case, now)
    _, met = counted(match.opened, turn, case)
    zero = ended in ("abandoned", "unreached", "void")
    ran_ms = case.ran_ms(now)
    charged = match.opened.rules.case_ms(len(sheet.cases)) if zero else ran_ms
    return Judged(
        turn.team, group, name, 0 if zero else len(met), total, ran_ms, str(charged), len(case.attempts),
        standing_of(match.opened, turn, case, now), ended, str(deducted(turn, name)), _note(turn, case, ended),
    )  # fmt: skip


def _ended(match: Match, turn: Turn, case: CaseState, now: int) -> Ended:
    """How it ended; a case that cannot be played any more was not reached."""
    if voided(turn, case.id):
        return "void"
    if case.ended or case.running:
        return case.ended
    return "" if can_be_played(match.opened, turn, case, now) else "unreached"


def _note(turn: Turn, case: CaseState, ended: Ended) -> str:
    """For whoever reads the table."""
    said = {
        "time": "time was up", "match": "the 55 minutes ended", "abandoned": "abandoned", "unreached": "not reached",
    }  # fmt: skip
    notes = [said[ended]] if ended in said else []
    if penalty := voided(turn, case.id):
        notes.append(f"result taken away: {penalty.rule}: {penalty.reason}")
    for one in turn.penalties.values():
        if one.counts and one.what == "points" and one.case == case.id:
            notes.append(f"{one.points} deducted: {one.rule}: {one.reason}")
    notes += [f"corrected: {note.text}" for note in case.corrections]
    notes += [f"ruled: {ruling.reason}" for ruling in case.rulings.values()]
    if running_case(turn) is case:
        notes.append("running")
    return "; ".join(notes)
