"""Submitting: quotas, what costs nothing, and refusals that say what is wrong and what to do."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.decisions import submissions
from palestra.contest.decisions.submissions import Sent
from palestra.contest.log import events as e
from palestra.contest.rules import calendar
from palestra.contest.rules import model as rulebook
from palestra.contest.rules.model import Promotion, Quota, Verification
from palestra.errors import PalestraError
from tests.contest.story import DAY, HOUR, START, Story, a_phase, some_rules, two_phases

MIDNIGHT = calendar.start_of(calendar.day_of(START, "Asia/Shanghai"), "Asia/Shanghai") + DAY  # in the contest's zone
MONDAY = MIDNIGHT + 4 * DAY


def refused(match):
    return pytest.raises(PalestraError, match=match)


def a_contest(**changes):
    story = Story(some_rules(a_phase(**changes)))
    return story, story.team("Alpha")


def left(story, team, phase="first"):
    return submissions.allowance(story.state, story.state.phase(phase, story.now), team, story.now)


def test_midnight_and_monday_are_those_of_the_contest():
    assert calendar.told(MIDNIGHT, "Asia/Shanghai").en == "Thu 10 Nov 2022, 00:00 (UTC+8)"
    assert calendar.told(MONDAY, "Asia/Shanghai").en == "Mon 14 Nov 2022, 00:00 (UTC+8)"


# Quotas


@pytest.mark.parametrize(
    ("quota", "again", "told"),
    [
        (Quota(2, "day"), MIDNIGHT, "at most 2 per calendar day.*free Thu 10 Nov 2022, 00:00"),
        (Quota(2, "week"), MONDAY, "at most 2 per calendar week.*free Mon 14 Nov 2022, 00:00"),
        (Quota(2, "window", 5 * HOUR), START + 5 * HOUR, "in any 5 hours.*free Thu 10 Nov 2022, 02:20"),
    ],
)
def test_a_quota_is_free_again_at_its_time_and_not_before(quota, again, told):
    story, team = a_contest(quota=quota)
    story.submit(team)
    story.wait(HOUR).submit(team)
    assert left(story, team).used == 2
    assert left(story, team).next_at == again
    with refused(told):
        story.submit(team)
    with refused(told):
        story.until(again - 1).submit(team)
    story.until(again).submit(team)


def test_a_quota_of_the_phase_does_not_come_back():
    story, team = a_contest(quota=Quota(1, "phase"))
    story.submit(team)
    with refused("at most 1 in the whole phase, and 1 is used. There will be none before this phase closes"):
        story.wait(9 * DAY).submit(team)


def test_a_quota_that_is_free_again_too_late_says_so():
    story, team = a_contest(quota=Quota(1, "day"), closes=MIDNIGHT)
    story.submit(team)
    with refused("none before this phase closes"):
        story.submit(team)


def test_each_team_and_each_phase_has_its_own_quota():
    story = Story(some_rules(a_phase(quota=Quota(1, "day")), a_phase("second", quota=Quota(1, "day"))))
    one, two = story.team(), story.team()
    for team in (one, two):
        for phase in ("first", "second"):
            story.submit(team, phase)
            with refused("quota"):
                story.submit(team, phase)


ENDS = {
    "refused": (lambda story, sent: story.refuse(sent), True, True),
    "failed": (lambda story, sent: story.fail(sent, "contestant"), True, True),
    "faulted": (lambda story, sent: story.fail(sent, "platform"), True, False),
    "cancelled": (lambda story, sent: story.add(e.AttemptCancelled(sent, "by mistake")), True, False),
    "checking": (lambda story, sent: None, False, False),
    "queued": (lambda story, sent: story.accept(sent), False, False),
    "retried": (lambda story, sent: story.fail(sent, "platform", last=False), False, False),
    "scored": (lambda story, sent: story.score(sent, 1.0), False, False),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_came_to_nothing_costs_nothing_and_own_faults_are_counted_apart(end):
    how, free, own_fault = ENDS[end]
    story, team = a_contest(quota=Quota(1, "phase"), fault_quota=Quota(2, "phase"))
    how(story, story.submit(team))
    assert (left(story, team).used == 0) == free
    assert left(story, team).faults_used == int(own_fault)
    if free:
        story.submit(team)


def test_what_was_withdrawn_stays_paid():
    story, team = a_contest(quota=Quota(1, "phase"))
    sent = story.scored(team, 1.0)
    story.add(*submissions.withdraw(story.state, story.now, sent, team, "a mistake"))
    with refused("quota"):
        story.submit(team)


def test_own_faults_have_a_cap_of_their_own():
    story, team = a_contest(fault_quota=Quota(2, "day"))
    for end in ("refused", "failed"):
        ENDS[end][0](story, story.submit(team))
    with refused("2 of your submissions were refused or failed; at most 2 may.*free Thu 10 Nov 2022, 00:00"):
        story.submit(team)
    story.until(MIDNIGHT).submit(team)


def test_faults_of_the_platform_cost_nothing_and_are_not_free_for_ever():
    """Whoever finds an input that fails here would keep the workers busy with it; the organiser is told."""
    story, team = a_contest(quota=Quota(1, "phase"), fault_quota=Quota(1, "day"))
    other = story.team("Beta")
    for _ in range(submissions.MOST_OURS):
        story.fail(story.submit(team), "platform")
    assert (left(story, team).used, left(story, team).faults_used) == (0, 0)
    with refused("5 of your submissions failed on our side, and cost you nothing.*The organiser sees it"):
        story.submit(team)
    story.submit(other)
    story.wait(DAY)
    story.submit(team)


@given(
    st.sampled_from([Quota(2, "day"), Quota(3, "week"), Quota(2, "window", 3 * HOUR), Quota(4, "phase")]),
    st.lists(st.tuples(st.integers(0, 9 * HOUR), st.sampled_from(sorted(ENDS))), max_size=25),
)
@settings(max_examples=80, deadline=None)
def test_whatever_a_team_does_no_stretch_holds_more_than_the_quota(quota, tries):
    story, team = a_contest(quota=quota, fault_quota=Quota(5, "day"))
    for wait, end in tries:
        story.wait(wait)
        now = left(story, team)
        try:
            ENDS[end][0](story, story.submit(team))
        except PalestraError:
            assert now.next_at is not None or now.faults_next_at is not None or story.now >= START + 10 * DAY
            continue
        assert now.next_at is None
        paid = [one.at for one in story.state.submissions.values() if one.stage not in submissions.FREE]
        assert all(calendar.used(quota, "Asia/Shanghai", paid, at) <= quota.count for at in paid)


# Who, and when


def test_who_is_in_no_team_does_not_submit():
    story, _ = a_contest()
    with refused("Make a team, or join one"):
        submissions.receive(story.state, story.now, Sent("s", "", "first", "f", "a.csv", 1))
    with refused("There is no team 'unknown'"):
        submissions.receive(story.state, story.now, Sent("s", "unknown", "first", "f", "a.csv", 1))


def test_a_phase_takes_submissions_from_its_first_moment_until_its_end():
    story = Story(some_rules(a_phase(opens=MIDNIGHT, closes=MIDNIGHT + DAY)))
    team = story.team()
    with refused("not open yet. It opens Thu 10 Nov 2022, 00:00"):
        story.until(MIDNIGHT - 1).submit(team)
    story.until(MIDNIGHT).submit(team)
    story.until(MIDNIGHT + DAY - 1).submit(team)
    with refused("no more submissions. It closed Thu 10 Nov 2022, 24:00"):
        story.until(MIDNIGHT + DAY).submit(team)


def test_a_phase_that_was_moved_is_open_at_its_new_time():
    story, team = a_contest()
    story.add(e.PhaseMoved("first", START, START + 20 * DAY, "a power cut"))
    story.until(START + 15 * DAY).submit(team)


def test_a_phase_that_is_not_there_gets_a_hint():
    story, team = a_contest()
    with refused("Did you mean 'first'"):
        story.submit(team, "frist")


def test_a_disqualified_team_is_told_why():
    story, team = a_contest()
    story.add(e.TeamDisqualified(team, "two accounts"))
    with refused("disqualified: two accounts"):
        story.submit(team)


def test_only_promoted_teams_enter_a_later_phase():
    story = Story(two_phases())
    going, staying = story.team(), story.team()
    story.add(e.PromotionConfirmed("first", "second", (e.Promoted(going, 1),)))
    story.until(START + 13 * DAY).submit(going, "second")
    with refused("Only promoted teams"):
        story.submit(staying, "second")


def test_the_same_submission_is_not_made_twice():
    story, team = a_contest()
    sent = story.submit(team)
    with refused("handed in already"):
        submissions.receive(story.state, story.now, Sent(sent, team, "first", "f", "a.csv", 1))


# Files


def send(story, team, name="a.csv", size=10):
    return submissions.receive(story.state, story.now, Sent(story.new("s"), team, "first", "f" * 64, name, size))


def test_a_file_is_refused_by_its_size_before_it_is_sent():
    story, team = a_contest(limit_bytes=1000)
    assert send(story, team, size=1000)
    with refused("a.csv: found 1,001 bytes, expected at most 1,000"):
        send(story, team, size=1001)
    for size in (0, -1):
        with refused("found an empty file, expected a file with something in it"):
            send(story, team, size=size)


def test_a_file_has_the_name_that_the_phase_asks_for():
    story, team = a_contest(file_name="{team}_{date}.csv")
    assert send(story, team, "Alpha_20221109.csv")
    with refused("the file's name: found 'Beta.csv', expected 'Alpha_20221109.csv', with today's date"):
        send(story, team, "Beta.csv")
    with refused("expected 'Alpha_20221110.csv'"):
        send(story.until(MIDNIGHT), team, "Alpha_20221109.csv")


@pytest.mark.parametrize("name", ["", "a\x00.csv", "a\n.csv", "x" * 201, "é" * 101, "a\u202e.csv", "a.\ud800"])
def test_a_name_that_would_fail_on_our_side_is_refused(name):
    story, team = a_contest()
    with refused("the file's name"):
        send(story, team, name)


@pytest.mark.parametrize("name", ["results (2).csv", "答案.csv", "é" * 98 + ".csv", "A.CSV", "a.zip.csv"])
def test_any_other_name_will_do(name):
    story, team = a_contest()
    assert send(story, team, name)


@pytest.mark.parametrize(
    ("track", "taken", "others"),
    [
        ("near-eye-gaze-v1", [".csv"], [".zip", ".json", ".txt", ""]),
        ("gaze-prediction-v1", [".json"], [".zip", ".csv"]),
        ("eye-segmentation-v1", [".json", ".zip"], [".csv", ".tar.gz"]),
        ("near-eye-live-v1", [".zip", ".tar.gz", ".tgz"], [".csv", ".py"]),
    ],
)
def test_a_file_of_a_kind_that_the_track_does_not_read_is_refused_with_the_kinds_that_it_does(track, taken, others):
    story, team = a_contest(track=track)
    for ending in taken:
        send(story, team, f"a{ending}")
    for ending in others:
        with pytest.raises(PalestraError) as told:
            send(story, team, f"a{ending}")
        assert f"a{ending}: this phase takes files that end in {', '.join(taken)}." in str(told.value)
        assert f"扩展名为 {', '.join(taken)} 的文件" in told.value.in_language("zh")


# Taking back


def test_a_team_withdraws_what_is_scored_and_its_own():
    story, team = a_contest()
    other = story.team()
    sent = story.scored(team, 1.0)
    with refused("There is no submission"):
        submissions.withdraw(story.state, story.now, sent, other, "not ours")
    with refused("There is no submission 'unknown'"):
        submissions.withdraw(story.state, story.now, "unknown", team, "no reason")
    with refused("Say why"):
        submissions.withdraw(story.state, story.now, sent, team, "")
    story.add(*submissions.withdraw(story.state, story.now, sent, team, "a wrong file"))
    assert story.board() == []
    with refused("is withdrawn; only one that is scored"):
        submissions.withdraw(story.state, story.now, sent, team, "again")
    with refused("is checking"):
        submissions.withdraw(story.state, story.now, story.submit(team), team, "too early")


def test_where_the_last_counts_no_team_withdraws_it_to_have_the_one_before():
    story, team = a_contest(board="last")
    story.scored(team, 1.0)
    sent = story.scored(team, 2.0)
    with refused("last submission counts"):
        submissions.withdraw(story.state, story.now, sent, team, "it was worse")
    assert submissions.withdraw(story.state, story.now, sent, "", "the wrong person's file")


def test_what_is_under_way_can_be_cancelled():
    story, team = a_contest()
    sent = story.submit(team)
    assert submissions.cancel(story.state, story.now, sent, "asked for") == [e.AttemptCancelled(sent, "asked for")]
    story.score(sent, 1.0)
    with refused("is scored; only what is waiting or under way"):
        submissions.cancel(story.state, story.now, sent, "asked for")


# Bundles


def promoted(at=START + 11 * DAY, working_days=3):
    first = a_phase(promotion=Promotion("second", 1), verification=Verification(working_days, limit_bytes=100))
    story = Story(some_rules(first, a_phase("second", entry="promoted")))
    team = story.team("Alpha")
    story.until(at).add(e.PromotionConfirmed("first", "second", (e.Promoted(team, 1),)))
    return story, team


def hand_in(story, team, name="Alpha_Test.zip", size=10, phase="first"):
    return submissions.receive_bundle(story.state, story.now, Sent(story.new("b"), team, phase, "f" * 64, name, size))


def test_a_weekend_on_which_people_work_is_among_the_working_days():
    story, team = promoted(working_days=6)
    due = submissions.bundle_due(story.state, story.state.phase("first"))
    rules = msgspec.structs.replace(story.state.rules(), working_weekends=("2022-11-26",))
    story.add(e.RulesAmended(rulebook.encode(rules), story.now, "people work on that Saturday"))
    earlier = submissions.bundle_due(story.state, story.state.phase("first"), team)
    assert calendar.told(earlier, "Asia/Shanghai", closing=True).en == "Sat 26 Nov 2022, 24:00 (UTC+8)"
    assert due == earlier + 2 * DAY


def test_a_bundle_is_late_after_so_many_working_days():
    story, team = promoted()  # a Sunday
    due = submissions.bundle_due(story.state, story.state.phase("first"))
    assert calendar.told(due, "Asia/Shanghai", closing=True).en == "Wed 23 Nov 2022, 24:00 (UTC+8)"
    assert [one.late for one in hand_in(story.until(due - 1), team)] == [False]
    assert [one.late for one in hand_in(story.until(due), team)] == [True]


def test_a_team_that_moves_up_has_as_many_days_as_the_others_had_and_these_get_no_more():
    story, team = promoted()
    due = submissions.bundle_due(story.state, story.state.phase("first"), team)
    next_one = story.team()
    both = (e.Promoted(team, 1), e.Promoted(next_one, 2))
    story.wait(7 * DAY).add(e.PromotionConfirmed("first", "second", both))
    phase = story.state.phase("first")
    assert submissions.bundle_due(story.state, phase, team) == due
    assert (
        submissions.bundle_due(story.state, phase, next_one)
        == due + 7 * DAY
        == submissions.bundle_due(story.state, phase)
    )


def test_bundles_are_of_promoted_teams_with_the_right_name_and_size():
    story, team = promoted()
    with refused("Only teams that were promoted"):
        hand_in(story, story.team())
    with refused("found 'x.zip', expected 'Alpha_Test.zip'"):
        hand_in(story, team, "x.zip")
    with refused("found 101 bytes, expected at most 100"):
        hand_in(story, team, size=101)
    with refused("an empty file"):
        hand_in(story, team, size=0)
    with refused("asks for no verification bundle"):
        hand_in(story, team, phase="second")
    story.add(e.TeamDisqualified(team, "two accounts"))
    with refused("disqualified: two accounts"):
        hand_in(story, team)
