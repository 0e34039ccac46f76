"""Boards as pure functions: ranks, ties, baselines, bands, and what stood when."""

import dataclasses
from fractions import Fraction

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.boards import ranking
from palestra.contest.boards.ranking import Entry
from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.rules.model import track_of
from palestra.errors import PalestraError
from palestra.records import Metric
from palestra.scoring import leaderboard as boards_of_results
from palestra.scoring import score
from tests.contest.story import START, Story, a_phase, histories, numbers, ranks, some_rules
from tests.scoring.test_score import track_of as track_with


def nameless(rows):
    """Rows without names: a board of an earlier time shows teams by the names they have now."""
    return [msgspec.structs.replace(row, entry=msgspec.structs.replace(row.entry, name="")) for row in rows]


@given(histories())
@settings(max_examples=120, deadline=None)
def test_a_board_as_of_a_time_is_what_the_events_until_then_say(story):
    times = sorted({event.at for event in story.events})
    for as_of in [times[0] - 1, *times, story.now + 20]:
        past = fold(event for event in story.events if event.at <= as_of)
        for phase in ("first", "second") if past.versions else ():
            for part in ("whole", "shown"):
                now = ranking.board(story.state, phase, as_of, part, story.draws.__getitem__)
                then = ranking.board(past, phase, as_of, part, story.draws.__getitem__)
                assert nameless(now) == nameless(then)


@given(histories())
@settings(max_examples=60, deadline=None)
def test_ranks_count_up_from_one_and_baselines_take_none(story):
    for phase in ("first", "second"):
        rows = story.board(phase)
        found = [row.rank for row in rows if row.entry.team]
        assert all((row.rank is None) == (row.entry.team == "") for row in rows)
        for place, rank in enumerate(found, 1):
            assert rank == place or (rank < place and rank == found[place - 2])
        without = [row for row in rows if row.entry.team]
        track = track_of(story.state.phase(phase, story.now))
        alone = ranking.rows(
            story.state.phase(phase, story.now), track, [row.entry for row in without], story.draws.__getitem__
        )
        assert alone == without


def test_the_best_or_the_last_counts_as_the_phase_says():
    story = Story(some_rules(a_phase(), a_phase("second", board="last")))
    team = story.team()
    for phase in ("first", "second"):
        for value in (3.0, 1.0, 2.0):
            story.scored(team, value, phase)
    assert [row.entry.metrics["pe_deg"].value for row in story.board("first")] == [1.0]
    assert [row.entry.metrics["pe_deg"].value for row in story.board("second")] == [2.0]
    entry = story.board("first")[0].entry
    assert entry.count == 3
    assert [point.value for point in entry.history] == [3.0, 1.0, 2.0]


def test_higher_is_better_where_the_track_says_so():
    story = Story(some_rules(a_phase(track="eye-segmentation-v1")))
    track = track_of(story.state.phase("first"))
    assert track.ranks.better == "higher"
    first, second = story.team(), story.team()
    for team, values in ((second, (0.1, 0.5)), (first, (0.9, 0.2))):
        for value in values:
            story.scored(team, value, metrics={metric.name: numbers(value)["pe_deg"] for metric in track.metrics})
    assert ranks(story.board()) == [(1, first), (2, second)]


def test_the_last_to_be_sent_counts_not_the_last_to_be_scored():
    story = Story(some_rules(a_phase(board="last")))
    team = story.team()
    early, late = story.submit(team), story.submit(team)
    story.score(late, 5.0)
    story.wait(10).score(early, 1.0)
    assert story.board()[0].entry.submission == late


def test_equal_teams_share_a_rank_and_the_next_is_skipped():
    story = Story()
    teams = [story.team() for _ in range(4)]
    for team, value in zip(teams, (2.0, 1.0, 2.0, 3.0), strict=True):
        story.wait(1).scored(team, value)
    assert ranks(story.board()) == [(1, teams[1]), (2, teams[0]), (2, teams[2]), (4, teams[3])]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ((), [1, 1, 1]),
        (("p50_deg",), [1, 1, 3]),
        (("p50_deg", "earlier"), [1, 2, 3]),
        (("earlier",), [1, 2, 3]),
    ],
)
def test_ties_fall_by_the_declared_chain(ties, expected):
    story = Story(some_rules(a_phase(ties=ties)))
    late, early, worse = (story.team() for _ in range(3))
    for team, p50 in ((early, 1.0), (late, 1.0), (worse, 2.0)):
        story.wait(1).scored(team, 5.0, p50_deg=p50)
    rows = story.board()
    assert [row.rank for row in rows] == expected
    assert [row.entry.team for row in rows] == [early, late, worse]


