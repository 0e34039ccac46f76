"""Scoring again: a set is proposed, looked at, then applied or cancelled; until then nothing changes."""

import copy

import pytest
from hypothesis import given, settings

from palestra.contest.decisions import rescoring
from palestra.contest.decisions.rescoring import Change
from palestra.contest.log import events as e
from palestra.errors import PalestraError
from tests.contest.story import Story, a_phase, histories, ranks, some_rules


def refused(match):
    return pytest.raises(PalestraError, match=match)


def a_contest(*values):
    story = Story(some_rules(a_phase(), a_phase("second")))
    teams = [story.team() for _ in values]
    sent = [story.wait(1).scored(team, value) for team, value in zip(teams, values, strict=True)]
    return story, teams, sent


def outlook(story, name, part="whole"):
    return rescoring.outlook(story.state, name, part, story.draws.__getitem__)


def propose(story, *chosen, phase="first", reason="a better scorer"):
    return rescoring.propose(story.state, story.now, "r", phase, chosen, reason)


def test_without_a_choice_all_that_is_scored_is_scored_again():
    story, teams, sent = a_contest(1.0, 2.0)
    story.submit(teams[0])
    story.scored(teams[0], 1.0, "second")
    baseline = story.baseline(3.0)
    gone = story.scored(teams[1], 5.0)
    story.add(e.SubmissionWithdrawn(gone, "a mistake"))
    assert propose(story) == [e.RescoringProposed("r", "first", (*sent, baseline), "a better scorer")]


def test_only_what_is_scored_in_the_phase_is_chosen():
    story, teams, sent = a_contest(1.0, 2.0)
    assert propose(story, sent[1], sent[1])[0].submissions == (sent[1],)
    other = story.scored(teams[0], 1.0, "second")
    for name in (other, story.submit(teams[0]), "unknown"):
        with refused("no scored submission of first"):
            propose(story, sent[0], name)


def test_a_set_needs_something_to_score_and_a_reason():
    story, _, _ = a_contest(1.0)
    with refused("Nothing in second has been scored"):
        propose(story, phase="second")
    with refused("Say why"):
        propose(story, reason="")
    with refused("Did you mean 'first'"):
        propose(story, phase="frist")


def test_one_set_is_open_in_a_phase():
    story, teams, _ = a_contest(1.0)
    story.scored(teams[0], 1.0, "second")
    first = story.rescore()
    with refused("Another set is open"):
        propose(story)
    story.rescore("second")
    story.add(*rescoring.cancel(story.state, first, "a wrong scorer"))
    assert propose(story)


def test_an_outlook_shows_what_would_change_and_changes_nothing():
    story, teams, sent = a_contest(1.0, 2.0, 3.0)
    name = story.rescore()
    for one, value in zip(sent, (2.5, 2.0, 3.0), strict=True):
        story.score(one, value, name)
    before = copy.deepcopy(story.state)
    found = outlook(story, name)
    assert story.state == before
    assert found.changes == (
        Change(teams[1], f"Team {teams[1]}", 2, 1, 2.0, 2.0),
        Change(teams[0], f"Team {teams[0]}", 1, 2, 1.0, 2.5),
    )
    assert (found.done, found.failed, found.total) == (3, 0, 3)
    assert ranks(story.board()) == [(1, teams[0]), (2, teams[1]), (3, teams[2])]


def test_an_outlook_is_right_in_the_millisecond_of_the_first_score():
    story = Story()
    team = story.team()
    sent = story.scored(team, 1.0)
    name = story.rescore()
    story.score(sent, 2.0, name)
    assert outlook(story, name).changes == (Change(team, f"Team {team}", 1, 1, 1.0, 2.0),)


def test_an_outlook_of_the_shown_part():
    story, _, sent = a_contest(1.0)
    name = story.rescore()
    story.score(sent[0], 2.0, name)
    assert [(one.value_before, one.value_after) for one in outlook(story, name, "shown").changes] == [(2.0, 4.0)]


