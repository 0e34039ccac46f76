"""Forms that are refused, through the real server: each comes back as the form, with why, and what was typed."""

import re
from typing import Any

import httpx
import pytest

from palestra.contest.accounts import passwords
from palestra.contest.log import events as e
from palestra.contest.storage.database import writing
from palestra.web.auth.middleware import BROWSER, SESSION
from tests.web.actions.test_desk import contest_toml
from tests.web.conftest import As, World
from tests.web.html_forms import Form, forms_in


def form_on(somebody: As, page: str, action: str, **about: str) -> Form:
    """The form of an action, as it stands on a page."""
    alike = [form for form in forms_in(somebody.get(page).text) if form.action == f"/do/{action}"]
    return next(form for form in alike if about.items() <= form.fields.items())


def refused(somebody: As, page: str, action: str, typed: dict[str, Any], **about: str) -> httpx.Response:
    fields = {**form_on(somebody, page, action, **about).fields, **typed}
    return somebody.post(f"/do/{action}", fields)


def is_back(answer: httpx.Response, action: str, says: str) -> bool:
    """Whether the form is there with the message at its top, where the browser goes."""
    alert = r'<div class="notice refused" role="alert" tabindex="-1" autofocus>'
    found = re.search(rf'action="{re.escape(action)}"[^>]*>{alert}(.*?)</div>', answer.text, re.DOTALL)
    return found is not None and says in found[1]


