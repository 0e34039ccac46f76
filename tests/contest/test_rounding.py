"""What is told of a score while it could still be used to ask after the hidden answers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra import registry
from palestra.contest import rounding
from palestra.contest import visibility as see
from palestra.contest.decisions import organiser
from palestra.contest.visibility import NOBODY, Viewer
from palestra.records import Estimate
from tests.contest.story import DAY, ORGANISER, START, Story, a_phase, ranks, some_rules

GAZE = registry.track("near-eye-gaze-v1", {})
EEG = registry.track("emotion-eeg-v1", {})
PHASE = a_phase(scores="rounded")
OLGA = Viewer(ORGANISER, "Olga", "organiser")


def told(value, low=None, high=None, phase=PHASE, track=GAZE):
    return rounding.told(phase, track, {track.ranks.name: Estimate(value, low, high)})[track.ranks.name]


def wide(value, half=0.3):
    return {name: Estimate(value, value - half, value + half) for name in ("pe_deg", "p50_deg", "p95_deg", "mean_deg")}


def board(story, viewer=NOBODY):
    found = see.sight_of_board(story.state, story.state.phase("first", story.now), viewer, story.now)
    from palestra.contest.boards.ranking import board as board_of

    part, as_of = found.part, found.as_of or story.now
    return board_of(story.state, "first", as_of, part, story.draws.__getitem__, found.rounded)


def own(story, sent, viewer):
    return see.score_seen(story.state, story.state.submissions[sent], viewer, story.now)


# A number


@given(st.floats(0.01, 170), st.floats(0, 40), st.floats(0, 40))
def test_a_step_is_no_finer_than_half_the_interval(value, below, above):
    low, high = value - below, value + above
    shown = told(value, low, high)
    assert shown.rounded_to >= (high - low) / 2 * (1 - 1e-9)
    assert abs(shown.value - value) <= shown.rounded_to / 2 + 1e-9
    steps = shown.value / shown.rounded_to
    assert math.isclose(steps, round(steps), abs_tol=1e-6)


@given(st.floats(0, 170), st.floats(0, 40))
def test_an_interval_says_nothing_beyond_the_number_and_its_step(value, half):
    shown = told(value, value - half, value + half)
    again = told(shown.value, shown.value - shown.rounded_to, shown.value + shown.rounded_to)
    assert (again.low, again.high) == (shown.low, shown.high)


def test_answers_that_are_all_equally_wrong_do_not_buy_a_fine_step():
    assert told(60.0, 60.0, 60.0).rounded_to == 5.0
    assert told(0.0, 0.0, 0.0, track=EEG).rounded_to == 0.02


def test_what_few_people_took_part_in_is_rounded_to_more():
    assert told(2.04) == Estimate(2.0, rounded_to=0.5)
    assert told(0.513, track=EEG) == Estimate(0.5, rounded_to=0.05)


def test_a_share_stays_a_share():
    assert told(0.99, 0.93, 1.0, track=EEG) == Estimate(1.0, 0.95, 1.0, rounded_to=0.05)
    assert told(0.01, 0.0, 0.02, track=EEG).low == 0.0


def test_the_organiser_may_set_the_step():
    assert told(2.04, 1.0, 3.0, phase=a_phase(scores=0.25)) == Estimate(2.0, 1.75, 2.25, rounded_to=0.25)


def test_of_the_metrics_those_are_told_that_rank_and_part_equals():
    assert list(rounding.told(PHASE, GAZE, wide(2.0))) == ["pe_deg"]
    assert list(rounding.told(a_phase(ties=("p95_deg", "earlier")), GAZE, wide(2.0))) == ["pe_deg", "p95_deg"]


# Who sees it, and when


def test_teams_see_rounded_scores_while_the_phase_is_open_and_the_organiser_all_digits():
    story = Story(some_rules(PHASE))
    team = story.team()
    sent = story.scored(team, 0, metrics=wide(2.04))
    mine = own(story, sent, Viewer("a", "A", "member", team))
    assert mine.metrics == {"pe_deg": Estimate(2.0, 1.5, 2.5, rounded_to=0.5)}
    assert (mine.report, mine.files, mine.draws, mine.shown_draws) == ("", {}, "", "")
    assert board(story)[0].entry.metrics == mine.metrics
    assert board(story)[0].entry.history[0].value == 2.0
    assert own(story, sent, OLGA).metrics == wide(2.04)
    assert board(story, OLGA)[0].entry.metrics == wide(2.04)


def test_without_a_hidden_part_all_digits_are_shown_when_the_phase_is_over():
    story = Story(some_rules(PHASE))
    team = story.team()
    sent = story.scored(team, 0, metrics=wide(2.04))
    story.wait(1).add(*organiser.release(story.state, story.now, "first"))  # such as of a freeze
    assert board(story)[0].entry.metrics["pe_deg"].value == 2.0
    story.until(START + 10 * DAY)
    assert board(story)[0].entry.metrics == wide(2.04)
    assert own(story, sent, Viewer("a", "A", "member", team)).metrics == wide(2.04)


def test_with_a_hidden_part_all_digits_are_shown_when_that_is_released():
    story = Story(some_rules(a_phase(scores="rounded", split=0.5)))
    team = story.team()
    sent = story.scored(team, 0, metrics=wide(2.04))
    story.until(START + 11 * DAY)
    assert own(story, sent, Viewer("a", "A", "member", team)).metrics["pe_deg"].value == 4.0  # of the shown part
    assert board(story)[0].entry.metrics["pe_deg"].rounded_to == 0.5
    story.add(*organiser.release(story.state, story.now, "first"))
    assert board(story)[0].entry.metrics == wide(2.04)


def test_a_phase_may_say_that_scores_are_exact():
    story = Story(some_rules(a_phase(scores="exact")))
    story.scored(story.team(), 0, metrics=wide(2.04))
    assert board(story)[0].entry.metrics == wide(2.04)


# The order


def test_who_is_equal_as_shown_shares_a_rank_and_a_band():
    story = Story(some_rules(PHASE))
    one, two, three = story.team(), story.team(), story.team()
    story.scored(one, 0, metrics=wide(2.1))
    story.scored(two, 0, metrics=wide(1.9))
    story.scored(three, 0, metrics=wide(9.0))
    assert ranks(board(story)) == [(1, one), (1, two), (3, three)]
    assert [row.band for row in board(story)] == [1, 1, 2]
    assert ranks(board(story, OLGA)) == [(1, two), (2, one), (3, three)]


@pytest.mark.parametrize("better", [1.95, 2.2])
def test_which_submission_counts_tells_nothing_of_the_digits_that_are_not_shown(better):
    story = Story(some_rules(PHASE))
    team = story.team()
    first = story.scored(team, 0, metrics=wide(2.1))
    story.wait(1).scored(team, 0, metrics=wide(better))
    assert board(story)[0].entry.submission == first


def test_who_was_earlier_may_part_those_who_are_equal_as_shown():
    story = Story(some_rules(a_phase(scores="rounded", ties=("earlier",))))
    one, two = story.team(), story.team()
    story.scored(one, 0, metrics=wide(2.1))
    story.wait(1).scored(two, 0, metrics=wide(1.9))
    assert ranks(board(story)) == [(1, one), (2, two)]
