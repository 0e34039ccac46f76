"""Plans: what the file says is what is shown, and the seed decides the rest."""

import math
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from palestra.studio.present.plans import geometry
from palestra.studio.present.plans.examples import EXAMPLES, example
from palestra.studio.present.plans.films import FILMS
from palestra.studio.present.plans.geometry import Screen
from palestra.studio.present.plans.paths import position
from palestra.studio.present.plans.plan import Path, Plan, next_event
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Curve, Emotion, Points, Pursuit, Saccades, Stimuli, Targets
from palestra.studio.present.plans.stimulus_file import read_stimuli

SCREEN = Screen(531, 299, 600)
KINDS = (Targets, Curve, Pursuit, Saccades, Points, Emotion)
seeds = some.integers(0, 2**53)
screens = some.builds(Screen, some.floats(200, 3000), some.floats(200, 3000), some.floats(200, 650))


def plan(*blocks, seed: int = 0, screen: Screen = SCREEN) -> Plan:
    return plan_of(Stimuli(screen, blocks, seed))


def lengths(made: Plan, shows: str) -> list[float]:
    return [event.length_s for event in made.events if event.shows == shows]


@given(seeds)
def test_the_same_seed_gives_the_same_plan_and_another_seed_another(seed):
    blocks = (Targets(count=5), Curve(count=3), Saccades(), Points(), Emotion())
    assert plan(*blocks, seed=seed) == plan(*blocks, seed=seed)
    assert plan(*blocks, seed=seed).events != plan(*blocks, seed=seed + 1).events


@given(seeds, some.sampled_from([Targets, Curve, Saccades, Points]), screens)
def test_a_target_never_leaves_the_screen(seed, kind, screen):
    for event in plan(kind(), seed=seed, screen=screen).events:
        if event.path:
            assert all(screen.contains(position(event.path, share)) for share in np.linspace(0, 1, 9))


@given(seeds, some.lists(some.sampled_from(KINDS[:-1]), min_size=1, max_size=4))
def test_events_follow_each_other_without_a_gap(seed, kinds):
    made = plan(*(kind() for kind in kinds), Emotion(), seed=seed)
    assert [event.number for event in made.events] == list(range(len(made.events)))
    for index, block in enumerate(made.blocks):
        events = made.events[block.first : block.first + block.events]
        ends = [event.onset_s + event.length_s for event in events]
        assert [event.onset_s for event in events] == pytest.approx([0, *ends[:-1]], abs=1e-5)
        assert ends[-1] == pytest.approx(block.length_s, abs=1e-5)
        assert {event.block for event in events} == {index}


def test_a_block_is_the_same_whatever_comes_after_it():
    assert plan(Targets(count=7)).events == plan(Targets(count=7), Curve()).events[:7]


def test_discrete_targets_come_every_1_1_s_for_two_and_a_half_minutes_and_fill_the_screen():
    made = plan(Targets(count=5000, margin=0))
    assert set(lengths(made, "target")) == {1.1}
    assert plan(Targets()).blocks[0].length_s == pytest.approx(150, abs=1.1)
    shares = np.array([geometry.to_share(SCREEN, event.path.points[0]) for event in made.events])
    assert shares.min(axis=0) == pytest.approx([0, 0], abs=0.01)
    assert shares.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.02)
    assert shares.var(axis=0) == pytest.approx([1 / 12, 1 / 12], abs=0.003)  # as of a uniform distribution


def test_curves_are_quadratic_and_each_lies_in_its_window():
    for event in plan(Curve(window=0.3)).events:
        assert event.path.shape == "bezier" and event.length_s == 2
        size = np.ptp([geometry.to_share(SCREEN, place) for place in event.path.points], axis=0)
        assert size.max() <= 0.3 + 1e-5


def test_a_quadratic_curve_agrees_with_its_polynomial():
    (a, b, c) = points = ((10.0, 20.0), (200.0, 5.0), (60.0, 250.0))
    for t in np.linspace(0, 1, 11):
        x = (1 - t) ** 2 * a[0] + 2 * t * (1 - t) * b[0] + t**2 * c[0]
        assert position(Path("bezier", points), float(t))[0] == pytest.approx(x)


def test_the_ring_has_17_fixations_and_16_pursuits_of_a_second_that_join_them():
    made = plan(Pursuit())
    still = [event for event in made.events if event.path.shape == "still"]
    moving = [event for event in made.events if event.path.shape == "arc"]
    assert (len(still), len(moving), set(lengths(made, "target"))) == (17, 16, {1.0})
    for before, event in zip(made.events, made.events[1:], strict=False):
        assert position(before.path, 1) == pytest.approx(position(event.path, 0), abs=0.01)
    radius = geometry.radius_of(SCREEN, 8)
    for event in moving:
        assert math.dist(SCREEN.middle_mm, position(event.path, 0.3)) == pytest.approx(radius, abs=0.01)


def test_the_ring_is_the_same_for_everybody_and_saccades_are_not():
    assert plan(Pursuit(), seed=1).events == plan(Pursuit(), seed=2).events
    assert plan(Saccades(), seed=1).events != plan(Saccades(), seed=2).events


def test_20_fixations_are_joined_by_jumps_of_a_tenth_of_a_second():
    made = plan(Saccades(trigger=7))
    assert lengths(made, "target")[::2] == [1.0] * 20
    assert lengths(made, "target")[1::2] == [0.1] * 19
    assert [event.trigger for event in made.events[:3]] == [7, None, 7]  # of fixations alone


