"""Two tables of answers, compared trial by trial."""

import math
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra import registry
from palestra.contest.workers.compare import FIRST, compare
from palestra.contest.workers.verify_bundle import compare as compare_by_its_public_name
from palestra.errors import PalestraError
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask
from tests.changed import changed

GAZE = registry.track("near-eye-gaze-v1")
EMOTION = registry.track("emotion-eeg-v1")
MASKS = registry.track("eye-segmentation-v1")

numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.none() | st.just(math.nan) | st.just(math.inf)
tables = st.lists(st.tuples(numbers, numbers), max_size=30).map(
    lambda rows: pl.DataFrame(
        [(f"t{number:03d}", *row) for number, row in enumerate(rows)],
        schema={"trial": pl.String, "x": pl.Float64, "y": pl.Float64},
        orient="row",
    )
)


def points(*rows):
    return pl.DataFrame(rows, schema={"trial": pl.String, "x": pl.Float64, "y": pl.Float64}, orient="row")


def labels(*rows):
    return pl.DataFrame(rows, schema={"trial": pl.String, "label": pl.Int64}, orient="row")


@given(tables, st.floats(0, 10), st.randoms(use_true_random=False))
def test_the_same_answers_are_the_same_in_any_order(table, tolerance, chance):
    order = random.Random(chance.random()).sample(range(table.height), table.height)
    found = compare(GAZE, table, table[order], tolerance)
    assert (found.rows, found.different, found.worst, found.first) == (table.height, 0, 0.0, ())


@given(tables, tables, st.floats(0, 10))
def test_it_does_not_matter_which_is_compared_with_which(one, other, tolerance):
    there, back = compare(GAZE, one, other, tolerance), compare(GAZE, other, one, tolerance)
    assert (there.rows, there.different, there.worst, there.lone) == (back.rows, back.different, back.worst, back.lone)
    assert math.isfinite(there.worst) and there.lone <= there.different <= there.rows
    assert len(there.first) == min(there.different, FIRST)


@given(tables, tables, st.floats(0, 10), st.floats(0, 10))
def test_more_tolerance_finds_no_more_differences(one, other, some, more):
    few, many = sorted((some, more), reverse=True)
    assert compare(GAZE, one, other, few).different <= compare(GAZE, one, other, many).different


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30), st.floats(0.01, 1), st.data())
def test_what_was_moved_is_found_and_nothing_else(values, tolerance, data):
    moved = data.draw(st.sets(st.integers(0, len(values) - 1)))
    shift = data.draw(st.floats(2, 50)) * tolerance
    before = points(*((f"t{i}", value, 0.0) for i, value in enumerate(values)))
    after = points(*((f"t{i}", value + (shift if i in moved else 0), 0.0) for i, value in enumerate(values)))
    found = compare(GAZE, before, after, tolerance)
    assert found.different == len(moved)
    assert [one.trial for one in found.first] == [f"t{i}" for i in sorted(moved)]
    assert found.worst == pytest.approx(shift if moved else 0.0)


def test_fractions_differ_by_the_largest_of_their_parts():
    found = compare(GAZE, points(("a", 1.0, 2.0), ("b", 0.0, 0.0)), points(("a", 1.25, 3.0), ("b", 0.25, 0.0)), 0.25)
    assert (found.rows, found.different, found.worst) == (2, 1, 1.0)
    first = found.first[0]
    assert (first.trial, first.submitted, first.again, first.apart) == (
        "a", {"x": 1.0, "y": 2.0}, {"x": 1.25, "y": 3.0}, 1.0,
    )  # fmt: skip


def test_an_answer_that_one_has_alone_is_a_difference_whatever_the_tolerance():
    before = points(("a", 1.0, 2.0), ("b", None, None), ("c", 0.0, 0.0), ("d", None, None))
    after = points(("b", 1.0, 1.0), ("c", 0.0, 0.0), ("d", None, None))
    found = compare(GAZE, before, after, 1e9)
    assert (found.rows, found.different, found.lone, found.worst) == (4, 2, 2, 0.0)
    assert [(one.trial, one.submitted, one.again) for one in found.first] == [
        ("a", {"x": 1.0, "y": 2.0}, {}),
        ("b", {}, {"x": 1.0, "y": 1.0}),
    ]


def test_whole_numbers_are_the_same_or_not_whatever_the_tolerance():
    found = compare(EMOTION, labels(("a", 1), ("b", 2)), labels(("a", 1), ("b", 3)), 5.0)
    assert (found.rows, found.different, found.worst, found.first[0].apart) == (2, 1, 0.0, None)


def test_how_long_an_answer_took_does_not_count():
    slow = labels(("a", 1)).with_columns(latency_s=pl.lit(0.5), note=pl.lit(""))
    assert compare(EMOTION, labels(("a", 1)), slow, 0.0).different == 0


def test_only_what_has_the_same_columns_can_be_compared():
    with pytest.raises(PalestraError, match="cannot be compared"):
        compare(GAZE, points(("a", 1.0, 2.0)), labels(("a", 1)), 0.0)


def masks(**pixels):
    """Masks with so many pixels of another class each."""
    rows = []
    for trial, count in pixels.items():
        mask = np.zeros(openeds.SHAPE, np.uint8)
        mask.ravel()[:count] = 2
        rows.append((trial, openeds.INLINE, encode_mask(mask)))
    return pl.DataFrame(rows, schema=["trial", "mask_file", "mask_key"], orient="row")


def test_of_masks_the_share_of_other_pixels_counts():
    size = openeds.SHAPE[0] * openeds.SHAPE[1]
    before, after = masks(a=0, b=10, c=0), masks(a=0, b=10 + size // 100, c=size // 10)
    found = compare(MASKS, before, after, 0.01)
    assert (found.rows, found.different, found.worst) == (3, 1, pytest.approx(0.1))
    assert found.first[0].trial == "c" and found.first[0].apart == pytest.approx(0.1)
    assert compare(MASKS, before, after, 0.0).different == 2
    assert compare(MASKS, before, masks(a=0, b=10), 1.0).lone == 1


def test_other_references_are_the_same_or_not_by_what_they_stand_for():
    track = changed(GAZE, content=lambda rows: rows.select("trial", what=pl.col("x").round(0).cast(pl.String)))
    found = compare(track, points(("a", 1.2, 0.0), ("b", 1.0, 0.0)), points(("a", 0.9, 0.0), ("b", 2.0, 0.0)), 0.0)
    assert [one.trial for one in found.first] == ["b"]


def test_verifying_is_where_others_look_for_it():
    assert compare_by_its_public_name is compare
