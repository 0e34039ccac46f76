"""A Kinect's disparities: what the format's model makes of them is the depth again, but for noise and holes."""

import numpy as np
import pytest

from palestra.tracks.remote_gaze.eyediap.depth import DepthModel, depth_m
from palestra.tracks.remote_gaze.simulator.depth import NO_RETURN, Kinect, draw_sensor

FOCAL_PX = 580.0


@pytest.fixture(scope="module")
def sensor():
    return draw_sensor(480, 640, np.random.default_rng(0))


def flat(far_m):
    return np.full((480, 640), far_m, np.float32)


def taken(sensor, far, bright=None):
    bright = np.ones_like(far) if bright is None else bright
    return Kinect(sensor, FOCAL_PX).disparity(far, bright, np.random.default_rng(1))


def test_disparities_become_the_same_depths_again(sensor):
    model = DepthModel(sensor.k, sensor.alpha, sensor.beta)
    for far in (0.7, 0.9, 1.2, 2.7):
        found = depth_m(taken(sensor, flat(far)), model)
        assert np.nanmean(found) == pytest.approx(far, rel=0.001)


def test_noise_grows_with_the_square_of_the_distance(sensor):
    model = DepthModel(sensor.k, sensor.alpha, sensor.beta)
    near, far = (np.nanstd(depth_m(taken(sensor, flat(z)), model)) for z in (0.8, 2.4))
    assert far / near == pytest.approx(9, rel=0.15)


def test_something_near_throws_a_shadow_on_its_left(sensor):
    far = flat(2.0)
    far[200:300, 300:400] = 0.8
    lost = taken(sensor, far) == NO_RETURN
    wide = FOCAL_PX * 0.075 * (1 / 0.8 - 1 / 2.0)
    assert lost[250, 200:300].sum() == pytest.approx(wide, abs=2)
    assert not lost[250, 300:].any()
    assert not lost[100].any()


def test_dark_hair_often_sends_nothing_back(sensor):
    bright = np.ones((480, 640), np.float32)
    bright[:240] = 0.02
    lost = taken(sensor, flat(1.0), bright) == NO_RETURN
    assert 0.1 < lost[:240].mean() < 0.5
    assert not lost[240:].any()


def test_beta_has_few_decimals_and_is_small(sensor):
    assert np.abs(sensor.beta).max() < 1.5
    assert np.array_equal(np.round(sensor.beta, 3), sensor.beta)
