"""Irises, eyeballs, and where a face says that the eyes are."""

from functools import cache

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.metrics.transforms import Head, Pose, World
from palestra.tracks.remote_gaze.simulator.eyes import optical_axis
from palestra.tracks.remote_gaze.simulator.head import Look, Renderer
from palestra.tracks.remote_gaze.simulator.person import draw_person
from palestra.tracks.remote_gaze.simulator.room import draw_room
from palestra.tracks.remote_gaze.simulator.shape import surface_of
from palestra.tracks.remote_gaze.simulator.stage import cameras, rotations
from palestra.tracks.remote_gaze.solutions.eye_pair import Pair, angles_of, directions_of
from palestra.tracks.remote_gaze.solutions.eyeball_fit import (
    SPREAD,
    Eyeball,
    Sight,
    fit_eyeball,
    head_in_picture,
    looks,
)
from palestra.tracks.remote_gaze.solutions.hog import edges
from palestra.tracks.remote_gaze.solutions.iris import IRIS, find_irises
from palestra.tracks.remote_gaze.solutions.kernel_regression import fit_kernel
from palestra.tracks.remote_gaze.solutions.robust_regression import fit_linear, trust_in
from palestra.tracks.remote_gaze.solutions.stabilise import steadied, strip, strip_warps
from palestra.tracks.remote_gaze.solutions.virtual_camera import LEFT, RIGHT, axes_towards, warps
from tests.tracks.remote_gaze.irises import iris_centre_m, irises_of

SEAT = World(np.array([0.0, 0.0, 0.15]))
DOTS = [(0.0, 0.05), (0.2, 0.1), (-0.2, 0.15), (0.1, 0.3), (-0.15, 0.02)]  # what is looked at, metres from the camera


@cache
def scene():
    """A person before a camera."""
    rng = np.random.default_rng(41)
    person, camera = draw_person(False, rng), cameras(rng)["rgb_vga"]
    return person, camera, Renderer(person, surface_of(person), draw_room("A", rng, rng), camera, SEAT)


def looking_at(dot, turn_deg=(0.0, 6.0, 0.0), opening=1.0):
    person, _, _ = scene()
    head = Pose(rotations(np.radians(np.array(turn_deg))), SEAT)
    eyes = head(Head(person.eyes_mm / 1000))
    gaze = World(np.array([dot[0], dot[1], 1.0]) - eyes)
    return Look(head, World(gaze / np.linalg.norm(gaze, axis=1, keepdims=True)), opening), eyes


def seen(look, eyes):
    _, camera, renderer = scene()
    picture = renderer.picture(look, np.random.default_rng(3))
    axes = axes_towards(camera, look.head.rotation[None], World(eyes[None]))
    return picture, axes, warps(camera, axes, World(eyes[None]), IRIS)[0]


@pytest.mark.parametrize("dot", DOTS)
def test_irises_are_found_within_a_part_of_the_camera_s_pixel(dot):
    person, camera, _ = scene()
    look, eyes = looking_at(dot)
    picture, _, warp = seen(look, eyes)
    found = find_irises(picture, warp)
    for which, mirror in ((LEFT, 1), (RIGHT, -1)):
        axis = optical_axis(person, which, look.head.rotation.T @ look.gaze[which])
        pixel = camera.project(look.head(Head(iris_centre_m(person, which, axis))))
        x, y, w = warp[which] @ [*pixel, 1]
        true_mm = (np.array([x, y]) / w - IRIS.middle) / IRIS.pixels_per_mm * [mirror, -1]
        native_px = camera.intrinsics[0, 0] / (1000 * np.linalg.norm(eyes[which] - camera.pose.translation))
        off_px = np.abs(found[which, :2] - true_mm) * native_px
        assert off_px[0] < 0.4 and off_px[1] < 0.8  # lids hide the top of an iris
        assert found[which, 2] > 10


def test_an_iris_stands_out_less_the_further_the_eye_is_shut():
    shares = [find_irises(*seen(*looking_at(DOTS[0], opening=opening))[::2])[:, 2].mean() for opening in (1, 0.5, 0.0)]
    assert shares[0] > shares[1] > shares[2] and shares[2] < 0.4 * shares[0]


BALL = Eyeball(0.4, -0.3, 0.2, 10.1, 0.07, 0.01, 0.93)


def sight(rng, count=120):
    heads = rotations(np.radians(rng.normal(0, 20, (count, 3))))
    return Sight(np.zeros((count, 2)), rng.uniform(800, 1200, count), heads)


def test_an_eyeball_s_irises_lead_back_to_where_it_looks():
    rng = np.random.default_rng(0)
    about, angles = sight(rng), rng.uniform(-0.4, 0.4, (120, 2))
    irises = irises_of(about, BALL, angles)
    assert looks(Sight(irises, about.far_mm, about.heads), BALL) == pytest.approx(angles, abs=1e-9)


def test_calibration_recovers_an_eyeball_that_was_seen_without_noise():
    rng = np.random.default_rng(1)
    about, angles = sight(rng), rng.uniform(-0.5, 0.5, (120, 2))
    known = Sight(irises_of(about, BALL, angles), about.far_mm, about.heads)
    # Turned heads tell a shifted eyeball from a slanted axis; what is usual pulls a little all the same.
    fitted = fit_eyeball(known, angles)
    off_deg = np.degrees(np.abs(looks(known, fitted) - angles))
    assert off_deg.mean() < 0.15 and off_deg.max() < 0.6
    strange = np.abs(fitted.numbers() - BALL.numbers()) / SPREAD.numbers()
    assert (strange < 0.5).all(), "half of what people differ by"


