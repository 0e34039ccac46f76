"""Accounts and teams: who is in which, who may change what, and what names may be."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.decisions import teams
from palestra.contest.log import events as e
from palestra.errors import PalestraError
from palestra.text import Words
from tests.contest.story import ORGANISER, START, Story, a_phase, some_rules


def refused(match):
    return pytest.raises(PalestraError, match=match)


# Names


@given(st.text(max_size=300))
def test_a_name_is_one_short_printable_line_or_refused_in_words(text):
    try:
        name = teams.require_name(text, "team")
    except PalestraError as error:
        assert str(error)
        return
    assert 0 < len(name) <= teams.LONGEST_NAME
    assert name.isprintable()
    assert name == " ".join(name.split())
    assert unicodedata.is_normalized("NFC", name)
    assert teams.require_name(name, "team") == name


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  Alpha\tBeta\n", "Alpha Beta"),
        ("e\u0301cole", "\u00e9cole"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # pages escape; names are kept
        ("视线队", "视线队"),
        ("a\u202eb\u200bc", "a b c"),
        ("a" * 64, "a" * 64),
    ],
)
def test_names_are_kept_clean(given, kept):
    assert teams.require_name(given, "team") == kept


@pytest.mark.parametrize("name", ["", "   ", "\x00\x1f", "\u200b\u200e", "\u3164", "\u2800\u2800", "\ud800"])
def test_a_name_that_nobody_can_read_is_refused(name):
    with refused("expected 1 to 64"):
        teams.require_name(name, "team")


@pytest.mark.parametrize("length", [65, 10_000])
def test_a_long_name_is_refused(length):
    with refused("at most 64") as caught:
        teams.require_name("x" * length, "team")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["system", "System", "WORKER:1", "nobody", "baseline:x", "ｓｙｓｔｅｍ", "system :x"])
def test_names_that_the_system_signs_with_are_refused(name):
    with refused("kept for the system"):
        teams.require_name(name, "account")


def test_a_name_may_begin_like_a_reserved_one():
    assert teams.require_name("Systematic", "team") == "Systematic"


@pytest.mark.parametrize("other", ["alpha", "ALPHA", " Alpha ", "Ａｌｐｈａ", "Alph\u0061"])
def test_a_name_that_people_take_for_anothers_is_refused(other):
    story = Story()
    story.team("Alpha")
    with refused("There is a team"):
        teams.make_team(story.state, story.now, "t", other, story.account(), False)


def test_a_sharp_s_is_two():
    story = Story()
    story.team("Straße")
    with refused("There is a team"):
        teams.make_team(story.state, story.now, "t", "STRASSE", story.account(), False)


def test_a_team_cannot_pass_for_a_baseline():
    story = Story()
    story.baseline(1.0, "Median gaze")
    with refused("There is a team"):
        teams.make_team(story.state, story.now, "t", "median GAZE", story.account(), False)


@pytest.mark.parametrize("name", ["Olga", "olga", "ＯＬＧＡ"])
def test_an_account_has_a_name_of_its_own(name):
    with refused("There is an account"):
        teams.make_account(Story().state, "a", name, "member")


def test_an_account_keeps_a_cleaned_address():
    made = teams.make_account(Story().state, "a", "Ada", "member", "ada@example.org\nBcc: all")
    assert made == [e.AccountMade("a", "Ada", "member", "ada@example.org Bcc: all")]


# Accounts


def test_the_only_organiser_stays():
    story = Story()
    with refused("only organiser"):
        teams.change_role(story.state, ORGANISER, "viewer", "is tired")
    with refused("only organiser"):
        teams.close_account(story.state, ORGANISER, "is tired")
    second = story.account("organiser")
    story.add(*teams.change_role(story.state, ORGANISER, "viewer", "is tired"))
    with refused("only organiser"):
        teams.close_account(story.state, second, "is tired")


def test_a_member_of_a_team_does_not_become_a_judge():
    story = Story()
    captain = story.captain(story.team())
    for role in ("organiser", "referee", "viewer"):
        with refused("leave it first"):
            teams.change_role(story.state, captain, role, "helps out")


def test_who_has_no_account_or_a_closed_one_does_nothing():
    story = Story()
    gone = story.account()
    story.add(*teams.close_account(story.state, gone, "asked for it"))
    for account in (gone, "unknown"):
        for attempt in (
            lambda account=account: teams.make_team(story.state, story.now, "t", "Alpha", account, False),
            lambda account=account: teams.change_role(story.state, account, "viewer", "because"),
            lambda account=account: teams.close_account(story.state, account, "because"),
        ):
            with refused("no such account"):
                attempt()


@pytest.mark.parametrize("reason", ["", "  ", "x\n", "\x00\x00\x00"])
def test_what_is_done_to_others_has_a_reason(reason):
    story = Story()
    team = story.team()
    for attempt in (
        lambda: teams.close_account(story.state, story.captain(team), reason),
        lambda: teams.disqualify(story.state, team, "", reason),
    ):
        with refused("Say why"):
            attempt()


# Teams


def make(story, account, name="Alpha", declared=False):
    return teams.make_team(story.state, story.now, story.new("t"), name, account, declared)


def test_one_person_is_in_one_team():
    story = Story()
    captain, other = story.captain(story.team()), story.team()
    with refused("one person is in one team"):
        make(story, captain)
    story.add(*teams.invite(story.state, story.now, other, "secret", story.captain(other)))
    with refused("one person is in one team"):
        teams.join(story.state, story.now, "secret", captain)


@pytest.mark.parametrize("role", ["organiser", "referee", "viewer"])
def test_who_judges_or_looks_on_is_in_no_team(role):
    story = Story()
    with refused("cannot take part"):
        make(story, story.account(role))


@pytest.mark.parametrize(("when", "match"), [(-1, "opens"), (10, "closed")])
def test_teams_are_made_while_registration_is_open(when, match):
    story = Story(some_rules(registration_opens=START, registration_closes=START + 10))
    team, account = story.team(), story.account()
    story.add(*teams.invite(story.state, START, team, "secret", story.captain(team)))
    story.now = START + when
    for attempt in (
        lambda: make(story, account),
        lambda: teams.invite(story.state, story.now, team, "another", story.captain(team)),
        lambda: teams.join(story.state, story.now, "secret", account),
    ):
        with refused(match):
            attempt()
    for now in (START, START + 9):
        assert teams.make_team(story.state, now, "t", "Alpha", account, False)


def test_another_declaration_is_accepted_by_its_text_and_once():
    story = Story(some_rules(declaration=Words("We are alone.", "我们独立参赛。")))
    team = story.team()
    captain = story.state.teams[team].captain
    wanted = teams.declaration_digest(story.state.rules().declaration)
    with refused("another one by now"):
        teams.accept_declaration(story.state, story.now, team, "0" * 64, captain)
    story.wait(1000).add(*teams.accept_declaration(story.state, story.now, team, wanted, captain), by=captain)
    assert (story.state.teams[team].declared, story.state.teams[team].declared_at) == (wanted, story.now)
    with refused("already"):
        teams.accept_declaration(story.state, story.now, team, wanted, captain)


def test_where_no_declaration_is_asked_none_is_accepted():
    story = Story()
    team = story.team()
    with refused("no declaration"):
        teams.accept_declaration(story.state, story.now, team, "", story.state.teams[team].captain)


def test_a_captain_accepts_the_declaration_where_there_is_one():
    text = Words("We are independent.", "我们是独立的。")
    story = Story(some_rules(declaration=text))
    account = story.account()
    with refused("declaration of independence"):
        make(story, account)
    made = make(story, account, declared=True)
    assert made[0].declared == teams.digest_of(text.en + text.zh)


def test_invitations_are_used_once_and_kept_as_digests():
    story = Story()
    team = story.team()
    captain = story.captain(team)
    invited = teams.invite(story.state, story.now, team, "secret", captain)
    assert "secret" not in e.encode(invited[0])
    story.add(*invited)
    first, second = story.account(), story.account()
    story.add(*teams.join(story.state, story.now, "secret", first))
    assert story.state.accounts[first].team == team
    assert story.state.teams[team].members == [captain, first]
    for secret in ("secret", "wrong", "", invited[0].invitation):
        with refused("not valid, or was used"):
            teams.join(story.state, story.now, secret, second)


def test_a_team_is_no_larger_than_the_rules_say():
    story = Story(some_rules(team_limit=3))
    team = story.team()
    captain = story.captain(team)
    story.member(team)
    story.add(*teams.invite(story.state, story.now, team, "one", captain))
    with refused("at most 3 members"):
        teams.invite(story.state, story.now, team, "two", captain)


def test_a_limit_that_was_lowered_counts_for_open_invitations():
    story = Story(some_rules(team_limit=3))
    team = story.team()
    story.add(*teams.invite(story.state, story.now, team, "one", story.captain(team)))
    story.state.versions[0].rules = some_rules(team_limit=1)
    with refused("full"):
        teams.join(story.state, story.now, "one", story.account())


def test_only_the_captain_and_the_organiser_rule_a_team():
    story = Story()
    team, stranger = story.team(), story.captain(story.team())
    member = story.member(team)
    for by in (member, stranger, "unknown"):
        for attempt in (
            lambda by=by: teams.invite(story.state, story.now, team, "x", by),
            lambda by=by: teams.rename_team(story.state, story.now, team, "New", by),
            lambda by=by: teams.change_captain(story.state, story.now, team, member, by),
            lambda by=by: teams.leave(story.state, story.now, team, story.captain(team), by),
        ):
            with refused("Only the team's captain"):
                attempt()
    for by in (story.captain(team), ORGANISER):
        assert teams.change_captain(story.state, story.now, team, member, by)
        assert teams.rename_team(story.state, story.now, team, "New", by) == [e.TeamRenamed(team, "New")]
        assert teams.leave(story.state, story.now, team, member, by)


def test_only_a_member_becomes_captain():
    story = Story()
    team = story.team()
    with refused("Only a member"):
        teams.change_captain(story.state, story.now, team, story.account(), story.captain(team))
    member = story.member(team)
    story.add(e.AccountClosed(member, "asked for it"))
    with refused("no such account"):
        teams.change_captain(story.state, story.now, team, member, story.captain(team))


def test_the_captain_hands_over_before_leaving():
    story = Story()
    team = story.team()
    captain, member = story.captain(team), story.member(team)
    with refused("Make another member captain first"):
        teams.leave(story.state, story.now, team, captain, captain)
    story.add(*teams.change_captain(story.state, story.now, team, member, captain))
    story.add(*teams.leave(story.state, story.now, team, captain, captain))
    assert story.state.accounts[captain].team == ""
    assert make(story, captain)
    with refused("Only the team's captain"):
        teams.invite(story.state, story.now, team, "x", captain)


def test_the_last_to_leave_ends_a_team_that_has_not_submitted():
    story = Story()
    team = story.team("Alpha")
    captain = story.captain(team)
    story.add(*teams.invite(story.state, story.now, team, "open", captain))
    story.add(*teams.leave(story.state, story.now, team, captain, captain))
    with refused("not valid"):
        teams.join(story.state, story.now, "open", story.account())
    with refused("Only the team's captain"):
        teams.invite(story.state, story.now, team, "another", captain)
    assert make(story, captain, "Alpha")


def test_who_has_seen_results_cannot_begin_anew_in_another_team():
    story = Story()
    team = story.team()
    captain, member = story.captain(team), story.member(team)
    story.submit(team)
    for account, by in ((member, member), (member, captain), (captain, captain)):
        with refused("stay with it"):
            teams.leave(story.state, story.now, team, account, by)
    assert teams.leave(story.state, story.now, team, member, ORGANISER, "fell ill")


def test_a_team_that_has_submitted_is_renamed_by_the_organiser_alone():
    story = Story()
    team = story.team()
    story.submit(team)
    with refused("keeps its name"):
        teams.rename_team(story.state, story.now, team, "New", story.captain(team))
    assert teams.rename_team(story.state, story.now, team, "New", ORGANISER) == [e.TeamRenamed(team, "New")]


def test_a_team_may_change_the_letters_of_its_name():
    story = Story()
    team = story.team("alpha")
    assert teams.rename_team(story.state, story.now, team, "ALPHA", story.captain(team))


def test_who_is_no_member_cannot_leave():
    story = Story()
    with refused("no member"):
        teams.leave(story.state, story.now, story.team(), ORGANISER, ORGANISER)


# Disqualification


def test_a_team_is_disqualified_once_and_taken_back_where_it_was():
    story = Story(some_rules(a_phase(), a_phase("second")))
    team = story.team()
    story.add(*teams.disqualify(story.state, team, "first", "two accounts"))
    with refused("already"):
        teams.disqualify(story.state, team, "first", "two accounts")
    with refused("not disqualified there"):
        teams.reinstate(story.state, team, "", "was an error")
    story.add(*teams.disqualify(story.state, team, "", "two accounts"))
    with refused("already"):
        teams.disqualify(story.state, team, "second", "two accounts")
    story.add(*teams.reinstate(story.state, team, "", "was an error"))
    assert story.state.out(team, "first")
    assert not story.state.out(team, "second")


def test_what_is_not_there_is_told_with_a_hint():
    story = Story()
    team = story.team()
    with refused("Did you mean 'first'"):
        teams.disqualify(story.state, team, "frist", "because")
    with refused("There is no team"):
        teams.disqualify(story.state, "unknown", "", "because")
