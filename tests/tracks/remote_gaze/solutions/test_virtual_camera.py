"""Eyes as a camera sees them that looks straight at them."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, World
from palestra.tracks.remote_gaze.simulator.stage import rotations
from palestra.tracks.remote_gaze.solutions.virtual_camera import (
    EYE,
    LEFT,
    RIGHT,
    Frame,
    angles_of,
    axes_towards,
    directions_of,
    eye_picture,
    head_angles,
    warps,
)

CAMERA = Camera(640, 480, np.array([[525.0, 0, 320], [0, 525.0, 240], [0, 0, 1]]), KINECT_TO_WORLD)
STRAIGHT = np.eye(3)[None]
EYES = World(np.array([[[0.032, 0.0, 0.0], [-0.032, 0.0, 0.0]]]))  # a metre before the camera


def mapped(warp, pixel):
    x, y, w = warp @ [*pixel, 1]
    return np.array([x, y]) / w


def test_the_eyeball_s_centre_is_in_the_middle_of_its_picture():
    heads = rotations(np.radians([[25.0, -10, 8]]))
    eyes = World(np.array([[[0.11, 0.07, -0.1], [0.05, 0.06, -0.08]]]))
    warp = warps(CAMERA, axes_towards(CAMERA, heads, eyes), eyes, EYE)
    for which in (LEFT, RIGHT):
        assert mapped(warp[0, which], CAMERA.project(World(eyes[0, which]))) == pytest.approx([23.5, 15.5])


def test_a_millimetre_beside_it_takes_the_pixels_that_it_should_from_any_distance():
    for far_m in (0.6, 1.0, 1.4):
        eyes = World(np.array([[[0, 0, 1 - far_m], [0, 0, 1 - far_m]]]))
        warp = warps(CAMERA, axes_towards(CAMERA, STRAIGHT, eyes), eyes, EYE)
        beside = World(eyes[0, 0] + np.array([0.001, 0, 0]))
        assert mapped(warp[0, 0], CAMERA.project(beside)) == pytest.approx([23.5 + 1.1, 15.5])


def test_roll_is_removed_so_that_a_rolled_head_looks_as_a_straight_one():
    heads = rotations(np.radians([[0.0, 0, 30]]))
    eyes = World(EYES @ heads[0].T)
    warp = warps(CAMERA, axes_towards(CAMERA, heads, eyes), eyes, EYE)
    temple = World((EYES[0, LEFT] + np.array([0.01, 0, 0])) @ heads[0].T)
    assert mapped(warp[0, LEFT], CAMERA.project(temple))[1] == pytest.approx(15.5, abs=0.01)


def test_a_right_eye_is_mirrored_with_its_directions():
    picture = np.zeros((480, 640), np.uint8)
    frame = Frame(48, 32, 1.1)
    axes = axes_towards(CAMERA, STRAIGHT, EYES)
    warp = warps(CAMERA, axes, EYES, frame)
    for which, side in ((LEFT, 1), (RIGHT, -1)):
        temple = CAMERA.project(World(EYES[0, which] + np.array([side * 0.01, 0, 0])))
        cv2.circle(picture, tuple(np.round(temple).astype(int).tolist()), 1, 255, -1)
    for which in (LEFT, RIGHT):
        column = eye_picture(picture, warp[0, which], which, frame).max(axis=0).argmax()
        assert column == pytest.approx(23.5 + 11, abs=2), "the temple is on the right"
    outwards = angles_of(World(np.array([[[0.3, 0, 1], [-0.3, 0, 1]]])), axes)
    assert outwards[0, LEFT] == pytest.approx(outwards[0, RIGHT]) and outwards[0, 0, 0] > 0.2


def test_who_looks_into_the_camera_looks_along_no_angle():
    axes = axes_towards(CAMERA, STRAIGHT, EYES)
    towards = World(CAMERA.pose.translation - EYES)
    assert angles_of(towards, axes) == pytest.approx(np.zeros((1, 2, 2)), abs=1e-12)
    above = angles_of(World(towards + np.array([0, 0.1, 0])), axes)
    assert np.degrees(above[0, :, 1]) == pytest.approx(np.degrees(np.arctan2(0.1, np.hypot(1, 0.032))), abs=0.05)


def test_a_face_that_points_at_the_camera_has_no_angle_and_one_that_turns_has_its_own():
    middle = World(np.zeros((1, 2, 3)))
    turned = head_angles(rotations(np.radians([[20.0, 10, 0]])), axes_towards(CAMERA, STRAIGHT, middle))
    assert np.degrees(turned[0, LEFT]) == pytest.approx([20, 10])
    assert np.degrees(turned[0, RIGHT]) == pytest.approx([-20, 10])


angles = st.floats(-1.2, 1.2)


@given(st.tuples(angles, angles, angles), st.lists(angles, min_size=4, max_size=4))
def test_a_direction_goes_there_and_back(head, looks):
    axes = axes_towards(CAMERA, rotations(np.array([head]) / 2), EYES)
    given = np.array(looks).reshape(1, 2, 2)
    directions = directions_of(given, axes)
    assert np.linalg.norm(directions, axis=-1) == pytest.approx(np.ones((1, 2)))
    assert angles_of(directions, axes) == pytest.approx(given, abs=1e-9)
