"""What may be done now, and what it costs: what is offered is taken, what is not offered is refused in words."""

import typing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.match import events as e
from palestra.contest.match.available_actions import options
from palestra.contest.match.consequences import LABELS
from palestra.contest.match.event_kinds import KINDS
from palestra.contest.match.state_machine import decide
from palestra.errors import PalestraError
from tests.contest.match.table import ANNA, BLUE, BO, CHEN, HEAD, ORGANISER, RED, SECOND, Table
from tests.contest.match.test_random import PRESET, SEEDS, Player

EVERYONE = (ANNA, BO, CHEN, HEAD, ORGANISER, RED, BLUE)
STEPS = (
    *(e.SceneChecked, e.SystemConfirmed, e.InstructionEntered, e.SignalGiven, e.CaseStarted, e.CaseStopped),
    *(e.CaseRetried, e.ProgramRestarted, e.CaseAbandoned, e.TurnClosed, e.ClockHeld, e.ClockReleased, e.TurnBegun),
)


def offered(table, who):
    return {option.kind: option for option in options(table.match, who, table.now, "red")}


def test_every_kind_of_event_has_a_step_a_name_and_people_who_may_do_it():
    kinds = set(typing.get_args(e.MatchBody))
    assert set(KINDS) | {e.MatchOpened, e.EventUndone} == kinds
    assert set(LABELS) | {e.MatchOpened} == kinds
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags) and all(tag.count(".") == 1 for tag in tags)


@given(PRESET, SEEDS, st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_what_is_offered_is_taken_and_says_what_it_costs(preset, seed, steps):
    table = Player(preset, seed).play(steps).table
    for who in EVERYONE:
        for option in options(table.match, who, table.now, "red"):
            assert decide(table.match, who, option.wish, table.now), option
            assert option.label.en and option.label.zh and option.cost.en and option.cost.zh


@given(PRESET, SEEDS, st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_every_step_in_every_state_is_offered_or_refused_in_words(preset, seed, steps):
    table = Player(preset, seed).play(steps).table
    fields = {
        e.InstructionEntered: {"text": "Do 1.1"}, e.CaseRetried: {"why": "drop"}, e.ClockHeld: {"reason": "safety"},
        e.ProgramRestarted: {"approved_by": "anna", "reason": "it hangs"}, e.TurnBegun: {"referees": ("anna", "bo")},
        e.SceneChecked: {"things": (1, 2), "layout": "?", "photo": "p"},
    }  # fmt: skip
    possible = offered(table, HEAD)
    for kind in STEPS:
        if kind.__struct_config__.tag in possible:
            continue
        for case in ("g1c1", "g2c2", "nowhere"):
            about = {"case": case} if "case" in kind.__struct_fields__ else {}
            if kind is e.CaseStopped and table.match.turns["red"].cases.get(case):
                continue  # a second stop is a witness: it is taken, and changes nothing
            with pytest.raises(PalestraError) as caught:
                decide(table.match, HEAD, table.body_of(kind, **about, **fields.get(kind, {})), table.now)
            assert "Possible now: " in str(caught.value) and "现在可以：" in caught.value.in_language("zh")


def test_the_cost_is_said_before_anybody_confirms():
    table = Table("literal").begun()
    table.started()
    for who in (ANNA, BO):
        table.ask(who, e.GoalMarked, attempt=1, goal="s1", on=True)
    table.wait(90 * SECOND)
    found = offered(table, ANNA)
    assert found["case.retried"].cost.en == (
        "Retry 1 of 2. The clock runs on through the reset, 8:29 left. "
        "The last attempt counts: 1/2 met now are lost unless they are met again."
    )
    assert "scores 0, though 1/2 sub-goals are met, and adds 10:00" in found["case.abandoned"].cost.en
    assert "It is not a retry" in found["program.restarted"].cost.en
    assert (
        found["case.abandoned"].cost.zh
        == "该用例计 0 分（即使已达成 1/2 个子目标），总用时计入 10:00。随后进入下一用例。"
    )
    assert found["match.undone"].label.en == "undo: mark a sub-goal"


def test_an_abandoned_case_of_a_group_adds_its_share_of_the_groups_time():
    table = Table("seed").begun()
    table.started()
    assert "adds 5:00" in offered(table, ANNA)["case.abandoned"].cost.en


def test_nobody_is_offered_what_is_for_others():
    table = Table("literal").begun()
    table.prepared()
    assert "case.started" in offered(table, ANNA)
    assert "case.started" not in offered(table, RED)
    assert offered(table, RED).keys() <= {"system.confirmed", "signal.given", "appeal.made", "match.undone"}
    assert "results.published" not in offered(table, ANNA)


def test_a_team_is_told_no_instruction_before_the_clock():
    table = Table("literal").begun()
    table.prepared()
    assert all("Do " not in str(option) for option in options(table.match, RED, table.now))
