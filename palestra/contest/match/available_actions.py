"""What someone may do at the table now, each with what it will cost. Found by trying, so it is what `check` allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.checks import check
from palestra.contest.match.consequences import LABELS, cost_of
from palestra.contest.match.event_kinds import KINDS, UNDO, Who
from palestra.contest.match.events import MatchBody
from palestra.contest.match.marks import agreed_on, attempts_that_count, compared, standing_of
from palestra.contest.match.reducer import at_time, last_of, names_of, team_of
from palestra.contest.match.state import CaseState, Match, Turn, case_of
from palestra.contest.match.turn import current, is_over, running_case
from palestra.errors import PalestraError
from palestra.text import Words, say

ASK = "…"  # stands for what a person has yet to fill in


class Option(msgspec.Struct, frozen=True):
    """Something that can be done now."""

    kind: str
    label: Words
    cost: Words
    wish: MatchBody  # what to send, once what is needed is filled in
    needs: tuple[str, ...] = ()  # fields that a person fills in


def options(match: Match, who: Who, now: int, team: str = "") -> list[Option]:
    """For a team, or for the one at the table."""
    team = team or who.team or at_table(match, now)
    turn = at_time(match, team, now) if team else None
    found = []
    for wish, needs in _wishes(match, who, turn, now):
        if who.part in KINDS.get(type(wish), UNDO).parts and _possible(match, who, wish, now):
            cost = cost_of(match.opened, turn or Turn(""), wish, now)
            found.append(Option(_tag(wish), _label(match, who, wish), cost, wish, needs))
    return found


def at_table(match: Match, now: int) -> str:
    """The team whose turn it is."""
    for team, turn in match.turns.items():
        if turn.begun_at is not None and not is_over(match.opened, at_time(match, team, now), now):
            return team
    return ""


def next_team(match: Match) -> str:
    """Of the running order, whoever has not played; nobody where there is no order."""
    return next((team for team in match.setup.order if match.turns[team].begun_at is None), "")


def _possible(match: Match, who: Who, wish: MatchBody, now: int) -> bool:
    try:
        return bool(check(match, who, wish, now))
    except PalestraError:
        return False


def _label(match: Match, who: Who, wish: MatchBody) -> Words:
    """What it is called; of an undoing, with what it undoes."""
    label = LABELS[type(wish)]
    last = last_of(match, who.account, wish.team) if isinstance(wish, e.EventUndone) else None
    if last is None:
        return label
    what = LABELS[type(last.body)]
    return say("{label}: {what}", label=label, what=what)


def _tag(wish: MatchBody) -> str:
    return str(type(wish).__struct_config__.tag)


_Asked = tuple[MatchBody, tuple[str, ...]]


def _wishes(match: Match, who: Who, turn: Turn | None, now: int) -> Iterator[_Asked]:
    """Whatever somebody might want, complete but for what a person fills in."""
    if turn is not None:
        if (case := current(match.opened, turn)) is not None and not is_over(match.opened, turn, now):
            yield from _of_case(match, who, turn, case)
        yield from _of_marks(match, who, turn, now)
        yield from _of_turn(match, turn)
        yield from _of_penalties(match, turn)
    yield from _of_setup(match, who)
    for team in {turn.team if turn else "", ""}:
        if last := last_of(match, who.account, team):
            yield e.EventUndone(match=match.opened.match, undoes=names_of(last)[-1], team=team_of(last.body)), ()


def _of_case(match: Match, who: Who, turn: Turn, case: CaseState) -> Iterator[_Asked]:
    _, sheet = case_of(match.opened, case.id)
    ids: dict[str, Any] = {"match": match.opened.match, "team": turn.team, "case": case.id}
    yield e.SceneChecked(**ids, things=sheet.things, layout=sheet.layout, photo=ASK), ("photo",)
    yield e.SystemConfirmed(**ids), ()
    yield e.InstructionEntered(**ids, text=sheet.instruction.en or sheet.instruction.zh), ("text",)
    yield e.SignalGiven(**ids), ()
    yield e.CaseStarted(**ids), ()
    yield from _of_goals(who, case, ids, sheet.goal_ids())
    if running_case(turn) is case:
        yield e.CaseStopped(**ids), ()
    yield e.CaseRetried(**ids, why="drop"), ("why",)
    approving = turn.referees()[0]
    yield e.ProgramRestarted(**ids, approved_by=approving, reason=ASK * 3), ("approved_by", "reason")
    yield e.CaseAbandoned(**ids), ()
    yield e.WeightsHashed(**ids, when="before", digest=ASK), ("digest",)


def _of_goals(who: Who, case: CaseState, ids: dict[str, Any], goals: tuple[str, ...]) -> Iterator[_Asked]:
    """A switch for each sub-goal, the other way round than it stands."""
    if not case.running:
        return
    attempt = len(case.attempts)
    held = case.marks.get(who.account, {}).get(attempt, {})
    for goal in goals:
        on = not (goal in held and held[goal].on)
        yield e.GoalMarked(**ids, attempt=attempt, goal=goal, on=on), ()


def _of_marks(match: Match, who: Who, turn: Turn, now: int) -> Iterator[_Asked]:
    ids: dict[str, Any] = {"match": match.opened.match, "team": turn.team}
    for case in turn.cases.values():
        for attempt in attempts_that_count(match.opened, case):
            found = compared(match.opened, turn, case, attempt)
            if who.account in found.missing:
                held = case.marks.get(who.account, {}).get(attempt, {})
                met = tuple(goal for goal, mark in held.items() if mark.on)
                yield e.MarksSigned(**ids, case=case.id, attempt=attempt, met=met), ("met",)
            if found.differ or case.published_at is not None:
                met = found.met if found.met is not None else agreed_on(found)
                yield e.CaseRuled(**ids, case=case.id, attempt=attempt, met=met, reason=ASK * 3), ("met", "reason")
        if case.started_at is not None:
            yield e.TimeCorrected(**ids, case=case.id, ran_ms=0, reason=ASK * 3), ("ran_ms", "reason")
        yield e.AppealMade(**ids, case=case.id, appeal=ASK, reason=ASK * 3), ("appeal", "reason")
    agreed = [case.id for case in turn.cases.values() if standing_of(match.opened, turn, case, now) == "agreed"]
    yield e.ResultsPublished(**ids, cases=tuple(agreed)), ("cases",)
    for appeal in turn.appeals:
        yield e.AppealDecided(**ids, appeal=appeal, upheld=True, reason=ASK * 3), ("upheld", "reason")


def _of_turn(match: Match, turn: Turn) -> Iterator[_Asked]:
    ids: dict[str, Any] = {"match": match.opened.match, "team": turn.team}
    declared = match.setup.declared
    free = [one for one in declared if turn.team not in declared[one] and one != match.opened.head]
    yield e.ImageTaken(**ids, image=ASK), ("image",)
    for image in turn.images[-1:]:
        again = _reason(bool(turn.frozen))
        yield e.ImageFrozen(**ids, image=image.image, reason="".join(again.values())), ("image", *again)
    out_of_order = _reason(next_team(match) not in ("", turn.team))
    yield e.TurnBegun(**ids, referees=tuple(free), reason="".join(out_of_order.values())), ("referees", *out_of_order)
    yield e.ClockReleased(**ids), ()
    yield e.ClockHeld(**ids, reason=ASK * 3), ("reason",)
    yield e.TurnClosed(**ids), ()
    for referee, other in zip(turn.referees(), [one for one in free if one not in turn.referees()], strict=False):
        asked = ("referee", "substitute", "reason")
        yield e.RefereeReplaced(**ids, referee=referee, substitute=other, reason=ASK * 3), asked
    for case in [one for one in turn.cases.values() if one.started_at is not None][-1:]:
        yield e.WeightsHashed(**ids, case=case.id, when="after", digest=ASK), ("digest",)
    yield e.ConductNoted(**ids, text=ASK * 3), ("text",)
    yield e.LogTaken(**ids, what="robot", digest=ASK), ("what", "digest")


def _of_penalties(match: Match, turn: Turn) -> Iterator[_Asked]:
    ids: dict[str, Any] = {"match": match.opened.match, "team": turn.team}
    asked = ("penalty", "what", "case", "points", "rule", "reason")
    yield e.PenaltyProposed(**ids, penalty=ASK, what="points", points="1/10", rule=ASK, reason=ASK * 3), asked
    for name in turn.penalties:
        yield e.PenaltyConfirmed(**ids, penalty=name), ()
        yield e.PenaltyWithdrawn(**ids, penalty=name, reason=ASK * 3), ("reason",)


def _of_setup(match: Match, who: Who) -> Iterator[_Asked]:
    name = match.opened.match
    teams = tuple(one.team for one in match.opened.teams)
    if who.account not in match.setup.declared:
        yield e.RefereeDeclared(match=name), ("conflicts",)
    again = _reason(bool(match.setup.order))
    yield e.TeamsOrdered(match=name, teams=teams, reason="".join(again.values())), ("teams", "seed", *again)
    slots = tuple(e.Slot(team, number, number + 1) for number, team in enumerate(teams))
    again = _reason(bool(match.setup.slots))
    yield e.SlotsPlanned(match=name, slots=slots, reason="".join(again.values())), ("slots", *again)
    again, seed = _reason(bool(match.setup.groups)), "" if match.opened.rules.draw == "fixed" else ASK
    yield e.GroupsDrawn(match=name, seed=seed, reason="".join(again.values())), (*(["seed"] if seed else []), *again)


def _reason(needed: bool) -> dict[str, str]:
    """What a person fills in where something is said for the second time, or otherwise than it was settled."""
    return {"reason": ASK * 3} if needed else {}
