"""What a sequence's frames and labels add to a network's answer for each frame alone."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.tracks.eye_segmentation.solutions.edges import (
    draw_disc,
    field_of,
    fit_waves,
    lid_rows,
    rim_around,
    rim_of,
)
from palestra.tracks.eye_segmentation.solutions.sequence import Steps, agreed
from palestra.tracks.eye_segmentation.solutions.shapes import few_shapes

FRAMES = 30
NETWORK_ALONE = Steps(discs=False, lids=False, labels=False, choose=False)


def eye(t):
    """The three nested parts of an eye at one moment, by hand: (lids, iris, pupil) as signed distances, half size."""
    rows, columns = np.mgrid[:200, :320].astype(np.float32)
    x, y = 160 + 30 * np.sin(t / 4), 100 + 12 * np.cos(t / 3)
    opening = 34 + 10 * np.sin(t / 5)
    arch = np.maximum(1 - ((columns - 160) / 120) ** 2, 0)
    lids = np.minimum(rows - (108 - opening * arch), 108 + 26 * arch - rows)
    iris = 46 - np.hypot(columns - x, (rows - y) * 1.06)
    pupil = 15 + 2 * np.sin(t / 2) - np.hypot(columns - x, (rows - y) * 1.06)
    return np.stack([np.where(arch > 0, lids, -5), iris, pupil])


def sequence(wrong_px):
    """Logits of a network that is wrong by the same distance in all frames, and the true masks."""
    parts = [eye(t) for t in range(FRAMES)]
    logits = np.stack([2 * (part + wrong_px) for part in parts]).astype(np.float32)
    return logits, np.stack([mask_of(part) for part in parts])


def mask_of(part):
    full = [cv2.resize(field, (640, 400)) > 0 for field in part.astype(np.float32)]
    return (full[0] * (1 + full[1] * (1 + 1 * full[2]))).astype(np.uint8)


def wrong(found, true):
    return np.mean(found != true)


def test_labels_of_a_sequence_tell_what_the_network_always_gets_wrong():
    logits, masks = sequence(wrong_px=0.8)
    labelled, others = np.arange(0, FRAMES, 5), np.arange(2, FRAMES, 5)
    alone = agreed(logits, labelled, masks[labelled], others, NETWORK_ALONE)
    found = agreed(logits, labelled, masks[labelled], others)
    assert wrong(found, masks[others]) < 0.45 * wrong(alone, masks[others])


def test_a_network_that_is_right_is_left_alone():
    logits, masks = sequence(wrong_px=0.0)
    labelled, others = np.arange(0, FRAMES, 5), np.arange(2, FRAMES, 5)
    assert wrong(agreed(logits, labelled, masks[labelled], others), masks[others]) < 0.002


def test_noise_that_comes_and_goes_is_evened_out_without_any_label():
    logits, masks = sequence(wrong_px=0.0)
    rng = np.random.default_rng(0)
    noise = np.stack([[cv2.GaussianBlur(rng.normal(size=(200, 320)), (0, 0), 3) for _ in range(3)] for _ in logits])
    logits = (logits + 1.6 * noise / noise.std()).astype(np.float32)
    none, nothing = np.arange(0), np.zeros((0, 400, 640), np.uint8)
    others = np.arange(0, FRAMES, 3)
    alone, found = (
        agreed(logits, none, nothing, others, steps) for steps in (NETWORK_ALONE, Steps(labels=False, choose=False))
    )
    assert wrong(found, masks[others]) < 0.9 * wrong(alone, masks[others])


def test_a_step_that_harms_the_labels_is_not_taken():
    """Iris and pupil are squares here: no rounding of them is right."""
    rows, columns = np.mgrid[:200, :320].astype(np.float32)
    square = [20 - np.maximum(abs(columns - 160 - t), abs(rows - 100)) for t in range(FRAMES)]
    logits = np.stack([[np.full((200, 320), 9.0), 2 * part, 2 * part - 20] for part in square]).astype(np.float32)
    masks = np.stack([mask_of(part) for part in logits])
    found = agreed(logits, np.arange(4), masks[:4], np.arange(10, 14))
    assert wrong(found, masks[10:14]) < 0.001


def test_closed_eyes_and_nothing_at_all_have_a_mask_too():
    logits = np.full((FRAMES, 3, 200, 320), -5.0, np.float32)
    assert not agreed(logits, np.arange(0), np.zeros((0, 400, 640), np.uint8), np.arange(3)).any()
    assert agreed(logits, np.arange(0), np.zeros((0, 400, 640), np.uint8), np.arange(0)).shape == (0, 400, 640)


def test_edges_are_found_to_a_fraction_of_a_pixel():
    lids, iris, _ = eye(3)
    rows = lid_rows(lids)
    assert np.isnan(rows[:, 10]).all()
    assert rows[0, 160] == pytest.approx(108 - (34 + 10 * np.sin(0.6)), abs=0.1)
    assert rows[1, 160] == pytest.approx(108 + 26, abs=0.1)
    rim = rim_of(iris, np.full_like(iris, 5.0), 80)
    assert (rim.x, rim.y) == pytest.approx((160 + 30 * np.sin(0.75), 100 + 12 * np.cos(1.0)), abs=0.1)
    assert rim.radius[0] == pytest.approx(46, abs=0.2)


def test_a_covered_part_of_a_rim_is_not_believed():
    _, iris, _ = eye(3)
    rows, _ = np.mgrid[:200, :320]
    halved = np.where(rows > 90, 5.0, -5.0).astype(np.float32)
    rim = rim_of(iris, halved, 80)
    assert rim.share < 0.75 and rim.x == pytest.approx(160 + 30 * np.sin(0.75), abs=0.3)


@settings(max_examples=25, deadline=None)
@given(st.floats(120, 200), st.floats(80, 120), st.floats(15, 40), st.floats(0.75, 1.0), st.floats(0, np.pi))
def test_an_ellipse_is_drawn_where_it_was_seen(x, y, radius, ratio, turn):
    rows, columns = np.mgrid[:400, :640]
    across, down = (columns + 0.5) / 2 - 0.5 - x, (rows + 0.5) / 2 - 0.5 - y
    along, off = across * np.cos(turn) + down * np.sin(turn), down * np.cos(turn) - across * np.sin(turn)
    mask = (np.hypot(along, off / ratio) <= radius).astype(np.uint8)
    rim = rim_around(8 * field_of(mask, 1), np.full((200, 320), 5.0, np.float32), (x, y), 80)
    found = draw_disc((x, y), fit_waves(rim, np.zeros(5), np.zeros(5)), 2)
    assert (found & (mask > 0)).sum() > 0.96 * (found | (mask > 0)).sum()


def test_rows_of_few_shapes_lose_their_noise_and_gain_what_was_missing():
    rng = np.random.default_rng(0)
    true = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 100)) * 5 + 30
    seen = true + rng.normal(0, 0.3, true.shape)
    seen[rng.random(seen.shape) < 0.1] = np.nan
    found = few_shapes(seen)
    known = np.isfinite(seen)
    assert np.abs(found - true)[known].mean() < 0.6 * np.abs(seen - true)[known].mean()
    assert np.abs(found - true)[~known].max() < 1.0


def test_too_few_rows_are_left_as_they_are():
    few = np.arange(12.0).reshape(3, 4)
    assert (few_shapes(few) == few).all()


def test_a_place_that_only_nearly_closed_frames_know_is_left_as_it_is():
    rng = np.random.default_rng(0)
    rows = np.full((60, 30), np.nan)
    rows[:50, :20] = rng.normal(100, 1, (50, 20))
    rows[50:, 25:27] = 80.0  # a speck beside the eye
    found = few_shapes(rows)
    assert np.isfinite(found[:50, :20]).all()
    assert (found[50:, 25:27] == 80.0).all()