def test_a_set_is_applied_when_all_of_it_is_done():
    story, teams, sent = a_contest(1.0, 2.0)
    name = story.rescore()
    story.score(sent[0], 3.0, name)
    with refused("1 of 2 are not scored again yet"):
        rescoring.apply(story.state, name)
    assert (outlook(story, name).done, outlook(story, name).total) == (1, 2)
    story.score(sent[1], 2.0, name)
    expected = outlook(story, name)
    story.wait(1).add(*rescoring.apply(story.state, name))
    assert ranks(story.board()) == [(1, teams[1]), (2, teams[0])]
    assert {one.team: one.rank_after for one in expected.changes} == {team: rank for rank, team in ranks(story.board())}
    assert ranks(story.board(as_of=story.now - 1)) == [(1, teams[0]), (2, teams[1])]


def test_one_that_fails_keeps_the_score_it_has():
    story, _, sent = a_contest(1.0, 2.0)
    name = story.rescore()
    story.add(e.RescoringFailed(name, sent[0], "its file is gone"))
    story.score(sent[1], 0.5, name)
    found = outlook(story, name)
    assert (found.done, found.failed, found.total) == (1, 1, 2)
    story.add(*rescoring.apply(story.state, name))
    assert [row.entry.metrics["pe_deg"].value for row in story.board()] == [0.5, 1.0]


def test_one_that_failed_and_then_succeeded_is_counted_once():
    story, _, sent = a_contest(1.0)
    name = story.rescore()
    story.add(e.RescoringFailed(name, sent[0], "the disk was full"))
    story.score(sent[0], 2.0, name)
    found = outlook(story, name)
    assert (found.done, found.failed, found.total) == (1, 0, 1)


def test_a_cancelled_set_leaves_no_trace_on_the_board():
    story, _, sent = a_contest(1.0, 2.0)
    before = story.board()
    name = story.rescore()
    story.score(sent[0], 9.0, name)
    story.add(*rescoring.cancel(story.state, name, "a wrong scorer"))
    story.score(sent[1], 9.0, name)  # that was under way
    assert story.board() == before


def test_a_set_ends_once():
    story, _, sent = a_contest(1.0)
    name = story.rescore()
    story.score(sent[0], 2.0, name)
    story.add(*rescoring.apply(story.state, name))
    for attempt in (
        lambda: rescoring.apply(story.state, name),
        lambda: rescoring.cancel(story.state, name, "too late"),
        lambda: outlook(story, name),
    ):
        with refused("was applied already"):
            attempt()
    with refused("There is no set 'unknown'"):
        rescoring.apply(story.state, "unknown")


def test_a_set_can_be_undone_by_another_one():
    story, _, sent = a_contest(1.0)
    for value in (2.0, 1.0):
        name = story.rescore()
        story.score(sent[0], value, name)
        story.add(*rescoring.apply(story.state, name))
        assert story.board()[0].entry.metrics["pe_deg"].value == value


def test_a_submission_that_was_withdrawn_meanwhile_stays_away():
    story, teams, sent = a_contest(1.0, 2.0)
    name = story.rescore()
    for one in sent:
        story.score(one, 0.5, name)
    story.add(e.SubmissionWithdrawn(sent[0], "a mistake"))
    story.add(*rescoring.apply(story.state, name))
    assert ranks(story.board()) == [(1, teams[1])]


@given(histories())
@settings(max_examples=60, deadline=None)
def test_what_an_outlook_shows_is_what_applying_does(story):
    for one in [one for one in story.state.rescorings.values() if one.state == "open"]:
        before = story.board(one.phase, story.state.at)
        found = outlook(story, one.id)
        story.add(e.RescoringApplied(one.id))
        after = {row.entry.team or row.entry.name: row for row in story.board(one.phase, story.state.at)}
        changed = {change.team or change.name for change in found.changes}
        for change in found.changes:
            row = after[change.team or change.name]
            assert (row.rank, row.entry.metrics["pe_deg"].value) == (change.rank_after, change.value_after)
        for row in before:
            whose = row.entry.team or row.entry.name
            if whose not in changed:
                assert (after[whose].rank, after[whose].entry.metrics["pe_deg"]) == (
                    row.rank,
                    row.entry.metrics["pe_deg"],
                )
