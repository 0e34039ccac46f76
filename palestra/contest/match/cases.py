"""What is played at the table: groups of cases, each with its instruction, its things and its sub-goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from palestra.errors import PalestraError
from palestra.text import Words, joined, say

CaseSet = Literal["practice", "hidden"]  # which cases of a data set


class Goal(msgspec.Struct, frozen=True):
    """A key sub-goal: what is to hold at the end, and how referees tell."""

    id: str
    text: Words
    criterion: Words = Words()


class Thing(msgspec.Struct, frozen=True):
    """An object of the numbered catalogue, the same for all teams."""

    number: int
    name: Words
    model: str = ""
    size_mm: tuple[int, ...] = ()
    material: str = ""
    colour: str = ""


class Case(msgspec.Struct, frozen=True):
    """An instruction with its scene. Teams learn the instruction when the clock starts, and not before."""

    id: str
    instruction: Words
    goals: tuple[Goal, ...]
    things: tuple[int, ...] = ()  # numbers of the catalogue that stand on the table
    layout: str = ""  # digest of the recorded reference layout

    def goal_ids(self) -> tuple[str, ...]:
        return tuple(goal.id for goal in self.goals)


class Group(msgspec.Struct, frozen=True):
    id: str
    title: Words
    cases: tuple[Case, ...]


class Sheet(msgspec.Struct, frozen=True):
    """What a challenge brings to the table: its cases, the numbered things that they use, where these stand."""

    groups: tuple[Group, ...]
    things: tuple[Thing, ...] = ()
    layouts: Mapping[str, bytes] = {}  # recorded reference layouts, by their SHA-256, which cases name

    def first(self, most: int | None = None) -> Sheet:
        """At most so many cases of each group, with what they use and nothing else."""
        groups = tuple(msgspec.structs.replace(group, cases=group.cases[:most]) for group in self.groups)
        cases = [case for _, case in cases_of(groups)]
        used = {number for case in cases for number in case.things}
        layouts = {case.layout: self.layouts[case.layout] for case in cases if case.layout in self.layouts}
        return Sheet(groups, tuple(thing for thing in self.things if thing.number in used), layouts)


class Entrant(msgspec.Struct, frozen=True):
    """A team of the match."""

    team: str
    name: str
    core: str = ""  # digest of the core code that it used online; empty: not known


def cases_of(groups: tuple[Group, ...]) -> Iterator[tuple[Group, Case]]:
    return ((group, case) for group in groups for case in group.cases)


def check_sheet(groups: tuple[Group, ...], things: tuple[Thing, ...]) -> None:
    """Every name once, every case with sub-goals, every thing in the catalogue."""
    _once(say("group"), [group.id for group in groups])
    _once(say("case"), [case.id for _, case in cases_of(groups)])
    _once(say("object number"), [str(thing.number) for thing in things])
    known = {thing.number for thing in things}
    for group in groups:
        if not group.cases:
            raise PalestraError(say("Group {id} has no cases.", id=group.id))
    for _, case in cases_of(groups):
        _once(say("sub-goal of case {case}", case=case.id), list(case.goal_ids()))
        if strange := sorted(set(case.things) - known):
            raise PalestraError(
                say(
                    "Case {id} uses objects that are not in the catalogue: {listed}.",
                    id=case.id,
                    listed=_listed(strange),
                )
            )


def _once(what: Words, names: list[str]) -> None:
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise PalestraError(
            say("Each {what} is needed once; found there twice: {names}.", what=what, names=joined(double))
        )
    if not names:
        raise PalestraError(say("Each {what} is needed once; found none.", what=what))


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
