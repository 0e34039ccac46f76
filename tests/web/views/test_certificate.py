"""A certificate says what was so when the award was given, whatever boards say later."""

import re

from palestra.contest.log import events as e
from palestra.contest.rules.model import Award
from palestra.contest.rules.model import encode as encode_rules
from palestra.text import Words
from tests.contest.story import DAY, START, a_phase, some_rules
from tests.web.conftest import As, World


def said(page: str) -> tuple[str, str]:
    """The rank, and the number beside it."""
    result = page.split('class="result">')[1].split("</p>")[0]
    rank = re.search(r"[Rr]ank (\d+) of (\d+)", result)
    value = re.search(r"<strong>([^<]+)</strong>", result)
    assert value
    return rank[0].lower() if rank else "", value[1]


def test_the_rank_is_that_of_the_moment_when_the_award_was_given(world: World, people: dict[str, As]) -> None:
    world.close_first()
    world.add(e.AwardGiven(0, "t1", "by rank"), e.AwardGiven(1, "t2", "by rank"))
    then = people["nobody"].get("/certificates/0/t1").text
    assert said(then) == ("rank 1 of 2", "1.500°")
    world.add(e.RescoringProposed("r1", "first", ("s2",), "a better scorer"))
    world.score("s2", 1.0, "r1")
    world.add(e.RescoringApplied("r1"))
    assert [row.entry.team for row in world.site.boards.rows("first")] == ["t2", "t1"]
    assert said(people["nobody"].get("/certificates/0/t1").text) == ("rank 1 of 2", "1.500°")
    assert said(people["nobody"].get("/certificates/1/t2").text) == ("rank 2 of 2", "3.000°")
    world.add(e.TeamDisqualified("t2", "two accounts", "first"))
    assert said(people["nobody"].get("/certificates/0/t1").text) == ("rank 1 of 2", "1.500°")


def test_an_award_that_was_taken_and_given_again_is_of_the_later_moment(world: World, people: dict[str, As]) -> None:
    world.close_first()
    world.add(e.AwardGiven(0, "t1", "by rank"))
    world.add(e.AwardTaken(0, "t1", "a mistake"))
    assert people["nobody"].get("/certificates/0/t1").status_code == 404
    world.add(e.TeamDisqualified("t2", "two accounts", "first"))
    world.add(e.AwardGiven(0, "t1", "it was none"))
    assert said(people["nobody"].get("/certificates/0/t1").text)[0] == "rank 1 of 1"


def test_who_may_not_see_the_board_sees_no_rank(world: World, people: dict[str, As]) -> None:
    awards, rest = world.state.rules().awards, world.state.rules().phases[1:]
    rules = some_rules(a_phase(board_for="organisers"), *rest, awards=awards)
    world.clock.at = START + DAY
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "for organisers"))
    world.add(e.AwardGiven(0, "t1", "by rank"))
    page = people["nobody"].get("/certificates/0/t1").text
    assert "Team &lt;t1&gt;" in page
    assert "1.500" not in page
    assert "1.500" in people["organiser"].get("/certificates/0/t1").text


def test_while_scores_are_rounded_the_rank_follows_from_them_and_the_final_standing_is_not_told(
    world: World, people: dict[str, As]
) -> None:
    """An order by all digits would say which of two submissions is better, to the last digit."""
    phases, awards = world.state.rules().phases, (Award("first", Words("First"), 2), Award("", Words("Overall"), 1))
    rules = some_rules(a_phase(scores=10.0), *phases[1:], awards=awards, weights={"first": 1.0})
    world.clock.at = START + DAY
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "coarse"))
    world.add(e.AwardGiven(0, "t1", "by rank"), e.AwardGiven(0, "t2", "by rank"), e.AwardGiven(1, "t2", "by rank"))
    for team in ("t1", "t2"):
        assert said(people["nobody"].get(f"/certificates/0/{team}").text)[0] == "rank 1 of 2"
    assert said(people["organiser"].get("/certificates/0/t2").text) == ("rank 2 of 2", "3.000°")
    assert "Rank" not in people["nobody"].get("/certificates/1/t2").text
    assert "Rank" in people["organiser"].get("/certificates/1/t2").text
