"""Who has the table when: debugging slots, equal for all, and then the turns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from palestra.contest.match.draw import equal_slots
from palestra.contest.match.events import Slot, SlotsPlanned
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Match
from palestra.contest.rules import MatchPlan, Phase, as_ms, local
from palestra.errors import PalestraError
from palestra.text import say

USUAL_HOURS = (time(9), time(18))  # of a day, where a phase is given in whole days


class Timetable(msgspec.Struct, frozen=True):
    """A plan in which nobody has the table together with another."""

    slots: tuple[Slot, ...]  # for debugging
    turns: tuple[Slot, ...]
    late_ms: int = 0  # by how much it goes beyond the phase's end


def timetable_of(phase: Phase, zone: str, teams: Sequence[str], planned: Sequence[Slot] = ()) -> Timetable:
    """One slot for each team from the opening on, or those that are planned; then the turns in the same order; within
    the hours of each day."""
    plan = phase.match or MatchPlan()
    slots = sorted(planned, key=lambda slot: slot.opens)
    slots = slots or _in_turn(teams, phase.opens, plan.slot_ms, 0, (phase, zone))
    begins = max((slot.closes for slot in slots), default=phase.opens)
    turns = _in_turn(teams, begins, TOTAL_MS, plan.gap_ms, (phase, zone))
    ends = turns[-1].closes if turns else phase.opens
    return Timetable(tuple(slots), tuple(turns), max(ends - phase.closes, 0))


def _in_turn(teams: Sequence[str], at: int, length_ms: int, gap_ms: int, where: tuple[Phase, str]) -> list[Slot]:
    """One team after the other, each so long."""
    found = []
    for team in teams:
        at = _next_place(at, length_ms, *where)
        found.append(Slot(team, at, at + length_ms))
        at += length_ms + gap_ms
    return found


def _next_place(at: int, length_ms: int, phase: Phase, zone: str) -> int:
    """The first time from `at` on at which so much fits into a day; what fits into none begins with a day."""
    opens, closes = _hours(phase, zone)
    day = local(at, zone).date()
    at = max(at, _moment(day, opens, zone))
    if at + length_ms > _moment(day, closes, zone) and at > _moment(day, opens, zone):
        at = _moment(day + timedelta(days=1), opens, zone)
    return at


def _hours(phase: Phase, zone: str) -> tuple[time, time]:
    """Of each day: from when the phase opens on its first to when it closes on its last."""
    opens, closes = local(phase.opens, zone).time(), local(phase.closes, zone).time()
    return (opens, closes) if time() < opens < closes else USUAL_HOURS


def _moment(day: date, clock: time, zone: str) -> int:
    return as_ms(datetime.combine(day, clock, ZoneInfo(zone)))


MOST_MINUTES = 24 * 60


def another_round(match: Match, opens: int, length_ms: int, gap_ms: int, reason: str = "") -> SlotsPlanned:
    """One slot more for each team, in the running order, from a moment on."""
    if not 0 < length_ms <= MOST_MINUTES * 60_000 or not 0 <= gap_ms <= MOST_MINUTES * 60_000:
        raise PalestraError(
            say(
                "A slot has 1 to {most_minutes} minutes, and there are 0 to {most_minutes} between two.",
                most_minutes=MOST_MINUTES,
            )
        )
    teams = match.setup.order or tuple(match.turns)
    return _plan(match, (*match.setup.slots, *equal_slots(teams, opens, length_ms, gap_ms)), reason)


def moved(match: Match, team: str, opens: int, to: int, reason: str) -> SlotsPlanned:
    """One slot begins at another time, and is as long as it was."""
    found = _slot(match, team, opens)
    other = Slot(team, to, to + found.closes - found.opens)
    return _plan(match, tuple(other if slot is found else slot for slot in match.setup.slots), reason)


def cancelled(match: Match, team: str, opens: int, reason: str) -> SlotsPlanned:
    """One slot is given up; or, where no team is named, all of them."""
    found = _slot(match, team, opens) if team else None
    return _plan(match, tuple(slot for slot in match.setup.slots if found and slot is not found), reason)


def _slot(match: Match, team: str, opens: int) -> Slot:
    for slot in match.setup.slots:
        if (slot.team, slot.opens) == (team, opens):
            return slot
    raise PalestraError(say("There is no such slot any more: look at the plan again."))


def _plan(match: Match, slots: tuple[Slot, ...], reason: str) -> SlotsPlanned:
    ordered = tuple(sorted(slots, key=lambda slot: slot.opens))
    return SlotsPlanned(match=match.opened.match, slots=ordered, reason=reason)
