"""`forecast`: what it takes and gives, that turning the world turns its answers, and that no simple rule beats it."""

import subprocess
import sys
from itertools import pairwise, product

import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.tracks.gaze_prediction import forecast
from tests import ROOT
from train.gaze_windows import MOST_WORSE, Kind, errors_deg, kinds, rules, windows
from train.tables_forecast import COUNT, bins, row, told

EVERYDAY = Kind(0.03, (0.0, 20.0), (0.0, 30.0), 120.0)


@pytest.fixture(scope="module")
def past():
    return windows(EVERYDAY, 400).past


def test_it_gives_five_angles_for_each_window_and_a_radius_where_one_is_wanted(past):
    ahead, radius = forecast(past, 120, interval=True)
    assert ahead.shape == (400, 5, 2) and radius.shape == (400, 5)
    assert np.isfinite(ahead).all() and (radius > 0).all()
    assert (np.diff(radius.mean(axis=0)) > 0).all(), "what is further ahead is less certain"
    assert np.array_equal(forecast(past, 120), ahead)
    assert forecast(past[:0], 120).shape == (0, 5, 2)


def test_one_window_is_answered_as_among_others(past):
    ahead, radius = forecast(past[7], 120.0, interval=True)
    assert ahead.shape == (5, 2) and radius.shape == (5,)
    np.testing.assert_allclose(ahead, forecast(past, 120)[7], atol=1e-4)


def test_many_windows_are_answered_in_parts_as_at_once(past):
    many = np.tile(past, (21, 1, 1))
    np.testing.assert_allclose(forecast(many, 120)[-400:], forecast(past, 120), atol=1e-4)


def test_a_still_eye_stays_and_a_straight_movement_goes_on():
    still = np.tile([12.0, -7.0], (50, 1))
    assert np.abs(forecast(still, 250) - [12.0, -7.0]).max() < 0.02
    along = still + np.arange(-49, 1)[:, None] * [40 / 250, 0.0]  # 40 deg/s
    expected = still[:5] + np.arange(1, 6)[:, None] * [40 / 250, 0.0]
    assert errors_deg(forecast(along, 250), expected).max() < 0.05


def test_wherever_the_eye_looks_the_answer_is_the_same(past):
    """The same ways on the sphere, elsewhere: a degree of yaw is shorter there."""
    ways = past - past[:, -1:]
    ways[..., 0] *= np.cos(np.radians(past[:, -1:, 1]))
    there, radii = [], []
    for yaw, pitch in ((0.0, 0.0), (170.0, 40.0), (-25.0, -60.0)):
        narrow = np.array([np.cos(np.radians(pitch)), 1.0])
        seen = ways / narrow + [yaw, pitch]
        seen[..., 0] = (seen[..., 0] + 180) % 360 - 180  # as others count it
        ahead, radius = forecast(seen, 120, interval=True)
        off = ahead - seen[:, -1:]
        off[..., 0] = (off[..., 0] + 180) % 360 - 180
        there.append(off * narrow)
        radii.append(radius)
    for off, radius in zip(there[1:], radii[1:], strict=True):
        # Where a window is as much to the left as to the right, rounding decides which way round it is seen.
        assert np.quantile(np.abs(off - there[0]).max(axis=2) / radius, 0.98) < 0.01
        assert np.quantile(np.abs(radius / radii[0] - 1), 0.98) < 0.01


def test_whichever_way_the_eye_goes_the_answer_is_the_same():
    rng = np.random.default_rng(3)
    ways = windows(EVERYDAY, 300).past
    ways = (ways - ways[:, -1:]) / 4  # near straight ahead, where yaw and pitch are worth the same
    ahead, radius = forecast(ways, 120, interval=True)
    for _ in range(3):
        by, _ = np.linalg.qr(rng.standard_normal((2, 2)))  # turned, and mirrored at times
        again, same = forecast(ways @ by, 120, interval=True)
        off = np.linalg.norm(again - ahead @ by, axis=2)
        assert np.quantile(off / radius, 0.98) < 0.01
        assert np.quantile(np.abs(same / radius - 1), 0.98) < 0.01


