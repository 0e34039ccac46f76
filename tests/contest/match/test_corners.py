"""The corners of the rules, in every preset: a retry at the last second, an abandoned case, a second restart, and the
end of the 55 minutes inside a case."""

from fractions import Fraction

import pytest

from palestra.contest.match import events as e
from palestra.contest.match.consequences import cost_of
from palestra.contest.match.rules import PRESETS, TOTAL_MS
from palestra.errors import PalestraError
from tests.contest.match.table import ANNA, BO, MINUTE, SECOND, Table, a_sheet

ALL = pytest.mark.parametrize("preset", list(PRESETS))


def begun(preset):
    """A match of the preset's own shape, in which the first team's first case runs."""
    rules = PRESETS[preset]
    table = Table(preset, a_sheet(rules.groups, rules.cases)).begun()
    return table, table.started()


def marked(table, *goals, attempt=1):
    for who in (ANNA, BO):
        for goal in goals:
            table.ask(who, e.GoalMarked, attempt=attempt, goal=goal, on=True)


@ALL
def test_a_retry_at_the_last_second_counts_the_last_attempt_and_no_time_more(preset):
    table, case = begun(preset)
    marked(table, "s1", "s2")
    started_at = table.match.turns["red"].cases[case].started_at
    table.now = started_at + PRESETS[preset].limit_ms - SECOND
    body = e.CaseRetried(match="m", team="red", case=case, why="drop")
    assert "0:01 left" in cost_of(table.match.opened, table.match.turns["red"], body, table.now).en
    table.ask(ANNA, e.CaseRetried, why="drop")
    row = table.wait(SECOND).row(case)
    assert (row.ended, row.met, row.attempts, row.time_ms) == ("time", 0, 2, PRESETS[preset].limit_ms)
    with pytest.raises(PalestraError, match="its time was up"):
        table.ask(ANNA, e.CaseRetried, case=case, why="drop")


@ALL
def test_abandoning_after_sub_goals_were_met_scores_0_and_is_charged_the_limit(preset):
    table, case = begun(preset)
    marked(table, "s1", "s2")
    body = e.CaseAbandoned(match="m", team="red", case=case)
    said = cost_of(table.match.opened, table.match.turns["red"], body, table.now)
    assert "scores 0, though 2/2 sub-goals are met" in said.en and "2/2" in said.zh
    table.wait(30 * SECOND).ask(ANNA, e.CaseAbandoned)
    row = table.row(case)
    charged = PRESETS[preset].case_ms(PRESETS[preset].cases)
    assert (row.ended, row.met, Fraction(row.charged_ms), row.state) == ("abandoned", 0, charged, "agreed")
    assert row.time_ms < 31 * SECOND


@ALL
def test_a_second_restart_is_refused_in_the_same_case_and_in_the_next(preset):
    table, case = begun(preset)
    table.ask(ANNA, e.ProgramRestarted, approved_by="bo", reason="it hangs")
    before = table.row(case)
    with pytest.raises(PalestraError, match=f"restarted in case {case} already: a team has 1 in all"):
        table.ask(ANNA, e.ProgramRestarted, approved_by="bo", reason="it hangs again")
    assert (before.attempts, table.row(case).attempts) == (1, 1)  # it is no retry
    table.ask(ANNA, e.CaseStopped)
    table.started()
    with pytest.raises(PalestraError, match="a team has 1 in all"):
        table.ask(ANNA, e.ProgramRestarted, approved_by="anna", reason="it hangs here as well")
    assert len(table.match.turns["red"].restarts) == 1


@ALL
def test_the_55_minutes_end_inside_a_case_which_is_scored_as_it_stands_and_the_rest_are_0(preset):
    rules = PRESETS[preset]
    table = Table(preset, a_sheet(rules.groups, rules.cases)).begun()
    table.wait(table.match.turns["red"].begun_at + TOTAL_MS - 5 * SECOND - table.now - 5)
    case = table.started()
    marked(table, "s2")
    row = table.wait(MINUTE).row(case)
    assert (row.ended, row.met, row.total, row.time_ms) == ("match", 1, 2, 5 * SECOND)
    others = [table.row(name) for name in table.match.turns["red"].cases if name != case]
    assert {(one.ended, one.met, Fraction(one.charged_ms)) for one in others} == {
        ("unreached", 0, rules.case_ms(rules.cases))
    }
    with pytest.raises(PalestraError, match="over after 55:00"):
        table.ask(ANNA, e.SystemConfirmed, case=others[0].case)
    table.signed(case, ("s2",))
    assert table.row(case).state == "agreed"
