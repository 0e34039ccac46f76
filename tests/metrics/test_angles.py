"""Angles: exact at the ends, accurate everywhere, the same for rows, columns, dtypes, chunks and threads."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palestra.metrics.angles import CHUNK_ROWS, THREADED_ROWS, angles_deg, angles_deg_columns
from palestra.parallel import usable_cores

vectors = arrays(np.float64, (7, 3), elements=st.floats(-1e3, 1e3, allow_subnormal=False)).filter(
    lambda v: bool((np.abs(v).max(axis=1) > 1e-3).all())
)
any_vectors = arrays(np.float64, (7, 3), elements=st.floats(allow_nan=False, allow_infinity=False)).filter(
    lambda v: bool((np.abs(v).max(axis=1) > 0).all())
)


def gaze_pairs(rows: int, seed: int = 0, spread: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((rows, 3))
    return a, a + spread * rng.standard_normal((rows, 3))


@given(any_vectors)
def test_the_truth_as_answer_is_exactly_zero_at_any_size(a):
    assert (angles_deg(a, a) == 0.0).all()


@given(any_vectors)
def test_the_opposite_direction_is_exactly_180(a):
    assert (angles_deg(a, -a) == 180.0).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_any_float_dtype_is_computed_in_float64(dtype):
    a, b = (v.astype(dtype) for v in gaze_pairs(500))
    found = angles_deg(a, b)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, angles_deg(a.astype(np.float64), b.astype(np.float64)))
    assert (angles_deg(a, a) == 0.0).all()


@pytest.mark.parametrize("angle_deg", [1e-12, 1e-6, 0.01, 1, 45, 89.999, 90, 135, 179.99, 179.999999])
def test_known_angles(angle_deg):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        wide = mpmath.radians(mpmath.mpf(angle_deg))
        b = np.array([[float(mpmath.cos(wide)), float(mpmath.sin(wide)), 0.0]])
    assert angles_deg([[1, 0, 0]], b)[0] == pytest.approx(angle_deg, rel=1e-14, abs=1e-13)


@pytest.mark.parametrize("spread", [1e-9, 1e-4, 0.03, 2.0])
def test_agrees_with_fifty_digits(spread):
    mpmath = pytest.importorskip("mpmath")
    a, b = gaze_pairs(60, spread=spread)
    for found, p, q in zip(angles_deg(a, b), a, b, strict=True):
        with mpmath.workdps(50):
            x, y = [mpmath.mpf(float(c)) for c in p], [mpmath.mpf(float(c)) for c in q]
            cross = [x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)]
            exact = mpmath.degrees(mpmath.atan2(mpmath.norm(cross), mpmath.fdot(x, y)))
        assert abs(found - float(exact)) < 1e-13


def test_agrees_with_scipy():
    from scipy.spatial.distance import cosine

    a, b = gaze_pairs(200, spread=1.0)
    expected = [math.degrees(math.acos(1 - cosine(p, q))) for p, q in zip(a, b, strict=True)]
    np.testing.assert_allclose(angles_deg(a, b), expected, atol=1e-5)


@settings(deadline=None)
@given(vectors, vectors, st.integers(0, 2**32 - 1))
def test_rotating_both_changes_nothing(a, b, seed):
    from scipy.spatial.transform import Rotation

    turn = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    np.testing.assert_allclose(angles_deg(a @ turn.T, b @ turn.T), angles_deg(a, b), atol=1e-9)


@given(vectors, vectors, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_length_does_not_matter(a, b, p, q):
    np.testing.assert_allclose(angles_deg(a * p, b * q), angles_deg(a, b), atol=1e-9)


@given(any_vectors, any_vectors)
def test_symmetric_and_within_0_and_180(a, b):
    found = angles_deg(a, b)
    np.testing.assert_array_equal(found, angles_deg(b, a))
    assert ((found >= 0) & (found <= 180)).all()


@given(vectors, vectors, st.integers(-600, 600), st.integers(-600, 600))
def test_extreme_sizes_keep_every_digit(a, b, p, q):
    tiny = 2.0**-20  # so that no component is cut off at the bottom of float64
    a, b = np.where(np.abs(a) < tiny, 0.0, a), np.where(np.abs(b) < tiny, 0.0, b)
    np.testing.assert_allclose(angles_deg(np.ldexp(a, p), np.ldexp(b, q)), angles_deg(a, b), rtol=1e-12, atol=1e-12)


def test_a_vector_without_direction_gives_nan_and_leaves_its_neighbours_alone():
    a = np.array([[0.0, 0, 0], [1, 0, 0], [np.inf, 1, 1], [np.nan, 1, 1], [0, 0, 0], [1, 1, 1]])
    b = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, -np.inf]])
    np.testing.assert_array_equal(angles_deg(a, b), [np.nan, 90.0, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("rows", [0, 1, 2, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, THREADED_ROWS + 12_345])
def test_chunks_and_threads_change_nothing(rows):
    a, b = (v.astype(np.float32) for v in gaze_pairs(rows))
    found = angles_deg(a, b)
    assert found.shape == (rows,)
    picked = np.unique(np.linspace(0, max(rows - 1, 0), 50).astype(int)) if rows else np.empty(0, dtype=int)
    np.testing.assert_array_equal(found[picked], [angles_deg(a[i : i + 1], b[i : i + 1])[0] for i in picked])


def test_a_bad_row_does_not_change_the_others_in_its_chunk():
    a, b = gaze_pairs(1000)
    clean = angles_deg(a, b)
    a[17] = 0
    found = angles_deg(a, b)
    assert np.isnan(found[17])
    np.testing.assert_allclose(np.delete(found, 17), np.delete(clean, 17), rtol=1e-12, atol=1e-13)


def test_columns_may_be_numbers_strided_or_reversed():
    a, b = gaze_pairs(300)
    a[:, 2] = b[:, 2] = 60.0
    expected = angles_deg(a, b)
    np.testing.assert_array_equal(angles_deg_columns(a[:, 0], a[:, 1], 60, b[:, 0], b[:, 1], 60.0), expected)
    np.testing.assert_array_equal(angles_deg(a[::-2], b[::-2]), expected[::-2])
    np.testing.assert_array_equal(angles_deg(np.asfortranarray(a), b), expected)
    assert angles_deg_columns(1, 0, 0, 0, 1, 0) == [90.0]


def test_inputs_are_left_as_they_were():
    a, b = gaze_pairs(100)
    a[3] = 0
    before = a.copy(), b.copy()
    angles_deg(a, b)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        angles_deg(np.ones((4, 3)), np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"\(n, 3\)"):
        angles_deg(np.ones((4, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="one length"):
        angles_deg_columns(np.ones(3), 1, 1, np.ones(4), 1, 1)


def test_at_least_one_core_is_usable():
    assert usable_cores() >= 1
