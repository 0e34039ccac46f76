"""Offsets of a source's clock: measured again and again, so that drift and jumps show."""

import numpy as np
import pytest

from palestra.studio.capture.clock import MOST_JUMPS, SourceClock, on_our_clock
from palestra.studio.capture.source import Notice, Offset

S, MS = 1_000_000_000, 1_000_000


def watch(taken, arrived, clock=None):
    clock = clock or SourceClock(measures_itself=False)
    told = []
    for one, other in zip(taken, arrived, strict=True):
        told += clock.seen(int(one), int(other))
    told += clock.finish()
    return [one for one in told if isinstance(one, Offset)], [one for one in told if isinstance(one, Notice)]


def ours(taken, arrived, offsets):
    return on_our_clock(np.array(taken), np.array(arrived), np.ones(len(taken), bool), offsets)


def test_the_quickest_frame_of_each_window_stands_for_the_offset():
    taken = np.arange(0, 20 * S, 10 * MS)
    delay = np.random.default_rng(0).integers(2 * MS, 9 * MS, len(taken))
    offsets, told = watch(taken, taken + 1000 * S + delay)
    assert not told and len(offsets) >= 4
    for offset in offsets:
        assert offset.offset_ns == pytest.approx(1000 * S + 2 * MS, abs=0.3 * MS)
        assert 2 * MS < offset.spread_ns < 5 * MS


def test_drift_shows_and_times_follow_it():
    taken = np.arange(0, 60 * S, 10 * MS)
    arrived = (taken * 1.001).astype(np.int64) + 1000 * S  # 1 ms in a second
    offsets, told = watch(taken, arrived)
    assert not told
    assert offsets[-1].offset_ns - offsets[0].offset_ns == pytest.approx(55 * MS, abs=6 * MS)
    assert np.abs(ours(taken, arrived, offsets) - arrived).max() < 6 * MS


@pytest.mark.parametrize("by_s", [-30, 30])
def test_a_jump_is_told_and_times_before_and_after_it_are_right(by_s):
    taken = np.arange(0, 20 * S, 10 * MS)
    arrived = taken + 1000 * S
    jumped = taken + np.where(np.arange(len(taken)) >= 777, by_s * S, 0)
    offsets, told = watch(jumped, arrived)
    assert len(told) == 1 and f"jumped by {by_s:+.3f} s" in str(told[0].text)
    assert np.abs(ours(jumped, arrived, offsets) - arrived).max() < MS


def test_a_clock_that_jumps_all_the_time_is_told_a_limited_number_of_times():
    taken = np.arange(0, 20 * S, 10 * MS)
    offsets, told = watch(taken + np.arange(len(taken)) % 2 * 50 * S, taken + 1000 * S)
    assert len(told) == MOST_JUMPS and "again and again" in str(told[-1].text) and len(offsets) > 1000


def test_a_network_that_stalls_is_no_jump():
    taken = np.arange(0, 20 * S, 10 * MS)
    arrived = taken + 1000 * S
    arrived[700:900] = arrived[900]  # two seconds come at once
    offsets, told = watch(taken, arrived)
    assert not told
    assert np.abs(ours(taken, arrived, offsets) - taken - 1000 * S).max() < MS


def test_a_source_that_stays_behind_is_told():
    taken = np.arange(0, 30 * S, 10 * MS)
    arrived = taken + 1000 * S + np.where(taken > 10 * S, 2 * S, 0)
    _, told = watch(taken, arrived)
    assert "2.000 s later" in str(told[0].text)


def test_an_offset_by_round_trips_is_taken_as_it_is_and_a_jump_of_it_told():
    clock = SourceClock(measures_itself=True)
    assert clock.measured(Offset(1 * S, 5 * S, MS)) == [Offset(1 * S, 5 * S, MS)]
    assert clock.seen(10 * S, 15 * S) == []
    step, found, told = clock.measured(Offset(20 * S, 7 * S, MS))
    assert (step.at_ns, step.offset_ns) == (20 * S - 1, 5 * S) and found.offset_ns == 7 * S
    assert "-2.000 s" in str(told.text)


def test_without_an_offset_or_a_clock_the_arrival_counts():
    arrived = np.array([5, 6])
    assert on_our_clock(np.array([1, 2]), arrived, np.array([True, True]), []).tolist() == [5, 6]
    known = np.array([False, True])
    assert on_our_clock(np.array([-(1 << 62), 2]), arrived, known, [Offset(0, 3, 0)]).tolist() == [5, 5]


def test_nothing_is_taken_after_it_arrived():
    assert ours([10], [15], [Offset(0, 100, 0)]).tolist() == [15]
