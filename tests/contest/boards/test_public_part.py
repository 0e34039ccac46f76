"""The part of the people that a board shows before the end: the same for every team, and never all or none."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.boards import public_part
from palestra.scoring import score
from tests.contest.story import a_phase
from tests.scoring.test_score import track_of

UNITS = st.lists(st.text(max_size=5) | st.integers(), min_size=1, max_size=40, unique_by=str)


@given(UNITS, st.floats(0.01, 0.99), st.text(max_size=5))
def test_so_many_are_chosen_and_each_part_has_one(units, share, salt):
    found = public_part.chosen(units, share, salt)
    assert set(map(str, found)) <= set(map(str, units))
    assert len({str(one) for one in found}) == len(found)
    assert abs(len(found) - share * len(units)) <= 1
    if len(units) > 1:
        assert 0 < len(found) < len(units)


@given(UNITS, st.floats(0.01, 0.99), st.randoms())
def test_the_choice_does_not_hang_on_the_order(units, share, random):
    other = list(units)
    random.shuffle(other)
    assert public_part.chosen(units, share, "salt") == public_part.chosen(other, share, "salt")


@given(UNITS, st.floats(0.1, 0.5), st.floats(0.5, 0.9))
def test_a_larger_part_has_the_smaller_one_in_it(units, small, large):
    assert set(map(str, public_part.chosen(units, small, "x"))) <= set(map(str, public_part.chosen(units, large, "x")))


def test_other_data_has_another_choice():
    units = list(range(40))
    assert public_part.chosen(units, 0.5, "first:a") != public_part.chosen(units, 0.5, "first:b")


@pytest.fixture
def entered(tmp_path):
    """A track of twelve people, and a way to enter with some answers."""
    names = [f"t{i:02d}" for i in range(48)]
    trials = pl.DataFrame({"trial": names, "unit": [f"p{i % 12}" for i in range(48)]})
    truth = pl.DataFrame({"trial": names, "truth_number": [float(i % 12) for i in range(48)]})
    track = track_of(trials, truth)
    sheet = score.load(track, tmp_path)
    return track, lambda answers, name: score.score(track, sheet, answers, name)


def test_every_team_is_shown_on_the_same_people(entered):
    track, enter = entered
    names = [f"t{i:02d}" for i in range(48)]
    one = enter(pl.DataFrame({"trial": names, "number": [0.0] * 48}), "one")
    two = enter(pl.DataFrame({"trial": names[::-1], "number": [3.0] * 48}), "two")
    phase = a_phase(split=0.25)
    parts = [public_part.shown(phase, track, scored) for scored in (one, two)]
    people = [sorted(part.rows["unit"].unique()) for part in parts]
    assert people[0] == people[1]
    assert len(people[0]) == 3
    assert all(part.rows.height == 12 for part in parts)


def test_the_shown_numbers_are_of_the_shown_people_alone(entered):
    track, enter = entered
    names = [f"t{i:02d}" for i in range(48)]
    scored = enter(pl.DataFrame({"trial": names, "number": [0.0] * 48}), "one")
    part = public_part.shown(a_phase(split=0.5), track, scored)
    expected = part.rows["error"].mean()
    assert part.result.metrics["mean_error"].value == pytest.approx(expected)
    assert {row["unit"] for row in part.result.by["unit"]} == set(part.rows["unit"])
    assert scored.rows.height == 48


def test_without_a_split_there_is_no_part(entered):
    track, enter = entered
    scored = enter(pl.DataFrame({"trial": ["t00"], "number": [0.0]}), "one")
    assert public_part.shown(a_phase(), track, scored) is None
