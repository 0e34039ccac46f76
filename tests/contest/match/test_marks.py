"""Two referees, agreement and rulings, penalties, publication and appeals."""

from fractions import Fraction

import pytest

from palestra.contest.match import events as e
from palestra.contest.match.available_actions import options
from palestra.contest.match.marks import compared
from palestra.contest.match.on_site_ranking import ranked, tallies
from palestra.contest.match.penalties import points_of
from palestra.contest.match.reducer import at_time
from palestra.contest.match.turn import flags
from palestra.errors import Forbidden, PalestraError
from tests.contest.match.table import ANNA, BO, CHEN, HEAD, MINUTE, RED, SECOND, Table
from tests.contest.match.test_state_machine import refused


def differing():
    """A case on whose second sub-goal the referees differ."""
    table = Table("literal").begun()
    case = table.started()
    table.wait(30 * SECOND).ask(ANNA, e.CaseStopped)
    table.ask(ANNA, e.MarksSigned, case=case, attempt=1, met=("s1", "s2"))
    table.ask(BO, e.MarksSigned, case=case, attempt=1, met=("s1",))
    return table, case


def published(met=("s1",)):
    table = Table("literal").begun()
    case = table.played(met)
    table.ask(HEAD, e.ResultsPublished, cases=(case,))
    return table, case


def test_a_case_goes_from_unscored_over_marked_and_agreed_to_published():
    table, case = differing()
    assert table.row(case).state == "marked"
    table.ask(HEAD, e.CaseRuled, case=case, attempt=1, met=("s1", "s2"), reason="the video shows it at rest")
    assert (table.row(case).state, table.row(case).met) == ("agreed", 2)
    table.ask(HEAD, e.ResultsPublished, cases=(case,))
    assert table.row(case).state == "published"


def test_referees_who_differ_block_publication():
    table, case = differing()
    refused(table, HEAD, e.ResultsPublished, "differ on s2. The head referee rules first", cases=(case,))
    found = compared(
        table.match.opened, at_time(table.match, "red", table.now), table.match.turns["red"].cases[case], 1
    )
    assert found.differ == ("s2",)
    assert found.by_seat == {"anna": ("s1", "s2"), "bo": ("s1",)}
    assert table.row(case).met == 1  # what both have


def test_a_missing_signature_blocks_publication():
    table = Table("literal").begun()
    case = table.started()
    refused(table, ANNA, e.MarksSigned, "has not ended", case=case, attempt=1, met=())
    table.ask(ANNA, e.CaseStopped)
    table.ask(ANNA, e.MarksSigned, case=case, attempt=1, met=())
    refused(table, HEAD, e.ResultsPublished, "not marked by all", cases=(case,))
    refused(table, HEAD, e.CaseRuled, "yet to sign: bo", case=case, attempt=1, met=(), reason="the other is away")


def test_a_ruling_needs_a_reason_and_a_difference_and_the_head_referee():
    table, case = differing()
    refused(table, HEAD, e.CaseRuled, "Say why", case=case, attempt=1, met=(), reason="")
    with pytest.raises(Forbidden):
        table.ask(ANNA, e.CaseRuled, case=case, attempt=1, met=(), reason="I am sure")
    table.ask(BO, e.MarksSigned, case=case, attempt=1, met=("s1", "s2"), reason="I saw it again")
    refused(table, HEAD, e.CaseRuled, "they agree", case=case, attempt=1, met=(), reason="for all that")


def test_a_signature_is_changed_only_with_a_reason():
    table, case = differing()
    refused(table, BO, e.MarksSigned, "say why", case=case, attempt=1, met=("s1", "s2"))
    refused(table, BO, e.GoalMarked, "sign again", case=case, attempt=1, goal="s2", on=True)
    table.ask(BO, e.MarksSigned, case=case, attempt=1, met=("s1", "s2"), reason="it was the other bowl")
    assert table.row(case).state == "agreed"


def test_unknown_sub_goals_and_attempts_are_refused():
    table = Table("literal").begun()
    case = table.started()
    refused(table, ANNA, e.GoalMarked, "no sub-goal", attempt=1, goal="s9", on=True)
    refused(table, ANNA, e.GoalMarked, "attempts 1 to 3", attempt=4, goal="s1", on=True)
    table.ask(ANNA, e.CaseStopped)
    refused(table, ANNA, e.MarksSigned, "no attempt 2", case=case, attempt=2, met=())


def test_a_sub_goal_that_is_signed_twice_is_met_once():
    table = Table("literal").begun()
    case = table.played(("s1", "s1"))
    assert (table.row(case).met, table.row(case).state) == (1, "agreed")


def test_the_end_state_counts_and_the_first_time_is_kept():
    table = Table("literal").begun()
    case = table.started()
    first = table.now + 1
    for on in (True, False, True, False):
        table.ask(ANNA, e.GoalMarked, attempt=1, goal="s1", on=on)
    held = table.match.turns["red"].cases[case].marks["anna"][1]["s1"]
    assert (held.on, held.first_at) == (False, first)


