"""Policies to compare with: doing nothing and hovering earn nothing, and chance stays within the arm's limits."""

import numpy as np
import pytest

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.case_generator import draw_case, draw_cases
from palestra.tracks.tabletop.simulator.table import Table
from palestra.tracks.tabletop.solutions.simple_policies import DoNothing, Hover, Random
from tests.tracks.tabletop.solutions.test_camera_policy import play

CASES = draw_cases("tiny", 0, hidden=True)
OBSERVED = {"joints": np.array(arm.HOME), "gripper": np.array([0.3])}


def test_doing_nothing_is_done_at_once_and_moves_nothing():
    policy = DoNothing()
    policy.reset({})
    answer = policy.act(OBSERVED)
    assert answer["done"]
    assert answer["actions"].tolist() == [[*arm.HOME, 0.3]]
    assert [play(case, DoNothing())[0] for case in CASES] == [0] * len(CASES)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_hovering_holds_something_and_earns_nothing(number):
    share, time_s, gripper = play(CASES[number], Hover())
    assert share == 0
    assert 0.2 < gripper < 0.95  # closed on something
    assert time_s > 5


def test_hovering_brings_the_thing_to_its_goal():
    """Else earning nothing would say nothing."""
    case = draw_case(0, True, "pick", 1)
    (thing, tray), policy = case.goals[0].any_of[0][0].of, Hover()
    policy.reset({"instruction": case.instruction["en"][0]})
    with Table(case.scene) as table:
        done = False
        while not done:
            answer = policy.act(table.observe())
            done = answer["done"]
            for action in answer["actions"]:
                table.step(action)
        away = table.pose_of(thing)[:3, 3] - table.pose_of(tray)[:3, 3]
        held = not table.facts().released(thing)
    assert held
    assert np.hypot(*away[:2]) < 0.01
    assert 0 < away[2] < 0.02


def test_hovering_without_a_wish_ends():
    policy = Hover()
    policy.reset({"instruction": "Dance."})
    with Table(CASES[0].scene) as table:
        assert [policy.act(table.observe())["done"] for _ in range(2)] == [False, True]


def test_chance_is_the_same_each_time_and_within_limits():
    runs = []
    for _ in range(2):
        policy = Random(7)
        policy.reset({})
        runs.append([policy.act(OBSERVED) for _ in range(50)])
    for first, second in zip(*runs, strict=True):
        assert (first["actions"] == second["actions"]).all()
        assert (first["actions"] >= [*arm.LOW, 0]).all()
        assert (first["actions"] <= [*arm.HIGH, 1]).all()
        assert not first["done"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nothing_and_hovering_earn_exactly_nothing_on_all_hidden_cases(seed):
    for case in draw_cases("paper", seed, hidden=True):
        assert play(case, DoNothing())[0] == 0
        assert play(case, Hover())[0] == 0
