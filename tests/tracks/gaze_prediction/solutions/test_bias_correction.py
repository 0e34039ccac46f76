"""Eyes that correct themselves: sequences go together by their looks, and patterns tell by how much they are off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.eyes.resize import shrinking
from palestra.tracks.gaze_prediction.solutions import published
from palestra.tracks.gaze_prediction.solutions.baseline import fit_line
from palestra.tracks.gaze_prediction.solutions.bias_correction import (
    EYE_CM,
    START,
    Places,
    fit_camera,
    fit_correction,
    fit_places,
    known_of,
)
from palestra.tracks.gaze_prediction.solutions.same_eye import grouped

RING = Places(*START)


def watched(clips, rng, frames=5):
    """Places (clips, frames, 2) that people look at: half on rings at some depth, half within them."""
    turn = rng.uniform(0, 2 * np.pi, (clips, 1)) + np.linspace(0, 0.2, frames)
    away = 20 * np.where(rng.random((clips, 1)) < 0.5, 1.0, np.sqrt(rng.random((clips, 1))))
    inwards = np.degrees(np.arctan(EYE_CM / rng.uniform(50, 600, (clips, 1))))
    places = np.stack([away * np.cos(turn) + inwards, away * np.sin(turn)], -1)
    return places + rng.normal(0, 0.3, places.shape)


def views(eyes, rng):
    """Little pictures of sequences of these eyes: each has its skin, and something dark moves before it."""
    skins = {eye: rng.uniform(60, 180, (20, 32)) for eye in set(eyes)}
    found = np.array([np.repeat(skins[eye][None], 5, 0) for eye in eyes]) + rng.normal(0, 0.2, (len(eyes), 5, 20, 32))
    for clip in found:
        for frame in clip:
            y, x = rng.integers(6, 12), rng.integers(8, 22)
            frame[y : y + 3, x : x + 3] = 20
    return found.astype(np.float32)


def test_sequences_of_one_eye_are_put_together_wherever_it_looks():
    rng = np.random.default_rng(0)
    eyes = rng.permutation(np.repeat(np.arange(5), 8))
    found = grouped(views(eyes.tolist(), rng))
    assert len(set(found.tolist())) == 5
    assert all(len(set(found[eyes == eye].tolist())) == 1 for eye in range(5))


def test_the_ring_is_found_in_labels_and_stays_where_it_was_without_them():
    rng = np.random.default_rng(1)
    moved = fit_places(1.1 * watched(800, rng) + [1.0, -0.5])
    assert (moved.x, moved.y, moved.radius) == pytest.approx((1.0, -0.5, 22.0), abs=0.15)
    alone = fit_places(np.array([[[3.0, 4.0]]]))
    assert (alone.x, alone.y, alone.radius) == pytest.approx(START[:3], abs=0.3)


@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(0.95, 1.05))
@settings(max_examples=12, deadline=None)
def test_an_eye_is_brought_home_by_where_it_looks_as_a_whole(x, y, stretch):
    true = watched(100, np.random.default_rng(2))
    correction = fit_correction(stretch * true + [x, y], RING)
    assert np.abs(correction(stretch * true + [x, y]) - true).mean() < 0.4


def test_a_single_place_moves_an_eye_by_less_than_it_is_off_the_ring():
    correction = fit_correction(np.array([[[17.0, 0.0]]]), RING)
    assert np.abs(correction.move_deg).max() < 2.0
    assert correction.stretch == pytest.approx(1.0, abs=0.02)


def test_what_a_camera_does_is_told_from_what_eyes_are_off_by():
    rng = np.random.default_rng(3)
    true = watched(12 * 8, rng)
    eyes = np.repeat(np.arange(12), 8)
    off = rng.normal(0, 2, (12, 2))
    angles = (true - [3.0, -2.0]) / 1.2 + (off - off.mean(axis=0))[eyes][:, None]
    camera = fit_camera(angles, true, eyes)
    assert camera.weights[1, 0] == pytest.approx(0.2, abs=0.03) and camera.weights[2, 1] == pytest.approx(0.2, abs=0.03)
    assert camera.weights[0] == pytest.approx([3.0, -2.0], abs=0.3)


def test_estimates_come_out_near_the_truth_without_a_label_of_those_eyes():
    rng = np.random.default_rng(4)
    eyes = np.repeat(np.arange(3), 60)
    true = watched(2 * len(eyes), rng).reshape(2, len(eyes), 5, 2)
    angles = true + rng.normal(0, 2, (2, 3, 2))[:, eyes][:, :, None] + rng.normal(0, 0.3, true.shape)
    names = [f"{i:04d}" for i in range(len(eyes))]
    first, second = (views((eyes + 10 * k).tolist(), rng) for k in range(2))
    known = known_of((first, angles[0], true[0]), names, (second, angles[1]))
    after = np.array([known(name, one) for name, one in zip(names, angles[1], strict=True)])
    before_deg, after_deg = (np.linalg.norm(found - true[1], axis=-1).mean() for found in (angles[1], after))
    assert after_deg < 0.4 * before_deg and after_deg < 0.9


def test_the_rule_draws_on_what_moves_fast_and_holds_what_is_still():
    past = np.zeros((1, 50, 2))
    past[0, :, 0] = np.maximum(np.arange(50) - 40, 0) * 0.07
    past[0, :, 1] = 0.3
    found = published.ahead(past)[0]
    assert found[:, 0] == pytest.approx(0.63 + 0.07 * np.arange(1, 6), abs=1e-6)
    assert found[:, 1] == pytest.approx(0.3)


def test_the_line_goes_on_with_a_steady_movement_as_training_people_did():
    rng = np.random.default_rng(5)
    start, speed = rng.uniform(-15, 15, (40, 1, 2)), rng.uniform(-0.2, 0.2, (40, 1, 2))
    clips = start + speed * np.arange(100)[:, None]
    line = fit_line(clips[:30])
    assert line(clips[30:, :50]) == pytest.approx(clips[30:, 50:55], abs=0.3)


@given(st.integers(2, 60), st.data())
@settings(max_examples=25, deadline=None)
def test_shrinking_keeps_what_is_even(large, data):
    little = data.draw(st.integers(1, large))
    assert shrinking(large, little).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
