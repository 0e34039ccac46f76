"""Who sees what: frozen and partial boards, own scores, data and truth."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest import visibility as see
from palestra.contest.boards.ranking import board
from palestra.contest.decisions import access, organiser
from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import Account
from palestra.contest.visibility import NOBODY, Viewer, viewer_of
from palestra.errors import PalestraError
from tests.contest.story import DAY, ORGANISER, START, Story, a_phase, histories, ranks, some_rules, two_phases

OLGA = Viewer(ORGANISER, "Olga", "organiser")
FREEZE = START + 100


def sight(story, viewer, phase="first"):
    return see.sight_of_board(story.state, story.state.phase(phase, story.now), viewer, story.now)


def seen(story, viewer, phase="first"):
    """A board as someone sees it."""
    found = sight(story, viewer, phase)
    return story.board(phase, found.as_of, found.part) if found else None


def member_of(team):
    return Viewer("someone", "Someone", "member", team)


def own_value(story, sent, viewer):
    score = see.score_seen(story.state, story.state.submissions[sent], viewer, story.now)
    return score.metrics["pe_deg"].value if score else None


# Freeze


def frozen_by_rules(**changes):
    story = Story(some_rules(a_phase(freeze=FREEZE, **changes)))
    return story, story.team(), story.team()


def test_until_the_freeze_everybody_sees_what_happens():
    story, one, _ = frozen_by_rules()
    sent = story.until(FREEZE - 1).scored(one, 1.0)
    assert sight(story, NOBODY).as_of is None
    assert ranks(seen(story, NOBODY)) == [(1, one)]
    assert own_value(story, sent, member_of(one)) == 1.0


@pytest.mark.parametrize("how", ["by the rules", "by hand"])
def test_nobody_but_the_organiser_sees_what_came_after_the_freeze(how):
    story, one, two = frozen_by_rules() if how == "by the rules" else (Story(), "", "")
    one, two = one or story.team(), two or story.team()
    before = story.scored(one, 3.0)
    story.until(FREEZE)
    if how == "by hand":
        story.add(*organiser.freeze(story.state, "first"))
    after = story.scored(one, 1.0)  # in the very millisecond of the freeze
    later = story.wait(50).scored(two, 2.0)
    for viewer in (NOBODY, member_of(one), member_of(two), Viewer("r", "Rita", "referee"), Viewer("v", "Vi", "viewer")):
        assert ranks(seen(story, viewer)) == [(1, one)]
        assert seen(story, viewer)[0].entry.submission == before
        assert sight(story, viewer).frozen_at == FREEZE
    assert own_value(story, after, member_of(one)) is None
    assert own_value(story, later, member_of(two)) is None
    assert own_value(story, before, member_of(one)) == 3.0
    assert see.is_sealed(story.state, story.state.submissions[after], member_of(one), story.now)
    assert ranks(seen(story, OLGA)) == [(1, one), (2, two)]
    assert own_value(story, after, OLGA) == 1.0


def test_what_was_sent_before_the_freeze_and_scored_after_it_is_hidden():
    story, one, _ = frozen_by_rules()
    sent = story.submit(one)
    story.until(FREEZE + 1).score(sent, 1.0)
    assert seen(story, NOBODY) == []
    assert own_value(story, sent, member_of(one)) is None


def test_what_changes_old_scores_is_hidden_as_well():
    story, one, two = frozen_by_rules()
    sent = story.scored(one, 1.0)
    story.scored(two, 2.0)
    story.until(FREEZE + 1)
    again = story.rescore()
    story.score(sent, 3.0, again)
    story.score(story.board()[1].entry.submission, 2.0, again)
    story.add(e.RescoringApplied(again), e.TeamDisqualified(two, "two accounts"))
    assert ranks(seen(story, NOBODY)) == [(1, one), (2, two)]
    assert own_value(story, sent, member_of(one)) == 1.0
    assert ranks(seen(story, OLGA)) == [(1, one)]


def test_a_team_sees_its_own_results_where_the_phase_says_so():
    story, one, two = frozen_by_rules(freeze_own="shown")
    sent = story.until(FREEZE + 1).scored(one, 1.0)
    assert own_value(story, sent, member_of(one)) == 1.0
    assert own_value(story, sent, member_of(two)) is None
    assert seen(story, member_of(one)) == []


def test_a_release_ends_the_freeze():
    story, one, _ = frozen_by_rules()
    sent = story.until(FREEZE + 1).scored(one, 1.0)
    story.add(*organiser.release(story.state, story.now, "first"))
    assert sight(story, NOBODY) == see.Sight(None, "whole")
    assert ranks(seen(story, NOBODY)) == [(1, one)]
    assert own_value(story, sent, member_of(one)) == 1.0


def test_a_release_before_the_time_of_the_freeze_does_not_prevent_it():
    story, one, _ = frozen_by_rules()
    story.add(*organiser.freeze(story.state, "first"))
    story.wait(1).add(*organiser.release(story.state, story.now, "first"))
    assert sight(story, NOBODY).as_of is None
    story.until(FREEZE + 1).scored(one, 1.0)
    assert seen(story, NOBODY) == []


def test_a_freeze_by_hand_after_a_release_hides_nothing_that_was_shown():
    story, one, _ = frozen_by_rules()
    story.until(FREEZE + 1).scored(one, 2.0)
    story.wait(1).add(*organiser.release(story.state, story.now, "first"))
    story.wait(1).add(*organiser.freeze(story.state, "first"))
    story.wait(1).scored(one, 1.0)
    assert [row.entry.metrics["pe_deg"].value for row in seen(story, NOBODY)] == [2.0]


def test_of_two_freezes_the_first_holds():
    story, one, _ = frozen_by_rules()
    story.until(FREEZE - 50).add(*organiser.freeze(story.state, "first"))
    story.until(FREEZE + 10).scored(one, 1.0)
    assert sight(story, NOBODY).frozen_at == FREEZE - 50


def test_one_phase_is_frozen_and_the_other_is_not():
    story = Story(some_rules(a_phase(freeze=START), a_phase("second")))
    team = story.team()
    story.wait(1).scored(team, 1.0)
    story.scored(team, 1.0, "second")
    assert seen(story, NOBODY, "first") == []
    assert ranks(seen(story, NOBODY, "second")) == [(1, team)]


@given(histories(), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_what_happens_after_a_freeze_changes_nothing_that_anybody_but_the_organiser_sees(story, cut):
    """The public's boards and own scores, with all events and with those before the freeze alone."""
    frozen_at = START + cut
    freeze = e.Event(0, frozen_at, ORGANISER, e.BoardFrozen("second"))
    before = [event for event in story.events if event.at < frozen_at]
    hidden = (e.BoardReleased, e.BoardFrozen, e.RulesAmended, e.PhaseMoved, e.TeamRenamed)
    after = [event for event in story.events if event.at >= frozen_at and not isinstance(event.body, hidden)]
    if not any(isinstance(event.body, e.ContestOpened) for event in before):
        return
    then, now = fold([*before, freeze]), fold([*before, freeze, *after])
    at = max(story.now, frozen_at)
    phase = then.phase("second", at)
    for viewer in (NOBODY, *(member_of(team) for team in then.teams)):
        boards = []
        for state in (then, now):
            found = see.sight_of_board(state, phase, viewer, at)
            assert found.as_of < frozen_at
            rows = board(state, "second", found.as_of, found.part, story.draws.__getitem__)
            boards.append([msgspec.to_builtins(row) for row in rows])
        assert boards[0] == boards[1]
        for one in then.submissions.values():
            if one.phase == "second":
                scores = [see.numbers_seen(state, state.submissions[one.id], viewer, at) for state in (then, now)]
                assert scores[0] == scores[1]


