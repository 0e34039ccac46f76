"""A rehearsal: what the simulator saw becomes the same events that referees make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.event_kinds import Who
from palestra.contest.match.events import MatchBody
from palestra.contest.match.state import Match, case_of

SIMULATOR = Who("simulator", "simulator")


class SimulatedGoal(msgspec.Struct, frozen=True):
    met: bool  # at the end
    first_true_s: float | None = None  # since the start; null: never


class SimulatedCase(msgspec.Struct, frozen=True):
    """What one attempt at a case came to in the simulator."""

    case: str
    goals: Mapping[str, SimulatedGoal]
    seconds: float  # until it ended
    gave_up: bool = False


def preparation(match: Match, team: str, case: str) -> list[MatchBody]:
    """Everything up to the start, which the simulator has right by itself."""
    _, sheet = case_of(match.opened, case)
    ids: dict[str, Any] = {"match": match.opened.match, "team": team, "case": case}
    text = sheet.instruction.en or sheet.instruction.zh
    return [
        e.SceneChecked(**ids, things=sheet.things, layout=sheet.layout, photo="simulated"),
        e.SystemConfirmed(**ids),
        e.InstructionEntered(**ids, text=text),
        e.SignalGiven(**ids),
        e.CaseStarted(**ids),
    ]


def marks_of(
    match: Match, team: str, found: SimulatedCase, attempt: int, started_at: int, agreed: bool = False
) -> list[MatchBody]:
    """The marks of each referee of the turn, when the simulator saw them, and the stop. `agreed`: signed as well.

    A run that lasts as long as the case may has no stop: the clock ended it.
    """
    ids: dict[str, Any] = {"match": match.opened.match, "team": team, "case": found.case}
    referees = match.turn(team).referees()
    budget_ms = match.turn(team).cases[found.case].budget_ms
    ended_at = started_at + min(_ms(found.seconds), budget_ms)
    bodies = [mark for referee in referees for mark in _marks(ids, found, attempt, started_at, referee)]
    in_time = _ms(found.seconds) < budget_ms
    if in_time and found.gave_up:
        return [*bodies, e.CaseAbandoned(**ids, said_at=ended_at)]
    if in_time:
        bodies.append(e.CaseStopped(**ids, said_at=ended_at))
    if agreed:
        bodies += signatures(match, team, found, attempt, ended_at, referees)
    return bodies


def _marks(ids: dict[str, Any], found: SimulatedCase, attempt: int, started_at: int, referee: str) -> list[MatchBody]:
    """On when a sub-goal first held; off at the end where it does not hold then."""
    marks: list[MatchBody] = []
    for goal, seen in found.goals.items():
        about = {**ids, "attempt": attempt, "goal": goal, "referee": referee}
        if seen.first_true_s is not None or seen.met:
            first_s = found.seconds if seen.first_true_s is None else min(seen.first_true_s, found.seconds)
            marks.append(e.GoalMarked(**about, on=True, said_at=started_at + _ms(first_s)))
        if seen.first_true_s is not None and not seen.met:
            marks.append(e.GoalMarked(**about, on=False, said_at=started_at + _ms(found.seconds)))
    return sorted(marks, key=lambda mark: mark.said_at)


def signatures(
    match: Match, team: str, found: SimulatedCase, attempt: int, at: int, referees: Sequence[str]
) -> list[MatchBody]:
    """Each referee's word on what the simulator saw, once the case has ended by its own clock or by a stop."""
    met = tuple(goal for goal, seen in found.goals.items() if seen.met)
    ids: dict[str, Any] = {"match": match.opened.match, "team": team, "case": found.case}
    return [e.MarksSigned(**ids, attempt=attempt, met=met, referee=name, said_at=at) for name in referees]


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
