"""A rehearsal of any track: what its simulator saw becomes the events of a match, on paper and in a contest's log."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from palestra.contest.contest import Contest
from palestra.contest.log import events as ev
from palestra.contest.match import events as e
from palestra.contest.match.cases import Entrant
from palestra.contest.match.event_kinds import Who
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.rules import PRESETS
from palestra.contest.match.simulated_referees import SimulatedCase, SimulatedGoal
from palestra.contest.rehearsal import Attempt, Logged, Paper, Player, Rehearsal
from palestra.contest.rules.model import encode
from palestra.contest.storage.database import open_database
from palestra.contest.storage.file_store import Files
from tests.contest.match.table import HEAD, THINGS, a_sheet
from tests.contest.story import a_phase, some_rules
from tests.databases import Made

RULES = PRESETS["seed"]
SEATS = ("rolf", "rita")


def opened(**more: Any) -> e.MatchOpened:
    """One group of two cases, each with two sub-goals; t1 has a program, t2 has not."""
    teams = (Entrant("t1", "Red"), Entrant("t2", "Blue"))
    return e.MatchOpened(
        match="m1", phase="onsite", rules=RULES, groups=a_sheet(1, 2), teams=teams,
        head="head", things=THINGS, rehearsal=True, **more,
    )  # fmt: skip


def player(name: str) -> Player:
    nobody: Any = None  # whoever plays it here needs neither line nor clock
    entry: Any = SimpleNamespace(name=name, what=f"{name}.zip")
    return Player(entry, nobody, nobody)


class Simulator:
    """The first sub-goal comes to hold after 2 s; the second does after 3 s, and no longer at the end."""

    def __init__(self) -> None:
        self.attempts: list[Attempt] = []

    def __call__(self, attempt: Attempt) -> SimulatedCase:
        self.attempts.append(attempt)
        for goal, holds in (("s1", True), ("s2", True), ("s2", False)):
            attempt.saw(goal, holds)
        goals = {"s1": SimulatedGoal(True, 2.0), "s2": SimulatedGoal(False, 3.0)}
        return SimulatedCase(attempt.case, goals, 4.0)


def settled() -> Paper:
    paper = Paper(opened())
    for name in SEATS:
        paper.ask(Who(name, "referee"), e.RefereeDeclared(match="m1"))
    paper.ask(HEAD, e.RefereeDeclared(match="m1"))
    paper.ask(HEAD, e.GroupsDrawn(match="m1", seed="dice"))
    return paper


def test_every_case_of_a_team_with_a_program_is_played_once_in_its_order() -> None:
    paper, simulator, told = settled(), Simulator(), list[str]()
    Rehearsal(paper, {"t1": player("Red")}, simulator, told.append).play()
    assert [(one.case, one.number) for one in simulator.attempts] == [("g1c1", 1), ("g1c2", 2)]
    assert simulator.attempts[0].budget_s == RULES.limit_ms / 1000, "a group's time"
    assert simulator.attempts[1].budget_s == RULES.limit_ms / 1000 - 4, "what the first case left of it"
    assert told == ["Red, g1c1: 1 of 2 in 4.0 s", "Red, g1c2: 1 of 2 in 4.0 s"]
    assert paper.match.turns["t2"].begun_at is None


def test_on_paper_marks_are_the_simulators_times_and_signed() -> None:
    paper = settled()
    Rehearsal(paper, {"t1": player("Red")}, Simulator()).play()
    case = paper.match.turns["t1"].cases["g1c1"]
    assert set(case.marks) == set(SEATS)
    for marks in case.marks.values():
        held = marks[1]
        assert [(held[goal].on, held[goal].first_at - (case.started_at or 0)) for goal in ("s1", "s2")] == [
            (True, 2000),
            (False, 3000),
        ]
    row = outcomes_of(paper.match, "t1", paper.now)[0]
    assert (row.state, row.ended, row.met, row.total, row.time_ms) == ("agreed", "stopped", 1, 2, 4000)


@pytest.fixture
def contest(blank: Made) -> Iterator[Contest]:
    found = Contest(open_database(blank.address), Files.open(str(blank.folder / "files")), Clock())
    rules = some_rules(a_phase("onsite"))
    found.act("system", lambda state, now: [ev.ContestOpened(encode(rules), "tests"), opened()])
    for name in ("head", *SEATS):
        found.act(name, lambda state, now: [e.RefereeDeclared(match="m1")])
    found.act("olga", lambda state, now: [e.GroupsDrawn(match="m1", orders=dict.fromkeys(("t1", "t2"), ("g1",)))])
    yield found
    found.engine.dispose()


class Clock:
    def __init__(self) -> None:
        self.at = 1_792_000_000_000

    def __call__(self) -> int:
        self.at += 50
        return self.at


def test_in_the_log_marks_stand_when_they_were_seen_and_people_sign(contest: Contest) -> None:
    Rehearsal(Logged(contest, "m1"), {"t1": player("Red")}, Simulator()).play()
    match = contest.state.match("m1")
    marks = match.turns["t1"].cases["g1c1"].marks
    assert set(marks) == set(SEATS)
    assert all((found[1]["s1"].on, found[1]["s2"].on) == (True, False) for found in marks.values())
    assert not match.turn_logs["t1"].strays
    assert {row.state for row in outcomes_of(match, "t1", contest.now())} == {"unscored"}


def test_in_the_log_the_simulator_signs_where_that_is_wanted(contest: Contest) -> None:
    Rehearsal(Logged(contest, "m1", agreed=True), {"t1": player("Red")}, Simulator()).play()
    rows = outcomes_of(contest.state.match("m1"), "t1", contest.now())
    assert [(row.met, row.state) for row in rows] == [(1, "agreed"), (1, "agreed")]