# A part of the people


def test_until_the_release_only_the_shown_part_is_seen():
    story = Story(some_rules(a_phase(split=0.5)))
    team = story.team()
    sent = story.scored(team, 1.0)
    assert sight(story, NOBODY) == see.Sight(None, "shown", None, True)
    assert seen(story, NOBODY)[0].entry.metrics["pe_deg"].value == 2.0
    assert own_value(story, sent, member_of(team)) == 2.0
    assert sight(story, OLGA) == see.Sight(None, "whole")
    story.until(START + 11 * DAY).add(*organiser.release(story.state, story.now, "first"))
    assert seen(story, NOBODY)[0].entry.metrics["pe_deg"].value == 1.0
    assert own_value(story, sent, member_of(team)) == 1.0


def test_what_a_team_gets_of_a_partial_score_holds_nothing_of_the_whole():
    story = Story(some_rules(a_phase(split=0.5)))
    team = story.team()
    one = story.state.submissions[story.scored(team, 1.0)]
    score = see.score_seen(story.state, one, member_of(team), story.now)
    whole = one.scores[0]
    assert (score.draws, score.shown_draws, score.shown, score.files) == ("", "", {}, {})
    assert score.metrics == whole.shown
    assert (score.result, score.report) == (whole.result, whole.report)


