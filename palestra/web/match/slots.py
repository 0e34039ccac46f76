"""Debugging slots on pages and from forms: what is planned, and what an organiser may change about it."""

from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import msgspec

from palestra.contest.log import Body, State
from palestra.contest.match import Match, SlotsPlanned, timetable_of
from palestra.contest.match import state_machine as table
from palestra.contest.match import timetable as slots
from palestra.contest.rules import MatchPlan, Phase
from palestra.web.actions import Done, action
from palestra.web.auth import Caller
from palestra.web.match import models as v
from palestra.web.match.messages import who_is
from palestra.web.site import Site

MINUTE_MS = 60_000
Moment = Annotated[int, msgspec.Meta(ge=0, le=4_102_444_800_000)]  # ms
Minutes = Annotated[int, msgspec.Meta(ge=0, le=slots.MOST_MINUTES)]


class PlanSlots(msgspec.Struct, frozen=True):
    match: str
    opens: Moment  # of the first team's
    minutes: Minutes
    gap_minutes: Minutes = 0
    reason: str = ""  # where there are slots already


class MoveSlot(msgspec.Struct, frozen=True):
    match: str
    team: str
    opens: Moment  # as it is
    to: Moment
    reason: str


class CancelSlot(msgspec.Struct, frozen=True):
    match: str
    reason: str
    team: str = ""  # empty: all of them
    opens: Moment = 0


Change = Callable[[Match, Any], SlotsPlanned]


def change(name: str) -> Callable[[Change], Change]:
    """Declare a change of the plan. What is so is looked at when it is logged: two who plan do not undo each other."""

    def declare(how: Change) -> Change:
        async def do(site: Site, caller: Caller, data: Any) -> Done:
            def decide(state: State, now: int) -> list[Body]:
                match = state.match(data.match)
                return [*table.decide(match, who_is(match, caller.viewer), how(match, data), now)]

            await site.act(caller.viewer, decide)
            return Done(data.match)

        do.__annotations__["data"], do.__doc__ = get_type_hints(how)["data"], how.__doc__
        action(name, needs="organise", desk=True)(do)
        return how

    return declare


@change("plan-slots")
def plan_slots(match: Match, data: PlanSlots) -> SlotsPlanned:
    """Give each team a debugging slot, one after the other in the running order."""
    return slots.another_round(match, data.opens, data.minutes * MINUTE_MS, data.gap_minutes * MINUTE_MS, data.reason)


@change("move-slot")
def move_slot(match: Match, data: MoveSlot) -> SlotsPlanned:
    """Let a debugging slot begin at another time."""
    return slots.moved(match, data.team, data.opens, data.to, data.reason)


@change("cancel-slot")
def cancel_slot(match: Match, data: CancelSlot) -> SlotsPlanned:
    """Give up a debugging slot of one team, or all slots."""
    return slots.cancelled(match, data.team, data.opens, data.reason)


# What pages show


def slots_of(match: Match) -> tuple[v.SlotView, ...]:
    return tuple(v.SlotView(one.team, match.name_of(one.team), one.opens, one.closes) for one in match.setup.slots)


def next_round(match: Match, phase: Phase, zone: str) -> v.Round:
    """After what is planned; else as the contest file has it."""
    plan, planned = phase.match or MatchPlan(), match.setup.slots
    found = timetable_of(phase, zone, list(match.turns), planned).slots
    length_ms = planned[0].closes - planned[0].opens if planned else plan.slot_ms
    opens = max(one.closes for one in planned) if planned else min((one.opens for one in found), default=phase.opens)
    return v.Round(opens, length_ms // MINUTE_MS, 0, bool(planned))
