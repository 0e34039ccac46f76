import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.records import Draws
from palestra.reduce import mean_of_means
from palestra.scoring import score


def by_hand(rows, drawn):
    """Mean over the people drawn of the mean over their videos of the mean value."""
    people = []
    for person in drawn:
        videos = []
        for video in {row[1] for row in rows if row[0] == person}:
            values = [row[2] for row in rows if row[:2] == (person, video)]
            videos.append(sum(values) / len(values))
        people.append(sum(videos) / len(videos))
    return sum(people) / len(people)


def table(rows):
    return pl.DataFrame(rows, schema=["person", "video", "value"], orient="row")


cells = st.tuples(st.sampled_from("abcde"), st.integers(1, 4), st.integers(0, 1))


@settings(deadline=None, max_examples=100)
@given(st.lists(cells, min_size=1, max_size=40), st.integers(0, 2**16))
def test_a_mean_of_means_is_what_loops_find_for_any_draw_of_people(rows, seed):
    frame, reduce = table(rows), mean_of_means("value", "person", "video")
    people = sorted({row[0] for row in rows})
    draws = score.draw(frame, "person", 7, seed)
    expected = [by_hand(rows, np.repeat(people, weights.astype(int))) for weights in draws.weights]
    assert reduce(frame, draws) == pytest.approx(expected, abs=1e-12)
    assert reduce(frame, score.whole(frame)) == pytest.approx([by_hand(rows, people)], abs=1e-12)


def test_a_mean_of_means_gives_each_group_the_same_weight_whatever_its_size():
    frame = table([("a", 1, 1)] * 98 + [("a", 2, 0)] * 2 + [("b", 1, 0)])
    assert mean_of_means("value", "person", "video")(frame, score.whole(frame)).tolist() == [0.25]
    assert mean_of_means("value", "person")(frame, score.whole(frame)).tolist() == [0.49]


def test_a_mean_of_means_follows_the_weights_of_the_units():
    frame = table([("a", 1, 1), ("b", 1, 0)])
    draws = Draws(np.array([0, 1]), np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]]))
    assert mean_of_means("value", "person", "video")(frame, draws).tolist() == [1.0, 0.0, 0.75]


def test_what_has_no_row_counts_nothing_where_it_is_said_how_many_there_are():
    frame = table([("a", 1, 1.0), ("a", 2, 0.5), ("b", 1, 1.0)])
    reduce = mean_of_means("value", "person", "video", out_of=lambda rows: 4)
    assert reduce(frame, score.whole(frame)).tolist() == [(1.5 / 4 + 1 / 4) / 2]