def test_earlier_alone_ranks_whoever_sent_first_whatever_was_scored_first():
    story = Story(some_rules(a_phase(ties=("earlier",))))
    first, second = story.team(), story.team()
    early = story.submit(first)
    late = story.wait(1).submit(second)
    story.wait(1).score(late, 1.0)
    story.wait(1).score(early, 1.0)
    assert ranks(story.board()) == [(1, first), (2, second)]


def test_of_a_teams_equal_scores_the_one_with_the_better_tie_break_counts_else_the_first():
    story = Story(some_rules(a_phase(ties=("p50_deg",))))
    team = story.team()
    sent = [story.wait(1).scored(team, 5.0, p50_deg=p50) for p50 in (3.0, 1.0, 1.0)]
    assert story.board()[0].entry.submission == sent[1]


def test_a_baseline_stands_in_its_place_unranked():
    story = Story()
    first, second = story.team(), story.team()
    story.scored(first, 1.0)
    story.scored(second, 3.0)
    story.baseline(2.0, "Median gaze")
    story.baseline(1.0, "Best so far")
    assert ranks(story.board()) == [(1, first), (None, "Best so far"), (None, "Median gaze"), (2, second)]
    assert [row.band for row in story.board()] == [1, None, None, 2]


def test_a_baseline_without_resamples_takes_nobodys_band():
    story = Story()
    story.scored(story.team(), 1.0)
    story.scored(story.team(), 3.0)
    story.baseline(2.0, drawn=False)
    assert [row.band for row in story.board()] == [1, None, 2]


def test_one_result_without_resamples_leaves_the_board_without_bands():
    story = Story()
    story.scored(story.team(), 1.0)
    story.scored(story.team(), 3.0, drawn=False)
    assert [(row.rank, row.band) for row in story.board()] == [(1, None), (2, None)]


def test_resamples_of_different_number_leave_the_board_without_bands():
    story = Story()
    story.scored(story.team(), 1.0)
    sent = story.scored(story.team(), 3.0)
    digest = story.state.submissions[sent].scores[0].draws
    story.draws[digest] = story.draws[digest][:40]
    assert [(row.rank, row.band) for row in story.board()] == [(1, None), (2, None)]


def test_a_score_from_before_there_was_a_split_is_not_on_the_shown_board():
    story = Story()
    team = story.team()
    sent = story.submit(team)
    story.add(e.ResultMade(sent, 1, numbers(1.0)))
    assert story.board(part="shown") == []
    assert len(story.board()) == 1


def test_an_empty_phase_has_an_empty_board():
    assert Story().board() == []


def test_a_score_that_is_applied_in_the_same_millisecond_is_the_newer_one():
    story = Story()
    sent = story.scored(story.team(), 2.0)
    again = story.rescore()
    story.score(sent, 1.0, again)
    story.add(e.RescoringApplied(again))
    assert story.state.submissions[sent].score_at(story.now).metrics["pe_deg"].value == 1.0


def test_nothing_counts_before_its_time_nor_while_its_set_is_open():
    story = Story()
    sent = story.wait(5).scored(story.team(), 2.0)
    one = story.state.submissions[sent]
    assert one.score_at(story.now - 1) is None
    story.score(sent, 1.0, story.rescore())
    assert one.score_at(story.now + 100).metrics["pe_deg"].value == 2.0


def test_a_disqualified_team_is_off_the_board_until_it_is_taken_back():
    story = Story(some_rules(a_phase(), a_phase("second")))
    team, other = story.team(), story.team()
    for phase in ("first", "second"):
        story.scored(team, 1.0, phase)
        story.scored(other, 2.0, phase)
    story.wait(1).add(e.TeamDisqualified(team, "two accounts", "first"))
    assert ranks(story.board("first")) == [(1, other)]
    assert ranks(story.board("second")) == [(1, team), (2, other)]
    story.wait(1).add(e.TeamReinstated(team, "it was not so", "first"))
    assert ranks(story.board("first")) == [(1, team), (2, other)]
    assert ranks(story.board("first", START + 1)) == [(1, other)]


