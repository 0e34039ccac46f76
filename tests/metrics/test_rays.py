"""Eq. 6–10, against numbers worked by hand and against a slow implementation of another kind."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from palestra.metrics.rays import (
    CHUNK_ROWS,
    distances_m,
    passing_angles_deg,
    pixel_distances,
    sensitivity,
    sight_angles_deg,
)

numbers = st.floats(-3, 3, allow_nan=False).filter(lambda value: value == 0 or abs(value) > 1e-6)
points = st.tuples(numbers, numbers, numbers)


def test_a_ray_passes_a_target_at_the_foot_of_the_perpendicular():
    # From the origin along z; the target is 3 m on and 4 cm aside.
    assert distances_m([[0, 0, 0]], [[0, 0, 2]], [[0.04, 0, 3]]) == pytest.approx([0.04])


def test_a_ray_that_points_away_is_as_far_as_its_origin():
    assert distances_m([[0, 0, 0]], [[0, 0, -1]], [[0.3, 0, 0.4]]) == pytest.approx([0.5])


def test_a_ray_through_the_target_is_off_by_exactly_nothing():
    assert distances_m([[1, 2, 3]], [[0.1, 0.7, -0.3]], [[1.1, 2.7, 2.7]]) == pytest.approx([0], abs=1e-15)
    assert sight_angles_deg([[0.1, 0.7, -0.3]], [[0.1, 0.7, -0.3]], [[0, 0, 0]]).tolist() == [0.0]


def test_equation_7_is_the_arcsine_of_the_distance_over_the_way():
    # 0.5 m aside at 1 m from the eye: 30°.
    assert passing_angles_deg([0.5], [[0, 0, 1]], [[0, 0, 0]]) == pytest.approx([30])


def test_equation_7_stops_at_90_degrees_and_equation_8_goes_on():
    away = [[0, 0, -1]]
    distance = distances_m([[0, 0, 0]], away, [[0, 0, 1]])
    assert passing_angles_deg(distance, [[0, 0, 1]], [[0, 0, 0]]).tolist() == [90]
    assert sight_angles_deg(away, [[0, 0, 1]], [[0, 0, 0]]).tolist() == [180]


def test_a_ratio_above_one_is_cut_and_never_nan():
    # The ray starts far off the eye, so it may pass the target at more than the eye's own distance.
    assert passing_angles_deg([2.0], [[0, 0, 1]], [[0, 0, 0]]).tolist() == [90]


def test_both_angles_agree_where_the_ray_starts_at_the_eye_and_points_before_it():
    random = np.random.default_rng(0)
    eyes, targets = random.normal(size=(100, 3)), random.normal(size=(100, 3))
    rays = targets - eyes + random.normal(0, 0.1, (100, 3))
    by_7 = passing_angles_deg(distances_m(eyes, rays, targets), targets, eyes)
    by_8 = sight_angles_deg(rays, targets, eyes)
    before = by_8 < 90
    assert by_7[before] == pytest.approx(by_8[before], abs=1e-6)


def test_they_part_where_the_ray_starts_elsewhere():
    # From 10 cm beside the eye straight at the target: Eq. 7 sees no error, Eq. 8 an angle of atan(0.1).
    eye, target, start = [[0, 0, 0]], [[0, 0, 1]], [[0.1, 0, 0]]
    sight = [[-0.1, 0, 1]]
    assert passing_angles_deg(distances_m(start, sight, target), target, eye) == pytest.approx([0], abs=1e-9)
    assert sight_angles_deg(sight, target, eye) == pytest.approx([math.degrees(math.atan(0.1))])


def test_a_direction_of_no_length_is_not_a_number():
    assert np.isnan(sight_angles_deg([[0, 0, 0]], [[0, 0, 1]], [[0, 0, 0]])).all()


@given(points, points, points)
def test_the_distance_is_the_least_along_the_ray(origin, direction, target):
    length = math.hypot(*direction)
    if length < 1e-3:
        return
    mp.dps = 40
    o, v, p = (mp.matrix(values) for values in (origin, direction, target))
    along = max(mp.mpf(0), ((p - o).T * v)[0] / (v.T * v)[0])
    slow = mp.norm(o + along * v - p)
    assert distances_m([origin], [direction], [target])[0] == pytest.approx(float(slow), abs=1e-7)


def test_chunks_change_nothing():
    random = np.random.default_rng(1)
    rows = CHUNK_ROWS + 3
    o, v, p = (random.normal(size=(rows, 3)) for _ in range(3))
    whole = distances_m(o, v, p)
    assert whole[-2:].tolist() == distances_m(o[-2:], v[-2:], p[-2:]).tolist()


def test_pixels_are_counted_straight():
    assert pixel_distances([[3, 4]], [[0, 0]]).tolist() == [5]


def test_sensitivity_is_the_share_by_which_an_error_grows_and_never_below_zero():
    assert sensitivity([6, 2], [4, 4]).tolist() == [0.5, 0]


def test_sensitivity_has_no_value_where_there_was_no_error():
    assert np.isnan(sensitivity([1.0], [0.0])).all()