def test_missing_samples_lie_on_a_line_between_their_neighbours(past):
    gaps, filled = past[:3].copy(), past[:3].copy()
    gaps[0, 20:23] = np.nan
    filled[0, 20:23] = past[0, 19] + np.arange(1, 4)[:, None] / 4 * (past[0, 23] - past[0, 19])
    gaps[1, -2:, 1] = np.nan
    filled[1, -2:] = past[1, -3]
    gaps[2, :5] = np.nan
    filled[2, :5] = past[2, 5]
    np.testing.assert_allclose(forecast(gaps, 120), forecast(filled, 120), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "hz", "words"),
    [
        (lambda past: past[:, :49], 120, r"shape \(2, 49, 2\); expected \(n, 50, 2\)"),
        (lambda past: past[0, 0], 120, r"shape \(2,\)"),
        (lambda past: past, 30, "30 Hz; forecasts are made for 60 to 1000 Hz"),
        (lambda past: past, float("nan"), "nan Hz"),
        (lambda past: np.where(past > -1e9, np.inf, past), 120, "infinite"),
        (lambda past: past * [[[1.0]], [[np.nan]]], 120, "Window 1 has no sample"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_words(past, change, hz, words):
    with pytest.raises(PalestraError, match=words):
        forecast(change(past[:2]), hz)


def test_importing_it_loads_no_training_and_no_tables():
    code = (
        "import sys; from palestra.tracks.gaze_prediction import forecast;"
        "print([name for name in ('torch', 'polars', 'cv2', 'scipy') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def losing(some, count):
    return [f"{one.kind}: {one.worst:.3f}" for one in bins(some, count) if one.worst > MOST_WORSE]


def test_no_simple_rule_beats_it_near_the_middle_or_far_out():
    assert losing(kinds(eccentricities=((0.0, 10.0), (30.0, 40.0)), rates=(60.0, 250.0, 1000.0)), 1000) == []


@pytest.mark.slow
def test_no_simple_rule_beats_it_in_any_bin():
    assert losing(kinds(), 3000) == []


@pytest.mark.slow
def test_nor_a_quarter_beyond_what_it_learnt_from():
    far = {"eccentricities": ((40.0, 50.0),), "stretch": 1.25}
    assert losing(kinds(noises=(0.375,), **far), 3000) == []
    assert losing(kinds(noises=(0.01, 0.1), speeds=((100.0, 125.0),), **far), 3000) == []


def test_the_committed_weights_give_the_numbers_of_the_page():
    page = (ROOT / "docs" / "eye.md").read_text(encoding="utf-8")
    for noise, rate in ((0.03, 60.0), (0.1, 1000.0)):
        name, *cells = row(list(bins(kinds(noises=(noise,), rates=(rate,)), COUNT)))
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
        for found, shown in zip(cells[:-2], line.strip("| ").split(" | ")[1:], strict=False):
            assert float(found[:-1]) == pytest.approx(float(shown[:-1]), rel=0.005, abs=0.001)


def test_the_page_tells_of_the_bin_where_a_rule_comes_nearest():
    found = list(bins(kinds(noises=(0.1,), eccentricities=((0.0, 10.0),), rates=(60.0, 1000.0)), 200))
    worst = max(found, key=lambda one: one.worst)
    words = told(found)
    assert words.startswith("In all 8 bins") and f"at most {worst.worst:.3f} times" in words
    assert f"{worst.kind.speed_deg_s[1]:.0f}°/s, {worst.kind.rate_hz:.0f} Hz" in words


def straight(speed_deg_s, noise_deg, rate_hz, count=1000):
    """Windows of an eye that goes on and on at one speed, as nobody's does: past, measured and true."""
    rng = np.random.default_rng(11)
    heading = rng.uniform(0, 2 * np.pi, (count, 1))
    place = rng.uniform(-28, 28, (count, 1, 2))
    ways = np.stack([np.cos(heading), np.sin(heading)], axis=2) * np.arange(-49, 6)[None, :, None]
    true = place + ways * speed_deg_s / rate_hz
    measured = true + noise_deg * rng.standard_normal(true.shape)
    return measured[:, :50], measured[:, 50:], true[:, 50:]


@pytest.mark.parametrize("rate_hz", [60.0, 250.0, 1000.0])
def test_nor_where_a_line_is_all_there_is(rate_hz):
    for speed, noise in product((0.0, 5.0, 30.0, 60.0, 100.0), (0.01, 0.03, 0.1, 0.3)):
        past, *asked = straight(speed, noise, rate_hz)
        ahead = forecast(past, rate_hz)
        for future in asked:
            best = min(errors_deg(found, future).mean() for found in rules(past).values())
            assert errors_deg(ahead, future).mean() <= MOST_WORSE * best, (speed, noise)


def test_four_of_five_errors_lie_within_the_radius():
    held = []
    for kind in kinds(eccentricities=((0.0, 20.0),), speeds=((0.0, 30.0),), rates=(60.0, 250.0, 1000.0)):
        seen = windows(kind, 1500)
        ahead, radius = forecast(seen.past, kind.rate_hz, interval=True)
        inside = errors_deg(ahead, seen.measured) <= radius
        held.append(inside.mean())
        assert 0.7 < inside.mean() < 0.9, f"{kind}: {inside.mean():.3f}"
    assert 0.76 < np.mean(held) < 0.84


def test_surer_answers_are_nearer(past):
    seen = windows(EVERYDAY, 3000)
    ahead, radius = forecast(seen.past, 120, interval=True)
    order = np.argsort(radius.mean(axis=1))
    errors = errors_deg(ahead, seen.measured).mean(axis=1)[order]
    means = [part.mean() for part in np.array_split(errors, 4)]
    assert all(one < other for one, other in pairwise(means))
