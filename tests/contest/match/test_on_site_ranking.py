"""Ranking on site and in the end, against a slow reference written from the rules' words alone."""

from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.contest.match.on_site_ranking import ranked, tally, variance, why, with_online
from palestra.contest.match.rules import PRESETS
from palestra.errors import PalestraError
from palestra.scoring.judged import Judged

RULES = PRESETS["literal"]


def row(team, case, met, total, ms, deducted="0", group="g"):
    return Judged(team, group, case, met, total, 0, str(ms), 1, "published", "stopped", deducted)


@st.composite
def many_rows(draw):
    """Few values, so that ties in every step are frequent."""
    cases = draw(st.integers(1, 4))
    teams = draw(st.integers(2, 5))
    goals = draw(st.lists(st.integers(1, 4), min_size=cases, max_size=cases))
    charged = st.sampled_from(["0", "1", "999", "1000", "1999", "600000/7", "120000", "119999"])
    one = lambda team, n: row(  # noqa: E731
        f"t{team}",
        f"c{n}",
        draw(st.integers(0, goals[n])),
        goals[n],
        draw(charged),
        draw(st.sampled_from(["0", "0", "1/3"])),
    )
    return {f"t{team}": [one(team, n) for n in range(cases)] for team in range(teams)}


# The slow reference: whole numbers over one common denominator, no library of fractions, pair by pair.