def test_a_substitute_takes_over_a_seat_with_what_was_signed():
    table = Table("literal").begun()
    case = table.played(("s1",))
    table.ask(HEAD, e.RefereeReplaced, referee="bo", substitute="chen", reason="bo is ill")
    assert table.row(case).state == "agreed"
    other = table.started()
    table.ask(ANNA, e.CaseStopped)
    table.ask(ANNA, e.MarksSigned, case=other, attempt=1, met=())
    refused(table, BO, e.MarksSigned, "referees of this turn", case=other, attempt=1, met=())
    table.ask(CHEN, e.MarksSigned, case=other, attempt=1, met=())
    assert table.row(other).state == "agreed"


# Penalties


def test_a_deduction_takes_two_referees():
    table = Table("literal").begun()
    case = table.played(("s1", "s2"))
    asked = {
        "penalty": "p1",
        "what": "points",
        "case": case,
        "points": "1/10",
        "rule": "4.5",
        "reason": "moved a cup by hand",
    }
    refused(table, ANNA, e.PenaltyProposed, "no deduction", **{**asked, "points": "2"})
    refused(table, ANNA, e.PenaltyProposed, "Name the rule", **{**asked, "rule": " "})
    table.ask(ANNA, e.PenaltyProposed, **asked)
    assert table.row(case).deducted == "0"
    refused(table, ANNA, e.PenaltyConfirmed, "takes two referees", penalty="p1")
    refused(table, HEAD, e.ResultsPublished, "a penalty is open", cases=(case,))
    table.ask(BO, e.PenaltyConfirmed, penalty="p1")
    row = table.row(case)
    assert (row.met, row.deducted, row.score) == (2, "1/10", Fraction(9, 10))
    assert "1/10 deducted: 4.5: moved a cup by hand" in row.note


@pytest.mark.parametrize("text", ["", "0", "-1/2", "3/2", "1/0", "nan", "1e-9999999", "ten"])
def test_what_is_no_part_of_one_is_no_deduction(text):
    with pytest.raises(PalestraError):
        points_of(text)


def test_points_are_never_below_nothing():
    table = Table("literal").begun()
    case = table.played(())
    table.ask(
        ANNA, e.PenaltyProposed, penalty="p", what="points", case=case, points="1", rule="4.5", reason="help by hand"
    )
    table.ask(BO, e.PenaltyConfirmed, penalty="p")
    assert table.row(case).score == 0


def test_a_result_is_taken_away_and_the_team_stays():
    table = Table("literal").begun()
    first, second = table.played(), table.played()
    refused(table, ANNA, e.PenaltyProposed, "Name the case", penalty="p", what="result", rule="4.5", reason="by hand")
    table.ask(
        ANNA, e.PenaltyProposed, penalty="p", what="result", case=first, rule="4.5", reason="moved the arm by hand"
    )
    table.ask(BO, e.PenaltyConfirmed, penalty="p")
    assert (table.row(first).ended, table.row(first).met, table.row(first).charged_ms) == ("void", 0, "600000")
    assert table.row(second).met == 2
    assert ranked(tallies(table.match, table.now))[0].rank == 1


def test_a_team_is_disqualified_by_the_head_referee_and_another():
    table = Table("literal").begun()
    table.played()
    table.ask(ANNA, e.PenaltyProposed, penalty="p", what="team", rule="4.5", reason="changed the logs")
    refused(table, BO, e.PenaltyConfirmed, "by the head referee", penalty="p")
    table.ask(HEAD, e.PenaltyConfirmed, penalty="p")
    assert ranked(tallies(table.match, table.now))[0].rank is None
    refused(table, BO, e.PenaltyWithdrawn, "by the head referee", penalty="p", reason="it was another team")
    table.ask(HEAD, e.PenaltyWithdrawn, penalty="p", reason="it was another team")
    assert ranked(tallies(table.match, table.now))[0].rank == 1


def test_weights_that_changed_are_shown_and_nothing_follows():
    table = Table("literal").begun()
    case = table.prepared()
    table.ask(ANNA, e.WeightsHashed, case=case, when="before", digest="aa")
    table.ask(ANNA, e.CaseStarted, case=case)
    table.ask(ANNA, e.CaseStopped, case=case)
    table.ask(ANNA, e.WeightsHashed, case=case, when="after", digest="bb")
    table.signed(case, ("s1",))
    assert "weights after it differ" in str(flags(table.match.opened, table.match.turns["red"])[0])
    assert (table.row(case).met, table.row(case).state) == (1, "agreed")


def test_a_result_is_public_when_every_case_of_its_team_is_published():
    table, case = published()
    table.ask(ANNA, e.TurnClosed)
    assert len(tallies(table.match, table.now)) == 1
    assert tallies(table.match, table.now, "published") == []
    rest = tuple(name for name in table.match.turns["red"].cases if name != case)
    table.ask(HEAD, e.ResultsPublished, cases=rest)
    assert [one.score for one in tallies(table.match, table.now, "published")] == [Fraction(1, 8)]


