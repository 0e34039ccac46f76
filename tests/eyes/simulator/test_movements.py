"""The oculomotor model: patterns, movements, labels, windows, and its numbers beside those of real eyes."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.eyes.simulator.movement_statistics import (
    Forecast,
    Row,
    forecast_errors,
    format_forecasts,
    format_statistics,
    measure,
    statistics,
)
from palestra.eyes.simulator.movements import (
    EYE_X_CM,
    EYES,
    FIXATION,
    PURSUIT,
    SACCADE,
    Eye,
    Mover,
    Trace,
    draw_mover,
    pick_windows,
    saccade_course,
    watch,
)
from palestra.eyes.simulator.targets import (
    MOVING,
    SETTLING,
    STATIC,
    Array,
    Targets,
    free_viewing_pattern,
    plane_points,
    random_pattern,
    ring_pattern,
)
from palestra.metrics.angles import to_angles, to_vectors


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def apart_deg(a: Array, b: Array) -> Array:
    return np.asarray(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))))


def eye_to_target(targets: Targets, eye_x_cm: float) -> Array:
    ray = targets.point_cm - np.array([eye_x_cm, 0, 0])
    return np.asarray(ray / np.linalg.norm(ray, axis=1, keepdims=True))


def away_deg(points_cm: Array) -> Array:
    return np.asarray(np.degrees(np.arctan2(np.hypot(points_cm[:, 0], points_cm[:, 1]), points_cm[:, 2])))


@pytest.fixture(scope="module")
def mover() -> Mover:
    return draw_mover(rng_of(11))


@pytest.fixture(scope="module")
def steady(mover: Mover) -> Mover:
    """The same person, attentive and wide awake."""
    return replace(mover, blinks_per_min=0.0, distractions_per_min=0.0, misses_per_min=0.0)


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    return {row.quantity: row for row in statistics(rng_of(5), people=10)}


@pytest.fixture(scope="module")
def forecasts() -> list[Forecast]:
    return forecast_errors(rng_of(6), people=8)


# Patterns


def test_ring_has_17_fixations_and_16_pursuits_of_one_second() -> None:
    ring = ring_pattern(100.0)
    moves, rests = runs(ring.status == MOVING), runs(ring.status != MOVING)
    assert (len(rests), len(moves)) == (17, 16)
    assert {b - a for a, b in moves} == {b - a for a, b in rests} == {100}
    assert len(ring.time_s) == 3300
    assert ring.time_s[1] == pytest.approx(0.01)


def test_ring_lies_at_20_degrees_and_at_its_depth() -> None:
    for depth_cm in (50.0, 600.0):
        ring = ring_pattern(depth_cm)
        assert np.allclose(away_deg(ring.point_cm), 20)
        assert np.allclose(ring.point_cm[:, 2], depth_cm)


def test_ring_is_the_same_at_every_depth_but_for_its_scale() -> None:
    assert np.allclose(ring_pattern(50.0).point_cm * 6, ring_pattern(300.0).point_cm)


def test_ring_turns_at_a_steady_speed() -> None:
    ring = ring_pattern(100.0)
    direction = ring.point_cm / np.linalg.norm(ring.point_cm, axis=1, keepdims=True)
    speed = apart_deg(direction[1:], direction[:-1]) * ring.rate_hz
    moving = ring.status[1:] == MOVING
    assert np.allclose(speed[moving], speed[moving][0])
    assert np.count_nonzero(speed[~moving] > 1e-6) == 16  # the step that arrives


def test_random_targets_stay_in_the_cone_and_between_the_depths() -> None:
    for seed in range(20):
        targets = random_pattern(rng_of(seed))
        rest = targets.point_cm[targets.status != MOVING]
        assert away_deg(rest).max() <= 20 + 1e-9
        assert rest[:, 2].min() >= 50
        assert rest[:, 2].max() <= 600


def test_random_targets_rest_one_second_and_jump_in_a_tenth() -> None:
    targets = random_pattern(rng_of(0))
    assert len(runs(targets.status != MOVING)) <= 20
    assert {b - a for a, b in runs(targets.status != MOVING)} == {100}
    assert {b - a for a, b in runs(targets.status == MOVING)} == {10}


def test_a_target_settles_after_it_moved_and_is_static_then() -> None:
    status = random_pattern(rng_of(0)).status
    end = runs(status == MOVING)[0][1]
    assert (status[end : end + 40] == SETTLING).all()
    assert (status[end + 40 : end + 100] == STATIC).all()
    assert status[0] == STATIC


def test_targets_at_1_khz_last_as_long_as_at_100_hz() -> None:
    slow, fast = ring_pattern(80.0), ring_pattern(80.0, rate_hz=1000.0)
    assert len(fast.time_s) == 10 * len(slow.time_s)
    assert runs(fast.status == MOVING)[3] == tuple(10 * i for i in runs(slow.status == MOVING)[3])


def test_plane_points_cover_the_plane_evenly() -> None:
    points = plane_points(400, 16.0, 9.0, rng_of(1))
    assert points.shape == (400, 2)
    assert (np.abs(points) <= [16.0, 9.0]).all()
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=4, range=[[-16, 16], [-9, 9]])
    assert counts.min() >= 15
    assert counts.max() <= 35
    assert abs(np.corrcoef(points[:-1, 1], points[1:, 1])[0, 1]) < 0.2  # shuffled


@pytest.mark.parametrize("count", [1, 2, 5, 30, 2310])
def test_plane_points_are_as_many_as_asked(count: int) -> None:
    assert plane_points(count, 20.0, 20.0, rng_of(2)).shape == (count, 2)


# Angles


@given(st.floats(-179.9, 179.9), st.floats(-89, 89))
def test_angles_survive_the_way_to_vectors_and_back(yaw_deg: float, pitch_deg: float) -> None:
    vector = to_vectors(yaw_deg, pitch_deg)
    assert np.linalg.norm(vector) == pytest.approx(1)
    yaw, pitch = to_angles(vector)
    assert yaw == pytest.approx(yaw_deg, abs=1e-9)
    assert pitch == pytest.approx(pitch_deg, abs=1e-9)


@given(st.tuples(*[st.floats(-100, 100)] * 3).filter(lambda v: np.hypot(v[0], v[2]) > 1e-3))
def test_vectors_survive_the_way_to_angles_and_back(vector: tuple[float, float, float]) -> None:
    unit = np.array(vector) / np.linalg.norm(vector)
    assert np.allclose(to_vectors(*to_angles(np.array(vector))), unit, atol=1e-12)


def test_yaw_is_positive_to_the_left_axis_and_pitch_up() -> None:
    assert np.allclose(to_angles(np.array([1.0, 0, 1.0])), (45, 0))
    assert np.allclose(to_angles(np.array([0, 1.0, 1.0])), (0, 45))


# Watching


@pytest.mark.parametrize("eye", EYES)
def test_the_same_generator_gives_the_same_recording(mover: Mover, eye: Eye) -> None:
    targets = random_pattern(rng_of(0))
    one, two = (watch(targets, mover, eye, rng_of(3)) for _ in range(2))
    other = watch(targets, mover, eye, rng_of(4))
    for field in fields(Trace):
        assert np.array_equal(getattr(one, field.name), getattr(two, field.name)), field.name
    assert not np.allclose(one.gaze, other.gaze)


def test_people_differ_and_each_is_drawn_the_same_again() -> None:
    assert draw_mover(rng_of(1)) == draw_mover(rng_of(1))
    assert draw_mover(rng_of(1)) != draw_mover(rng_of(2))


def test_gaze_and_labels_are_unit_vectors_for_every_frame(mover: Mover) -> None:
    targets = ring_pattern(70.0)
    trace = watch(targets, mover, "left", rng_of(3))
    assert len({len(getattr(trace, field.name)) for field in fields(Trace)} | {len(targets.time_s)}) == 1
    assert np.allclose(np.linalg.norm(trace.gaze, axis=1), 1)
    assert np.allclose(np.linalg.norm(trace.label, axis=1), 1)


def test_cornea_lies_half_a_centimetre_before_the_eye(mover: Mover) -> None:
    trace = watch(ring_pattern(70.0), mover, "right", rng_of(3))
    assert np.allclose(trace.cornea_cm - [-3.2, 0, 0], 0.55 * trace.gaze)


def test_a_target_that_stands_for_a_moment_can_be_watched(mover: Mover) -> None:
    targets = Targets(np.zeros(1), np.array([[0.0, 0, 100]]), np.zeros(1, np.uint8), 100.0, "random")
    assert watch(targets, mover, "left", rng_of(0)).gaze.shape == (1, 3)


def test_the_eye_is_on_a_static_target(steady: Mover) -> None:
    targets = random_pattern(rng_of(8))
    trace = watch(targets, steady, "left", rng_of(3))
    late = (targets.status == STATIC) & (trace.movement == FIXATION) & (targets.time_s > 0.1)
    error = apart_deg(trace.gaze, eye_to_target(targets, 3.2))[late]
    assert np.median(error) < 0.6
    assert np.percentile(error, 95) < 1.6


def test_saccades_start_about_200_ms_after_a_jump() -> None:
    waits = []
    for seed in range(8):
        person = replace(draw_mover(rng_of(seed)), blinks_per_min=0.0, distractions_per_min=0.0, microsaccade_hz=0.0)
        targets = random_pattern(rng_of(seed))
        saccades = np.array([a for a, _ in runs(watch(targets, person, "left", rng_of(seed)).movement == SACCADE)])
        for jump, _ in runs(targets.status == MOVING):
            waits += [float(s - jump) / 100 for s in saccades if 8 <= s - jump < 60][:1]
    assert np.median(waits) == pytest.approx(0.2, abs=0.03)
    assert 0.02 < np.std(waits) < 0.09
    assert np.mean(np.array(waits) < 0.12) < 0.03


def test_saccades_lie_on_the_main_sequence(steady: Mover) -> None:
    person = replace(steady, speed_gain=1.0)
    parts = [
        measure(watch(random_pattern(rng_of(seed), 1000.0), person, "left", rng_of(seed)), 0.0, rng_of(seed))
        for seed in range(12)
    ]
    amplitude = np.concatenate([part.amplitude_deg for part in parts])
    duration = np.concatenate([part.duration_ms for part in parts])
    peak = np.concatenate([part.peak_deg_s for part in parts])
    for low, high in ((1, 5), (5, 10), (10, 20), (20, 40)):
        inside = (amplitude >= low) & (amplitude < high)
        assert inside.sum() >= 5
        model_ms = 2.46 * amplitude[inside] + 14.8
        model_deg_s = 541 * (1 - np.exp(-amplitude[inside] / 7.6))
        assert np.median(duration[inside] / model_ms) == pytest.approx(1, abs=0.2)
        assert np.median(peak[inside] / model_deg_s) == pytest.approx(1, abs=0.15)


@given(st.floats(0.2, 40), st.floats(0, 6.28), st.integers(0, 1000))
def test_a_saccade_makes_its_whole_step_and_speeds_up_before_it_brakes(size: float, turn: float, seed: int) -> None:
    step = size * np.array([np.cos(turn), np.sin(turn)])
    course = saccade_course(step, draw_mover(rng_of(seed)), rng_of(seed))
    assert np.allclose(course.sum(axis=0), step)
    speed = np.linalg.norm(course, axis=1)
    assert np.argmax(speed) <= 0.55 * len(speed)
    assert speed[0] < 0.6 * speed.max()
    assert speed[-1] < 0.6 * speed.max()


def test_pursuit_follows_the_targets_speed_with_a_gain_below_one() -> None:
    targets = ring_pattern(150.0, 1000.0)
    ratios = []
    for seed in range(5):
        person = replace(draw_mover(rng_of(seed)), blinks_per_min=0.0, distractions_per_min=0.0, drift_deg=0.02)
        trace = watch(targets, person, "left", rng_of(seed))
        aim = eye_to_target(targets, 3.2)
        for begin, _ in runs(targets.status == MOVING):
            a, b = begin + 400, begin + 800  # the eye is at speed and the end not yet foreseen
            calm = (trace.movement[a:b] == PURSUIT) & (trace.movement[a + 1 : b + 1] == PURSUIT)
            along = np.diff(aim[a : b + 1], axis=0)
            eye = np.diff(trace.gaze[a : b + 1], axis=0)
            ratios.append((eye * along)[calm].sum() / (along**2)[calm].sum())
    assert 0.75 < np.mean(ratios) < 1.0


def test_pursuit_keeps_near_the_target_by_catching_up(steady: Mover) -> None:
    targets = ring_pattern(150.0)
    trace = watch(targets, steady, "left", rng_of(3))
    moving = targets.status == MOVING
    error = apart_deg(trace.gaze, eye_to_target(targets, 3.2))[moving]
    assert np.percentile(error, 95) < 2.0
    assert (trace.movement[moving] == PURSUIT).mean() > 0.6
    assert (trace.movement[moving] == SACCADE).any()


def test_both_eyes_of_a_recording_move_together_and_converge_on_near_targets(steady: Mover) -> None:
    def turned_in_deg(depth_cm: float) -> Array:
        left, right = (watch(ring_pattern(depth_cm), steady, eye, rng_of(7)) for eye in EYES)
        assert np.array_equal(left.movement, right.movement)
        return to_angles(right.gaze)[0] - to_angles(left.gaze)[0]

    near, far = turned_in_deg(50.0), turned_in_deg(600.0)
    # The left eye is at +X, so it looks further to −X than the right one; 2 · atan(3.2 / 50) = 7.3 degrees ahead.
    assert near.min() > 5
    assert near.max() < 8
    assert (np.abs(far) < 1).all()


# Labels


def test_labels_differ_from_the_truth_by_little() -> None:
    for seed in range(6):
        trace = watch(random_pattern(rng_of(seed)), draw_mover(rng_of(seed)), "left", rng_of(seed))
        error = apart_deg(trace.gaze, trace.label)[trace.valid & (trace.movement == FIXATION)]
        assert 0.05 < np.median(error) < 1.2


def test_labels_have_no_mean_offset_to_a_static_target(mover: Mover) -> None:
    for eye in EYES:
        targets = random_pattern(rng_of(2))
        trace = watch(targets, mover, eye, rng_of(5))
        static = trace.valid & (targets.status == STATIC)
        label, aim = to_angles(trace.label), to_angles(eye_to_target(targets, EYE_X_CM[eye]))
        assert np.allclose([(a - b)[static].mean() for a, b in zip(label, aim, strict=True)], 0, atol=1e-9)


# Blinks, distractions, windows


def test_blinks_close_the_eye_for_a_tenth_of_a_second_and_are_not_valid(mover: Mover) -> None:
    sleepy = replace(mover, blinks_per_min=15.0, distractions_per_min=0.0, misses_per_min=0.0)
    trace = watch(ring_pattern(100.0, 1000.0), sleepy, "left", rng_of(3))
    shut = runs(trace.opening < 0.15)
    assert len(shut) >= 3
    assert 80 < np.median([b - a for a, b in shut]) < 240
    assert not trace.valid[trace.opening < 0.9].any()
    assert trace.opening.min() >= 0
    assert trace.opening[trace.valid].mean() > 0.9


def test_distractions_and_bad_detections_are_not_valid(mover: Mover, steady: Mover) -> None:
    targets = random_pattern(rng_of(1))
    assert watch(targets, steady, "left", rng_of(3)).valid.all()
    absent = replace(steady, distractions_per_min=10.0)
    trace = watch(targets, absent, "left", rng_of(3))
    static = targets.status == STATIC
    off = apart_deg(trace.gaze, eye_to_target(targets, 3.2)) > 4
    assert (off & static).any()
    assert not (off & static & trace.valid).any()
    assert not watch(targets, replace(steady, misses_per_min=20.0), "left", rng_of(3)).valid.all()


def test_the_pupil_is_smaller_for_near_targets(steady: Mover) -> None:
    near, far = (watch(ring_pattern(depth), steady, "left", rng_of(3)).pupil_mm for depth in (50.0, 600.0))
    assert near.mean() < far.mean() - 0.2
    assert near.min() > 1.5
    assert far.max() < 9


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 9), st.integers(0, 9), st.integers(0, 99))
def test_windows_are_valid_do_not_overlap_and_are_as_many_as_fit(
    flags: list[bool], length: int, count: int, seed: int
) -> None:
    valid = np.array(flags, dtype=bool)
    starts = pick_windows(valid, length, count, rng_of(seed))
    assert all(valid[start : start + length].all() and start + length <= len(valid) for start in starts)
    assert (np.diff(starts) >= length).all()
    assert len(starts) == min(count, sum((b - a) // length for a, b in runs(valid)))


def test_windows_begin_anywhere() -> None:
    starts = [int(pick_windows(np.ones(120, bool), 100, 1, rng_of(seed))[0]) for seed in range(60)]
    assert min(starts) < 4
    assert max(starts) > 16


# Beside real eyes


def test_the_table_stands_beside_the_real_one(rows: dict[str, Row]) -> None:
    for row in rows.values():
        for ours, real in zip(row.ours, row.real, strict=True):
            assert 0.6 < ours / real < 1.6, f"{row.quantity}: real {row.real_text}, ours {row.ours_text}"


def test_the_middle_of_each_quantity_is_within_a_third_of_the_real_one(rows: dict[str, Row]) -> None:
    for row in rows.values():
        if len(row.real) == 3:
            assert row.ours[1] == pytest.approx(row.real[1], rel=0.34), row.quantity


def test_the_main_sequence_fits_as_the_real_one_does(rows: dict[str, Row]) -> None:
    for name in ("duration: ms per deg, ms at 0 deg", "peak velocity: top deg/s, scale deg"):
        assert rows[name].ours == pytest.approx(rows[name].real, rel=0.15)


def test_the_true_gaze_is_quieter_than_the_recorded_one() -> None:
    recorded, true = (statistics(rng_of(5), people=2, seconds=30, recorded=flag)[-1].ours[1] for flag in (True, False))
    assert true < 0.5 * recorded


def test_free_viewing_stays_in_its_field() -> None:
    yaw, pitch = to_angles(free_viewing_pattern(rng_of(3)).point_cm)
    assert np.abs(yaw).max() <= 24.001
    assert np.abs(pitch).max() <= 14.001


def test_holding_the_last_beats_a_line_through_50_on_saccades(forecasts: list[Forecast]) -> None:
    error = {(row.forecaster, row.movement): np.mean(row.error_deg) for row in forecasts}
    assert error["hold the last", "saccade"] < error["line through 50", "saccade"]
    assert error["hold the last", "all"] < error["line through 50", "all"]
    assert error["hold the last", "fixation"] < error["hold the last", "saccade"]


def test_errors_grow_with_the_steps_ahead(forecasts: list[Forecast]) -> None:
    for row in forecasts:
        assert len(row.error_deg) == 5
        assert row.error_deg[0] < row.error_deg[-1]


def test_tables_name_every_row(rows: dict[str, Row], forecasts: list[Forecast]) -> None:
    table = format_statistics(list(rows.values()))
    assert all(name in table for name in rows)
    assert len(format_forecasts(forecasts).splitlines()) == 1 + len(forecasts)
