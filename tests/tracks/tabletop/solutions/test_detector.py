"""From colour and depth to things: where they are, what they are, and what the shapes' measures tell."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.tracks.tabletop.simulator.arm import HOME
from palestra.tracks.tabletop.simulator.case_generator import draw_case, draw_cases
from palestra.tracks.tabletop.simulator.objects import COLOURS, DRAWER_TRAVEL, KINDS, Scene, Thing, rotation
from palestra.tracks.tabletop.simulator.table import Table, settle
from palestra.tracks.tabletop.solutions import detector as sight
from palestra.tracks.tabletop.solutions.simple_policies import Hover

GRID = np.stack(np.meshgrid(np.arange(-40, 40), np.arange(-40, 40)), axis=-1).reshape(-1, 2) * 0.001


def square(yaw, half=0.0205):
    """Points of a grid within a turned square."""
    return GRID[(np.abs(GRID @ rotation(yaw)) <= half).all(axis=1)]


def disc(radius=0.02):
    return GRID[np.hypot(*GRID.T) <= radius]


def things_in(table):
    """Every thing in sight, as its shape tells."""
    seen = sight.patches(table.observe(["top"]))
    found = sight.drawers(seen)
    shapes = [sight.fit(patch, sight.kind_of(patch)) for patch in sight.loose(seen, found)]
    return [sight.Sighted(drawer) for drawer in found] + shapes


def look(*things):
    with Table(settle(Scene(things, HOME))) as table:
        return things_in(table)


@pytest.fixture(scope="module")
def laid():
    """Hidden cases with what is truly on the table, and what is seen of it."""
    found = []
    for case in draw_cases("small", 3, hidden=True):
        with Table(case.scene) as table:
            found.append((case.scene.things, things_in(table)))
    return found


def test_every_thing_is_seen_with_its_kind_and_colour(laid):
    for things, seen in laid:
        assert sorted(each.thing.id for each in seen) == sorted(f"{thing.colour}_{thing.kind}" for thing in things)


def test_places_are_within_two_millimetres_and_sizes_within_five(laid):
    for things, seen in laid:
        for thing in things:
            found = next(each.thing for each in seen if each.thing.id == f"{thing.colour}_{thing.kind}")
            assert math.dist(found.position, thing.position) < 0.002
            assert np.abs(np.subtract(found.size, thing.size)).max() < 0.005


def test_the_turn_of_blocks_bricks_and_sockets_is_seen():
    things = (
        Thing("a", "block", "red", (0.042,), (0.0, 0.2), 0.4),
        Thing("b", "brick", "blue", (0.07, 0.036, 0.036), (0.1, -0.2), -0.6),
        Thing("c", "socket", "green", (0.025, 0.04), (0.1, 0.0), 0.3),
    )
    turns = {each.thing.kind: each.thing.yaw for each in look(*things)}
    assert turns["block"] == pytest.approx(0.4, abs=0.08)
    assert turns["brick"] == pytest.approx(-0.6, abs=0.05)
    assert turns["socket"] == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("opening", [0.0, 0.05, DRAWER_TRAVEL])
def test_a_drawer_is_seen_by_its_cabinet_and_how_far_it_is_open_by_its_handle(opening):
    (seen,) = look(Thing("d", "drawer", "pink", (opening,), (0.24, 0.2), 0.17))
    assert seen.thing.kind == "drawer"
    assert seen.thing.size[0] == pytest.approx(opening, abs=0.003)
    assert seen.thing.position == pytest.approx((0.24, 0.2), abs=0.002)
    assert seen.thing.yaw == pytest.approx(0.17, abs=0.02)


def test_something_in_an_open_drawer_is_told_from_the_drawer():
    drawer = Thing("d", "drawer", "pink", (DRAWER_TRAVEL,), (0.25, 0.15), 0.1)
    out = np.array([0.25, 0.15]) - 0.15 * np.array([math.cos(0.1), math.sin(0.1)])
    block = Thing("b", "block", "blue", (0.04,), (round(out[0], 3), round(out[1], 3)))
    kinds = {each.thing.kind for each in look(drawer, block)}
    assert kinds == {"drawer", "block"}


def test_an_empty_table_with_the_arm_at_home_shows_nothing():
    assert look() == []


@given(st.sampled_from(sorted(COLOURS)), st.floats(0.25, 1.0))
def test_a_colour_is_the_same_in_light_and_shade(colour, light):
    rgb = np.round(255 * light * np.array(COLOURS[colour])).astype(np.uint8)
    assert list(COLOURS)[int(sight.label(rgb[None, None])[0, 0])] == colour


@given(st.floats(-0.7, 0.7))
def test_a_square_is_told_from_a_disc_and_its_turn_is_found(yaw):
    assert sight.squareness(square(yaw)) > 2 * sight.squareness(disc())
    assert sight.square_yaw(square(yaw)) == pytest.approx(yaw, abs=0.04)
    assert sight.elongation(square(yaw)) < 0.05


@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.floats(0.02, 0.1), st.floats(1.0, 2 * math.pi))
def test_a_circle_is_found_from_a_part_of_it(x, y, radius, part):
    turn = np.linspace(0, part, 40)
    points = np.array([x, y]) + radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    middle, found = sight.circle(points)
    assert middle == pytest.approx([x, y], abs=1e-6)
    assert found == pytest.approx(radius, abs=1e-6)


def test_the_cases_looked_at_show_most_kinds(laid):
    assert len({thing.kind for things, _ in laid for thing in things}) >= len(KINDS) - 2


def test_the_wrist_camera_tells_how_far_something_in_the_hand_reaches():
    case = draw_case(4, True, "insert", 1)
    peg = case.goals[0].any_of[0][0].of[0]
    thing = next(each for each in case.scene.things if each.id == peg)
    policy = Hover()
    policy.reset({"instruction": case.instruction["en"][0]})
    with Table(case.scene) as table:
        assert sight.reach_in_hand(table.observe(["wrist"]), thing.colour) is None
        while not (table.gripper() < 0.5 and table.hand_pose()[2, 3] > 0.2):
            for action in policy.act(table.observe())["actions"]:
                table.step(action)
        for _ in range(3):
            table.step(table.target)
        slipped = (np.linalg.inv(table.hand_pose()) @ table.pose_of(peg))[0, 3]
        reach = sight.reach_in_hand(table.observe(["wrist"]), thing.colour)
    assert reach == pytest.approx(slipped + thing.size[0], abs=0.001)
