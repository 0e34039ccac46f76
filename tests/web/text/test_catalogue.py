import re
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter

import pytest

from palestra.errors import UnknownName
from palestra.web.site.rendering import render
from palestra.web.text import catalogue as words_module
from palestra.web.text.catalogue import LANGUAGES, say, say_count, words
from tests.web import samples

WEB = Path(words_module.__file__).parent
TEMPLATES = sorted((WEB / "templates").rglob("*.html"))
SAME_EVERYWHERE = {"Palestra", "SHA-256", "ms"}  # names, not words
SEEN = ("alt", "aria-label", "placeholder", "title")  # attributes that people read or hear
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def places_in(text: str) -> list[str]:
    filled_by_pages = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    return sorted(filled_by_pages + re.findall(r"\[\w+\]", text))


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


def test_both_languages_have_the_same_keys() -> None:
    assert set(words("en")) == set(words("zh"))


def test_both_languages_leave_the_same_places_to_fill() -> None:
    other = {key for key in words("en") if places_in(words("en")[key]) != places_in(words("zh")[key])}
    assert not other


def test_chinese_is_chinese_and_english_is_not() -> None:
    not_chinese = {key for key, text in words("zh").items() if not CHINESE.search(text)}
    assert not_chinese <= {
        "lang", "nav.other_language", "time.months", "time.join", "metric.pe_deg", "metric.miou", "amend.file",
        "board.ties_then", "board.ties_end", "home.end", "certificate.comma", "rule.comma", "screen.slow",
    }  # fmt: skip
    assert {key for key, text in words("en").items() if CHINESE.search(text)} == {"nav.other_language"}


def test_a_missing_key_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(LookupError, match=r"board\.rank"):
        say("en", "board.rnk")


def test_an_unfilled_place_is_an_error() -> None:
    with pytest.raises(LookupError, match="phase"):
        say("en", "home.deadline_phase_opens")


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(UnknownName, match="zh"):
        say("zn", "nav.home")


def test_one_and_many_are_told_apart() -> None:
    assert say_count("en", "home.teams", 1) == "1 team"
    assert say_count("en", "home.teams", 1_200) == "1,200 teams"


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_templates_have_no_words_of_their_own(template: Path) -> None:
    assert bare_words(without_jinja(template.read_text("utf-8"))) == []


def test_bare_words_would_be_found() -> None:
    assert bare_words(without_jinja('<p title="Oh no">{{ x }} Bare text</p>')) == ["Oh", "no", "Bare", "text"]


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_every_key_that_a_template_names_is_there(template: Path) -> None:
    text = template.read_text("utf-8")
    named = set(re.findall(r"\bt\(['\"]([\w.]+)['\"](?! ~)", text))
    counted = {f"{key}.many" for key in re.findall(r"\btn\(['\"]([\w.]+)['\"]", text)}
    assert named | counted <= set(words("en"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_choice_of_a_view_has_words(language: str) -> None:
    """States, refusals and the like come from the views as names; each must be in the words."""
    known = words(language)
    states = "received checking queued running scored hidden refused failed platform withdrawn cancelled"
    refusals = "signed_out no_team not_open closed not_promoted no_access quota fault_quota disqualified not_declared"
    accesses = "open none requested granted refused not_promoted no_team signed_out organiser"
    needed = [f"{part}{state}" for state in states.split() for part in ("state.", "submission.is_")]
    needed += [f"refusal.{name}" for name in refusals.split()] + [f"data.is_{name}" for name in accesses.split()]
    needed += [f"role.{name}" for name in ("organiser", "referee", "member", "viewer")]
    needed += [f"job.{name}" for name in ("check", "score", "live", "verify", "pack")]
    needed += [f"job_state.{name}" for name in ("queued", "leased", "done", "failed", "cancelled")]
    assert [key for key in needed if key not in known] == []


@pytest.mark.parametrize("name", sorted(samples.pages()))
def test_a_chinese_page_keeps_no_english_of_ours(name: str) -> None:
    """Every English word on it is also in the Chinese words or came with the sample."""
    template, frame, page = samples.pages()[name]
    english_only = {text for text in words("en").values() if len(text) > 12} - set(words("zh").values())
    html = render(template, "zh", frame=frame, page=page)
    assert [text for text in english_only if f">{text}<" in html] == []