def test_what_strangers_write_is_one_line_and_not_too_long():
    table = Table("literal").begun()
    table.ask(BO, e.ConductNoted, text="loud\n<b>very</b>\x00 loud")
    assert table.match.turns["red"].conduct[0].text == "loud <b>very</b> loud"
    refused(table, BO, e.ConductNoted, "at most 2000", text="x" * 2001)
    refused(table, BO, e.GoalMarked, "at most 2000", attempt=1, goal="s1", on=True, key="x" * 2001)


def test_conduct_and_logs_are_kept_with_author_and_time():
    table = Table("literal").begun()
    table.ask(BO, e.ConductNoted, text="a member touched the table")
    table.ask(ANNA, e.LogTaken, what="robot", digest="abc", bytes=12)
    turn = table.match.turns["red"]
    assert [(note.by, note.at, note.text) for note in turn.conduct] == [
        ("bo", table.now - 1, "a member touched the table")
    ]
    assert [(log.by, log.what, log.digest) for log in turn.logs] == [("anna", "robot", "abc")]


# Publication and appeals


def test_what_is_published_is_changed_by_the_head_referee_alone():
    table, case = published()
    refused(table, ANNA, e.MarksSigned, "published", case=case, attempt=1, met=(), reason="I changed my mind")
    late = {"case": case, "key": "late", "said_at": table.now - 100, "queued": True}
    refused(table, ANNA, e.CaseStopped, "published", **late)
    refused(table, HEAD, e.ResultsPublished, "published already", cases=(case,))
    table.ask(HEAD, e.CaseRuled, case=case, attempt=1, met=("s1", "s2"), reason="the second camera shows it")
    row = table.row(case)
    assert (row.met, row.state) == (2, "published")
    assert "corrected: the second camera shows it" in row.note


def test_a_correction_of_what_is_published_is_not_undone_but_corrected_again_with_a_reason():
    table, case = published()
    table.ask(HEAD, e.CaseRuled, case=case, attempt=1, met=("s1", "s2"), reason="the second camera shows it")
    last = table.log[-1]
    refused(table, HEAD, e.EventUndone, "corrects it, with a reason", team="red", undoes=f"#{last.seq}")
    table.ask(HEAD, e.CaseRuled, case=case, attempt=1, met=("s1",), reason="that camera was another case's")
    assert table.row(case).met == 1


def test_a_ruling_begins_with_what_all_referees_agree_on_and_a_correction_with_what_counts():
    table = Table("literal").begun()
    case = table.started()
    table.ask(ANNA, e.CaseStopped)
    table.ask(ANNA, e.MarksSigned, case=case, attempt=1, met=("s1", "s2"))
    table.ask(BO, e.MarksSigned, case=case, attempt=1, met=("s1",))

    def offered():
        found = options(table.match, HEAD, table.now, "red")
        return next(one.wish.met for one in found if one.kind == "case.ruled" and one.wish.case == case)

    assert offered() == ("s1",)
    table.ask(HEAD, e.CaseRuled, case=case, attempt=1, met=("s1", "s2"), reason="the second camera shows it")
    table.ask(HEAD, e.ResultsPublished, cases=(case,))
    assert offered() == ("s1", "s2")


def test_a_time_is_corrected_after_the_turn_within_what_is_possible():
    table, case = published()
    refused(table, HEAD, e.TimeCorrected, "when the turn is over", case=case, ran_ms=1, reason="pressed late")
    table.ask(ANNA, e.TurnClosed)
    refused(table, HEAD, e.TimeCorrected, "expected 0 to 600000", case=case, ran_ms=600_001, reason="pressed late")
    table.ask(HEAD, e.TimeCorrected, case=case, ran_ms=12_345, reason="pressed late")
    assert (table.row(case).time_ms, table.row(case).charged_ms) == (12_345, "12345")


def test_a_team_appeals_within_the_window_and_the_head_referee_decides():
    table, case = published()
    table.wait(10 * MINUTE).ask(RED, e.AppealMade, case=case, appeal="a1", reason="the block is in the bowl")
    refused(table, RED, e.AppealMade, "open already", case=case, appeal="a2", reason="again")
    refused(table, HEAD, e.AppealDecided, "no appeal", appeal="a2", upheld=True, reason="as the video shows")
    table.ask(HEAD, e.AppealDecided, appeal="a1", upheld=True, reason="as the video shows")
    refused(table, HEAD, e.AppealDecided, "is decided", appeal="a1", upheld=False, reason="second thoughts")
    assert table.match.turns["red"].appeals["a1"].upheld


def test_an_appeal_after_the_window_is_refused():
    table, case = published()
    table.wait(30 * MINUTE)
    refused(table, RED, e.AppealMade, "within 30 minutes", case=case, appeal="a1", reason="the block is in the bowl")
    table.now -= 2  # the very last millisecond of the window
    assert table.ask(RED, e.AppealMade, case=case, appeal="a1", reason="the block is in the bowl")


def test_an_appeal_against_what_is_not_published_is_refused():
    table = Table("literal").begun()
    case = table.played()
    refused(table, RED, e.AppealMade, "no published result", case=case, appeal="a1", reason="the block is in the bowl")
