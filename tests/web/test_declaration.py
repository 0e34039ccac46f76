"""The declaration of independence is accepted by its text: another text is another declaration."""

import msgspec

from palestra.contest.decisions.teams import digest_of
from palestra.contest.log import events as e
from palestra.contest.rules.model import encode as encode_rules
from palestra.text import Words
from tests.web.conftest import As, World
from tests.web.html_forms import Form, forms_in


def dan(world: World, people: dict[str, As]) -> As:
    """Somebody without a team."""
    return As(world, people["captain"].client, "dan")


def form_of(somebody: As) -> Form:
    return next(form for form in forms_in(somebody.get("/team").text) if form.action == "/do/make-team")


def change(world: World, text: Words) -> None:
    world.clock.advance(1000)
    rules = msgspec.structs.replace(world.state.rules(), declaration=text)
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "clearer words"))


def test_a_team_is_made_with_the_declaration_that_was_shown(world: World, people: dict[str, As]) -> None:
    somebody, text = dan(world, people), world.state.rules().declaration
    form = form_of(somebody)
    assert form.fields["declaration"] == digest_of(text.en + text.zh)
    somebody.done("make-team", **{**form.fields, "name": "Solo"})
    team = world.state.teams[world.state.accounts["dan"].team]
    assert (team.name, team.declared) == ("Solo", digest_of(text.en + text.zh))


def test_a_declaration_that_changed_meanwhile_is_read_anew(world: World, people: dict[str, As]) -> None:
    somebody = dan(world, people)
    form = form_of(somebody)
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    refused = somebody.do("make-team", **{**form.fields, "name": "Solo"})
    assert (refused.status_code, "Read it again" in refused.text) == (409, True)
    assert world.state.accounts["dan"].team == ""
    somebody.done("make-team", **{**form_of(somebody).fields, "name": "Solo"})
    now = world.state.rules(world.clock()).declaration
    assert world.state.teams[world.state.accounts["dan"].team].declared == digest_of(now.en + now.zh)


def test_without_the_declaration_or_with_another_text_there_is_no_team(world: World, people: dict[str, As]) -> None:
    somebody = dan(world, people)
    for declaration in ("", "yes", "0" * 64, digest_of("")):
        answer = somebody.call("make-team", name="Solo", declaration=declaration)
        assert answer.status_code == 409, declaration
    assert world.state.accounts["dan"].team == ""


def test_a_team_is_shown_that_its_declaration_is_an_earlier_one(world: World, people: dict[str, As]) -> None:
    somebody = dan(world, people)
    somebody.done("make-team", **{**form_of(somebody).fields, "name": "Solo"})
    assert "changed since" not in somebody.get("/team").text
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    assert "It has been changed since." in somebody.get("/team").text
    assert "此后声明内容有过修改。" in somebody.get("/team?lang=zh").text


def test_a_captain_accepts_the_new_text_for_a_team_that_is_there(world: World, people: dict[str, As]) -> None:
    somebody = dan(world, people)
    somebody.done("make-team", **{**form_of(somebody).fields, "name": "Solo"})
    first = world.state.teams[world.state.accounts["dan"].team].declared
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    page = somebody.get("/team").text
    assert "its submissions are taken" in page
    form = next(form for form in forms_in(page) if form.action == "/do/accept-declaration")
    world.clock.advance(5000)
    somebody.done("accept-declaration", **form.fields)
    team, now = world.state.teams[world.state.accounts["dan"].team], world.state.rules(world.clock()).declaration
    assert team.declared == digest_of(now.en + now.zh) != first
    assert team.declared_at == world.clock()
    assert "/do/accept-declaration" not in somebody.get("/team").text
    again = somebody.do("accept-declaration", **{**form.fields, "once": ""})
    assert (again.status_code, "already" in again.text) == (409, True)


def test_a_text_that_was_not_read_is_not_accepted(world: World, people: dict[str, As]) -> None:
    captain = people["captain"]
    old = next(form for form in forms_in(captain.get("/team").text) if form.action == "/do/accept-declaration")
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    refused = captain.post("/do/accept-declaration", old.fields)
    assert (refused.status_code, "Read it again" in refused.text) == (409, True)
    assert "We are alone, and stay so." in refused.text


def test_only_the_captain_accepts_and_a_member_is_told_who_does(world: World, people: dict[str, As]) -> None:
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    page = people["member"].get("/team")
    assert "/do/accept-declaration" not in page.text
    assert "captain accepts it here" in page.text
    text = world.state.rules(world.clock()).declaration
    answer = people["member"].call("accept-declaration", declaration=digest_of(text.en + text.zh))
    assert (answer.status_code, answer.json()["error"]) == (409, "Only the team's captain can do this.")


def test_submissions_are_taken_from_a_team_that_has_not_accepted_the_new_text(
    world: World, people: dict[str, As]
) -> None:
    change(world, Words("We are alone, and stay so.", "我们独立参赛，始终如此。"))
    captain = people["captain"]
    headers = captain._headers({"x-csrf-token": captain.csrf})
    begun = captain.client.post("/api/uploads", json={"phase": "first", "name": "a.csv", "bytes": 10}, headers=headers)
    assert begun.status_code == 201


def test_where_nothing_is_to_be_declared_a_name_is_enough(world: World, people: dict[str, As]) -> None:
    change(world, Words())
    somebody = dan(world, people)
    assert "declaration" not in form_of(somebody).fields
    somebody.done("make-team", **{**form_of(somebody).fields, "name": "Solo"})