def reference_numbers(rows):
    below = 1
    for one in rows:
        below *= one.total * int((one.deducted + "/1").split("/")[1])
    scores = []
    for one in rows:
        above, under = (int(part) for part in (one.deducted + "/1").split("/")[:2])
        scores.append(max(one.met * (below // one.total) - above * (below // under), 0))
    time_above, time_under = 0, 1
    for one in rows:
        above, under = (int(part) for part in (one.charged_ms + "/1").split("/")[:2])
        time_above, time_under = time_above * under + above * time_under, time_under * under
    seconds = time_above // (time_under * 1000)
    full = len([one for one in rows if one.met == one.total])
    count = len(scores)
    spread = count * sum(score * score for score in scores) - sum(scores) ** 2  # over (count · below)²
    return (sum(scores), below * count), seconds, full, (spread, (count * below) ** 2)


def reference_before(a, b):
    """1 where a is before b, -1 the other way round, 0 where they share a rank."""
    (sa, da), ta, fa, (va, wa) = reference_numbers(a)
    (sb, db), tb, fb, (vb, wb) = reference_numbers(b)
    for one, two in ((sa * db, sb * da), (tb, ta), (fa, fb), (vb * wa, va * wb)):
        if one != two:
            return 1 if one > two else -1
    return 0


@given(many_rows())
@settings(max_examples=200, deadline=None)
def test_ranking_agrees_with_a_slow_exact_reference(teams):
    placed = {
        one.tally.team: one.rank for one in ranked([tally(RULES, team, team, rows) for team, rows in teams.items()])
    }
    for team, rows in teams.items():
        assert placed[team] == 1 + sum(reference_before(other, rows) == 1 for other in teams.values())


@given(many_rows())
@settings(max_examples=100, deadline=None)
def test_ranking_is_a_total_preorder(teams):
    found = [tally(RULES, team, team, rows) for team, rows in teams.items()]
    before = lambda a, b: a.chain <= b.chain  # noqa: E731
    for a in found:
        for b in found:
            assert before(a, b) or before(b, a)
            for c in found:
                assert not (before(a, b) and before(b, c)) or before(a, c)
    assert ranked(found) == ranked(found[::-1])


@given(many_rows())
@settings(max_examples=100, deadline=None)
def test_there_is_a_sentence_for_any_pair_and_it_names_the_right_one_first(teams):
    found = [tally(RULES, team, f"Team {team}", rows) for team, rows in teams.items()]
    for a in found:
        for b in found:
            if a.team == b.team:
                continue
            said = why(a, b)
            order = reference_before(teams[a.team], teams[b.team])
            first, second = (a, b) if order >= 0 else (b, a)
            link, link_zh = ("is before", "排在") if order else ("and", "与")
            assert said.en.startswith(f"{first.name} {link} {second.name}")
            assert said.zh.startswith(f"{first.name} {link_zh} {second.name}")
            assert said.en.count(".") >= 1 and said.en.endswith(".") and said.zh.endswith("。")


def two(rows_a, rows_b, rules=RULES):
    return tally(rules, "a", "Ada", rows_a), tally(rules, "b", "Bell", rows_b)


def test_a_third_three_times_is_one():
    found = tally(RULES, "a", "a", [row("a", f"c{n}", 1, 3, 0) for n in range(3)])
    assert found.score == Fraction(1, 3)
    assert variance([Fraction(1, 3)] * 3) == 0
    assert variance([Fraction(0), Fraction(1)]) == Fraction(1, 4)  # of the population, not of a sample


def test_time_is_kept_in_milliseconds_and_compared_in_whole_seconds():
    a, b = two([row("a", "c", 1, 2, 500), row("a", "d", 1, 2, 499)], [row("b", "c", 1, 2, 0), row("b", "d", 1, 2, 0)])
    assert (a.time_s, b.time_s) == (0, 0)
    assert [one.rank for one in ranked([a, b])] == [1, 1]
    a, b = two([row("a", "c", 1, 2, 500), row("a", "d", 1, 2, 500)], [row("b", "c", 1, 2, 0), row("b", "d", 1, 2, 0)])
    assert [(one.rank, one.tally.team) for one in ranked([a, b])] == [(1, "b"), (2, "a")]
    assert why(a, b).en == (
        "Bell is before Ada by total time: 0:00 against 0:01, less is better, as both have the same on-site score."
    )
    assert why(a, b).zh == "Bell 排在 Ada 之前，因总用时更短：0:00 对 0:01（线下得分相同）。"


def test_full_cases_part_equal_times_and_variance_parts_equal_full_cases():
    a, b = two([row("a", "c", 2, 2, 0), row("a", "d", 0, 2, 0)], [row("b", "c", 1, 2, 0), row("b", "d", 1, 2, 0)])
    assert ranked([b, a])[0].tally.team == "a"
    assert "full cases: 1 against 0" in why(a, b).en
    a, b = two(
        [row("a", "c", 0, 4, 0), row("a", "d", 2, 4, 0)],
        [row("b", "c", 1, 4, 0), row("b", "d", 1, 4, 0)],
    )
    assert ranked([a, b])[0].tally.team == "b"
    assert "variance: 0.0000 against 0.0625, less is better" in why(a, b).en


def test_a_shared_rank_counts_for_the_next():
    same = [row("x", "c", 1, 2, 5)]
    found = [tally(RULES, name, name, same) for name in "ab"] + [tally(RULES, "c", "c", [row("c", "c", 0, 2, 5)])]
    assert [one.rank for one in ranked(found)] == [1, 1, 3]
    assert "share a rank" in why(found[0], found[1]).en


def test_scores_that_look_the_same_are_told_apart_as_fractions():
    a, b = two([row("a", "c", 33_333, 100_000, 0)], [row("b", "c", 1, 3, 0)])
    assert "3.33 (10/3) against 3.33 (33333/10000)" in why(a, b).en


def test_the_mean_of_group_means_where_the_setting_says_so():
    rows = [row("a", "c", 1, 1, 0, group="g1"), *(row("a", f"d{n}", 0, 1, 0, group="g2") for n in range(3))]
    assert tally(RULES, "a", "a", rows).score == Fraction(1, 4)
    assert tally(msgspec.structs.replace(RULES, mean="groups"), "a", "a", rows).score == Fraction(1, 2)


def test_the_final_is_40_percent_online_and_60_percent_on_site():
    a, b = two([row("a", "c", 1, 2, 0)], [row("b", "c", 1, 1, 0)])
    found = with_online(RULES, [a, b], {"a": "0.75", "b": Decimal("0")})
    assert [one.final for one in found] == [Fraction(3, 5), Fraction(3, 5)]
    assert [one.tally.team for one in ranked(found)] == ["b", "a"]  # the tie falls to the on-site chain
    assert "on-site score: 10.00 against 5.00, more is better, as both have the same final score" in why(*found).en
    found = with_online(RULES, [a, b], {"a": Fraction(1), "b": 0})
    assert ranked(found)[0].tally.team == "a"
    assert why(*found).zh == "Ada 排在 Bell 之前，因最终成绩更高：7.00 对 6.00。"


def test_an_online_score_is_exact_and_from_0_to_1():
    a, b = two([row("a", "c", 1, 2, 0)], [row("b", "c", 1, 1, 0)])
    with pytest.raises(TypeError, match="exactly"):
        with_online(RULES, [a, b], {"a": 0.1})  # type: ignore[dict-item]
    with pytest.raises(PalestraError, match="from 0 to 1"):
        with_online(RULES, [a, b], {"a": "75"})