def test_the_live_test_shows_each_of_30_points_once_and_captures_it_half_a_second_later():
    made = plan(Points(trigger=1, capture_trigger=2))
    shown = [event for event in made.events if event.shows == "target"]
    assert len({event.path.points[0] for event in shown}) == 30
    for i, (target, capture, blank) in enumerate(zip(*[iter(made.events)] * 3, strict=True)):
        assert (target.onset_s, capture.onset_s, blank.onset_s) == pytest.approx((2 * i, 2 * i + 0.5, 2 * i + 1))
        assert (target.shows, capture.shows, blank.shows) == ("target", "capture", "blank")
        assert (target.trigger, capture.trigger, blank.trigger) == (1, 2, None)
        assert target.path == capture.path


def films_of(made: Plan) -> list[list[int]]:
    """The films of each block, by what stands between the triggers of its start and end."""
    groups: list[list[int]] = []
    for event in made.events:
        if event.trigger == 242:
            groups.append([])
        if event.video:
            groups[-1].append(event.video)
    return groups


@given(seeds)
def test_every_film_is_shown_once_in_7_blocks_of_4_of_one_valence(seed):
    groups = films_of(plan(Emotion(), seed=seed))
    assert [len(group) for group in groups] == [4] * 7
    assert sorted(number for group in groups for number in group) == list(range(1, 29))
    valence = {film.number: film.valence for film in FILMS}
    assert all(len({valence[number] for number in group}) == 1 for group in groups)


def test_the_order_of_films_and_blocks_is_random():
    assert len({str(films_of(plan(Emotion(), seed=seed))) for seed in range(20)}) == 20


def test_triggers_tell_run_block_film_and_video_in_their_order():
    made = plan(Emotion(), seed=3)
    codes = [event.trigger for event in made.events if event.trigger]
    expected = [250]
    for group in films_of(made):
        expected += [242, *(code for film in group for code in (film, 240, 241)), 243]
    assert codes == [*expected, 251]


def test_a_film_starts_a_tenth_of_a_second_after_its_number_and_5_s_after_its_cross():
    made = plan(Emotion())
    for event in made.events:
        if event.video:
            cross, number, after = (made.events[event.number + step] for step in (-2, -1, 1))
            assert cross.shows == number.shows == "cross" and number.trigger == event.video
            assert event.onset_s - cross.onset_s == pytest.approx(5)
            assert event.onset_s - number.onset_s == pytest.approx(0.1)
            assert (event.ends, after.trigger) == ("video", 241)


def test_each_film_is_followed_by_sliders_and_a_rest_and_sums_come_between_blocks_alone():
    made = plan(Emotion())
    assert len(lengths(made, "sliders")) == 28
    assert set(lengths(made, "rest")) == {30.0} and len(lengths(made, "rest")) == 28
    sums = [event for event in made.events if event.shows == "sums"]
    assert [len(event.sums) for event in sums] == [20] * 6
    for one, sign, other in (each for event in sums for each in event.sums):
        assert (one + other if sign == "+" else one - other) >= 0


def test_the_table_of_films_is_that_of_the_contest():
    assert Counter(film.valence for film in FILMS) == {"negative": 12, "neutral": 4, "positive": 12}
    assert sum(film.length_s for film in FILMS) == 1844
    assert (min(film.length_s for film in FILMS), max(film.length_s for film in FILMS)) == (34, 129)


def test_a_stopped_run_goes_on_at_the_next_target_but_shows_a_film_again_from_its_cross():
    gaze, feelings = plan(Targets(count=3)), plan(Emotion())
    assert [next_event(gaze, last, False) for last in (None, 0, 2)] == [0, 1, 3]
    film = next(event for event in feelings.events if event.video)
    assert next_event(feelings, film.number, False) == film.number - 2
    assert next_event(feelings, film.number - 1, False) == film.number - 2
    assert next_event(feelings, film.number, True) == film.number + 1
    assert next_event(feelings, film.number + 2, False) == film.number + 2  # the sliders


@given(some.floats(-40, 40), some.floats(-30, 30))
def test_angles_and_places_are_each_others_inverse(yaw, pitch):
    assert geometry.to_angles(SCREEN, geometry.from_angles(SCREEN, yaw, pitch)) == pytest.approx((yaw, pitch), abs=1e-6)


def test_a_degree_from_the_middle_is_as_far_as_trigonometry_says():
    assert geometry.from_angles(SCREEN, 10, 0)[0] - 265.5 == pytest.approx(105.8, abs=0.01)
    assert geometry.radius_of(SCREEN, 10) == pytest.approx(105.8, abs=0.01)


@given(some.tuples(some.floats(0, 531), some.floats(0, 299)))
def test_pixels_and_millimetres_are_each_others_inverse(place):
    assert geometry.from_px(SCREEN, geometry.to_px(SCREEN, place, 1920, 1080), 1920, 1080) == pytest.approx(place)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_example_is_a_file_that_says_the_numbers_of_its_kind(name, tmp_path):
    made = read_stimuli(example(name))
    kind = {kind.__struct_config__.tag: kind for kind in KINDS}[name]
    assert made.blocks == (kind(),)
    assert len(plan_of(made).events) > 10


def test_a_plan_survives_json():
    made = plan(*(kind() for kind in KINDS))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Plan) == made
