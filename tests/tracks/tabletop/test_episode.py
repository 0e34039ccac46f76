"""A case on the table as a world: what is shown, what is heard, what is left."""

import msgspec
import numpy as np
import pytest

from palestra.tracks.tabletop.episode import LARGEST, MOST_ACTIONS, TableWorld, heard, read, written
from palestra.tracks.tabletop.simulator.case_generator import draw_case


@pytest.fixture(scope="module")
def case():
    return draw_case(0, True, "pick", 1)


@pytest.fixture
def world(case):
    made = TableWorld(case, 3, size=32)
    yield made
    made.close()


def test_what_is_shown_has_all_that_programs_expect_and_nothing_that_tells_success(world, case):
    seen, about = world.look()
    names = {
        "joints",
        "hand_pose",
        "gripper",
        *(f"{what}_{camera}" for what in ("rgb", "depth", "pose") for camera in ("top", "side", "wrist")),
    }
    assert set(seen) == names
    assert seen["rgb_top"].shape == (32, 32, 3) and seen["depth_top"].shape == (32, 32)
    assert about == {"case": 3, "step": 0, "instruction": case.said("en"), "instruction_zh": case.said("zh")}


def test_without_an_action_the_arm_stays_where_it_is(world):
    before = world.table.hand_pose()
    world.move(None)
    assert world.table.steps == 1
    assert np.allclose(world.table.hand_pose(), before, atol=2e-3)


def test_what_is_left_judges_as_the_table_itself_does(world, case):
    left = msgspec.json.decode(msgspec.json.encode(world.end()))
    facts, again = world.table.facts(), read(left, case)
    assert again.still == facts.still and again.touching == facts.touching
    for name, pose in facts.poses.items():
        assert np.allclose(again.poses[name], pose, atol=1e-5)
    assert [goal.holds(again) for goal in case.goals] == [goal.holds(facts) for goal in case.goals]


def test_what_is_left_is_short_enough_to_be_recorded_whole():
    from palestra.live.recording import as_recorded

    for number in range(1, 4):
        world = TableWorld(draw_case(number, True, "long", number), 1)
        left = written(world.table.facts())
        world.close()
        assert as_recorded(left) == left


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ([0.0] * 8, 1),
        ([[0.0] * 7] * 3, 3),
        ({"actions": np.zeros((2, 8)), "done": True}, 2),
        ({"done": True}, 0),
        ([], 0),
    ],
    ids=["one", "some", "array", "only-done", "nothing"],
)
def test_actions_are_heard_in_the_ways_that_programs_say_them(answer, rows):
    wish = heard(answer)
    assert len(wish.actions) == rows
    assert wish.done == (isinstance(answer, dict) and answer.get("done") is True)


@pytest.mark.parametrize(
    "answer",
    [
        "left",
        None,
        [[1, 2]],
        [float("nan")] * 8,
        [2 * LARGEST] * 8,
        [[0.0] * 8] * (MOST_ACTIONS + 1),
        [[[0.0] * 8]],
        {"actions": "x"},
        [[1], [1, 2]],
    ],
    ids=["text", "none", "short", "nan", "huge", "many", "deep", "map", "ragged"],
)
def test_what_is_no_action_is_refused_in_words(answer):
    with pytest.raises(ValueError, match="answered"):
        heard(answer)
