"""The frames of a recording, with numbers worked by hand: Eq. 1 to 4, projection, points on a screen and rays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.metrics.transforms import (
    KINECT_TO_WORLD,
    Camera,
    Display,
    Head,
    Image,
    Pose,
    Screen,
    Sight,
    World,
)

# A quarter turn about z: x becomes y, y becomes −x.
QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
numbers = st.floats(-2, 2, allow_subnormal=False)


def rotation(x: float, y: float, z: float) -> np.ndarray:
    """A turn about the axis (x, y, z) by its length (Rodrigues)."""
    angle = float(np.linalg.norm([x, y, z]))
    if angle == 0:
        return np.eye(3)
    a, b, c = np.array([x, y, z]) / angle
    skew = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def display(rotation_hat: np.ndarray | None = None) -> Display:
    turn = np.eye(3) if rotation_hat is None else rotation_hat
    return Display.calibrated(turn, np.array([0.1, 0.2, 0.3]), np.array([0.0004, 0.0005]))


def test_eq_1_puts_the_world_a_metre_before_the_kinect_and_turns_two_axes():
    # R_W = diag(1, −1, −1), t_W = (0, 0, 1): (0.1, 0.2, 0.8) → (0.1, −0.2, −0.8 + 1) = (0.1, −0.2, 0.2)
    assert np.allclose(KINECT_TO_WORLD(Sight(np.array([0.1, 0.2, 0.8]))), [0.1, -0.2, 0.2], atol=1e-15)
    # The camera itself stands at (0, 0, 1) in the world, and what is a metre before it is the origin.
    assert np.array_equal(KINECT_TO_WORLD(Sight(np.zeros(3))), [0, 0, 1])
    assert np.array_equal(KINECT_TO_WORLD(Sight(np.array([0.0, 0.0, 1.0]))), [0, 0, 0])


def test_eq_2_and_3_lead_from_the_world_to_pixels():
    # R̂ = I, t̂ = (0.1, 0.2, 0.3): the screen's pixel (0, 0) is at (0.1, 0.2, 0.3) before the Kinect,
    # in the world (0.1, −0.2, 0.7). R_s = R̂ᵀR_Wᵀ = diag(1, −1, −1);
    # t_s = −R̂ᵀt̂ − R̂ᵀR_Wᵀt_W = −(0.1, 0.2, 0.3) − (0, 0, −1) = (−0.1, −0.2, 0.7).
    shown = display()
    assert np.allclose(shown.pose.rotation, np.diag([1, -1, -1]), atol=1e-15)
    assert np.allclose(shown.pose.translation, [-0.1, -0.2, 0.7], atol=1e-15)
    # k = 1/k̂ = (2500, 2000) pixels a metre. The point 0.2 m to the right and 0.1 m below the corner is (500, 200).
    assert np.allclose(shown.pixels_per_metre, [2500, 2000])
    assert np.allclose(shown.point_of(Screen(np.array([500.0, 200.0]))), [0.3, -0.3, 0.7], atol=1e-12)


def test_eq_3_turns_the_other_way_round_than_the_file():
    # R̂ a quarter turn: the screen's x is the camera's y (down), its y the camera's −x (left).
    # Pixel (500, 200) is (0.2, 0.1, 0) on the screen, before the Kinect t̂ + (−0.1, 0.2, 0) = (0, 0.4, 0.3),
    # in the world (0, −0.4, 0.7).
    shown = display(QUARTER)
    assert np.allclose(shown.point_of(Screen(np.array([500.0, 200.0]))), [0.0, -0.4, 0.7], atol=1e-12)


def test_eq_4_carries_the_eyes_with_the_head():
    # A quarter turn and a shift of (1, 2, 3): (0.03, 0.02, 0.1) → (−0.02, 0.03, 0.1) + (1, 2, 3)
    eyes = Head(np.array([[0.03, 0.02, 0.1], [-0.03, 0.02, 0.1]]))
    found = Pose(QUARTER, np.array([1.0, 2.0, 3.0]))(eyes)
    assert np.allclose(found, [[0.98, 2.03, 3.1], [0.98, 1.97, 3.1]], atol=1e-15)


def test_a_camera_sees_where_the_pinhole_says():
    # K·Rᵀ(p − T): p = (0.1, 0.05, 0.5), T = (0, 0, 1): before the camera (0.1, −0.05, 0.5);
    # u = 500·0.2 + 320 = 420, v = 400·(−0.1) + 240 = 200
    camera = Camera(640, 480, np.array([[500.0, 0, 320], [0, 400, 240], [0, 0, 1]]), KINECT_TO_WORLD)
    assert np.allclose(camera.project(World(np.array([0.1, 0.05, 0.5]))), [420, 200], atol=1e-9)
    assert np.isnan(camera.project(World(np.array([0.0, 0.0, 1.5])))).all()  # behind it
    assert np.isnan(camera.project(World(np.array([0.1, 0.0, 1.0])))).all()  # in its plane


def test_a_pixel_and_its_depth_are_the_point_again():
    camera = Camera(640, 480, np.array([[500.0, 0, 320], [0, 400, 240], [0, 0, 1]]), KINECT_TO_WORLD)
    found = camera.lift(Image(np.array([420.0, 200.0])), np.array(0.5))
    assert np.allclose(found, [0.1, 0.05, 0.5], atol=1e-12)


@given(numbers, numbers, numbers, st.lists(numbers, min_size=3, max_size=3))
def test_there_and_back_is_where_one_was(x, y, z, point):
    pose: Pose[Sight, World] = Pose(rotation(x, y, z), np.array([x, y, z]))
    assert np.allclose(pose.back()(pose(Sight(np.array(point)))), point, atol=1e-12)
    assert np.allclose(pose.then(pose.back())(Sight(np.array(point))), point, atol=1e-12)
    assert np.allclose(pose.back().turn(pose.turn(Sight(np.array(point)))), point, atol=1e-12)


@given(st.floats(0, 1340), st.floats(0, 740), numbers, numbers, st.floats(0.2, 1.5))
def test_a_ray_to_a_point_of_the_screen_meets_it_there(sx, sy, x, y, before_m):
    """From pixels to a point, to a ray from any eye, and back to the same pixels, however long the ray is."""
    shown = display(rotation(0.1, -0.2, 0.05))
    target = shown.point_of(Screen(np.array([sx, sy])))
    eye = shown.pose.back()(np.array([x, y, before_m]))
    for length in (1e-3, 1.0, 1e3):
        met = shown.hit_by(World(eye), World(length * (np.asarray(target) - eye)))
        assert np.allclose(met, [sx, sy], atol=1e-6)
    away = shown.hit_by(World(eye), World(eye - np.asarray(target)))
    assert np.isnan(away).all()


def test_a_ray_along_the_screen_never_meets_it():
    assert np.isnan(display().hit_by(World(np.zeros(3)), World(np.array([1.0, 0.0, 0.0])))).all()


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3)])
def test_points_come_in_any_number(shape):
    points = np.random.default_rng(0).normal(0, 0.1, shape)
    assert KINECT_TO_WORLD(Sight(points)).shape == shape
    assert display().point_of(Screen(points[..., :2])).shape == shape