@given(st.integers(0, 10_000), st.integers(2, 7), st.sampled_from(["lower", "higher"]))
@settings(max_examples=40, deadline=None)
def test_bands_and_ranks_are_those_of_the_board_of_results(seed, teams, better):
    rng = np.random.default_rng(seed)
    people, each = int(rng.integers(4, 12)), 5
    names = [f"t{i:03d}" for i in range(people * each)]
    units = np.repeat(np.arange(people), each)
    trials = pl.DataFrame({"trial": names, "unit": units})
    truth = pl.DataFrame({"trial": names, "truth_number": np.zeros(people * each)})
    track = track_with(trials, truth)
    track = track_with(trials, truth, metrics=(dataclasses.replace(track.ranks, better=better),))
    sheet = score.load(track, ".")
    base = rng.normal(5, 2, people)
    scored = []
    for i in range(teams):
        errors = np.round((base + rng.normal(0.1 * i, 0.5, people))[units], 1)
        answers = pl.DataFrame({"trial": names, "number": errors})
        scored.append(score.score(track, sheet, answers, f"team {i}"))
    expected = [(place.entrant, place.rank, place.band) for place in boards_of_results.board(track, scored)]
    kept, entries = {}, []
    for i, one in enumerate(scored):
        draws = score.draw(one.rows, one.result.unit, score.RESAMPLES, seed=0)
        if draws.weights.shape[1] >= 5:
            kept[str(i)] = track.ranks.reduce(one.rows, draws).astype(np.float32).tobytes()
        name = one.result.entrant
        entries.append(Entry(name, name, name, i, one.result.metrics, str(i) if kept else "", 1, ()))
    rows = ranking.rows(a_phase(), track, entries[::-1], kept.__getitem__)
    assert [(row.entry.name, row.rank, row.band) for row in rows] == expected


# The final standing


def weighted():
    phases = [a_phase(name, track="eye-segmentation-v1") for name in ("online", "stage")]
    return Story(some_rules(*phases, weights={"online": 0.4, "stage": 0.6}))


def enter(story, team, phase, value):
    track = track_of(story.state.phase(phase))
    story.scored(team, value, phase, metrics={metric.name: numbers(value)["pe_deg"] for metric in track.metrics})


def final_of(story):
    boards = {phase: story.board(phase) for phase in ("online", "stage")}
    return ranking.final(story.state, story.now, boards)


def test_the_final_standing_weighs_phases_and_counts_nothing_for_an_absence():
    story = weighted()
    both, only_online = story.team(), story.team()
    enter(story, both, "online", 0.5)
    enter(story, both, "stage", 0.5)
    enter(story, only_online, "online", 1.0)
    rows = final_of(story)
    assert [(row.rank, row.team, row.score) for row in rows] == [(1, both, 0.5), (2, only_online, 0.4)]
    assert rows[1].parts == {"online": 1.0, "stage": 0.0}


def test_a_tie_in_the_final_standing_falls_to_the_last_phase_else_it_is_shared():
    story = weighted()
    stronger, weaker, same = story.team(), story.team(), story.team()
    for team, online, stage in ((weaker, 0.75, 0.5), (stronger, 0.0, 1.0), (same, 0.75, 0.5)):
        enter(story, team, "online", online)
        enter(story, team, "stage", stage)
    assert [(row.rank, row.team) for row in final_of(story)] == [(1, stronger), (2, weaker), (2, same)]


@pytest.mark.parametrize(("kept", "meant"), [(1 / 3, "1/3"), (0.7333333333333334, "11/15"), (1.0, "1"), (0.0, "0")])
def test_a_share_that_a_board_keeps_is_the_fraction_that_it_was(kept, meant):
    assert str(ranking.exact(kept)) == meant


@given(st.integers(0, 900), st.integers(1, 900), st.floats(-1e-15, 1e-15))
def test_sums_that_differ_in_the_last_digits_are_one_share(above, below, off):
    share = Fraction(min(above, below), below)
    assert ranking.exact(float(share) + off) == share


def test_baselines_are_not_in_the_final_standing():
    story = weighted()
    track = track_of(story.state.phase("online"))
    story.baseline(1.0, phase="online", metrics={one.name: numbers(1.0)["pe_deg"] for one in track.metrics})
    assert final_of(story) == []


def test_only_metrics_that_are_numbers_are_kept_and_those_that_decide_must_be(numbers_of_two):
    track, result = numbers_of_two
    assert list(ranking.rankable(a_phase(), track, result).metrics) == ["first"]
    with pytest.raises(
        PalestraError, match="its metric second, by which the board of phase p is ordered, came out as nan"
    ):
        ranking.rankable(a_phase("p", ties=("second",)), track, result)


@pytest.fixture
def numbers_of_two():
    """A result with a metric that there is nothing to compute from."""
    table = pl.DataFrame({"trial": ["a"], "unit": ["u"], "number": [0]})
    truth = table.select("trial", truth_number="number")
    values = {"first": 1.0, "second": np.nan}
    metrics = tuple(
        Metric(name, "", "lower", lambda rows, draws, value=value: np.full(len(draws.weights), value))
        for name, value in values.items()
    )
    track = track_with(table.drop("number"), truth, metrics=metrics)
    return track, score.score(track, score.load(track, None), table.drop("unit"), "me").result
