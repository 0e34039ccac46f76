"""What the organiser does: rules, phases, freezes, announcements, live runs."""

import msgspec
import pytest

from palestra.contest.decisions import organiser, submissions
from palestra.contest.log import events as e
from palestra.contest.log.state import State
from palestra.contest.rules import model as rulebook
from palestra.contest.rules.model import Award
from palestra.errors import PalestraError
from palestra.text import Words
from tests.contest.story import DAY, HOUR, START, Story, a_phase, some_rules


def refused(match):
    return pytest.raises(PalestraError, match=match)


def test_a_contest_is_opened_once():
    rules = some_rules()
    assert organiser.open_contest(State(), rules, "palestra 1") == [
        e.ContestOpened(rulebook.encode(rules), "palestra 1")
    ]  # fmt: skip
    with refused("opened already"):
        organiser.open_contest(Story().state, rules, "palestra 1")


# Amendments


def amend(story, rules, counts_from=None, reason="to be clear"):
    at = story.now if counts_from is None else counts_from
    return organiser.amend(story.state, story.now, rules, at, reason)


def test_amended_rules_count_from_their_time_on():
    story = Story(some_rules(a_phase(limit_bytes=5)))
    story.add(*amend(story, some_rules(a_phase(limit_bytes=6)), START + 100))
    assert story.state.phase("first", START + 99).limit_bytes == 5
    assert story.state.phase("first", START + 100).limit_bytes == 6
    assert story.state.versions[-1].reason == "to be clear"


def test_amendments_have_the_notice_that_the_rules_in_force_ask_for():
    story = Story(some_rules(notice_ms=2 * DAY))
    other = some_rules(team_limit=3)
    with refused("announced 2 days before they count: these count from Fri 11 Nov 2022, 21:20"):
        amend(story, other, START + 2 * DAY - 1)
    story.add(*amend(story, other, START + 2 * DAY))
    with refused("announced 2 days before"):
        amend(story.until(START + DAY), some_rules(team_limit=4), START + 2 * DAY + 1)


def test_amendments_do_not_count_from_the_past():
    story = Story()
    with refused("announced before they count"):
        amend(story.wait(10), some_rules(team_limit=3), START + 9)


def test_an_amendment_changes_something_and_has_a_reason():
    story = Story()
    with refused("announced already, or in force"):
        amend(story, some_rules())
    with refused("Say why"):
        amend(story, some_rules(team_limit=3), reason="")


def test_older_rules_never_come_back_after_newer_ones():
    story = Story()
    story.add(*amend(story, some_rules(team_limit=3), START + 100))
    with refused("Other rules count from"):
        amend(story.wait(1), some_rules(team_limit=4), START + 99)
    story.add(*amend(story, some_rules(team_limit=4), START + 100))
    assert story.state.rules(START + 100).team_limit == 4


def test_rules_that_were_only_announced_can_be_taken_back():
    story = Story()
    story.add(*amend(story, some_rules(team_limit=3), START + 100))
    story.add(*amend(story, some_rules(), START + 100))
    assert story.state.rules(START + 100).team_limit == 10


def test_phases_do_not_vanish():
    story = Story(some_rules(a_phase(), a_phase("second")))
    with refused("'second' is gone"):
        amend(story, some_rules(a_phase()))
    story = Story()
    story.add(*amend(story, some_rules(a_phase(), a_phase("second")), START + 100))
    with refused("'second' is gone"):
        amend(story, some_rules(a_phase(), a_phase("third")), START + 100)


def test_the_track_of_a_phase_with_submissions_stays():
    story = Story()
    other = some_rules(a_phase(track="eye-segmentation-v1"))
    assert amend(story, other)
    story.submit(story.team())
    with refused("its track stays near-eye-gaze-v1"):
        amend(story, other)


def test_awards_that_were_given_stay_in_their_place():
    first, second = Award("first", Words("First prize"), 1), Award("first", Words("Second prize"), 3)
    story = Story(some_rules(awards=(first, second)))
    story.add(e.AwardGiven(0, story.team(), "won"))
    for awards in ((second, first), (), (msgspec.structs.replace(first, count=2), second)):
        with refused("'First prize' has been given"):
            amend(story, some_rules(awards=awards))
    assert amend(story, some_rules(awards=(first,)))


def test_a_phase_whose_truth_is_out_stays_closed():
    story = Story()
    story.until(START + 11 * DAY).add(e.TruthReleased("first", (story.team(),), "for training"))
    with refused("truth of 'first' has been released"):
        amend(story, some_rules(a_phase(closes=START + 12 * DAY)))
    with refused("truth of 'first' has been released"):
        organiser.move_phase(story.state, story.now, "first", START, START + 12 * DAY, "once more")
    assert amend(story, some_rules(a_phase(closes=START + 9 * DAY)))


def test_a_phase_that_was_closed_early_is_not_opened_again_by_an_amendment_once_its_truth_is_out():
    story = Story()
    story.add(*organiser.move_phase(story.state, story.now, "first", START, START + DAY, "all have submitted"))
    story.until(START + 2 * DAY).add(e.TruthReleased("first", (story.team(),), "for training"))
    assert story.state.phase("first").closes == START + DAY
    with refused("truth of 'first' has been released"):
        amend(story, some_rules(a_phase(opens=START - 1)))
    assert amend(story, some_rules(a_phase(limit_bytes=5)))


