"""Order statistics: always the value that sorting and counting gives, with exact positions."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palestra.metrics import quantiles
from palestra.metrics.quantiles import at_shares, position, weighted_at_shares

shares = st.one_of(
    st.sampled_from([0.05, 0.1, 0.5, 0.95, 0.99, 1.0, 0.025, 0.975]),
    st.floats(1e-6, 1.0),
    st.fractions(Fraction(1, 1000), 1),
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
few_values = st.sampled_from([-3.5, -0.0, 0.0, 1.0, 1e-300, 180.0])
LARGE = quantiles.DIRECT_VALUES + 54_321


def by_sorting(values, share):
    exact = Fraction(share) if isinstance(share, Fraction) else Fraction(Decimal(repr(float(share))))
    return sorted(values)[math.ceil(exact * len(values)) - 1]


def large_sets() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    ties = np.where(rng.random(LARGE) < 0.5, 0.0, rng.gamma(2, 2, LARGE))
    periodic = np.tile(np.arange(1000.0), LARGE // 1000 + 1)[:LARGE]
    return {
        "angles": rng.gamma(2, 1.5, LARGE),
        "normal": rng.standard_normal(LARGE),
        "all equal": np.full(LARGE, 7.25),
        "half zeros": ties,
        "few levels": rng.integers(0, 4, LARGE).astype(float),
        "sorted": np.sort(rng.standard_normal(LARGE)),
        "reversed": np.sort(rng.standard_normal(LARGE))[::-1],
        "periodic": periodic,
        "all magnitudes": np.ldexp(rng.standard_normal(LARGE), rng.integers(-1070, 1020, LARGE)),
        "with infinities": np.where(rng.random(LARGE) < 0.1, np.inf, rng.standard_normal(LARGE)),
        "one outlier": np.concatenate([np.zeros(LARGE - 1), [1.0]]),
    }


@pytest.mark.parametrize(
    ("share", "count", "expected"),
    [
        (0.95, 20, 19),
        (0.95, 21, 20),
        (0.5, 1, 1),
        (0.5, 2, 1),
        (0.5, 3, 2),
        (1.0, 7, 7),
        (0.07, 100, 7),
        (0.29, 100, 29),
    ],
)
def test_positions_are_exact_where_floating_point_is_not(share, count, expected):
    assert position(share, count) == expected


def test_shares_may_be_fractions_decimals_or_text():
    assert {position(p, 20) for p in (0.95, "0.95", "19/20", Decimal("0.95"), Fraction(19, 20), np.float64(0.95))} == {
        19
    }


@pytest.mark.parametrize("share", [0, -0.1, 1.01, 95])
def test_shares_outside_0_to_1_are_refused(share):
    with pytest.raises(ValueError, match="share"):
        at_shares([1.0, 2.0], [share])


@given(st.lists(st.one_of(numbers, few_values), min_size=1, max_size=60), st.lists(shares, min_size=1, max_size=4))
def test_equals_sorting_and_counting(values, asked):
    assert at_shares(values, asked).tolist() == [by_sorting(values, share) for share in asked]


@settings(deadline=None)
@given(
    arrays(np.float64, st.integers(1, 60), elements=st.one_of(numbers, few_values)),
    st.lists(shares, min_size=1, max_size=4),
)
def test_the_bracketed_pass_equals_sorting_at_any_size(values, asked):
    positions = [position(share, len(values)) for share in asked]
    np.testing.assert_array_equal(quantiles._bracketed(values, positions), np.sort(values)[np.array(positions) - 1])


@pytest.mark.parametrize("name", large_sets())
def test_large_sets_of_any_distribution(name):
    values = large_sets()[name]
    asked = [0.5, 0.95, 0.001, 1.0, Fraction(1, LARGE)]
    ordered = np.sort(values)
    expected = [ordered[math.ceil(Fraction(str(share)) * LARGE) - 1] for share in asked]
    np.testing.assert_array_equal(at_shares(values, asked), expected)


def test_a_bracket_that_misses_is_made_good(monkeypatch):
    values = np.random.default_rng(1).standard_normal(LARGE)
    monkeypatch.setattr(quantiles, "_bracket", lambda sample, place, count: quantiles._Bracket(place, 100.0, 101.0))
    assert at_shares(values, [0.5])[0] == np.sort(values)[position(0.5, LARGE) - 1]


def test_many_shares_and_none():
    values = np.random.default_rng(1).standard_normal(LARGE)
    asked = [Fraction(i, 100) for i in range(1, 101)]
    expected = np.sort(values)[[position(share, LARGE) - 1 for share in asked]]
    np.testing.assert_array_equal(at_shares(values, asked), expected)
    assert at_shares(values, []).shape == (0,)
    assert at_shares([1.0], []).shape == (0,)


def test_agrees_with_numpys_inverted_cdf():
    values = np.random.default_rng(2).gamma(2, 2, 12_345)
    asked = [0.05, 0.5, 0.95]
    np.testing.assert_array_equal(at_shares(values, asked), np.quantile(values, asked, method="inverted_cdf"))


def test_float32_and_strided_values_and_input_unchanged():
    values = np.random.default_rng(3).gamma(2, 2, (LARGE, 2)).astype(np.float32)
    before = values.copy()
    expected = np.sort(values[:, 1])[position(0.95, LARGE) - 1]
    assert at_shares(values[:, 1], [0.95])[0] == expected
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("count", [10, LARGE])
@pytest.mark.parametrize("where", [0, 7, -1])
def test_nan_is_refused(count, where):
    values = np.arange(count, dtype=float)
    values[where] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        at_shares(values, [0.5])


def test_no_values_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        at_shares([], [0.5])


@st.composite
def drawn_rows(draw):
    units = draw(st.integers(1, 6))
    count = draw(st.integers(1, 50))
    values = draw(arrays(np.float64, count, elements=st.one_of(numbers, few_values)))
    unit_of = draw(arrays(np.int64, count, elements=st.integers(0, units - 1)))
    weights = draw(arrays(np.float64, (draw(st.integers(1, 4)), units), elements=st.integers(0, 5).map(float)))
    return values, unit_of, weights


@given(drawn_rows(), st.lists(shares, min_size=1, max_size=3))
def test_weighted_equals_repeating_rows(rows, asked):
    values, unit_of, weights = rows
    found = weighted_at_shares(values, unit_of, weights, asked)
    assert found.shape == (len(weights), len(asked))
    for line, weight in zip(found, weights, strict=True):
        repeated = np.repeat(values, weight[unit_of].astype(int))
        expected = at_shares(repeated, asked) if len(repeated) else np.full(len(asked), np.nan)
        np.testing.assert_array_equal(line, expected)


@pytest.mark.parametrize("units", [1, 10, 300])
def test_weighted_equals_repeating_many_rows(units):
    rng = np.random.default_rng(units)
    values = np.round(rng.gamma(2, 2, 20_011), 2)  # with ties
    unit_of = rng.integers(0, units, len(values), dtype=np.int32)
    weights = rng.multinomial(units, np.full(units, 1 / units), size=20)
    found = weighted_at_shares(values, unit_of, weights, [0.5, 0.95, "1"])
    for line, weight in zip(found, weights, strict=True):
        np.testing.assert_array_equal(line, at_shares(np.repeat(values, weight[unit_of]), [0.5, 0.95, "1"]))


def test_weighted_in_several_groups_of_resamples(monkeypatch):
    rng = np.random.default_rng(0)
    values, unit_of, weights = rng.standard_normal(5000), rng.integers(0, 9, 5000), rng.integers(0, 4, (33, 9))
    whole = weighted_at_shares(values, unit_of, weights, [0.5])
    monkeypatch.setattr(quantiles, "GATHERED_WEIGHTS", 500)
    np.testing.assert_array_equal(weighted_at_shares(values, unit_of, weights, [0.5]), whole)


def test_weighting_each_unit_once_is_the_plain_statistic():
    rng = np.random.default_rng(0)
    values, unit_of = rng.standard_normal(10_007), rng.integers(0, 9, 10_007)
    found = weighted_at_shares(values, unit_of, np.ones((1, 9)), [0.5, 0.95])
    np.testing.assert_array_equal(found[0], at_shares(values, [0.5, 0.95]))


@pytest.mark.parametrize(
    ("values", "unit_of", "weights", "says"),
    [
        ([1.0], [0], [[0.5]], "whole"),
        ([1.0], [0], [[-1]], "whole"),
        ([1.0], [1], [[1]], "units from 0 to 0"),
        ([1.0], [-1], [[1]], "units from 0 to 0"),
        ([1.0, 2.0], [0], [[1]], "its unit"),
        ([np.nan], [0], [[1]], "numbers"),
        ([], [], [[1]], "rows"),
    ],
)
def test_weighted_refuses_what_it_cannot_count(values, unit_of, weights, says):
    with pytest.raises(ValueError, match=says):
        weighted_at_shares(values, unit_of, weights, [0.5])
