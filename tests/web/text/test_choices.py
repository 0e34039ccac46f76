"""What pages say comes from the catalogue: templates have no words of their own, and every name has its text."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

import palestra.web
from palestra.i18n import po_files
from palestra.text import LANGUAGES, said
from palestra.web.models.public import Refusal
from palestra.web.site.rendering import render
from palestra.web.text import CHOICES
from tests.web import samples

TEMPLATES = sorted((Path(palestra.web.__file__).parent / "templates").rglob("*.html"))
SAME_EVERYWHERE = {"Palestra", "SHA-256", "ms"}  # names, not words
SEEN = ("alt", "aria-label", "placeholder", "title")  # attributes that people read or hear
CHOSEN = re.compile(r"\bchoice\(['\"](\w+)['\"]")


def without_jinja(text: str) -> str:
    return re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", text, flags=re.DOTALL)


class Text(HTMLParser):
    """What a page says: text outside code, and attributes that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("code", "pre", "script", "style")
        self.said += [value or "" for name, value in attrs if name in SEEN]

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.said.append(data)


def bare_words(html: str) -> list[str]:
    parser = Text()
    parser.feed(html)
    found = re.findall(r"[A-Za-z\u4e00-\u9fff][\w-]+", " ".join(parser.said))
    return [word for word in found if word not in SAME_EVERYWHERE]


def test_there_are_templates() -> None:
    assert len(TEMPLATES) > 40


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_templates_have_no_words_of_their_own(template: Path) -> None:
    assert bare_words(without_jinja(template.read_text("utf-8"))) == []


def test_bare_words_would_be_found() -> None:
    assert bare_words(without_jinja('<p title="Oh no">{{ x }} Bare text</p>')) == ["Oh", "no", "Bare", "text"]


def test_every_table_of_choices_is_chosen_from() -> None:
    """One that nothing chooses from is left over; `rule_…`, metrics, files, jobs and events are chosen in Python."""
    named = {name for file in TEMPLATES for name in CHOSEN.findall(file.read_text("utf-8"))}
    assert named <= set(CHOICES)
    others = {name for name in CHOICES if not name.startswith("rule_")} - named
    assert others == {"metric", "file_kind", "job", "event"}


def test_every_choice_of_a_view_has_words() -> None:
    """States, refusals and the like come from the views as names; each must be there."""
    states = [
        "received", "checking", "queued", "running", "scored", "hidden", "refused", "failed", "platform", "withdrawn",
        "cancelled",
    ]  # fmt: skip
    accesses = "open none requested granted refused not_promoted no_team signed_out organiser"
    needed = {
        "submission_state": states,
        "submission_explained": states,
        "upload_refusal": [name for name in get_args(Refusal) if name],
        "data_access": accesses.split(),
        "role": ["organiser", "referee", "member", "viewer"],
        "job": ["check", "score", "live", "verify", "pack"],
        "job_state": ["queued", "leased", "done", "failed", "cancelled"],
    }
    assert {(kind, name) for kind, names in needed.items() for name in names if name not in CHOICES[kind]} == set()


@pytest.mark.parametrize("name", sorted(samples.pages()))
def test_a_chinese_page_keeps_no_english_of_ours(name: str) -> None:
    """Every English text on it is also a Chinese one or came with the sample."""
    template, frame, page = samples.pages()[name]
    known = [str(one.id) for one in po_files.known(po_files.PACKAGE / "i18n") if isinstance(one.id, str)]
    english = {text for text in known if len(text) > 12 and "{" not in text and said("zh", text) != text}
    html = render(template, "zh", frame=frame, page=page)
    assert [text for text in english if f">{text}<" in html] == []


def test_pages_are_shown_in_the_languages_that_texts_have() -> None:
    assert LANGUAGES == ("en", "zh")
