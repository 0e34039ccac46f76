"""Gaze from pupil and reflections: within a degree after a person was fitted, also where the headset has slipped."""

import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.eyes.simulator import optics
from palestra.eyes.simulator.renderer import Renderer
from palestra.studio.gaze.cornea import find_cornea, mirrored_px
from palestra.studio.gaze.model import Eye, Seen, angles_deg, apart_deg, fit_eye, gaze_of, turned
from palestra.studio.gaze.rig import read_rig
from tests.studio.gaze import drawn

TRIED = 25


@pytest.fixture(scope="module")
def person():
    return drawn.people(1)[0]


@pytest.fixture(scope="module")
def known(person):
    """What is seen at nine known points, and where those are."""
    renderer = Renderer(person, drawn.camera(0))
    gazes = [drawn.direction(*angles) for angles in drawn.KNOWN_DEG]
    seen = [drawn.seen_in(drawn.picture(renderer, person, gaze, i), i) for i, gaze in enumerate(gazes)]
    return seen, drawn.FAR_MM * np.array(gazes)


def errors(person, camera, eye):
    """How far off the gaze is in pictures by a camera; all must have one."""
    renderer, rig, rng = Renderer(person, camera), drawn.rig_of(camera), np.random.default_rng(5)
    off = []
    for i, (yaw, pitch) in enumerate(rng.uniform([-15, -12], [15, 12], (TRIED, 2))):
        gaze = drawn.direction(yaw, pitch)
        found = gaze_of(drawn.seen_in(drawn.picture(renderer, person, gaze, i), i), rig, eye)
        assert found is not None
        off.append(apart_deg(found.direction, gaze))
    return np.array(off)


def test_reflections_lie_where_another_implementation_has_them(person):
    camera = drawn.camera(0)
    ball, rig = optics.ball_of(person), drawn.rig_of(camera)
    centre = np.array([0.5, -0.3, 5.6])
    theirs = camera.project(
        optics.mirror_points(centre[None], np.array([[ball.cornea_mm]]), camera.position_mm, camera.leds_mm)
    )
    np.testing.assert_allclose(mirrored_px(centre, ball.cornea_mm, rig), theirs, atol=0.01)


def test_the_cornea_is_found_whichever_light_each_reflection_is_of(person):
    rig, truth = drawn.rig_of(drawn.camera(0)), np.array([0.5, -0.3, 5.6])
    rng = np.random.default_rng(1)
    for _ in range(10):
        glints = mirrored_px(truth, 7.8, rig) + rng.normal(0, 0.2, (len(rig.lights_mm), 2))
        some = rng.permutation(glints)[:4]
        false = rng.uniform([250, 150], [390, 250], (2, 2))
        found = find_cornea(np.concatenate([false, some]), rig.project(truth), rig, 7.8)
        assert found is not None and np.linalg.norm(found.centre_mm - truth) < 1.0
        assert set(found.glints.tolist()) >= {2, 3, 4, 5}


def test_one_reflection_is_not_enough(person):
    rig = drawn.rig_of(drawn.camera(0))
    assert find_cornea(np.array([[320.0, 200.0]]), np.array([320.0, 200.0]), rig, 7.8) is None
    assert gaze_of(Seen((320.0, 200.0), []), rig, Eye()) is None


def test_gaze_is_within_a_degree_once_a_person_is_known(person, known):
    fitted = fit_eye(*known, drawn.rig_of(drawn.camera(0)))
    off = errors(person, drawn.camera(0), fitted.eye)
    assert np.median(off) < 0.6 and np.percentile(off, 95) < 1.5
    assert fitted.used == 9 and np.median(fitted.off_deg) < 0.6


def test_a_headset_that_slipped_does_little_harm(person, known):
    """The rig moves with the headset; the directions are then the moved headset's."""
    fitted = fit_eye(*known, drawn.rig_of(drawn.camera(0)))
    assert np.median(errors(person, drawn.slipped(drawn.camera(0), 0), fitted.eye)) < 1.0


def test_a_blink_among_the_known_points_does_no_harm(person, known):
    seen, targets = list(known[0]), known[1]
    seen[4] = Seen((seen[4].pupil_px[0] + 60, seen[4].pupil_px[1] + 25), seen[4].glints_px)
    fitted = fit_eye(seen, targets, drawn.rig_of(drawn.camera(0)))
    assert np.median(errors(person, drawn.camera(0), fitted.eye)) < 0.8


def test_a_fit_that_cannot_be_is_refused(person, known):
    seen, targets = known
    rig = drawn.rig_of(drawn.camera(0))
    with pytest.raises(PalestraError, match="in 4 of 4 pictures"):
        fit_eye(seen[:4], targets[:4], rig)
    with pytest.raises(PalestraError, match=r"within 0\.0°"):
        fit_eye(seen[:5], np.tile(targets[:1], (5, 1)), rig)
    with pytest.raises(PalestraError, match="off at the known points"):
        fit_eye(seen, targets[::-1], rig)


def test_turning_adds_to_yaw_and_pitch():
    for yaw, pitch in ((0.0, 0.0), (20.0, -10.0), (-7.0, 12.0)):
        start = drawn.direction(yaw, pitch)
        np.testing.assert_allclose(angles_deg(start), [yaw, pitch], atol=1e-9)
        np.testing.assert_allclose(angles_deg(turned(start, 4.0, -2.0)), [yaw + 4, pitch - 2], atol=1e-9)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("focal_px = -1", "focal_px|missing"),
        ("not toml", "Expected focal_px"),
        (
            "focal_px = 600\ncentre_px = [320, 200]\nposition_mm = [0, 0, 50]\n"
            "rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 2]]\nlights_mm = [[0, 0, 0], [1, 1, 1]]",
            "is no rotation",
        ),
    ],
)
def test_a_rig_that_cannot_be_is_refused(tmp_path, text, said):
    (tmp_path / "rig.toml").write_text(text)
    with pytest.raises(PalestraError, match=said):
        read_rig(tmp_path / "rig.toml")
