"""The desk's page of promotion where the rules promote nobody, or do so since a moment ago."""

import msgspec
import pytest

from palestra.contest.log import events as e
from palestra.contest.rules.model import Promotion, Rules
from palestra.contest.rules.model import encode as encode_rules
from tests.contest.story import DAY, START
from tests.web.conftest import As, World
from tests.web.html_forms import forms_in, links_in


def promoting(rules: Rules, promotion: Promotion | None) -> Rules:
    first = msgspec.structs.replace(rules.phases[0], promotion=promotion, verification=None)
    second = msgspec.structs.replace(rules.phases[1], entry="promoted" if promotion else "everyone")
    return msgspec.structs.replace(rules, phases=(first, second, *rules.phases[2:]))


def amend(world: World, rules: Rules, after: int = 0) -> None:
    world.clock.advance(1000)
    world.add(e.RulesAmended(encode_rules(rules), world.clock() + after, "for a reason"))


@pytest.mark.parametrize("path", ["/desk/promotion", "/desk/promotion/first"])
def test_where_no_phase_promotes_the_desk_says_so_and_how_to_add_it(world: World, organiser: As, path: str) -> None:
    amend(world, promoting(world.state.rules(), None))
    english, chinese = (organiser.get(f"{path}?lang={language}") for language in ("en", "zh"))
    assert (english.status_code, chinese.status_code) == (200, 200)
    assert "the rules in force say nothing of it" in english.text
    assert "[phase.promotion]" in english.text
    assert "现行规则未作规定" in chinese.text
    assert "/desk/rules" in links_in(english.text)
    assert "/desk/awards" in links_in(english.text)


def test_a_phase_that_does_not_promote_names_those_that_do(organiser: As) -> None:
    html = organiser.get("/desk/promotion/second").text
    assert "No team is promoted from" in html
    assert "/desk/promotion/first" in links_in(html)


def test_promotion_that_was_announced_is_told_with_its_time(world: World, organiser: As) -> None:
    amend(world, promoting(world.state.rules(), None))
    amend(world, promoting(world.state.rules(), Promotion("second", 1)), after=DAY)
    html = organiser.get("/desk/promotion").text
    assert "They count from" in html
    assert "[phase.promotion]" not in html


def test_promotion_that_was_added_after_the_phase_closed_can_be_confirmed(world: World, organiser: As) -> None:
    world.add(e.AttemptCancelled("live1", "for later"))
    amend(world, promoting(world.state.rules(), None))
    world.clock.at = START + 11 * DAY
    amend(world, promoting(world.state.rules(world.clock()), Promotion("second", 1)), after=60_000)
    world.clock.advance(120_000)  # nothing happens meanwhile, so the log is older than the rules
    page = organiser.get("/desk/promotion/first")
    assert page.status_code == 200
    form = next(form for form in forms_in(page.text) if form.action == "/do/promote")
    organiser.done("promote", **{**form.fields, "reason": "by rank"})
    assert [one.team for one in world.state.promotions["first"].teams] == ["t1"]


def test_a_reason_that_is_too_short_comes_back_beside_the_list(organiser: As) -> None:
    answer = organiser.get("/desk/promotion/first?without.t1=x")
    assert answer.status_code == 409
    assert 'role="alert"' in answer.text
    form = next(form for form in forms_in(answer.text) if form.method == "get")
    assert form.fields["without.t1"] == "x"
