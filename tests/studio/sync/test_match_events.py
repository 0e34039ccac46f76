"""Events of two recordings are brought together, however many are missing or strange; what is ambiguous is refused."""

import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.studio.sync.events import Events, edges
from palestra.studio.sync.match_events import align_events

OFFSET_S, PPM = 17.25, 80.0


def lists(count=120, missed=0.2, strange=40, jitter_s=0.004, seed=0, coded=False):
    """The same moments as two clocks have them: some missed, others that the other never saw."""
    rng = np.random.default_rng(seed)
    true_s = np.cumsum(rng.uniform(1.0, 9.0, count))
    kinds = rng.integers(1, 4, count).astype(str)
    found = []
    for scale, start in ((1.0, 0.0), (1 + PPM * 1e-6, OFFSET_S)):
        seen = rng.random(count) >= missed
        mine = (true_s[seen] - start) / scale + rng.normal(0, jitter_s, seen.sum())
        alien = rng.uniform(mine[0], mine[-1], strange)
        at_s = np.concatenate([mine, alien])
        codes = np.concatenate([kinds[seen], rng.integers(1, 4, strange).astype(str)])
        order = np.argsort(at_s)
        found.append(Events(f"list {len(found)}", at_s[order], tuple(codes[order]) if coded else None))
    return found


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_events_some_missed_and_some_strange(seed, coded):
    found = align_events(*lists(seed=seed, coded=coded), None)
    assert abs(found.offset_s - OFFSET_S) < 0.004
    assert abs(found.drift_ppm - PPM) < 8
    assert found.matched >= 60 and found.confidence > 0.99


def test_the_error_that_is_told_is_the_error_that_is_made():
    off = [(align_events(*lists(seed=seed), None)) for seed in range(12)]
    ratio = [(one.drift_ppm - PPM) / one.drift_sd_ppm for one in off]
    assert 0.4 < float(np.sqrt(np.mean(np.square(ratio)))) < 2.0


def test_events_that_come_regularly_are_refused_unless_it_is_said_where():
    at_s = np.arange(100) * 1.1
    a, b = Events("a", at_s), Events("b", at_s[:-3] - 2.0)
    with pytest.raises(PalestraError, match=r"Another offset fits nearly as well.*--near"):
        align_events(a, b, None)


def test_events_of_different_sessions_are_refused():
    rng = np.random.default_rng(0)
    a, b = (Events(name, np.sort(rng.uniform(0, 600, 60))) for name in "ab")
    with pytest.raises(PalestraError, match=r"in common at the best offset|fits nearly as well"):
        align_events(a, b, None)


def test_codes_that_never_agree_are_refused():
    at_s = np.cumsum(np.random.default_rng(0).uniform(1, 5, 30))
    a, b = Events("a", at_s, ("1",) * 30), Events("b", at_s, ("2",) * 30)
    with pytest.raises(PalestraError, match="no event that could be the same"):
        align_events(a, b, None)


def test_edges_are_placed_between_samples():
    at_s = np.arange(0, 60, 0.01)
    true_s = np.arange(1.234, 59, 2.7183)
    level = np.zeros(len(at_s))
    for number, moment in enumerate(true_s):
        level += (1 if number % 2 == 0 else -1) * np.clip((at_s - moment) / 0.02 + 0.5, 0, 1)
    noisy = level + np.random.default_rng(0).normal(0, 0.03, len(level))
    found = edges("diode", at_s, noisy).at_s
    np.testing.assert_allclose(found, true_s, atol=0.002)


def test_a_light_that_never_changes_is_refused():
    noise = np.random.default_rng(0).normal(100, 2, 3000)
    with pytest.raises(PalestraError, match="never changes more than its noise"):
        edges("A.mp4 at 3,4", np.arange(3000) / 30, noise)
