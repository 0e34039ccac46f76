"""When who has the table: debugging slots, equal for all, and the running order of the teams."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.contest.manual.blocks import Block, Cell, Grid, Heading, Prose, Section
from palestra.contest.match import Match, Slot, timetable_of
from palestra.contest.rules import MatchPlan, Phase, Rules, day_told, local, told
from palestra.text import Words, say, say_as

HEAD = (say("day"), say_as("manual", "time"), say("team"))


def times(rules: Rules, phase: Phase, match: Match | None) -> Section:
    """As the match has it once it was settled there, else as the contest file makes it."""
    plan = phase.match or MatchPlan()
    teams = _teams(rules, phase, match)
    found = timetable_of(phase, rules.zone, teams, match.setup.slots if match else ())
    names = {one.team: one.name for one in match.opened.teams} if match else {}
    blocks: list[Block] = [
        Prose(_opens(phase, rules.zone)),
        Heading(say("Debugging slots")),
        Prose(_slots(plan, match)),
        _table(found.slots, rules.zone, names),
        Heading(say("Running order")),
        Prose(_order(match, plan)),
        _table(found.turns, rules.zone, names),
    ]
    if found.late_ms:
        minutes = -(-found.late_ms // 60_000)
        late = say(
            "This does not fit: the last turn ends {minutes} minutes after the phase. Plan fewer teams or more time.",
            minutes=minutes,
        )
        blocks.append(Prose(late))
    return Section("timetable", say("Timetable"), tuple(blocks))


def _teams(rules: Rules, phase: Phase, match: Match | None) -> list[str]:
    """Those of the match in their order; before it is opened, as many places as the phase has."""
    if match:
        return list(match.setup.order or [one.team for one in match.opened.teams])
    top = next((one.promotion.top for one in rules.phases if one.promotion and one.promotion.to == phase.id), 1)
    return [f"#{number}" for number in range(1, top + 1)]


def _opens(phase: Phase, zone: str) -> Words:
    return say("From {opens} to {closes}.", opens=told(phase.opens, zone), closes=told(phase.closes, zone))


def _slots(plan: MatchPlan, match: Match | None) -> Words:
    if match and match.setup.slots:
        minutes = (match.setup.slots[0].closes - match.setup.slots[0].opens) // 60_000
        return say("{minutes} minutes each, with the robot, the table and practice scenes.", minutes=minutes)
    minutes = plan.slot_ms // 60_000
    return say(
        "One slot of {minutes} minutes for each team, with the robot, the table and practice scenes.", minutes=minutes
    )


def _order(match: Match | None, plan: MatchPlan) -> Words:
    gap = plan.gap_ms // 60_000
    if match and match.setup.order:
        return say("The order was set in public. 55 minutes for each team, {gap} minutes between two.", gap=gap)
    return say(
        "55 minutes for each team, {gap} minutes between two. Which team has which place is drawn in public.", gap=gap
    )


def _table(slots: Sequence[Slot], zone: str, names: dict[str, str]) -> Grid:
    return Grid(HEAD, tuple(_row(slot, zone, names) for slot in slots), figures=(1,))


def _row(slot: Slot, zone: str, names: dict[str, str]) -> tuple[Cell, ...]:
    day = day_told(local(slot.opens, zone))
    opens, closes = (f"{local(at, zone):%H:%M}" for at in (slot.opens, slot.closes))
    return day, f"{opens}–{closes}", names.get(slot.team, slot.team)
