"""Who gets a phase's data, and who its truth."""

import pytest

from palestra.contest.decisions import access
from palestra.contest.log import events as e
from palestra.errors import PalestraError
from palestra.text import Words
from tests.contest.story import DAY, START, Story, a_phase, some_rules, two_phases

LICENCE = Words("For research only.", "仅供研究使用。")


def refused(match):
    return pytest.raises(PalestraError, match=match)


def a_contest(**changes):
    story = Story(some_rules(a_phase(licence=LICENCE, **changes)))
    return story, story.team()


def ask(story, team, phase="first"):
    accepted = access.licence_digest(story.state.phase(phase, story.now))
    return access.request(story.state, story.now, team, phase, accepted)


# Data


def test_a_team_asks_with_the_licence_that_it_read():
    story, team = a_contest()
    with refused("licence has changed since you read it"):
        access.request(story.state, story.now, team, "first", "0" * 64)
    with refused("licence has changed since you read it"):
        access.request(story.state, story.now, team, "first", "")
    assert ask(story, team) == [e.AccessRequested(team, "first", access.licence_digest(story.state.phase("first")))]


def test_the_digest_is_of_the_text_in_both_languages():
    one, other = a_phase(licence=LICENCE), a_phase(licence=Words(LICENCE.en, "另一份"))
    assert access.licence_digest(one) != access.licence_digest(other)


def test_open_access_is_granted_at_once():
    story, team = a_contest(access="open")
    assert [type(body) for body in ask(story, team)] == [e.AccessRequested, e.AccessGranted]


def test_who_was_refused_asks_again_and_is_not_granted_by_itself():
    story, team = a_contest(access="open")
    story.add(*ask(story, team))
    story.add(*access.refuse(story.state, team, "first", "gave it away"))
    asked = ask(story, team)
    assert [type(body) for body in asked] == [e.AccessRequested]
    story.add(*asked)
    assert not story.state.teams[team].access["first"].granted
    story.add(*access.grant(story.state, team, "first"))
    assert story.state.teams[team].access["first"].granted


def test_a_team_asks_once():
    story, team = a_contest()
    story.add(*ask(story, team))
    with refused("asked for this data already"):
        ask(story, team)
    story.add(*access.grant(story.state, team, "first"))
    with refused("has access to this data already"):
        ask(story, team)


def test_what_was_not_asked_for_is_neither_granted_nor_refused():
    story, team = a_contest()
    with refused("has not asked"):
        access.grant(story.state, team, "first")
    with refused("has not asked"):
        access.refuse(story.state, team, "first", "because")


def test_a_refusal_has_a_reason():
    story, team = a_contest()
    story.add(*ask(story, team))
    with refused("Say why"):
        access.refuse(story.state, team, "first", " ")


def test_a_disqualified_team_is_told_why():
    story, team = a_contest()
    story.add(e.TeamDisqualified(team, "two accounts"))
    with refused("disqualified: two accounts"):
        ask(story, team)


def test_only_promoted_teams_ask_for_the_data_of_a_later_phase():
    story = Story(two_phases())
    with refused("Only promoted teams"):
        ask(story, story.team(), "second")


# Truth


def promoted():
    """Two teams that were promoted and one that was not, after the first phase."""
    story = Story(two_phases())
    one, two, _ = (story.team() for _ in range(3))
    story.until(START + 10 * DAY)
    story.add(e.PromotionConfirmed("first", "second", (e.Promoted(one, 1), e.Promoted(two, 2))))
    return story, one, two


def release(story, phase="first", reason="for training"):
    return access.release_truth(story.state, story.now, phase, reason)


def test_truth_goes_to_promoted_teams_alone_and_once():
    story, one, two = promoted()
    assert release(story) == [e.TruthReleased("first", (one, two), "for training")]
    story.add(*release(story))
    with refused("have this truth already"):
        release(story)


def test_who_moves_up_later_gets_it_later():
    story, one, _ = promoted()
    story.add(*release(story))
    third = story.team()
    story.add(e.PromotionConfirmed("first", "second", (e.Promoted(one, 1), e.Promoted(third, 3))))
    assert release(story) == [e.TruthReleased("first", (third,), "for training")]


def test_a_disqualified_team_gets_no_truth():
    story, one, two = promoted()
    story.add(e.TeamDisqualified(one, "two accounts"))
    assert release(story)[0].teams == (two,)


def test_no_truth_is_released_while_something_can_be_submitted_against_it():
    story, _, _ = promoted()
    story.now = START + 10 * DAY - 1
    with refused("'first' has not closed"):
        release(story)


def test_no_truth_is_released_while_another_phase_has_the_same_data():
    rules = two_phases()
    same = a_phase("third", data="data/first", opens=START + 15 * DAY, closes=START + 16 * DAY)
    story = Story(some_rules(*rules.phases, same))
    team = story.team()
    story.until(START + 11 * DAY).add(e.PromotionConfirmed("first", "second", (e.Promoted(team, 1),)))
    with refused("'third' has not closed"):
        release(story)
    assert release(story.until(START + 16 * DAY))


def test_without_a_promotion_or_a_reason_there_is_no_truth():
    story = Story(two_phases())
    with refused("none has been promoted"):
        release(story.wait(11 * DAY))
    story, _, _ = promoted()
    with refused("Say why"):
        release(story, reason="")
