"""The scripted policy solves the cases, which proves that they can be solved; other programs do not by chance."""

from fractions import Fraction

import numpy as np
import pytest

from palestra.tracks.tabletop.simulator.case_generator import GROUPS, Case, draw_case, draw_cases
from palestra.tracks.tabletop.simulator.goals import Progress
from palestra.tracks.tabletop.simulator.table import Table
from palestra.tracks.tabletop.solutions.motions import Arm, choose_grasp
from palestra.tracks.tabletop.solutions.scripted_policy import Scripted

LONGEST = 20 * 120  # control periods: two minutes


def played(case: Case) -> tuple[Progress, Table]:
    table, policy, progress = Table(case.scene), Scripted(), Progress(case.goals)
    policy.reset(case, table)
    while not policy.done and table.steps < LONGEST:
        table.step(policy.act())
    progress.note(table.facts(), table.time_s)
    return progress, table


@pytest.mark.parametrize("group", GROUPS)
def test_a_case_of_each_group_is_solved_in_full(group):
    progress, table = played(draw_case(2, True, group, 1))
    assert progress.share == 1
    assert table.steps < LONGEST


def test_drawers_and_sockets_are_worked(group="long"):
    for number in (4, 5):
        assert played(draw_case(2, False, group, number))[0].share == 1


def test_the_same_case_is_played_the_same_way_twice():
    case = draw_case(2, True, "insert", 1)
    assert played(case)[1].state() == played(case)[1].state()


@pytest.mark.slow
def test_hidden_cases_can_be_solved():
    met, count = 0, 0
    for seed in (1, 2):
        for case in draw_cases("paper", seed, hidden=True):
            progress, _ = played(case)
            met, count = met + sum(progress.holding.values()), count + len(case.goals)
    assert Fraction(met, count) >= Fraction(95, 100)


def test_holding_a_thing_over_its_goal_earns_nothing():
    case = draw_case(2, True, "pick", 1)
    table, progress = Table(case.scene), Progress(case.goals)
    hand = Arm(table.target)
    name, goal = case.goals[0].any_of[0][0].of
    thing = next(each for each in case.scene.things if each.id == name)
    above = table.pose_of(goal)[:3, 3] + np.array([0, 0, 0.08])
    for motion in (
        hand.take(choose_grasp(thing, table.pose_of(name), [])),
        hand.go_above(above, hand.nearest_yaw(above, 0.0)),
        hand.line(above, hand.nearest_yaw(above, 0.0)),
        hand.wait(20),
    ):
        for action in motion:
            table.step(action)
            progress.note(table.facts(), table.time_s)
    assert table.pose_of(name)[2, 3] > 0.02  # it does hold it there
    assert progress.share == 0 and set(progress.first_true_s.values()) == {None}
