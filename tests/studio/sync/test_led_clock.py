"""LEDs are read as a clock, however bad the readings are; what is no code is refused in words."""

import numpy as np
import pytest

from palestra.errors import PalestraError
from palestra.studio.sync.brightness import Readings
from palestra.studio.sync.led_clock import led_clock
from palestra.studio.sync.led_places import Place, Places
from palestra.studio.sync.led_sync import align_clocks
from tests.studio.sync.simulated import Board, Camera

PLACES = Places.parse("10,10 20,10 30,10 40,10 50,10")
BOARD = Board()


def aligned(a, b, seconds, board=BOARD, near=None, seed=0):
    clocks = [
        led_clock(camera.readings(board, seconds, seed + number, f"{name}.mp4"), PLACES)
        for number, (name, camera) in enumerate((("a", a), ("b", b)))
    ]
    return align_clocks(*clocks, near), clocks


def test_offset_and_drift_with_30_percent_wrong_dropped_frames_and_25_against_30_fps():
    ppm = -120.0
    a, b = Camera(30, wrong=0.3, dropped=0.02), Camera(25, 1.234, ppm, wrong=0.3, dropped=0.02)
    found, clocks = aligned(a, b, 600)
    assert abs(found.offset_s - 1.234) < 1 / 30
    assert abs(found.drift_ppm - ppm) < 5
    assert found.confidence > 0.99
    assert all(0.25 < clock.wrong.mean() < 0.35 for clock in clocks)


def test_frames_that_are_lost_without_a_trace_are_found():
    a, b = Camera(30, wrong=0.3, lost=3), Camera(25, -0.7, 50, wrong=0.3, lost=5)
    found, clocks = aligned(a, b, 240)
    assert [int(clock.lost[-1]) for clock in clocks] == [3, 5]
    assert abs(found.offset_s + 0.7) < 1 / 30
    assert abs(found.drift_ppm - 50) < 20  # in four minutes
    for number, camera in enumerate((a, b)):
        _, true_s = camera.frames(240, number)
        there = (true_s - camera.start_s) / (1 + camera.ppm * 1e-6)
        assert np.percentile(np.abs(clocks[number].at_s - there), 90) < 0.5 / camera.fps


def test_clean_readings_place_each_lost_frame():
    camera = Camera(30, lost=4)
    clock = led_clock(camera.readings(BOARD, 60), PLACES)
    _, true_s = camera.frames(60, 0)
    assert np.abs(clock.at_s - true_s).max() < 0.2  # four frames at most, and only beside a loss
    assert (np.abs(clock.at_s - true_s) < 1e-6).mean() > 0.95


def test_the_moment_of_switching_on_tells_the_round():
    board = Board(on_s=12.0)
    found, clocks = aligned(Camera(30, wrong=0.2), Camera(25, 8.5, wrong=0.2), 60, board)
    assert abs(found.offset_s - 8.5) < 1 / 30  # more than two rounds of 3.4 s
    assert clocks[0].began_s == pytest.approx(12.0, abs=0.5)
    assert found.notes == ()


def test_without_it_the_caller_says_roughly_where_or_is_told_what_was_assumed():
    a, b = Camera(30), Camera(25, 8.5)
    found, _ = aligned(a, b, 60, near=8.0)
    assert abs(found.offset_s - 8.5) < 1 / 30
    found, _ = aligned(a, b, 60)
    assert abs(found.offset_s) <= 1.72 and "repeats each 3.4 s" in str(found.notes[0])


def test_the_order_of_the_leds_may_be_the_other_way_round():
    readings = Camera(30, wrong=0.1).readings(BOARD, 60)
    there = led_clock(readings, PLACES)
    back = led_clock(Readings("a.mp4", readings.at_s, readings.grey[:, ::-1].copy(), readings.size), PLACES)
    assert back.is_reversed and not there.is_reversed
    np.testing.assert_allclose(back.line.place(readings.at_s), there.line.place(readings.at_s), atol=1e-9)


@pytest.mark.parametrize("count", [3, 7])
def test_fewer_or_more_leds(count):
    board = Board(count=count)
    places = Places(tuple(Place(10 * number, 10) for number in range(count)))
    found = align_clocks(
        *[led_clock(c.readings(board, 120), places) for c in (Camera(30, wrong=0.1), Camera(25, 0.3, wrong=0.1))], None
    )
    assert abs(found.offset_s - 0.3) < 1 / 60


def test_a_step_of_whole_frames_is_told():
    found, _ = aligned(Camera(30), Camera(25, 0.5), 60, Board(step_s=0.1 / 1.0021))
    assert any("every 3 frames exactly" in str(note) for note in found.notes)
    assert abs(found.offset_s - 0.5) < 1 / 30


# What is refused


def test_a_light_that_never_changes_is_named():
    readings = Camera(30).readings(BOARD, 30)
    readings.grey[:, 2] = 91.0
    with pytest.raises(PalestraError, match=r"the light at 30,10 never changes\. It is out of sight"):
        led_clock(readings, PLACES)


def test_lights_that_run_no_code_are_refused():
    readings = Camera(30).readings(BOARD, 60)
    noise = np.random.default_rng(0).choice([40.0, 170.0], readings.grey.shape)
    with pytest.raises(PalestraError, match="do not run a Gray code that can be read"):
        led_clock(Readings("a.mp4", readings.at_s, noise, readings.size), PLACES)


def test_leds_in_a_wrong_order_are_refused():
    readings = Camera(30).readings(BOARD, 60)
    mixed = readings.grey[:, [2, 0, 4, 1, 3]]
    with pytest.raises(PalestraError, match="do not run a Gray code that can be read"):
        led_clock(Readings("a.mp4", readings.at_s, mixed, readings.size), PLACES)


def test_too_short_a_recording_is_refused():
    with pytest.raises(PalestraError, match="expected at least 2 rounds"):
        led_clock(Camera(30).readings(BOARD, 5), PLACES)


def test_too_short_an_overlap_is_refused():
    with pytest.raises(PalestraError, match=r"overlap for 2\.0 s, expected at least 6\.9 s"):
        aligned(Camera(30), Camera(25, 28.0), 30, near=28.0)


def test_other_leds_are_refused():
    clocks = [
        led_clock(Camera(30).readings(board, 60, name=name), PLACES)
        for name, board in (("a.mp4", BOARD), ("b.mp4", Board(step_s=0.2)))
    ]
    with pytest.raises(PalestraError, match="not the same LEDs"):
        align_clocks(*clocks, None)
