import dataclasses

import numpy as np
import polars as pl
import pytest

from palestra.errors import PalestraError, UnknownName
from palestra.records import Metric
from palestra.reduce import mean_of
from palestra.scoring import score
from palestra.scoring.leaderboard import board
from tests.scoring.test_score import track_of


@pytest.fixture
def arena(tmp_path):
    """A track, and a way to enter with given errors per person."""
    people, each = 12, 20
    names = [f"t{i:03d}" for i in range(people * each)]
    units = np.repeat(np.arange(people), each)
    trials = pl.DataFrame({"trial": names, "unit": units})
    truth = pl.DataFrame({"trial": names, "truth_number": np.zeros(people * each)})
    track = track_of(trials, truth)

    def enter(name, errors, seed=0, track=track):
        answers = pl.DataFrame({"trial": names, "number": np.asarray(errors, float)[units]})
        return score.score(track, score.load(track, tmp_path), answers, name, seed)

    return track, enter


def test_better_teams_come_first_and_clear_differences_open_a_band(arena):
    track, enter = arena
    hard = np.linspace(1, 9, 12)  # people differ much; the teams differ little, but on everyone
    places = board(track, [enter("second", hard + 0.5), enter("first", hard), enter("third", hard + 1)])
    assert [(p.entrant, p.rank, p.band) for p in places] == [("first", 1, 1), ("second", 2, 2), ("third", 3, 3)]


def test_teams_that_cannot_be_told_apart_share_a_band(arena):
    track, enter = arena
    rng = np.random.default_rng(1)
    base = np.full(12, 5.0)
    places = board(track, [enter("a", base), enter("b", base + rng.normal(0.05, 2, 12))])
    assert {place.band for place in places} == {1}


def test_a_band_is_measured_from_its_first_team(arena):
    track, enter = arena
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, 12)
    # b is not told from a, c is told from a (but not from b): c opens a band.
    entries = [enter("a", 5 + 0 * noise), enter("b", 5.3 + noise), enter("c", 6.0 + noise)]
    assert [(p.entrant, p.band) for p in board(track, entries)] == [("a", 1), ("b", 1), ("c", 2)]


def test_equal_scores_share_a_rank_and_the_next_is_skipped(arena):
    track, enter = arena
    places = board(track, [enter("a", np.ones(12)), enter("b", np.ones(12)), enter("c", np.full(12, 2.0))])
    assert [place.rank for place in places] == [1, 1, 3]
    assert [place.band for place in places] == [1, 1, 2]


def with_ties(track, *ties):
    """The track with two more metrics, the second of which is better when it is higher."""
    metrics = (
        Metric("mean_error", "", "lower", mean_of("error")),
        Metric("worst", "", "lower", lambda rows, draws: np.array([rows["error"].max()])),
        Metric("best", "", "higher", lambda rows, draws: np.array([rows["error"].min()])),
    )
    return dataclasses.replace(track, metrics=metrics, ties=ties)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ((), [("a", 1), ("b", 1), ("c", 1), ("d", 4)]),
        (("worst",), [("a", 1), ("b", 2), ("c", 2), ("d", 4)]),
        (("worst", "best"), [("a", 1), ("c", 2), ("b", 3), ("d", 4)]),
    ],
)
def test_equal_scores_are_parted_by_the_metrics_that_the_track_names(arena, ties, expected):
    track, enter = arena
    errors = {
        "d": np.full(12, 3.0), "a": np.full(12, 2.0),
        "b": np.array([1.0, 3.0] * 6), "c": np.array([3.0, 1.5, 1.5] * 4),
    }  # fmt: skip
    parted = with_ties(track, *ties)
    entries = [enter(name, numbers, track=parted) for name, numbers in errors.items()]
    assert [(place.entrant, place.rank) for place in board(parted, entries)] == expected


def test_a_tie_is_never_broken_against_the_first_metric(arena):
    track, enter = arena
    parted = with_ties(track, "worst")
    entries = [enter("second", np.full(12, 1.6), track=parted), enter("first", np.array([0.0, 3.0] * 6), track=parted)]
    assert [(place.entrant, place.rank) for place in board(parted, entries)] == [("first", 1), ("second", 2)]


def test_a_tie_break_that_is_no_metric_gets_a_hint(arena):
    track, enter = arena
    with pytest.raises(UnknownName, match="Did you mean 'worst'"):
        board(with_ties(track, "wurst"), [enter("a", np.ones(12))])


def test_too_few_people_give_ranks_and_no_bands(tmp_path):
    names = [f"t{i}" for i in range(8)]
    trials = pl.DataFrame({"trial": names, "unit": [0, 1] * 4})
    track = track_of(trials, pl.DataFrame({"trial": names, "truth_number": [0.0] * 8}))
    entries = [
        score.score(
            track, score.load(track, tmp_path), pl.DataFrame({"trial": names, "number": [float(k)] * 8}), str(k)
        )
        for k in range(2)
    ]
    assert [(place.rank, place.band) for place in board(track, entries)] == [(1, None), (2, None)]


def test_results_on_different_data_are_not_compared(arena, tmp_path):
    track, enter = arena
    other_truth = track.truth(tmp_path).with_columns(truth_number=pl.lit(1.0))
    other = track_of(track.trials(tmp_path), other_truth)
    answers = other_truth.select("trial", number=pl.lit(0.0))
    with pytest.raises(PalestraError, match="different data sets"):
        board(track, [enter("a", np.ones(12)), score.score(other, score.load(other, tmp_path), answers, "b")])


def test_the_seeds_of_the_intervals_do_not_unpair_the_teams(arena):
    track, enter = arena
    hard = np.linspace(1, 9, 12)
    same, other = (board(track, [enter("a", hard), enter("b", hard + 0.5, seed)]) for seed in (0, 1))
    assert [place.band for place in same] == [place.band for place in other] == [1, 2]