def test_a_score_from_before_the_split_is_sealed():
    story = Story(some_rules(a_phase(split=0.5)))
    team = story.team()
    sent = story.submit(team)
    story.add(e.ResultMade(sent, 1, {}, result="r" * 64))
    one = story.state.submissions[sent]
    assert see.score_seen(story.state, one, member_of(team), story.now) is None
    assert see.is_sealed(story.state, one, member_of(team), story.now)


def test_what_was_revealed_stays_so_when_the_board_is_frozen_later():
    story = Story(some_rules(a_phase(split=0.5)))
    story.scored(story.team(), 1.0)
    story.until(START + 11 * DAY).add(*organiser.release(story.state, story.now, "first"))
    story.wait(1).add(*organiser.freeze(story.state, "first"))
    assert sight(story, NOBODY).part == "whole"


# Whose submissions, whose boards


def test_a_submission_is_seen_by_its_team_and_the_organiser_alone():
    story = Story()
    mine, other = story.team(), story.team()
    one = story.state.submissions[story.scored(mine, 1.0)]
    baseline = story.state.submissions[story.baseline(2.0)]
    viewers = (member_of(mine), OLGA, member_of(other), NOBODY, Viewer("r", "Rita", "referee"))
    assert [see.sees_submission(one, viewer) for viewer in viewers] == [True, True, False, False, False]
    assert [see.sees_submission(baseline, viewer) for viewer in viewers] == [False, True, False, False, False]
    assert see.numbers_seen(story.state, one, member_of(other), story.now) == {}


def test_the_scores_of_each_trial_are_for_the_organiser_alone():
    story = Story()
    team = story.team()
    one = story.state.submissions[story.scored(team, 1.0)]
    assert see.score_seen(story.state, one, member_of(team), story.now).files == {}
    assert see.score_seen(story.state, one, OLGA, story.now).files == {"scores": "5" * 64}
    assert one.scores[0].files  # the state itself is as it was


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("everyone", (True, True, True, True)),
        ("teams", (False, True, False, True)),
        ("organisers", (False, False, False, True)),
    ],
)
def test_a_board_is_for_whom_the_phase_says(audience, expected):
    story = Story(some_rules(a_phase(board_for=audience)))
    viewers = (NOBODY, member_of(story.team()), Viewer("v", "Vi", "viewer"), OLGA)
    assert tuple(sight(story, viewer) is not None for viewer in viewers) == expected
    assert tuple(see.sees(audience, viewer) for viewer in viewers) == expected


