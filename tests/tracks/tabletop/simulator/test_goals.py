"""Sub-goals hold when released, at rest and carried, and in no other case."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.tracks.tabletop.criteria import CRITERIA, always, general
from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.goals import (
    RULES,
    TABLE,
    Condition,
    Facts,
    Progress,
    SubGoal,
)
from palestra.tracks.tabletop.simulator.objects import DRAWER_TRAVEL, Scene, Thing
from palestra.tracks.tabletop.simulator.table import Table, settle
from palestra.tracks.tabletop.solutions.motions import Arm, choose_grasp
from tests.web.text.chinese import CHINESE

FLAT = (1.0, 0.0, 0.0, 0.0)
THINGS = (
    Thing("block", "block", "red", (0.04,), (0.0, 0.1)),
    Thing("other", "block", "green", (0.04,), (0.0, -0.05)),
    Thing("small", "can", "blue", (0.017, 0.05), (-0.1, 0.0)),
    Thing("bowl", "bowl", "blue", (0.08, 0.05), (0.12, -0.2)),
    Thing("cup", "cup", "green", (0.034, 0.08), (-0.05, -0.25)),
    Thing("tray", "tray", "orange", (0.18, 0.18), (0.1, 0.28)),
    Thing("peg", "peg", "purple", (0.024, 0.085), (0.15, 0.0)),
    Thing("socket", "socket", "pink", (0.024, 0.04), (0.25, 0.1)),
    Thing("drawer", "drawer", "yellow", (0.0,), (0.36, -0.3)),
)
SCENE = settle(Scene(THINGS, arm.HOME))


def table_with(**poses: tuple[float, ...]) -> Table:
    """The table with some things at other places: x, y and z of the bottom."""
    moved = {name: (*place, *FLAT) if len(place) == 3 else place for name, place in poses.items()}
    return Table(replace(SCENE, settled={**SCENE.settled, **moved}))


def rested(table: Table, periods: int = 30) -> Facts:
    for _ in range(periods):
        table.step(table.target)
    return table.facts()


def holds(facts: Facts, rule: str, *of: str) -> bool:
    return Condition(rule, of).holds(facts)


def play(table: Table, motion) -> None:
    for action in motion:
        table.step(action)


def test_what_stands_on_something_is_on_it():
    facts = rested(table_with(block=(0.1, 0.28, 0.006)))
    assert holds(facts, "on", "block", "tray")
    assert not holds(facts, "on", "other", "tray")


def test_what_hovers_over_something_is_not_on_it():
    facts = table_with(block=(0.1, 0.28, 0.006)).facts()
    assert ("block", "tray") not in facts.touching
    assert not holds(facts, "on", "block", "tray")


def test_what_falls_through_the_right_place_does_not_count_before_it_rests():
    table, seen = table_with(block=(0.1, 0.28, 0.10)), []
    for _ in range(30):
        table.step(table.target)
        facts = table.facts()
        seen.append((holds(facts, "on", "block", "tray"), "block" in facts.still))
    assert seen[-1] == (True, True)
    assert all(still for met, still in seen if met)


def test_what_is_held_does_not_count_until_it_is_let_go():
    table = table_with(block=(0.1, 0.28, 0.004))
    hand = Arm(table.target)
    place = np.array([0.1, 0.28, 0.022])
    yaw = hand.nearest_yaw(place, 0.0)
    play(table, hand.go_above(place, yaw))
    play(table, hand.line(place, yaw))
    assert holds(rested(table, 8), "on", "block", "tray")
    play(table, hand.grip(0.0, 20))
    assert not holds(rested(table, 8), "on", "block", "tray")
    play(table, hand.grip(1.0, 20))
    assert holds(rested(table, 8), "on", "block", "tray")


def test_what_lies_in_a_held_cup_is_not_in_it():
    table = table_with(small=(-0.05, -0.25, 0.01))
    assert holds(rested(table), "inside", "small", "cup")
    hand = Arm(table.target)
    cup = next(thing for thing in THINGS if thing.id == "cup")
    play(table, hand.take(choose_grasp(cup, table.pose_of("cup"), [])))
    facts = rested(table, 10)
    assert table.pose_of("cup")[2, 3] > 0.1 and ("small", "cup") in facts.touching  # it came along
    assert not holds(facts, "inside", "small", "cup")


def test_what_leans_against_something_is_not_on_it():
    tilted = (np.cos(0.5), 0.0, np.sin(0.5), 0.0)
    facts = rested(table_with(peg=(-0.066, -0.05, 0.004, *tilted)), 60)
    assert not holds(facts, "on", "peg", "other")


def test_inside_is_in_the_vessel_and_not_beneath_or_beside_it():
    assert holds(rested(table_with(block=(0.12, -0.2, 0.02))), "inside", "block", "bowl")
    assert not holds(rested(table_with()), "inside", "block", "bowl")


def test_things_on_others_in_a_vessel_are_inside_it():
    facts = rested(table_with(other=(0.12, -0.2, 0.008), small=(0.12, -0.2, 0.049)))
    assert not holds(facts, "inside", "small", "bowl")  # its middle is above the rim
    facts = rested(table_with(small=(-0.05, -0.25, 0.007)))
    assert holds(facts, "inside", "small", "cup")


def test_a_stack_counts_from_the_lowest_up():
    facts = rested(table_with(block=(0.0, -0.05, 0.041), small=(0.0, -0.05, 0.082)))
    assert holds(facts, "stacked", "other", "block", "small")
    assert not holds(facts, "stacked", "block", "other", "small")
    assert not holds(facts, "on", "small", "other")


def test_a_peg_is_inserted_when_it_stands_deep_in_the_hole():
    assert holds(rested(table_with(peg=(0.25, 0.1, 0.008))), "inserted", "peg", "socket")
    facts = rested(table_with(peg=(0.25, 0.115, 0.041)))  # on the rim
    assert not holds(facts, "inserted", "peg", "socket")


def test_a_drawer_is_closed_or_open():
    facts = rested(table_with())
    assert holds(facts, "closed", "drawer") and not holds(facts, "opened", "drawer")
    wide = tuple(replace(thing, size=(DRAWER_TRAVEL,)) if thing.id == "drawer" else thing for thing in THINGS)
    facts = rested(Table(replace(SCENE, things=wide)))
    assert holds(facts, "opened", "drawer") and not holds(facts, "closed", "drawer")


def test_what_fell_off_the_table_meets_nothing():
    facts = rested(table_with(block=(0.0, 1.0, -0.5)), 60)
    assert facts.poses["block"][2, 3] < -0.5
    assert not holds(facts, "upright", "block")
    assert not holds(facts, "apart", "block", "other")


def facts_of(places: dict[str, tuple[float, float]], **changed) -> Facts:
    """Blocks on the table, made up without physics."""
    things = {name: Thing(name, "block", "red", (0.04,), place) for name, place in places.items()}
    poses = {}
    for name, (x, y) in places.items():
        poses[name] = np.eye(4)
        poses[name][:2, 3] = x, y
    made = Facts(
        things=things,
        poses=poses,
        touching=frozenset((TABLE, name) for name in things) | frozenset((name, TABLE) for name in things),
        lift_n={(TABLE, name): 0.3 for name in things},
        weight_n=dict.fromkeys(things, 0.3),
        still=frozenset(things),
        opening_m={},
    )
    return replace(made, **changed)


PLACES = st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))


@settings(max_examples=200)
@given(PLACES, PLACES)
def test_left_and_right_and_front_and_back_mirror_each_other(first, second):
    facts = facts_of({"a": first, "b": second})
    assert holds(facts, "left_of", "a", "b") == holds(facts, "right_of", "b", "a")
    assert holds(facts, "behind", "a", "b") == holds(facts, "in_front_of", "b", "a")
    assert not (holds(facts, "left_of", "a", "b") and holds(facts, "right_of", "a", "b"))


def test_left_is_where_the_arm_has_its_left():
    assert holds(facts_of({"a": (0.0, 0.15), "b": (0.0, 0.0)}), "left_of", "a", "b")
    assert not holds(facts_of({"a": (0.0, 0.30), "b": (0.0, 0.0)}), "left_of", "a", "b")  # too far
    assert not holds(facts_of({"a": (0.1, 0.15), "b": (0.0, 0.0)}), "left_of", "a", "b")  # out of line


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if len(rule.kinds) == 2])
def test_nothing_holds_of_what_moves_or_is_touched_by_the_arm(rule):
    facts = facts_of({"a": (0.0, 0.15), "b": (0.0, 0.0)})
    held = replace(facts, touching=facts.touching | {("arm", "a"), ("a", "arm")})
    for changed in (replace(facts, still=frozenset({"b"})), held):
        assert not any(
            holds(changed, name, "a", "b")
            for name in ("left_of", "right_of", "apart", "on", rule)
            if name != "inserted"
        )


def met(rule: str, *of: str) -> tuple[Condition, ...]:
    return (Condition(rule, of),)


def test_any_of_several_ways_will_do_and_each_way_needs_all_of_it():
    facts = facts_of({"a": (0.0, 0.22), "b": (0.0, 0.0)})
    assert SubGoal("g", "", "", (met("right_of", "a", "b"), met("left_of", "a", "b"))).holds(facts)
    assert not SubGoal("g", "", "", (met("right_of", "a", "b") + met("left_of", "a", "b"),)).holds(facts)


def test_the_end_counts_and_the_first_time_is_kept():
    progress = Progress(
        [SubGoal("g1", "", "", (met("left_of", "a", "b"),)), SubGoal("g2", "", "", (met("apart", "a", "b"),))]
    )
    progress.note(facts_of({"a": (0.0, 0.1), "b": (0.0, 0.0)}), 1.0)
    assert progress.share == Fraction(1, 2) and progress.first_true_s == {"g1": 1.0, "g2": None}
    progress.note(facts_of({"a": (0.3, 0.0), "b": (0.0, 0.0)}), 2.0)
    assert progress.holding == {"g1": False, "g2": True}
    assert progress.first_true_s == {"g1": 1.0, "g2": 2.0}


def test_shares_are_exact():
    goals = [SubGoal(f"g{i}", "", "", (met("left_of" if i < 2 else "right_of", "a", "b"),)) for i in range(3)]
    progress = Progress(goals)
    progress.note(facts_of({"a": (0.0, 0.1), "b": (0.0, 0.0)}), 0.0)
    assert progress.share == Fraction(2, 3) and isinstance(progress.share, Fraction)


def test_every_rule_says_its_criterion_in_both_languages():
    assert CRITERIA.keys() == RULES.keys()
    texts = [always(), *map(general, RULES)]
    assert all(CHINESE.search(text.zh) and not CHINESE.search(text.en) for text in texts)
    assert general("on").en == "A lies on B, which carries at least half of its weight."
    assert general("stacked").zh == "自下而上逐个叠放，下面的承受上面的重量：A、B、C。"
