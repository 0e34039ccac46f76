"""A rehearsal: programs play a match's cases in a track's simulator, and its events are those of a match.

On paper, in virtual time, a whole match takes minutes and is written down nowhere. At a match of the contest that was
opened as a rehearsal, it goes by the wall's clock into the contest's log, and referees' pages and the hall's screen
show it as they will show the match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from palestra.contest.contest import Contest
from palestra.contest.match import (
    SIMULATOR,
    Match,
    MatchBody,
    MatchOpened,
    SimulatedCase,
    Who,
    apply,
    at_time,
    current,
    decide,
    is_over,
    marks_of,
    opened,
    preparation,
)
from palestra.contest.match import Entry as Event
from palestra.contest.match import events as e
from palestra.entrants import Entry
from palestra.live import Clock, Line


@dataclass(frozen=True)
class Player:
    """A team's program, as it is spoken to."""

    entry: Entry
    line: Line
    clock: Clock


@dataclass(frozen=True)
class Attempt:
    """One attempt at a case, for a track's simulator to play."""

    case: str
    number: int  # of the case in the team's turn, from 1
    budget_s: float  # its time in the match
    player: Player
    saw: Callable[[str, bool], None]  # told of a sub-goal when it comes to hold (True), and when it no longer does


class Table(Protocol):
    """Where a rehearsal is played."""

    agreed: bool  # whether referees' signatures are the simulator's, too

    @property
    def match(self) -> Match: ...

    @property
    def now(self) -> int: ...

    def ask(self, who: Who, body: MatchBody) -> None: ...

    def pass_until(self, at: int) -> None: ...


class Paper:
    """A match that nobody logs, with a clock that is moved by hand."""

    agreed = True

    def __init__(self, body: MatchOpened) -> None:
        self.now = 0
        self.match = opened(body, self.now)

    def ask(self, who: Who, body: MatchBody) -> None:
        self.now += 1
        for one in decide(self.match, who, body, self.now):
            apply(self.match, Event(self.match.seq + 1, self.now, who.account, one))

    def pass_until(self, at: int) -> None:
        self.now = max(self.now, at)


@dataclass
class Logged:
    """A match of a contest, by the wall's clock. What people have to settle, they settle before."""

    contest: Contest
    name: str
    agreed: bool = False

    @property
    def match(self) -> Match:
        return self.contest.state.match(self.name)

    @property
    def now(self) -> int:
        return self.contest.now()

    def ask(self, who: Who, body: MatchBody) -> None:
        self.contest.act(who.account, lambda state, now: decide(state.match(self.name), who, body, now))

    def pass_until(self, at: int) -> None:
        """It has passed."""


# A whole match


@dataclass
class Rehearsal:
    """Programs at a table, team by team."""

    table: Table
    players: Mapping[str, Player]  # by team
    simulate: Callable[[Attempt], SimulatedCase]  # of the track that is played
    told: Callable[[str], None] = field(default=lambda text: None)

    def play(self) -> None:
        match = self.table.match
        for team in match.setup.order or list(match.turns):
            if team in self.players and match.turns[team].begun_at is None:
                self._turn(team)

    def _turn(self, team: str) -> None:
        ids: dict[str, Any] = {"match": self.table.match.opened.match, "team": team}
        image = self.players[team].entry.what
        if not self.table.match.turns[team].frozen:
            self.table.ask(SIMULATOR, e.ImageTaken(**ids, image=image, name=self.players[team].entry.name))
            self.table.ask(SIMULATOR, e.ImageFrozen(**ids, image=image))
        self.table.ask(SIMULATOR, e.TurnBegun(**ids, referees=self._referees(team)))
        while case := self._next(team):
            found = self._case(team, case)
            met = sum(goal.met for goal in found.goals.values())
            self.told(f"{self.table.match.name_of(team)}, {case}: {met} of {len(found.goals)} in {found.seconds:.1f} s")

    def _referees(self, team: str) -> tuple[str, ...]:
        """Of those who may, as many as there must be."""
        match = self.table.match
        neutral = [name for name, conflicts in match.setup.declared.items() if team not in conflicts]
        return tuple([name for name in neutral if name != match.opened.head][: match.opened.rules.referees])

    def _next(self, team: str) -> str:
        turn = at_time(self.table.match, team, self.table.now)
        found = (
            None if is_over(self.table.match.opened, turn, self.table.now) else current(self.table.match.opened, turn)
        )
        return found.id if found else ""

    def _case(self, team: str, name: str) -> SimulatedCase:
        for body in preparation(self.table.match, team, name):
            self.table.ask(SIMULATOR, body)
        turn = self.table.match.turn(team)
        started_at, budget_s = turn.cases[name].started_at or self.table.now, turn.cases[name].budget_ms / 1000
        said: dict[str, bool] = {}

        def saw(goal: str, holds: bool) -> None:
            """Told at once where it is shown at once; on paper all of it is written down at the end."""
            if isinstance(self.table, Logged):
                said[goal] = holds
                self._mark(team, name, goal, holds)

        number = list(turn.cases).index(name) + 1
        found = self.simulate(Attempt(name, number, budget_s, self.players[team], saw))
        self.table.pass_until(started_at + round(found.seconds * 1000) + 1)
        for body in marks_of(self.table.match, team, found, 1, started_at, self.table.agreed):
            if not (isinstance(body, e.GoalMarked) and _was_said(body, said)):
                self.table.ask(SIMULATOR, body)
        return found

    def _mark(self, team: str, case: str, goal: str, on: bool) -> None:
        match = self.table.match
        for referee in match.turn(team).referees():
            body = e.GoalMarked(
                match=match.opened.match, team=team, case=case, attempt=1, goal=goal, on=on, referee=referee
            )
            self.table.ask(SIMULATOR, body)


def _was_said(mark: e.GoalMarked, said: Mapping[str, bool]) -> bool:
    """That a sub-goal came to hold, or that it does not in the end."""
    return mark.goal in said and (mark.on or not said[mark.goal])