@pytest.mark.parametrize("scopes", [frozenset(), frozenset({"read"}), frozenset({"read", "submit"})])
def test_a_token_without_the_scope_is_no_organiser(scopes):
    story = Story(some_rules(a_phase(board_for="organisers", freeze=START)))
    one = story.state.submissions[story.wait(1).scored(story.team(), 1.0)]
    viewer = viewer_of(story.state.accounts[ORGANISER], scopes)
    phase = story.state.phase("first")
    assert not viewer.is_organiser
    assert sight(story, viewer) is None
    assert see.score_seen(story.state, one, viewer, story.now) is None
    assert not see.sees_data(story.state, phase, viewer, story.now)
    assert not see.sees_truth(story.state, phase, viewer)
    assert not see.sees_team(one.team, viewer)
    assert viewer_of(story.state.accounts[ORGANISER], scopes | {"organise"}).is_organiser


def test_the_scope_alone_makes_no_organiser():
    assert not Viewer("a", "A", "member", "t", frozenset({"organise"})).is_organiser


def test_a_closed_account_is_nobody():
    assert viewer_of(Account("a", "A", "organiser", closed=True)) == NOBODY


def test_a_team_is_its_own_business():
    assert see.sees_team("t1", member_of("t1"))
    assert not see.sees_team("t1", member_of("t2"))
    assert not see.sees_team("", NOBODY)


# Data and truth


def licensed(story, team, phase="first"):
    accepted = access.licence_digest(story.state.phase(phase))
    story.add(*access.request(story.state, story.now, team, phase, accepted))


def gets_data(story, viewer, phase="first"):
    return see.sees_data(story.state, story.state.phase(phase, story.now), viewer, story.now)


def test_data_is_had_after_licence_grant_and_opening():
    story = Story(some_rules(a_phase(opens=START + 10)))
    team, other = story.team(), story.team()
    viewer = member_of(team)
    story.wait(5)
    assert not gets_data(story, viewer)
    licensed(story, team)
    assert not gets_data(story.wait(20), viewer)
    story.add(*access.grant(story.state, team, "first"))
    assert gets_data(story, viewer)
    story.now = START + 9
    assert not gets_data(story, viewer)
    story.now = START + 10
    assert gets_data(story, viewer)
    assert not gets_data(story, member_of(other))
    assert not gets_data(story, NOBODY)
    assert gets_data(story, OLGA)


def test_a_refusal_takes_the_data_away():
    story = Story()
    team = story.team()
    licensed(story, team)
    story.add(*access.grant(story.state, team, "first"))
    story.add(*access.refuse(story.state, team, "first", "gave it away"))
    assert not gets_data(story, member_of(team))


def test_a_disqualified_team_gets_no_data():
    story = Story(some_rules(a_phase(access="open")))
    team = story.team()
    licensed(story, team)
    assert gets_data(story, member_of(team))
    story.add(e.TeamDisqualified(team, "two accounts"))
    assert not gets_data(story, member_of(team))


def test_data_of_a_later_phase_is_for_promoted_teams():
    story = Story(two_phases())
    going, staying = story.team(), story.team()
    story.until(START + 13 * DAY).add(e.PromotionConfirmed("first", "second", (e.Promoted(going, 1),)))
    licensed(story, going, "second")
    story.add(*access.grant(story.state, going, "second"))
    assert gets_data(story, member_of(going), "second")
    with pytest.raises(PalestraError, match="Only promoted teams"):
        licensed(story, staying, "second")
    story.add(e.PromotionConfirmed("first", "second", (e.Promoted(staying, 2),)))
    assert not gets_data(story, member_of(going), "second")


def test_truth_is_seen_by_those_it_was_released_to_and_nobody_else():
    story = Story(two_phases())
    going, staying = story.team(), story.team()
    phases = [story.state.phase(name) for name in ("first", "second")]

    def who():
        viewers = (NOBODY, member_of(going), member_of(staying), Viewer("r", "Rita", "referee"), OLGA)
        return [[see.sees_truth(story.state, phase, viewer) for viewer in viewers] for phase in phases]

    nobody = [False, False, False, False, True]
    assert who() == [nobody, nobody]
    story.add(e.TruthReleased("first", (going,), "for training"))
    assert who() == [[False, True, False, False, True], nobody]
    story.add(e.TeamDisqualified(going, "two accounts"))
    assert who() == [nobody, nobody]
