"""Debugging slots at the table as they are planned, moved and given up: each change is a whole new plan, with why."""

from __future__ import annotations

from palestra.contest.match_draw import equal_slots
from palestra.contest.match_events import Slot, SlotsPlanned
from palestra.contest.match_state import Match
from palestra.errors import Told

MOST_MINUTES = 24 * 60


def another_round(match: Match, opens: int, length_ms: int, gap_ms: int, reason: str = "") -> SlotsPlanned:
    """One slot more for each team, in the running order, from a moment on."""
    if not 0 < length_ms <= MOST_MINUTES * 60_000 or not 0 <= gap_ms <= MOST_MINUTES * 60_000:
        raise Told(
            f"A slot has 1 to {MOST_MINUTES} minutes, and there are 0 to {MOST_MINUTES} between two.",
            f"每个时段应为 1 至 {MOST_MINUTES} 分钟，间隔应为 0 至 {MOST_MINUTES} 分钟。",
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
    raise Told("There is no such slot any more: look at the plan again.", "该时段已不存在：请重新查看调试时段安排。")


def _plan(match: Match, slots: tuple[Slot, ...], reason: str) -> SlotsPlanned:
    ordered = tuple(sorted(slots, key=lambda slot: slot.opens))
    return SlotsPlanned(match=match.opened.match, slots=ordered, reason=reason)