def test_no_phase_opens_on_data_whose_truth_is_out():
    same = a_phase("again", data="data/first", opens=START + DAY, closes=START + 2 * DAY)
    story = Story(some_rules(a_phase(data="data/first"), same))
    story.until(START + 11 * DAY).add(e.TruthReleased("first", (story.team(),), "for training"))
    with refused("truth of 'first' has been released, so 'again', which has the same data, cannot be open"):
        organiser.move_phase(story.state, story.now, "again", START, START + 12 * DAY, "once more")
    later = a_phase("third", data="data/first", opens=START + 12 * DAY, closes=START + 13 * DAY)
    with refused("'third', which has the same data"):
        amend(story, some_rules(a_phase(data="data/first"), same, later))
    other = msgspec.structs.replace(later, data="data/third")
    assert amend(story, some_rules(a_phase(data="data/first"), same, other))


# Phases


def test_a_phase_is_moved_with_a_reason():
    story, team = Story(), ""
    team = story.team()
    story.add(*organiser.move_phase(story.state, story.now, "first", START + HOUR, START + DAY, "a power cut"))
    with refused("not open yet"):
        story.submit(team)
    story.wait(HOUR).submit(team)
    with refused("opens before it closes"):
        organiser.move_phase(story.state, story.now, "first", START, START, "a slip")
    with refused("Say why"):
        organiser.move_phase(story.state, story.now, "first", START, START + 1, "")
    with refused("Did you mean 'first'"):
        organiser.move_phase(story.state, story.now, "frist", START, START + 1, "a power cut")


# Boards


def test_a_board_is_frozen_once_and_released():
    story = Story()
    story.add(*organiser.freeze(story.state, "first"))
    with refused("frozen already"):
        organiser.freeze(story.state, "first")
    story.add(*organiser.release(story.state, story.now, "first"))
    assert organiser.freeze(story.state, "first") == [e.BoardFrozen("first")]
    with refused("Did you mean 'first'"):
        organiser.freeze(story.state, "frist")
    with refused("Did you mean 'first'"):
        organiser.release(story.state, story.now, "frist")


def test_a_hidden_part_is_revealed_after_the_phase():
    story = Story(some_rules(a_phase(split=0.5)))
    with refused("after its phase has closed"):
        organiser.release(story.state, START + 10 * DAY - 1, "first")
    assert organiser.release(story.state, START + 10 * DAY, "first") == [e.BoardReleased("first")]


def test_an_announcement_has_a_title_in_some_language():
    assert organiser.announce("n1", Words(zh="通知"), Words()) == [e.AnnouncementMade("n1", Words(zh="通知"), Words())]
    with refused("has a title"):
        organiser.announce("n1", Words(), Words("Hello"))


# Live runs


def live():
    story = Story(some_rules(a_phase(track="near-eye-live-v1", pace="real"), a_phase("files")))
    teams = [story.team() for _ in range(2)]
    return story, teams, [accepted(story, team) for team in teams]


def accepted(story, team):
    sent = story.submit(team)
    story.accept(sent)
    return sent


def start(story, *sent, phase="first", run="u1"):
    return organiser.start_run(story.state, story.now, run, phase, sent)


def test_a_run_has_one_bundle_of_each_team():
    story, teams, sent = live()
    assert start(story, *sent) == [e.RunStarted("u1", "first", tuple(sent), "real")]
    with refused("A team takes part with one bundle"):
        start(story, sent[0], accepted(story, teams[0]))
    with refused("Nobody takes part"):
        start(story)
    with refused("There is no submission"):
        start(story, "unknown")


def test_only_live_phases_run():
    story, teams, sent = live()
    with refused("answered by files"):
        start(story, sent[0], phase="files")
    other = story.submit(teams[0], "files")
    with refused("submitted to another phase"):
        start(story, other)


@pytest.mark.parametrize("end", ["checking", "refused", "withdrawn", "cancelled", "disqualified"])
def test_only_what_was_accepted_runs(end):
    story, teams, _ = live()
    one = story.submit(teams[0])
    if end == "refused":
        story.refuse(one)
    elif end == "withdrawn":
        story.score(one, 1.0, misses=0.0)
        story.add(*submissions.withdraw(story.state, story.now, one, teams[0], "a wrong one"))
    elif end == "cancelled":
        story.add(*submissions.cancel(story.state, story.now, one, "a wrong one"))
    elif end == "disqualified":
        story.accept(one)
        story.add(e.TeamDisqualified(teams[0], "two accounts"))
    with refused(end):
        start(story, one)


def test_one_run_is_under_way_at_a_time():
    story, _, sent = live()
    story.add(*start(story, *sent))
    with refused("A run is under way"):
        start(story, sent[0], run="u2")
    story.add(*organiser.stop_run(story.state, "u1", "the lights went out"))
    assert story.state.runs["u1"].outcome == "stopped"
    assert start(story, sent[0], run="u2")
    for run in ("u1", "unknown"):
        with refused("No such run is under way"):
            organiser.stop_run(story.state, run, "once more")