def test_calibration_is_not_led_astray_by_some_blinks():
    rng = np.random.default_rng(2)
    about, angles = sight(rng), rng.uniform(-0.5, 0.5, (120, 2))
    irises = irises_of(about, BALL, angles)
    irises[::8] = rng.uniform(-6, 6, (15, 2))
    known = Sight(irises, about.far_mm, about.heads)
    good = np.arange(120) % 8 != 0
    off = np.degrees(looks(known, fit_eyeball(known, angles)) - angles)[good]
    assert np.abs(off).mean() < 0.5


def test_a_right_eye_s_head_is_mirrored():
    axes = np.broadcast_to(np.diag([1.0, -1.0, -1.0]), (1, 2, 3, 3))  # a camera that looks along -z
    turned = rotations(np.radians([[20.0, 0, 0]]))
    left, right = (head_in_picture(turned, axes, which)[0] @ [0, 0, 1] for which in (LEFT, RIGHT))
    assert left == pytest.approx([np.sin(np.radians(20)), 0, np.cos(np.radians(20))])
    assert right == pytest.approx(left * [-1, 1, 1])


def test_a_face_shows_how_far_its_tracker_is_off():
    _, camera, renderer = scene()
    rng = np.random.default_rng(5)
    heads, true, given, strips = [], [], [], []
    for turn in rng.normal(0, 2, (24, 3)):
        look, eyes = looking_at(rng.uniform(-0.2, 0.2, 2) + [0, 0.15], turn + [0, 6, 0])
        wrong = World(eyes + np.append(rng.normal(0, 0.001, 2), 0))
        warp = strip_warps(camera, look.head.rotation[None], World(wrong[None]))[0]
        grey = cv2.cvtColor(renderer.picture(look, rng), cv2.COLOR_RGB2GRAY)
        strips.append(strip(grey, warp))
        heads.append(look.head.rotation)
        true.append(eyes)
        given.append(wrong)
    found = steadied(camera, np.array(heads), World(np.array(given)), np.array(strips))
    before, after = (1000 * (places - np.array(true))[..., :2] for places in (np.array(given), found))
    assert before.std(axis=0).mean() > 0.8 and after.std(axis=0).mean() < 0.35


def test_one_frame_alone_cannot_be_steadied():
    _, camera, _ = scene()
    eyes = World(np.array([[[0.03, 0, 0], [-0.03, 0, 0]]]))
    assert steadied(camera, np.eye(3)[None], eyes, np.zeros((1, 52, 112), np.float32)) is eyes


def test_eyes_that_agree_stay_and_an_eye_that_is_shut_follows_the_other():
    straight = directions_of(np.tile([[[0.03, 0.1], [-0.03, 0.1]]], (9, 1, 1)))
    pair = Pair.of(straight)
    assert pair.joined(straight) == pytest.approx(straight)
    one_off = directions_of(np.array([[[0.23, 0.2], [0.9, -0.7]]]))
    joined = angles_of(pair.joined(one_off, np.array([[1.0, 0.0]])))
    assert joined[0].mean(axis=0) == pytest.approx([0.23 - np.diff(joined[0, ::-1, 0])[0] / 2, 0.2], abs=0.1)
    nothing = angles_of(pair.joined(one_off, np.zeros((1, 2))))
    assert nothing[0].mean(axis=0) == pytest.approx([0.0, 0.1])


def test_edges_do_not_change_with_the_light_and_do_with_the_gaze():
    eye = np.full((1, 32, 48), 200, np.uint8)
    cv2.circle(eye[0], (24, 16), 6, 60, -1)
    moved = np.roll(eye, 2, axis=2)
    darker = (eye * 0.6).astype(np.uint8)
    near, far = (float(np.linalg.norm(edges(other) - edges(eye))) for other in (darker, moved))
    assert near < 0.05 and far > 0.2
    assert edges(eye[:0]).shape == (0, edges(eye).shape[1])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.floats(-3, 3), st.floats(-3, 3))
def test_a_line_is_found_though_some_rows_lie(seed, slope, constant):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (80, 1))
    y = slope * x + constant + rng.normal(0, 0.01, (80, 1))
    y[::10] += 20
    fitted = fit_linear(x, y, 1e-3)
    assert fitted(np.array([[0.0], [1.0]])).ravel() == pytest.approx([constant, slope + constant], abs=0.1)


def test_trust_falls_with_the_error():
    trust = trust_in(np.array([[0.1], [0.1], [0.1], [3.0]]))
    assert trust[0] > 0.7 and trust[3] < 0.01


def test_a_kernel_learns_what_is_not_straight_and_tells_the_usual_far_away():
    x = np.linspace(-2, 2, 60)[:, None]
    fitted = fit_kernel(x, np.sin(2 * x))
    assert fitted(np.array([[0.5], [-1.0]])).ravel() == pytest.approx(np.sin([1.0, -2.0]), abs=0.15)
    assert fitted(np.array([[90.0]])) == pytest.approx(fitted.usual[None], abs=1e-6)
