"""From events to the state: every kind is handled, always in the same way, and a snapshot says the same."""

import copy
import typing

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.log import events as e
from palestra.contest.log.reducer import _HOW, fold
from palestra.contest.log.state import State
from palestra.errors import PalestraError, UnknownName
from tests.contest.story import DAY, HOUR, START, Story, a_phase, histories, some_rules


def test_every_kind_of_event_is_handled():
    assert set(_HOW) == set(typing.get_args(e.Body))


def test_every_kind_of_event_has_a_tag_of_its_own():
    tags = [body.__struct_config__.tag for body in typing.get_args(e.Body)]
    assert len(set(tags)) == len(tags)
    assert all(tag.count(".") == 1 for tag in tags)


@given(histories())
@settings(max_examples=60, deadline=None)
def test_the_same_events_make_the_same_state(story):
    before = copy.deepcopy(story.events)
    assert fold(story.events) == fold(story.events) == story.state
    assert story.events == before


@given(histories())
@settings(max_examples=60, deadline=None)
def test_a_state_survives_being_packed(story):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(story.state), type=State) == story.state


@given(histories(), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_a_packed_state_and_the_events_after_it_make_the_whole(story, cut):
    packed = msgspec.msgpack.encode(fold(story.events[:cut]))
    assert fold(story.events[cut:], msgspec.msgpack.decode(packed, type=State)) == story.state


@given(histories())
@settings(max_examples=40, deadline=None)
def test_every_submission_of_a_phase_is_found_by_its_team(story):
    listed = [name for phase in story.state.of_team.values() for names in phase.values() for name in names]
    assert sorted(listed) == sorted(story.state.submissions)


def test_the_state_knows_how_far_it_goes():
    story = Story()
    story.wait(5).team()
    assert (story.state.seq, story.state.at) == (len(story.events), START + 5)


# What became of a submission


def stage(story, sent):
    return story.state.submissions[sent].stage


def test_a_submission_goes_through_its_stages():
    story = Story()
    sent = story.submit(story.team())
    assert stage(story, sent) == "checking"
    story.accept(sent)
    assert stage(story, sent) == "queued"
    story.add(e.AttemptStarted(sent, 1, "w"))
    assert stage(story, sent) == "running"
    story.score(sent, 1.0)
    assert stage(story, sent) == "scored"


@pytest.mark.parametrize(("fault", "ended"), [("platform", "faulted"), ("contestant", "failed")])
def test_a_failed_attempt_waits_for_the_next_unless_it_was_the_last(fault, ended):
    story = Story()
    sent = story.submit(story.team())
    story.accept(sent)
    story.fail(sent, fault, last=False)
    assert stage(story, sent) == "queued"
    story.fail(sent, fault, last=True)
    assert stage(story, sent) == ended


def test_a_check_that_failed_by_our_fault_is_still_a_check():
    story = Story()
    sent = story.submit(story.team())
    story.fail(sent, "platform", last=False)
    assert stage(story, sent) == "checking"


def test_what_is_scored_stays_so_whatever_a_second_attempt_does():
    story = Story()
    sent = story.scored(story.team(), 1.0)
    story.fail(sent, "platform")
    assert stage(story, sent) == "scored"


def test_a_late_result_does_not_bring_back_what_was_withdrawn():
    story = Story()
    sent = story.scored(story.team(), 1.0)
    story.add(e.SubmissionWithdrawn(sent, "a mistake"))
    story.score(sent, 0.5)
    assert stage(story, sent) == "withdrawn"
    assert story.board() == []


def test_a_result_of_a_set_leaves_the_stage_and_the_message():
    story = Story()
    sent = story.scored(story.team(), 1.0)
    story.score(sent, 0.5, story.rescore())
    assert stage(story, sent) == "scored"
    assert [score.counts_from for score in story.state.submissions[sent].scores] == [START, None]


# Rules and times


def test_before_it_is_opened_a_contest_says_so():
    with pytest.raises(PalestraError, match="palestra contest init"):
        State().rules()


def amended(story, counts_from, **changes):
    newest = story.state.versions[-1].rules
    rules = msgspec.structs.replace(newest, phases=(msgspec.structs.replace(newest.phases[0], **changes),))
    story.add(e.RulesAmended(msgspec.json.encode(rules).decode(), counts_from, "clearer"))


def test_amended_rules_hold_from_their_time_on():
    story = Story()
    amended(story, START + 100, limit_bytes=7)
    assert story.state.phase("first", START + 99).limit_bytes == 200_000_000
    assert story.state.phase("first", START + 100).limit_bytes == 7


def test_of_rules_that_count_from_the_same_time_the_later_ones_hold():
    story = Story()
    amended(story, START + 100, limit_bytes=7)
    amended(story, START + 100, limit_bytes=8)
    assert story.state.phase("first", START + 100).limit_bytes == 8


def times(story, at=None):
    phase = story.state.phase("first", story.now if at is None else at)
    return phase.opens, phase.closes


def test_a_moved_phase_has_its_new_times_from_then_on():
    story = Story()
    before = times(story)
    story.wait(10).add(e.PhaseMoved("first", START + HOUR, START + DAY, "a power cut"))
    assert times(story) == (START + HOUR, START + DAY)
    assert times(story, START + 9) == before


def test_an_amendment_of_something_else_does_not_undo_a_move():
    story = Story()
    story.wait(10).add(e.PhaseMoved("first", START, START + DAY, "a power cut"))
    amended(story, START + 20, limit_bytes=7)
    assert times(story.wait(30)) == (START, START + DAY)


def test_an_amendment_of_the_times_ends_a_move():
    story = Story()
    story.wait(10).add(e.PhaseMoved("first", START, START + DAY, "a power cut"))
    amended(story, START + 20, closes=START + 3 * DAY)
    assert times(story, START + 19) == (START, START + DAY)
    assert times(story, START + 20) == (START, START + 3 * DAY)
    story.wait(30).add(e.PhaseMoved("first", START, START + 4 * DAY, "another one"))
    assert times(story) == (START, START + 4 * DAY)


def test_an_unknown_phase_gets_a_hint():
    with pytest.raises(UnknownName, match="Did you mean 'first'"):
        Story().state.phase("frist")


# Promotion, truth, awards


def test_a_later_promotion_replaces_an_earlier_one_and_keeps_since_when_each_team_is_in():
    story = Story(some_rules(a_phase(), a_phase("second")))
    one, two, three = (story.team() for _ in range(3))
    story.wait(1).add(e.PromotionConfirmed("first", "second", (e.Promoted(one, 1), e.Promoted(two, 2))))
    story.wait(1).add(e.PromotionConfirmed("first", "second", (e.Promoted(one, 1), e.Promoted(three, 3))))
    assert story.state.promotions["first"].since == {one: START + 1, three: START + 2}
    assert [story.state.is_promoted(team, "second") for team in (one, two, three)] == [True, False, True]


def test_awards_are_given_and_taken():
    story = Story()
    team = story.team()
    story.add(e.AwardGiven(0, team, "first"))
    assert list(story.state.awards["0"]) == [team]
    story.add(e.AwardTaken(0, team, "a mistake"), e.AwardTaken(3, team, "was not given"))
    assert story.state.awards == {"0": {}}


def test_disqualifications_of_all_phases_and_of_one_are_two_things():
    story = Story(some_rules(a_phase(), a_phase("second")))
    team = story.team()
    story.add(e.TeamDisqualified(team, "all"), e.TeamDisqualified(team, "one", "first"))
    story.wait(1).add(e.TeamReinstated(team, "all is well"))
    assert story.state.out(team, "first").reason == "one"
    assert story.state.out(team, "second") is None
    assert story.state.out(team, "second", START).reason == "all"
