"""Promotion: previewed, confirmed as it was previewed, with reasons; and awards."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.boards.ranking import Entry, FinalRow, Row
from palestra.contest.decisions import promotion as promoting
from palestra.contest.decisions import submissions
from palestra.contest.log import events as e
from palestra.contest.rules.model import Award, Promotion
from palestra.contest.rules.model import encode as encode_rules
from palestra.errors import PalestraError
from palestra.text import Words
from tests.contest.story import DAY, START, Story, a_phase, some_rules

CLOSED = START + 10 * DAY


def refused(match):
    return pytest.raises(PalestraError, match=match)


def a_contest(values, top=2):
    """Teams with these values in a phase that has closed."""
    phases = [a_phase(promotion=Promotion("second", top)), a_phase("second", entry="promoted")]
    story = Story(some_rules(*phases))
    teams = [story.team() for _ in values]
    for team, value in zip(teams, values, strict=True):
        story.scored(team, value)
    return story.until(CLOSED), teams


def preview(story, **without):
    return promoting.preview(story.state, "first", story.board(), without)


def going(found):
    return [one.team for one in found.teams]


def confirm(story, found, digest=None, reason="as the board says"):
    return promoting.confirm(story.state, story.now, found, digest or found.digest, reason)


# Who goes on


@pytest.mark.parametrize(
    ("values", "top", "expected"),
    [
        ((1.0, 2.0, 3.0), 2, [0, 1]),
        ((1.0, 2.0, 2.0, 3.0), 2, [0, 1, 2]),
        ((1.0, 1.0, 1.0), 2, [0, 1, 2]),
        ((1.0, 1.0, 2.0), 2, [0, 1]),
        ((1.0,), 2, [0]),
        ((), 2, []),
    ],
)
def test_the_first_ones_go_on_and_who_shares_the_last_rank_as_well(values, top, expected):
    story, teams = a_contest(values, top)
    assert going(preview(story)) == [teams[i] for i in expected]


def test_baselines_do_not_go_on():
    story, teams = a_contest((2.0, 3.0))
    story.baseline(1.0)
    assert going(preview(story)) == teams


def test_who_is_left_out_with_a_reason_makes_room_for_the_next():
    story, teams = a_contest((1.0, 2.0, 3.0))
    found = preview(story, **{teams[0]: "is the organiser's own"})
    assert going(found) == teams[1:]
    assert found.left_out == (e.Promoted(teams[0], 1, "is the organiser's own"),)
    assert [one.rank for one in found.teams] == [2, 3]


def test_nobody_is_left_out_without_a_reason_nor_by_a_slip_of_the_pen():
    story, teams = a_contest((1.0, 2.0, 3.0))
    with refused("Say why"):
        preview(story, **{teams[0]: ""})
    with refused("There is no team"):
        preview(story, unknown="a reason")


def verified(story, team, outcome, bundle=""):
    bundle = bundle or story.new("b")
    if bundle not in story.state.bundles:
        story.add(e.BundleMade(bundle, team, "first", "f" * 64, "b.zip", 10))
    if outcome:
        story.add(e.VerificationMade(bundle, "s1", outcome, "12 rows differ"))
    return bundle


@pytest.mark.parametrize("outcome", ["differs", "failed"])
def test_a_failed_verification_moves_the_next_team_up(outcome):
    story, teams = a_contest((1.0, 2.0, 3.0))
    story.add(*confirm(story, preview(story)))
    verified(story, teams[0], outcome)
    found = preview(story)
    assert going(found) == teams[1:]
    assert found.left_out == (e.Promoted(teams[0], 1, f"verification: {outcome}; 12 rows differ"),)
    assert (found.added, found.removed) == ((teams[2],), (teams[0],))


def test_handing_in_another_bundle_does_not_undo_a_failure_but_its_verification_does():
    story, teams = a_contest((1.0, 2.0, 3.0))
    verified(story, teams[0], "failed")
    again = verified(story, teams[0], "")
    assert going(preview(story)) == teams[1:]
    verified(story, teams[0], "reproduced", again)
    assert going(preview(story)) == teams[:2]


def test_who_does_not_comply_is_left_out_until_judged_again():
    story, teams = a_contest((1.0, 2.0, 3.0))
    verified(story, teams[1], "reproduced")
    story.add(e.ComplianceJudged(teams[1], "first", False, "trained on the test set"))
    found = preview(story)
    assert going(found) == [teams[0], teams[2]]
    assert found.left_out[0].reason == "compliance: trained on the test set"
    story.add(e.ComplianceJudged(teams[1], "first", True, "it did not"))
    assert going(preview(story)) == teams[:2]


def test_who_is_disqualified_does_not_go_on():
    story, teams = a_contest((1.0, 2.0, 3.0, 4.0))
    story.add(e.TeamDisqualified(teams[0], "two accounts", "second"), e.TeamDisqualified(teams[1], "as well"))
    found = preview(story)
    assert going(found) == teams[2:]
    assert found.left_out == (e.Promoted(teams[0], 1, "disqualified: two accounts"),)


def test_a_phase_that_promotes_nobody_says_so():
    story, _ = a_contest(())
    with refused("No team is promoted from second"):
        promoting.preview(story.state, "second", [])


@given(st.lists(st.integers(1, 4), max_size=8), st.integers(1, 5), st.sets(st.integers(0, 7)))
def test_no_team_is_passed_over_without_a_reason(values, top, out):
    story, teams = a_contest(sorted(map(float, values)), top)
    found = preview(story, **{teams[i]: "has withdrawn" for i in out if i < len(teams)})
    ranked = [row for row in story.board() if row.rank]
    named = {one.team for one in (*found.teams, *found.left_out)}
    for row in ranked:
        worst = found.teams[-1].rank if found.teams else 0
        assert row.entry.team in named or (len(found.teams) >= top and row.rank > worst)
    wanted = [row.entry.team for row in ranked if row.entry.team not in {one.team for one in found.left_out}]
    assert going(found) == wanted[: len(found.teams)]
    assert len(found.teams) >= min(top, len(teams) - len([i for i in out if i < len(teams)]))


# Confirming


def test_what_was_previewed_is_confirmed_with_its_reasons():
    story, teams = a_contest((1.0, 2.0, 3.0))
    found = preview(story, **{teams[1]: "withdrew by letter"})
    story.add(*confirm(story, found))
    promotion = story.state.promotions["first"]
    assert [one.team for one in promotion.teams] == [teams[0], teams[2]]
    assert promotion.left_out == [e.Promoted(teams[1], 2, "withdrew by letter")]
    assert promotion.reason == "as the board says"


def test_only_what_was_previewed_is_confirmed():
    story, teams = a_contest((1.0, 2.0, 3.0))
    seen = preview(story)
    story.add(e.TeamDisqualified(teams[0], "two accounts"))
    with refused("The board has changed since this preview"):
        confirm(story, preview(story), seen.digest)
    with refused("The board has changed since this preview"):
        confirm(story, seen, "0" * 64)


def test_a_change_of_rank_alone_is_a_change():
    story, teams = a_contest((1.0, 2.0, 3.0))
    seen = preview(story)
    story.now = START
    story.scored(teams[1], 0.5)
    story.until(CLOSED)
    assert set(going(preview(story))) == set(going(seen))
    assert preview(story).digest != seen.digest


def test_nothing_is_confirmed_while_the_phase_is_open():
    story, _ = a_contest((1.0, 2.0))
    story.now = CLOSED - 1
    with refused("still open"):
        confirm(story, preview(story))


def test_nothing_is_confirmed_while_results_are_missing():
    story, teams = a_contest((1.0, 2.0))
    story.now = START
    sent = story.submit(teams[0])
    story.until(CLOSED)
    with refused("without a result yet: 1. Wait for them"):
        confirm(story, preview(story))
    story.add(*submissions.cancel(story.state, story.now, sent, "its worker is gone"))
    assert confirm(story, preview(story))


def test_a_promotion_has_a_reason():
    story, _ = a_contest((1.0, 2.0))
    with refused("Say why"):
        confirm(story, preview(story), reason=" ")


def test_a_preview_is_the_same_in_another_process():
    story, _ = a_contest((1.0, 2.0))
    found = preview(story)
    again = msgspec.json.decode(msgspec.json.encode(found), type=promoting.Preview)
    assert again.digest == found.digest


# Awards


def a_board(*ranks):
    return [
        Row(rank, None, Entry(f"t{i}" if rank else "", f"T{i}", f"s{i}", 0, {}, "", 1, ()))
        for i, rank in enumerate(ranks)
    ]


def awards_for(*counts, phase="first"):
    return some_rules(a_phase(), awards=tuple(Award(phase, Words(f"{count} of these"), count) for count in counts))


@pytest.mark.parametrize(
    ("ranks", "counts", "expected"),
    [
        ((1, 2, 3, 4), (1, 2), {0: ["t0"], 1: ["t1", "t2"]}),
        ((1, 1, 3, 4), (1, 2), {0: ["t0", "t1"], 1: ["t2", "t3"]}),
        ((1, 2, 2, 4, 5), (1, 1, 1), {0: ["t0"], 1: ["t1", "t2"], 2: ["t3"]}),
        ((1,), (1, 3), {0: ["t0"], 1: []}),
        ((None, 1, None, 2), (1, 1), {0: ["t1"], 1: ["t3"]}),
        ((), (1,), {0: []}),
    ],
)
def test_awards_go_to_the_first_ones_and_equal_teams_get_the_same(ranks, counts, expected):
    assert promoting.proposed_awards(awards_for(*counts), {"first": a_board(*ranks)}, []) == expected


@given(st.lists(st.booleans(), max_size=12), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_no_team_gets_two_awards_of_a_board_and_equal_teams_are_never_parted(shared, counts):
    ranks: list[int] = []
    for place, same in enumerate(shared, 1):
        ranks.append(ranks[-1] if same and ranks else place)
    given_to = promoting.proposed_awards(awards_for(*counts), {"first": a_board(*ranks)}, [])
    everybody = [team for teams in given_to.values() for team in teams]
    assert len(set(everybody)) == len(everybody)
    place = {team: number for number, teams in given_to.items() for team in teams}
    for i, one in enumerate(ranks):
        for j, other in enumerate(ranks):
            if one == other:
                assert place.get(f"t{i}") == place.get(f"t{j}")
            elif one < other and f"t{j}" in place:
                assert place[f"t{i}"] <= place[f"t{j}"]
    assert len(everybody) >= min(sum(counts), len(ranks)) or not ranks


def test_awards_of_the_whole_contest_follow_the_final_standing():
    final = [FinalRow(1, "b", "B", 0.9, {}), FinalRow(2, "a", "A", 0.8, {})]
    assert promoting.proposed_awards(awards_for(1, phase=""), {}, final) == {0: ["b"]}


def test_awards_are_brought_to_what_is_proposed():
    story, teams = a_contest((1.0, 2.0, 3.0))
    story.add(*promoting.give_awards(story.state, {0: [teams[0]], 1: [teams[1]]}, "final board"))
    with refused("like this already"):
        promoting.give_awards(story.state, {0: [teams[0]], 1: [teams[1]]}, "final board")
    changes = promoting.give_awards(story.state, {0: [teams[0]], 1: [teams[2]]}, "failed the check")
    assert changes == [e.AwardTaken(1, teams[1], "failed the check"), e.AwardGiven(1, teams[2], "failed the check")]
    with refused("Say why"):
        promoting.give_awards(story.state, {0: []}, "")


def test_an_award_of_a_team_that_failed_verification_goes_to_the_next():
    rules, board = awards_for(1, 1), {"first": a_board(1, 2, 3)}
    first, second, third = (row.entry.team for row in board["first"])
    assert promoting.proposed_awards(rules, board, []) == {0: [first], 1: [second]}
    assert promoting.proposed_awards(rules, board, [], {first}) == {0: [second], 1: [third]}


def test_rules_that_came_into_force_with_nothing_in_the_log_since_count():
    plain = [a_phase(), a_phase("second", opens=CLOSED + DAY, closes=CLOSED + 2 * DAY)]
    story = Story(some_rules(*plain))
    team = story.team()
    story.scored(team, 1.0)
    story.until(CLOSED + 1)
    first = msgspec.structs.replace(plain[0], promotion=Promotion("second", 1))
    promoting_rules = some_rules(first, msgspec.structs.replace(plain[1], entry="promoted"))
    story.add(e.RulesAmended(encode_rules(promoting_rules), story.now + 60_000, "late"))
    with refused("say nothing of it"):
        promoting.preview(story.state, "first", story.board())
    found = promoting.preview(story.state, "first", story.board(), now=story.now + 60_000)
    assert going(found) == [team]
