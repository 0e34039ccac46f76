"""Resampling: units drawn with replacement, the same numbers as repeating their rows."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palestra.metrics.bootstrap import MIN_UNITS, draw_weights, interval, unit_sums, weighted_mean


@given(st.integers(1, 50), st.integers(0, 20), st.integers(0, 2**32))
def test_each_resample_draws_as_many_units_as_there_are(units, resamples, seed):
    weights = draw_weights(units, resamples, seed)
    assert weights.shape == (resamples, units)
    assert weights.dtype == np.float64
    assert (weights.sum(axis=1) == units).all()
    assert (weights >= 0).all()
    assert (weights == np.floor(weights)).all()


def test_the_same_seed_draws_the_same_and_another_does_not():
    np.testing.assert_array_equal(draw_weights(10, seed=3), draw_weights(10, seed=3))
    assert (draw_weights(10, seed=3) != draw_weights(10, seed=4)).any()


def test_the_draw_never_changes():
    expected = [[0, 3, 1, 1, 1, 0], [2, 2, 0, 1, 0, 1]]  # recorded once; Philox's raw stream is fixed for good
    np.testing.assert_array_equal(draw_weights(6, resamples=2, seed=0), expected)


def test_draws_are_multinomial():
    from scipy.stats import chisquare

    weights = draw_weights(10, resamples=20_000)
    assert chisquare(weights.sum(axis=0)).pvalue > 1e-4
    assert weights.var(axis=0).mean() == pytest.approx(0.9, rel=0.02)  # U·(1/U)·(1 − 1/U)
    missing = (weights == 0).mean()
    assert missing == pytest.approx(0.9**10, rel=0.02)


def test_no_units_are_refused():
    with pytest.raises(ValueError, match="at least one unit"):
        draw_weights(0)


def test_interval_is_at_the_25th_and_975th_of_a_thousand():
    values = np.random.default_rng(0).permutation(np.arange(1, 1001))
    assert interval(values) == (25.0, 975.0)
    assert interval([4.0]) == (4.0, 4.0)


def test_interval_leaves_no_resample_out():
    low, high = interval([1.0, 2.0, np.nan])
    assert math.isnan(low)
    assert math.isnan(high)


def test_interval_of_a_mean_agrees_with_scipys_bootstrap():
    from scipy.stats import bootstrap

    values = np.random.default_rng(4).gamma(2, 2, 40)
    low, high = interval(weighted_mean(values, np.arange(40), draw_weights(40, 4000)))
    peer = bootstrap((values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1))
    wide = peer.confidence_interval.high - peer.confidence_interval.low
    assert low == pytest.approx(peer.confidence_interval.low, abs=0.1 * wide)
    assert high == pytest.approx(peer.confidence_interval.high, abs=0.1 * wide)


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(
            arrays(np.float64, n, elements=st.floats(-1e3, 1e3)), arrays(np.int64, n, elements=st.integers(0, 4))
        )
    ),
    arrays(np.float64, (3, 5), elements=st.integers(0, 4).map(float)),
)
def test_weighted_mean_equals_repeating_rows(rows, weights):
    values, unit_of = rows
    for found, weight in zip(weighted_mean(values, unit_of, weights), weights, strict=True):
        repeated = np.repeat(values, weight[unit_of].astype(int))
        if len(repeated):
            assert found == pytest.approx(math.fsum(repeated) / len(repeated), abs=1e-9)
        else:
            assert math.isnan(found)


def test_unit_sums_of_one_and_of_several_columns():
    unit_of = np.array([2, 0, 2, 3])
    values = np.array([[1.0, 10], [2, 20], [3, 30], [4, 40]])
    np.testing.assert_array_equal(unit_sums(values, unit_of, 5), [[2, 20], [0, 0], [4, 40], [4, 40], [0, 0]])
    np.testing.assert_array_equal(unit_sums(values[:, 0], unit_of, 5), [[2], [0], [4], [4], [0]])
    np.testing.assert_array_equal(unit_sums(values[:0], unit_of[:0], 2), np.zeros((2, 2)))


def test_a_unit_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="units from 0 to 1"):
        unit_sums([1.0], [2], 2)
    with pytest.raises(ValueError):
        unit_sums([1.0], [-1], 2)


def test_five_units_are_the_fewest():
    assert MIN_UNITS == 5
