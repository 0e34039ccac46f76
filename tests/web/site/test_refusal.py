"""What was typed into a form that was refused is put back into it, into no other, and does no harm there."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from palestra.web.site.refusal import FRESH, Refusal, Sent
from palestra.web.site.rendering import render
from tests.web import samples

SAMPLES = samples.pages()
TEXTUAL = ("text", "email", "number", "textarea")
ALERT = re.compile(r'<div class="notice refused" role="alert" tabindex="-1" autofocus><p>No\.</p></div>')


@dataclass
class Drawn:
    """A form of a page as a browser has it."""

    action: str
    hidden: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)  # texts, ticked boxes, chosen options
    kinds: dict[str, str] = field(default_factory=dict)
    says_no: bool = False


class Forms(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Drawn] = []
        self._form: Drawn | None = None
        self._choice = self._area = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Drawn(given.get("action", ""))
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif given.get("role") == "alert":
            self._form.says_no = True
        elif tag == "select":
            self._choice = given["name"]
            self._form.kinds[self._choice] = tag
        elif tag == "option" and self._choice and "selected" in given:
            self._form.values.setdefault(self._choice, []).append(given["value"])
        elif tag == "textarea":
            self._area = given["name"]
            self._form.kinds[self._area] = tag
            self._form.values[self._area] = [""]
        elif tag == "input" and "name" in given:
            self._input(self._form, given)

    def _input(self, form: Drawn, given: dict[str, str]) -> None:
        kind = given.get("type", "text")
        if kind != "hidden":
            form.kinds[given["name"]] = kind
        if kind != "checkbox" or "checked" in given:
            to = form.hidden if kind == "hidden" else form.values
            to.setdefault(given["name"], []).append(given.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._form and self._area:
            self._form.values[self._area][0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._choice = ""
        elif tag == "textarea" and self._form:
            self._form.values[self._area][0] = self._form.values[self._area][0].removeprefix("\n")
            self._area = ""


def drawn(page: str, refusal: Refusal = FRESH) -> str:
    template, around, view = SAMPLES[page]
    return render(template, "en", frame=around, page=view, refusal=refusal)


def refused(page: str, action: str, sent: Sent) -> str:
    html = drawn(page, Refusal(action, sent, "No."))
    assert len(ALERT.findall(html)) == 1
    return html


def form_that_says_no(html: str) -> Drawn:
    (found,) = [form for form in Forms(html).forms if form.says_no]
    return found


def may_be_refused(page: str) -> list[Drawn]:
    return [form for form in Forms(drawn(page)).forms if form.action.startswith(("/do/", "/desk/"))]


@pytest.mark.parametrize("page", [page for page in sorted(SAMPLES) if may_be_refused(page)])
def test_every_form_comes_back_as_it_was_filled_in_and_no_other_with_it(page: str) -> None:
    fresh = Forms(drawn(page)).forms
    for form in may_be_refused(page):
        typed = {name: ["typed"] for name, kind in form.kinds.items() if kind in TEXTUAL}
        found = Forms(refused(page, form.action, {**form.hidden, **typed})).forms
        place = next(i for i, one in enumerate(found) if one.says_no)
        assert {name: found[place].values[name] for name in typed} == typed
        assert fresh[place].action == form.action
        others = [(one.action, one.values) for i, one in enumerate(found) if i != place]
        assert others == [(one.action, one.values) for i, one in enumerate(fresh) if i != place]


def test_typed_values_are_kept_and_passwords_are_not() -> None:
    html = refused("register", "/do/register", {"name": ["ann"], "email": ["a@b.org"], "password": ["secret!"]})
    assert form_that_says_no(html).values == {"name": ["ann"], "email": ["a@b.org"], "password": [""]}
    assert "secret!" not in html


def test_the_message_stands_at_the_top_of_the_form() -> None:
    html = refused("desk-announcements", "/do/announce", {})
    assert re.search(rf'action="/do/announce" class="stack">{ALERT.pattern}', html)


def test_what_a_form_did_not_send_is_as_the_page_has_it() -> None:
    before = next(form for form in Forms(drawn("team")).forms if form.action == "/do/rename-team")
    assert before.values["name"] != [""]
    assert form_that_says_no(refused("team", "/do/rename-team", {})).values == before.values


def test_boxes_and_choices_are_as_they_were() -> None:
    html = refused("account", "/do/make-token", {"label": ["mine"], "scopes": ["submit"], "days": ["7"]})
    assert form_that_says_no(html).values == {"label": ["mine"], "scopes": ["submit"], "days": ["7"]}


def test_boxes_that_were_unticked_stay_so() -> None:
    assert Forms(drawn("desk-runs")).forms[-1].values["submissions"]
    html = refused("desk-runs", "/do/start-run", {"phase": ["final"]})
    assert "submissions" not in form_that_says_no(html).values


def test_of_many_forms_alike_the_one_about_the_same_thing_is_filled() -> None:
    sent = {"team": ["t2"], "phase": ["preliminary"], "reason": ["late"]}
    html = refused("desk-access", "/do/refuse-access", sent)
    alike = [form for form in Forms(html).forms if form.action == "/do/refuse-access"]
    assert {form.hidden["team"][0]: form.values["reason"][0] for form in alike if form.values["reason"][0]} == {
        "t2": "late"
    }
    assert form_that_says_no(html).hidden["team"] == ["t2"]


def test_where_the_form_is_gone_no_other_is_filled_and_the_page_says_why() -> None:
    sent = {"team": ["t99"], "phase": ["preliminary"], "reason": ["meant for t99"]}
    html = refused("desk-access", "/do/refuse-access", sent)
    assert "meant for t99" not in html
    assert re.search(rf'<main id="main" tabindex="-1">{ALERT.pattern}', html)


def test_a_licence_that_changed_does_not_hide_the_form() -> None:
    (before,) = may_be_refused("data")
    html = refused("data", "/do/request-access", {"phase": before.hidden["phase"], "licence": ["old"]})
    assert form_that_says_no(html).hidden["licence"] == before.hidden["licence"] != ["old"]


def test_what_was_folded_away_is_opened() -> None:
    html = refused("desk-awards", "/do/give-awards", {"id": [""]})
    assert '<details class="confirm careful" open>' in html
    assert html.count(" open>") == 1


def test_a_page_that_nothing_was_refused_on_says_nothing() -> None:
    assert not any(form.says_no for page in SAMPLES for form in Forms(drawn(page)).forms)
    assert not FRESH.is_told


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=50)


@given(TEXTS, TEXTS)
def test_whatever_is_typed_comes_back_as_it_was_and_as_text_alone(one: str, other: str) -> None:
    html = refused("desk-announcements", "/do/announce", {"title_en": [one], "text_en": [other]})
    assert form_that_says_no(html).values["title_en"] == [one]
    assert f'name="text_en" rows="5" lang="en">\n{escape(other)}</textarea>' in html


NUMBER_OF_A_FORM = re.compile(r'(name="once" (?:value|content)=")[^"]*')


@given(st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2), max_size=3))
def test_any_page_keeps_what_it_has(sent: dict[str, list[str]]) -> None:
    html = refused("desk-awards", "/do/nothing-here", sent)
    fresh = NUMBER_OF_A_FORM.sub(r"\1", drawn("desk-awards"))
    assert NUMBER_OF_A_FORM.sub(r"\1", ALERT.sub("", html)) == fresh
