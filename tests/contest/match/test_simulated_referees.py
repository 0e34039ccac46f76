"""A match in which the simulator plays: its marks are the same events as those of referees."""

import pytest

from palestra.contest.match import events as e
from palestra.contest.match.reducer import at_time
from palestra.contest.match.simulated_referees import SIMULATOR, SimulatedCase, SimulatedGoal, marks_of, preparation
from palestra.contest.match.turn import current
from palestra.errors import Forbidden
from tests.contest.match.table import ANNA, BO, Table


def rehearsed(found, agreed=True, **more):
    """A table at which the simulator played the first case, and that case."""
    table = Table("literal", rehearsal=True, **more).begun()
    case = current(table.match.opened, at_time(table.match, "red", table.now)).id
    for body in preparation(table.match, "red", case):
        table.wait(1).send(SIMULATOR, body)
    started_at = table.now
    seen = SimulatedCase(case, *found)
    table.wait(700_000)
    for body in marks_of(table.match, "red", seen, 1, started_at, agreed=agreed):
        table.send(SIMULATOR, body)
    return table, case, started_at


def test_what_the_simulator_saw_is_marked_for_both_referees_when_it_saw_it():
    goals = {"s1": SimulatedGoal(True, 3.25), "s2": SimulatedGoal(False, 5.0)}
    table, case, started_at = rehearsed((goals, 12.5))
    state = table.match.turns["red"].cases[case]
    for referee in ("anna", "bo"):
        assert state.marks[referee][1]["s1"].first_at == started_at + 3_250
        assert not state.marks[referee][1]["s2"].on and state.marks[referee][1]["s2"].first_at == started_at + 5_000
    row = table.row(case)
    assert (row.met, row.total, row.time_ms, row.state, row.ended) == (1, 2, 12_500, "agreed", "stopped")
    assert {entry.by for entry in table.log if isinstance(entry.body, e.GoalMarked)} == {"simulator"}


def test_referees_can_sign_for_themselves_in_a_rehearsal():
    table, case, _ = rehearsed(({"s1": SimulatedGoal(True, 1.0), "s2": SimulatedGoal(False)}, 4.0), agreed=False)
    assert (table.row(case).state, table.row(case).met) == ("unscored", 1)
    for who in (ANNA, BO):
        table.ask(who, e.MarksSigned, case=case, attempt=1, met=("s1",))
    assert table.row(case).state == "agreed"


def test_a_program_that_gave_up_has_abandoned_the_case():
    table, case, _ = rehearsed(({"s1": SimulatedGoal(True, 1.0)}, 4.0, True))
    assert (table.row(case).ended, table.row(case).met) == ("abandoned", 0)


def test_a_run_up_to_the_limit_is_a_time_out():
    goals = {"s1": SimulatedGoal(True, 1.0), "s2": SimulatedGoal(False)}
    table, case, _ = rehearsed((goals, 600.0))
    row = table.row(case)
    assert (row.ended, row.met, row.time_ms, row.state) == ("time", 1, 600_000, "agreed")


def test_the_simulator_plays_in_rehearsals_alone():
    table = Table("literal").begun()
    with pytest.raises(Forbidden, match="rehearsals"):
        table.send(SIMULATOR, preparation(table.match, "red", table.case)[0])
