"""Depth: every disparity there and back, the metres worked by hand, and what is no depth."""

import math

import numpy as np
import pytest

from palestra.tracks.remote_gaze.eyediap import DepthModel, depth_m, disparity_of, drawn_index, rgb_of
from palestra.tracks.remote_gaze.eyediap.digits import draw_index

EVERY = np.arange(2048, dtype=np.uint16).reshape(32, 64)
FLAT = DepthModel((3.3309495161, -0.0030711016), (0.0, 0.0), np.zeros((32, 64)))


def test_every_disparity_comes_back_from_its_colours():
    assert np.array_equal(disparity_of(rgb_of(EVERY)), EVERY)


def test_colours_are_the_three_high_bits_at_the_top_of_green_and_the_rest_in_blue():
    # 1500 = 101 1101 1100 in binary: green 101 00000 = 160, blue 1101 1100 = 220
    assert rgb_of(np.array([[1500]], np.uint16)).tolist() == [[[0, 160, 220]]]
    # (G << 3) + B; without the parentheses, as the report prints it, it would be G << (3 + B)
    assert disparity_of(np.array([[[0, 160, 220]]], np.uint8)).tolist() == [[1500]]


def test_a_disparity_of_more_than_11_bits_is_not_written():
    with pytest.raises(ValueError, match="11 bits"):
        rgb_of(np.array([[2048]], np.uint16))


def test_metres_are_those_worked_by_hand():
    # d = 640, beta = 0: z = 1 / (3.3309495161 − 0.0030711016·640) = 1 / 1.3654444921 = 0.7323622…
    assert depth_m(np.full((32, 64), 640, np.uint16), FLAT)[0, 0] == pytest.approx(1 / 1.3654444921, rel=1e-6)
    # beta = 0.5, a0 = 2, a1 = 0.002: d_k = 640 + 0.5·exp(2 − 1.28) = 640 + 0.5·2.05443… = 641.02721…
    bent = DepthModel(FLAT.k, (2.0, 0.002), np.full((32, 64), 0.5))
    d_k = 640 + 0.5 * math.exp(0.72)
    z = depth_m(np.full((32, 64), 640, np.uint16), bent)
    assert z[0, 0] == pytest.approx(1 / (3.3309495161 - 0.0030711016 * d_k), rel=1e-6)
    assert z.dtype == np.float32 and z.shape == (32, 64)


def test_metres_agree_with_the_formula_in_double_precision_everywhere():
    rng = np.random.default_rng(0)
    model = DepthModel(FLAT.k, (1.5, 0.002), rng.normal(0, 1, (32, 64)))
    d = EVERY.astype(np.float64)
    with np.errstate(divide="ignore"):
        exact = 1 / (model.k[1] * (d + model.beta * np.exp(model.alpha[0] - model.alpha[1] * d)) + model.k[0])
    far = (exact <= 0) | (EVERY == 0) | (EVERY == 2047)
    found = depth_m(EVERY, model)
    assert np.isnan(found[far]).all() and not np.isnan(found[~far]).any()
    near = ~far & (exact < 10)
    assert np.allclose(found[near], exact[near], rtol=2e-5)


def test_nothing_came_back_at_0_and_2047_and_behind_the_camera():
    found = depth_m(EVERY, FLAT)
    assert np.isnan(found.ravel()[[0, 2047]]).all()
    assert np.isfinite(found.ravel()[1:1084]).all()  # 3.3309…/0.0030711… = 1084.6: from 1085 on, z would be negative
    assert np.isnan(found.ravel()[1085:]).all()


def test_where_the_frames_number_is_drawn_there_is_no_depth():
    picture = rgb_of(np.full((120, 160), 700, np.uint16))
    draw_index(picture, 1234, on_black=False)
    drawn = picture[..., 0] != 0
    found = disparity_of(picture)
    assert 0 < drawn.sum() < 1000
    assert (found[drawn] == 0).all() and (found[~drawn] == 700).all()


@pytest.mark.parametrize("size", [(120, 160), (480, 640), (1080, 1920)])
@pytest.mark.parametrize("index", [0, 7, 10, 1234567 % 100000, 890123, 5399])
def test_a_drawn_number_is_read_in_colour_and_in_depth(size, index):
    picture = np.random.default_rng(index).integers(0, 255, (*size, 3)).astype(np.uint8)
    draw_index(picture, index, on_black=True)
    assert drawn_index(picture) == index
    depth = rgb_of(np.random.default_rng(index).integers(0, 2048, size).astype(np.uint16))
    draw_index(depth, index, on_black=False)
    assert drawn_index(depth) == index


def test_a_picture_without_a_number_has_none():
    assert drawn_index(np.zeros((480, 640, 3), np.uint8)) is None
    assert drawn_index(np.full((480, 640, 3), 255, np.uint8)) is None
    assert drawn_index(np.zeros((8, 8, 3), np.uint8)) is None
