"""The simulated table: the same twice, an arm that does what it is told within its limits, cameras that agree."""

import math
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.cameras import CAMERAS, calibration
from palestra.tracks.tabletop.simulator.engine import drawing_backend
from palestra.tracks.tabletop.simulator.objects import (
    COLOURS,
    Scene,
    Thing,
    footprint,
    height_of,
    on_the_table,
    overlap,
)
from palestra.tracks.tabletop.simulator.table import PERIOD_S, Table, settle

BLOCK = Thing("red_block", "block", "red", (0.04,), (0.05, 0.1), 0.3)
BOWL = Thing("blue_bowl", "bowl", "blue", (0.08, 0.05), (0.1, -0.2))
SCENE = settle(Scene((BLOCK, BOWL), arm.HOME))


@pytest.fixture
def table():
    with Table(SCENE) as table:
        yield table


def some_actions(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.array(arm.HOME + (1.0,)) + np.cumsum(rng.normal(0, 0.05, (count, 8)), axis=0)


def test_the_same_scene_and_actions_twice_give_the_same_bytes(table):
    other = Table(SCENE)
    for action in some_actions(40):
        table.step(action)
        other.step(action)
    assert table.state() == other.state()


def test_after_a_reset_a_run_is_the_same_again(table):
    actions = some_actions(40)
    states = []
    for _ in range(2):
        for action in actions:
            table.step(action)
        states.append(table.state())
        table.reset()
    assert states[0] == states[1]


def test_judging_does_not_change_a_run(table):
    other = Table(SCENE)
    for action in some_actions(30):
        table.step(action)
        other.step(action)
        other.facts()
    assert table.state() == other.state()


def test_another_action_gives_another_state(table):
    before = table.state()
    table.step(table.target + 0.01)
    assert table.state() != before


def test_a_settled_table_stays_still(table):
    before = table.data.qpos.copy()
    for _ in range(20):
        table.step(table.target)
    assert np.abs(table.data.qpos - before).max() < 1e-3


def test_the_arm_of_the_physics_is_the_arm_of_the_equations(table):
    for action in some_actions(30):
        table.step(action)
    assert np.allclose(arm.forward(table.data.qpos[:7]), table.hand_pose(), atol=1e-6)


def test_the_jacobian_is_the_slope_of_the_hands_pose():
    joints, small = np.array(arm.HOME) + 0.1, 1e-6
    slope = arm._jacobian(*arm._chain(joints))
    for i in range(arm.JOINTS):
        moved = joints + small * np.eye(arm.JOINTS)[i]
        turn = arm.turn_between(arm.forward(moved)[:3, :3], arm.forward(joints)[:3, :3]) / small
        move = (arm.forward(moved) - arm.forward(joints))[:3, 3] / small
        assert np.allclose(slope[:, i], [*move, *turn], atol=1e-4)


@settings(max_examples=40, deadline=None)
@given(away=st.floats(0.3, 0.68), side=st.floats(-0.9, 0.9), z=st.floats(0.02, 0.25), yaw=st.floats(-1.5, 1.5))
def test_every_place_of_the_workspace_is_within_reach(away, side, z, yaw):
    place = np.array([arm.BASE[0] + away * math.cos(side), arm.BASE[1] + away * math.sin(side), z])
    found = arm.reach(arm.pointing_down(place, side + math.pi + yaw), np.array(arm.HOME))
    assert found.good
    assert (found.joints >= arm.LOW).all() and (found.joints <= arm.HIGH).all()
    assert np.allclose(arm.forward(found.joints)[:3, 3], place, atol=1e-3)


def test_a_place_out_of_reach_is_said_to_be():
    assert not arm.reach(arm.pointing_down(np.array([1.2, 0.0, 0.1]), 0.0), np.array(arm.HOME)).good


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_a_turn_is_found_again(vector):
    vector = np.array(vector)
    if np.linalg.norm(vector) < 3.1:
        assert np.allclose(arm.turn_between(arm.turn_by(vector), np.eye(3)), vector, atol=1e-6)


def test_a_half_turn_is_found_although_it_has_no_sine():
    found = arm.turn_between(arm.turn_by(np.array([0, math.pi, 0])), np.eye(3))
    assert np.allclose(np.abs(found), [0, math.pi, 0], atol=1e-6)


def test_the_arm_moves_no_faster_than_it_can(table):
    before = table.target
    table.step([1e5] * 8)
    assert np.abs(table.target - before)[:7].max() <= arm.SPEED * PERIOD_S + 1e-12
    for _ in range(100):
        table.step([1e5] * 8)
    assert (table.target[:7] <= arm.HIGH).all() and table.target[7] == 1.0


@pytest.mark.parametrize(
    ("action", "words"),
    [([0.0] * 6, "shape"), ([[0.0] * 8], "shape"), ([math.nan] + [0.0] * 7, "NaN"), ([0.0] * 6 + [math.inf], "NaN")],
)
def test_an_action_that_is_none_is_refused_and_changes_nothing(table, action, words):
    before = table.state()
    with pytest.raises(ValueError, match=words):
        table.step(action)
    assert table.state() == before


def test_an_action_of_the_hand_moves_the_hand(table):
    start = table.hand_pose()
    for _ in range(20):
        table.step([0.005, 0.0, -0.005, 0.0, 0.0, 0.02, 1.0])
    for _ in range(10):
        table.step([0.0] * 6 + [1.0])
    moved = table.hand_pose()
    assert np.allclose(moved[:3, 3] - start[:3, 3], [0.1, 0.0, -0.1], atol=5e-3)
    assert np.allclose(arm.turn_between(moved[:3, :3], start[:3, :3]), [0, 0, 0.4], atol=0.02)


def test_the_gripper_opens_and_closes(table):
    shut = [*arm.HOME, 0.0]
    for _ in range(15):
        table.step(shut)
    assert table.gripper() < 0.05
    for _ in range(15):
        table.step([*arm.HOME, 1.0])
    assert table.gripper() > 0.95


def test_an_observation_has_the_body_and_the_cameras_and_nothing_of_success(table):
    seen = table.observe(size=64)
    pictures = {f"{what}_{name}" for name in CAMERAS for what in ("rgb", "depth", "pose")}
    assert set(seen) == {"joints", "hand_pose", "gripper", "step"} | pictures
    for name in CAMERAS:
        assert seen[f"rgb_{name}"].shape == (64, 64, 3) and seen[f"rgb_{name}"].dtype == np.uint8
        assert seen[f"depth_{name}"].shape == (64, 64) and seen[f"depth_{name}"].dtype == np.float32


@pytest.mark.parametrize("name", ["top", "side"])
def test_pixel_depth_and_calibration_lead_to_where_the_block_is(table, name):
    seen, told = table.observe((name,), size=256), calibration(256)[name]
    top = np.array([*BLOCK.position, height_of(BLOCK), 1.0])
    camera = np.linalg.inv(np.array(told["pose"])) @ top
    u, v, w = np.array(told["intrinsics"]) @ camera[:3]
    column, row = int(u / w), int(v / w)
    assert seen[f"depth_{name}"][row, column] == pytest.approx(camera[2], abs=0.004)
    pixel = seen[f"rgb_{name}"][row, column] / 255
    assert pixel.argmax() == 0 and pixel[0] > 2 * pixel[1]


def test_the_wrist_camera_goes_with_the_hand(table):
    for action in some_actions(20):
        table.step(action)
    seen, told = table.observe(("wrist",), size=32), calibration(32)["wrist"]
    assert np.allclose(seen["pose_wrist"], seen["hand_pose"] @ np.array(told["pose"]), atol=1e-6)
    found, turn = table.data.camera("wrist").xpos, table.data.camera("wrist").xmat.reshape(3, 3)
    assert np.allclose(seen["pose_wrist"][:3, 3], found, atol=1e-5)
    assert np.allclose(seen["pose_wrist"][:3, :3], turn * [1, -1, -1], atol=1e-5)


def test_the_same_state_gives_the_same_picture(table):
    assert np.array_equal(table.picture("side", 64), table.picture("side", 64))


def test_closed_eyes_open_again_when_they_are_needed(table):
    before = table.picture("top", 64)
    table.close()
    assert np.array_equal(table.picture("top", 64), before)


@pytest.mark.parametrize(
    ("found", "gpu", "chosen"),
    [
        ({"EGL", "OSMesa"}, True, "egl"),
        ({"EGL", "OSMesa"}, False, "osmesa"),
        ({"EGL"}, False, "egl"),
        (set(), True, ""),
    ],
)
def test_the_way_to_draw_is_chosen_by_what_is_there(found, gpu, chosen):
    assert drawing_backend(found, gpu) == chosen


def test_whoever_cannot_draw_is_told_what_to_install_and_can_still_step():
    code = (
        "from palestra.tracks.tabletop.simulator.table import Table; "
        "from palestra.tracks.tabletop.simulator.objects import Scene; "
        "from palestra.tracks.tabletop.simulator.arm import HOME; "
        "table = Table(Scene((), HOME)); table.step(table.target); "
        "table.picture('top', 32)"
    )
    environment = {**os.environ, "MUJOCO_GL": "off"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 1 and "apt-get install libosmesa6" in run.stderr.splitlines()[-1]


def test_things_overlap_when_they_do():
    near = replace(BLOCK, id="near", position=(0.05, 0.13))
    far = replace(BLOCK, id="far", position=(0.05, 0.17))
    assert overlap(BLOCK, near) and overlap(near, BLOCK)
    assert not overlap(BLOCK, far) and overlap(BLOCK, far, gap=0.05)


@settings(max_examples=60, deadline=None)
@given(x=st.floats(-0.2, 0.2), y=st.floats(-0.2, 0.2), yaw=st.floats(-3, 3))
def test_round_things_overlap_by_their_distance(x, y, yaw):
    first = Thing("a", "can", "red", (0.02, 0.05), (0.0, 0.0))
    second = Thing("b", "can", "red", (0.03, 0.05), (x, y), yaw)
    away = math.hypot(x, y)
    if abs(away - 0.05) > 0.002:  # the outlines have corners
        assert overlap(first, second) == (away < 0.05)


def test_a_thing_over_the_edge_is_not_on_the_table():
    assert on_the_table(BLOCK)
    assert not on_the_table(replace(BLOCK, position=(0.49, 0.0)))


def test_a_drawer_covers_the_ground_that_it_opens_to():
    drawer = Thing("d", "drawer", "red", (0.0,), (0.25, 0.0))
    assert footprint(drawer)[:, 0].min() < 0.25 - 0.095 - 0.12
    assert len(COLOURS) == 9
