"""What was typed into a form that was refused is put back into it, into no other, and does no harm there."""

from html import escape, unescape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from palestra.web.forms.refill import refilled

ALERT = '<p role="alert">No.</p>'


def page(*forms: str) -> str:
    return f'<!doctype html>\n<main id="main">\n{"".join(forms)}</main>'


def form(inside: str, action: str = "/do/it", **hidden: str) -> str:
    fields = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in hidden.items())
    return f'<form method="post" action="{action}">{fields}\n{inside}</form>\n'


class Controls(HTMLParser):
    """Values of fields by their names, as a browser has them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self._name = ""
        self._text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "textarea":
            self._name, self._text = given.get("name") or "", []
        elif tag == "input" and (given.get("type") not in ("checkbox",) or "checked" in given):
            self.values.setdefault(given.get("name") or "", []).append(given.get("value") or "")

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.values.setdefault(self._name, []).append("".join(self._text).removeprefix("\n"))


def test_typed_values_are_kept_and_passwords_are_not() -> None:
    html = page(
        form('<input name="name" value=""><input type="password" name="password"><textarea name="t">a</textarea>')
    )
    found = refilled(html, "/do/it", {"name": ["ann"], "password": ["secret!"], "t": ["two\nlines"]}, ALERT)
    assert Controls(found).values == {"name": ["ann"], "password": [""], "t": ["two\nlines"]}
    assert "secret!" not in found


def test_the_message_stands_at_the_top_of_the_form() -> None:
    found = refilled(page(form("<p>A</p>", "/do/a"), form("<p>B</p>", "/do/b")), "/do/b", {}, ALERT)
    assert f'action="/do/b">{ALERT}' in found
    assert found.count(ALERT) == 1


def test_boxes_and_choices_are_as_they_were() -> None:
    html = page(form(
        '<input type="checkbox" name="scopes" value="read" checked><input type="checkbox" name="scopes" value="submit">'
        '<select name="days"><option value="7">7</option><option value="30" selected>30</option></select>'
    ))  # fmt: skip
    found = refilled(html, "/do/it", {"scopes": ["submit"], "days": ["7"]}, ALERT)
    assert '<input type="checkbox" name="scopes" value="read">' in found
    assert '<input type="checkbox" name="scopes" value="submit" checked>' in found
    assert '<option value="7" selected>' in found
    assert '<option value="30">' in found


def test_of_many_forms_alike_the_one_about_the_same_thing_is_filled() -> None:
    html = page(*(form('<textarea name="reason"></textarea>', team=team, phase="first") for team in ("t1", "t2")))
    found = refilled(html, "/do/it", {"team": ["t2"], "phase": ["first"], "reason": ["late"]}, ALERT)
    assert Controls(found).values["reason"] == ["", "late"]
    assert found.index(ALERT) > found.index('value="t2"') - 120


def test_where_the_form_is_gone_no_other_is_filled_and_the_page_says_why() -> None:
    html = page(form('<textarea name="reason"></textarea>', team="t1"))
    found = refilled(html, "/do/it", {"team": ["t2"], "reason": ["meant for t2"]}, ALERT)
    assert "meant for t2" not in found
    assert f'<main id="main">{ALERT}' in found


def test_a_licence_that_changed_does_not_hide_the_form() -> None:
    html = page(form('<input type="checkbox" name="ok" value="yes">', phase="first", licence="new"))
    found = refilled(html, "/do/it", {"phase": ["first"], "licence": ["old"]}, ALERT)
    assert found.index(ALERT) > found.index("<form")
    assert 'name="licence" value="new"' in found


def test_what_was_folded_away_is_opened() -> None:
    html = page(
        f'<details class="confirm"><summary>Go</summary>{form("<button>Go</button>")}</details>', "<details></details>"
    )
    found = refilled(html, "/do/it", {}, ALERT)
    assert '<details class="confirm" open>' in found
    assert found.count(" open>") == 1


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=50)


@given(TEXTS, TEXTS)
def test_whatever_is_typed_comes_back_as_it_was_and_as_text_alone(one: str, other: str) -> None:
    html = page(
        form('<input name="a"><textarea name="b">old</textarea>'), form('<input name="a" value="x">', "/do/other")
    )
    found = refilled(html, "/do/it", {"a": [one], "b": [other]}, ALERT)
    values = Controls(found).values
    assert values["a"] == [one, "x"]
    assert f'<textarea name="b">\n{escape(other)}</textarea>' in found
    assert unescape(escape(other)) == other


@given(TEXTS, st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2), max_size=3))
def test_any_page_keeps_what_it_has(text: str, sent: dict[str, list[str]]) -> None:
    html = page(f"<p>{escape(text)}</p>")
    assert refilled(html, "/do/it", sent, ALERT).replace(ALERT, "") == html