FORMS: dict[str, tuple[str, str, str, dict[str, Any], int, str]] = {
    "register": ("nobody", "/register", "register", {"name": "ann", "email": "x@y.org", "password": "a long password"},
                 409, "There is an account"),
    "sign-in": ("nobody", "/sign-in?next=/team", "sign-in", {"name": "ann", "password": "wrong password"}, 409,
                "do not belong together"),
    "team": ("captain", "/team", "rename-team", {"name": "Another"}, 409, "keeps its name"),
    "announcement": ("organiser", "/desk/announcements", "announce", {"text_en": "At noon."}, 409, "has a title"),
    "access": ("organiser", "/desk/access", "refuse-access", {"reason": "no"}, 409, "Say why"),
    "move": ("organiser", "/desk", "move-phase", {"opens": "2022-12-01 10:00", "closes": "2022-11-01 10:00",
             "reason": "a power cut"}, 409, "opens before it closes"),
    "token": ("captain", "/account", "make-token", {"label": "mine", "scopes": "organise"}, 422, "expected"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_refused_form_comes_back_with_what_was_typed(people: dict[str, As], name: str) -> None:
    who, page, action, typed, status, says = FORMS[name]
    answer = refused(people[who], page, action, typed)
    assert answer.status_code == status
    assert is_back(answer, f"/do/{action}", says)
    body = answer.text
    assert "wrong password" not in body
    assert "a long password" not in body
    for field, value in typed.items():
        if field not in ("password", "scopes"):
            assert f'value="{value}"' in body or f">\n{value}</textarea>" in body, field


def test_the_form_can_be_sent_again_as_it_came_back(people: dict[str, As], world: World) -> None:
    typed = {"name": "ann", "email": "new@example.org", "password": "a long password"}
    again = refused(people["nobody"], "/register?next=/team", "register", typed)
    form = next(form for form in forms_in(again.text) if form.action == "/do/register")
    assert (form.fields["email"], form.fields["next"]) == ("new@example.org", "/team")
    made = people["nobody"].post("/do/register", {**form.fields, "name": "nora", "password": "a long password"})
    assert (made.status_code, made.headers["location"]) == (303, "/team")
    assert "nora" in world.state.names


def test_a_reason_meant_for_one_team_is_put_into_no_other_form(people: dict[str, As], world: World) -> None:
    organiser = people["organiser"]
    sent = {**form_on(organiser, "/desk/access", "refuse-access").fields, "reason": "no signature"}
    world.add(e.AccessGranted("t2", "first"))
    world.add(e.TeamMade("t3", "Third", "dan", "d" * 64), e.AccessRequested("t3", "first", "x"), by="dan")
    answer = organiser.post("/do/refuse-access", {**sent, "phase": "nowhere"})
    assert answer.status_code == 409
    assert "no signature" not in answer.text
    assert 'role="alert"' in answer.text


def test_a_refused_form_is_in_the_language_of_its_page(people: dict[str, As]) -> None:
    fields = {**form_on(people["captain"], "/team", "rename-team").fields, "name": "Another"}
    answer = people["captain"].post("/do/rename-team", fields, **{"accept-language": "zh"})
    assert is_back(answer, "/do/rename-team", "已有提交的队伍不能自行改名")


def test_what_is_typed_does_no_harm(people: dict[str, As]) -> None:
    evil = "\"><script>alert('x')</script></textarea>"
    answer = refused(people["organiser"], "/desk/announcements", "announce", {"text_en": evil, "title_zh": ""})
    assert answer.status_code == 409
    assert "<script>alert" not in answer.text


def test_a_form_of_a_page_that_is_no_page_gets_a_page_about_the_error(people: dict[str, As]) -> None:
    no_pages = ("/api/log", "/live?home=1", "/static/base.css", "/nowhere", "/do/announce", "//evil.example")
    for page in (*no_pages, "/screen"):  # the hall's screen has no place for what one person is told
        answer = people["organiser"].do("announce", page=page)
        assert answer.status_code == 409
        assert "An announcement has a title." in answer.text
        assert ('<div class="error">' in answer.text) != page.startswith("//")  # which leads to the first page
        assert "evil.example" not in answer.text


def test_a_form_shows_nobody_a_page_that_is_not_theirs(people: dict[str, As]) -> None:
    answer = people["captain"].do("rename-team", name="Another", page="/desk/accounts")
    assert answer.status_code == 409
    assert "olga@example.org" not in answer.text


def test_programs_keep_their_records(people: dict[str, As]) -> None:
    answer = people["organiser"].call("announce", title_en="")
    assert answer.json() == {"status": 409, "error": "An announcement has a title."}


# The rules


def test_a_contest_file_that_is_wrong_comes_back_in_the_box(world: World, people: dict[str, As]) -> None:
    text = contest_toml(world).replace('zone = "Asia/Shanghai"', 'zone = "Asia/Shanghei"') + "\nwrong = 1"
    form = next(form for form in forms_in(people["organiser"].get("/desk/rules").text) if form.action == "/desk/rules")
    given = {"text": text, "counts_from": "2022-12-01 00:00", "reason": "clearer words"}
    answer = people["organiser"].post("/desk/rules", {**form.fields, **given})
    assert answer.status_code == 422
    assert is_back(answer, "/desk/rules", "Asia/Shanghai")
    assert answer.text.count("found &#39;Asia/Shanghei&#39;") == 1
    assert "Asia/Shanghei&#34;" in answer.text
    assert 'value="2022-12-01 00:00"' in answer.text
    assert "clearer words" in answer.text


def test_rules_that_would_be_refused_later_are_refused_before_they_are_announced(
    world: World, people: dict[str, As]
) -> None:
    form = next(form for form in forms_in(people["organiser"].get("/desk/rules").text) if form.action == "/desk/rules")
    given = {"text": contest_toml(world), "counts_from": "2022-01-01 00:00", "reason": "clearer words"}
    answer = people["organiser"].post("/desk/rules", {**form.fields, **given})
    assert answer.status_code == 409
    assert is_back(answer, "/desk/rules", "at the earliest")


def test_an_announcement_of_rules_that_is_refused_keeps_the_file(world: World, people: dict[str, As]) -> None:
    organiser = people["organiser"]
    given = {"text": contest_toml(world), "counts_from": "2022-12-01 00:00", "reason": "clearer words"}
    shown = organiser.post("/desk/rules", given)
    form = next(form for form in forms_in(shown.text) if form.action == "/do/amend-rules")
    world.clock.at = 1_669_900_000_000  # the page lay open for weeks
    answer = organiser.post("/do/amend-rules", {**form.fields, "csrf": organiser.csrf})
    assert answer.status_code == 409
    assert is_back(answer, "/desk/rules", "at the earliest")
    assert "Test, amended" in answer.text
    assert len(world.state.versions) == 1


def test_a_page_about_an_error_says_each_fault_once(people: dict[str, As]) -> None:
    answer = people["captain"].do("make-token", label="x", scopes="organise")
    assert answer.status_code == 422
    assert answer.text.count("some of what a member may do") == 1


# Forms that have run out


SITE = "http://testserver.local"
PASSWORD = "correct horse battery staple"


def sent_late(somebody: As, action: str, fields: dict[str, str], cookie: str, referer: str = SITE) -> httpx.Response:
    """A form as a browser sends it whose session is no longer what it was when the page was opened."""
    headers = {"cookie": cookie, "referer": f"{referer}{fields['page']}"}
    answer = somebody.client.post(f"/do/{action}", data=fields, headers=headers, follow_redirects=False)
    somebody.client.cookies.clear()
    return answer


def test_who_is_signed_out_meanwhile_signs_in_and_is_back_where_they_were(people: dict[str, As], world: World) -> None:
    with writing(world.contest.engine) as connection:
        passwords.set_password(connection, "ann", passwords.hashed(PASSWORD, "ann"), world.clock())
    fields = {**form_on(people["captain"], "/team", "rename-team").fields, "page": "/team?x=1&y=2"}
    answer = sent_late(people["captain"], "rename-team", {**fields, "name": "Another"}, f"{SESSION}=over")
    assert answer.status_code == 401
    assert is_back(answer, "/do/sign-in", "You are no longer signed in, so nothing was done.")
    form = next(form for form in forms_in(answer.text) if form.action == "/do/sign-in")
    assert form.fields["next"] == "/team?x=1&y=2"
    cookie = f"{SESSION}=over; {BROWSER}={answer.cookies[BROWSER]}"  # as the answer gave it to the browser
    given = {**form.fields, "name": "ann", "password": PASSWORD}
    again = sent_late(people["captain"], "sign-in", given, cookie)
    assert (again.status_code, again.headers["location"]) == (303, "/team?x=1&y=2")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_form_to_sign_in_that_has_run_out_comes_back_as_one_that_holds(
    people: dict[str, As], language: str, world: World
) -> None:
    fields = {**form_on(people["nobody"], "/sign-in?next=/team", "sign-in").fields, "name": "ann", "password": "x"}
    cookie = f"{BROWSER}=another; palestra_language={language}"
    answer = sent_late(people["nobody"], "sign-in", fields, cookie)
    says = {"en": "This form had run out, so nothing was done.", "zh": "表单已过期，本次操作未执行。"}
    assert answer.status_code == 403
    assert is_back(answer, "/do/sign-in", says[language])
    form = next(form for form in forms_in(answer.text) if form.action == "/do/sign-in")
    assert (form.fields["name"], form.fields["password"], form.fields["next"]) == ("ann", "", "/team")
    again = sent_late(people["nobody"], "sign-in", {**form.fields, "password": "wrong"}, cookie)
    assert again.status_code == 409  # it is taken, and it is the password that is wrong


def test_who_has_signed_in_anew_gets_the_form_with_what_was_typed(people: dict[str, As], world: World) -> None:
    organiser = people["organiser"]
    fields = {**form_on(organiser, "/desk/announcements", "announce").fields, "title_en": "Lunch", "text_en": "At noon"}
    cookie = f"{SESSION}={world.session('olga')}"
    answer = sent_late(organiser, "announce", fields, cookie)
    assert answer.status_code == 403
    assert is_back(answer, "/do/announce", "look it over, and send it once more")
    assert 'value="Lunch"' in answer.text
    assert "Lunch" not in [one.title.en for one in world.state.announcements]


def test_what_another_site_has_filled_in_is_not_shown_as_one_s_own(people: dict[str, As], world: World) -> None:
    fields = {"page": "/desk/announcements", "title_en": "Lunch", "text_en": "At noon"}
    for referer in ("https://evil.example", f"{SITE}.evil.example", ""):
        answer = sent_late(people["organiser"], "announce", fields, f"{SESSION}={world.session('olga')}", referer)
        assert answer.status_code == 403
        assert "Lunch" not in answer.text
        assert "This form has run out, or did not come from this site." in answer.text


def test_a_preview_of_who_is_signed_out_leads_to_signing_in_and_back(people: dict[str, As]) -> None:
    headers = {"cookie": f"{SESSION}=over", "referer": f"{SITE}/desk/rules"}
    answer = people["organiser"].client.post("/desk/rules", data={"text": "x"}, headers=headers)
    assert answer.status_code == 401
    assert 'href="/sign-in?next=/desk/rules"' in answer.text
