"""Names that look like those of others are refused, whatever letters they are spelled with."""

import json
import unicodedata
from importlib.metadata import PackageNotFoundError, files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.decisions import teams
from palestra.contest.decisions.confusables import FILE, look_alike, mapped
from palestra.contest.log import events as e
from palestra.errors import PalestraError
from tests.contest.story import Story

ALIKE = {
    "Cyrillic": ("Palestra", "Раlеstrа"),
    "a whole word in Cyrillic": ("cocoa", "сосоа"),
    "Cyrillic capitals": ("HOBO", "НОВО"),
    "one capital, one small": ("Bob", "Вob"),
    "Greek": ("nova", "nοva"),
    "full width": ("Alpha", "Ａｌｐｈａ"),
    "mathematical": ("Alpha", "𝐀𝐥𝐩𝐡𝐚"),
    "digits": ("nova", "n0va"),
    "I and l": ("Iris", "lris"),
    "rn and m": ("corner", "comer"),
    "zero width": ("Alpha", "Al\u200bpha"),
    "a joiner": ("Alpha", "Al\u034fpha"),
    "a variation selector": ("Alpha", "Alpha\ufe0f"),
    "blanks": ("Red Team", "RedTeam"),
    "signs of Chinese and Japanese": ("口口", "ロロ"),
    "composed in another way": ("Andr\u00e9", "Andre\u0301"),
}
OTHERS = [
    ("清华大学", "北京大学"),
    ("视线一队", "视线二队"),
    ("Team A", "Team B"),
    ("Team 1", "Team 2"),
    ("Müller", "Muller"),
    ("Альфа", "Бета"),
    ("Hà", "Há"),
    ("กา", "กี"),
]


@pytest.fixture
def story():
    return Story()


@pytest.mark.parametrize(("name", "like"), ALIKE.values(), ids=ALIKE)
def test_a_name_that_looks_like_a_teams_is_refused_with_that_name(story, name, like):
    captain, other = story.account(), story.account()
    assert make(story, name, captain)
    with pytest.raises(PalestraError) as refusal:
        make(story, like, other)
    assert name in str(refusal.value) or "already" in str(refusal.value)


@pytest.mark.parametrize("pair", OTHERS)
def test_names_that_people_tell_apart_are_both_taken(story, pair):
    for name in pair:
        assert make(story, name, story.account())


@pytest.mark.parametrize("like", ["nоva", "n0va", "nóva", "no\u0335va", "ｎｏｖａ", "no\u034fva", "nova"])
@pytest.mark.parametrize("role", ["organiser", "referee"])
def test_a_name_that_looks_like_an_organisers_or_referees_is_refused(story, like, role):
    story.add(e.AccountMade("o9", "nova", role))
    with pytest.raises(PalestraError, match=r"'nova'|already"):
        make(story, like, story.account())
    with pytest.raises(PalestraError, match=r"'nova'|already"):
        teams.make_account(story.state, "a9", like, "member")


@pytest.mark.parametrize("like", ["ѕystem", "wоrker", "bаseline: simple"])
def test_a_name_that_looks_like_the_systems_is_refused(like):
    with pytest.raises(PalestraError, match="kept for the system"):
        teams.require_name(like, "team")


def test_a_team_keeps_its_own_name_written_in_another_way(story):
    captain = story.account()
    story.add(*make(story, "Red Team", captain))
    team = next(reversed(story.state.teams))
    assert teams.rename_team(story.state, story.now, team, "RedTeam", captain)


@given(st.text(min_size=1, max_size=20))
def test_every_name_looks_like_itself_in_each_form(name):
    for form in ("NFC", "NFD"):
        assert look_alike(name, unicodedata.normalize(form, name))


def test_the_letters_are_those_of_the_package():
    try:
        (source,) = (file for file in files("confusable-homoglyphs") or () if file.name == "confusables.json")
    except PackageNotFoundError:
        pytest.skip("needs confusable-homoglyphs: make it from .[dev]")
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert dict(lines) == mapped(json.loads(source.read_text("utf-8")))


def make(story, name, captain):
    made = teams.make_team(story.state, story.now, f"t-{captain}", name, captain, declared=True)
    story.add(*made)
    return made
