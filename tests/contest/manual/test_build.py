"""The published pack: complete, true to the contest file and the table, to scale, and without what is hidden."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from palestra.contest.log.state import Version
from palestra.contest.manual.blocks import Grid, Pack
from palestra.contest.manual.build import Source, pack
from palestra.contest.manual.protocol import protocol, scoring
from palestra.contest.match import events as e
from palestra.contest.match.cases import Entrant
from palestra.contest.match.reducer import apply, opened
from palestra.contest.match.rules import PRESETS
from palestra.contest.match.state import Match
from palestra.contest.rules import reader
from palestra.contest.rules.model import MatchPlan, Rules
from palestra.errors import PalestraError
from palestra.text import Words
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.case_catalogue import catalogue, sheet
from palestra.tracks.tabletop.simulator.goals import RULES
from palestra.web.views.manual import file_of, page_of
from tests import ROOT
from tests.contest.match.table import START

CONTESTS = ROOT / "contests"
TRACK = "tabletop-manip-v1"


@pytest.fixture(scope="module")
def home(tmp_path_factory, tiny) -> Path:
    folder = tmp_path_factory.mktemp("contest")
    shutil.copytree(tiny(TRACK), folder / "data" / "manip" / "onsite")
    return folder


@pytest.fixture(scope="module")
def rules() -> Rules:
    return reader.read(CONTESTS / "manip.toml")


@pytest.fixture(scope="module")
def found(home, rules) -> Pack:
    return pack(Source(rules, home))


@pytest.fixture(scope="module")
def cases(home):
    return on_disk.read_cases(home / "data" / "manip" / "onsite", hidden=False)


@pytest.fixture(scope="module")
def hidden(home):
    data = home / "data" / "manip" / "onsite"
    unknown = on_disk.read_cases(data, hidden=True)
    goals = on_disk.read_goals(data, unknown)
    return [replace(case, goals=goals[case.id]) for case in unknown]


def texts(value) -> list[Words]:
    """Every text of a pack."""
    if isinstance(value, Words):
        return [value]
    if isinstance(value, tuple):
        return [one for item in value for one in texts(item)]
    if isinstance(value, msgspec.Struct):
        return [one for name in value.__struct_fields__ for one in texts(getattr(value, name))]
    return []


def test_it_has_all_that_the_rules_promise_in_this_order(found):
    assert [section.id for section in found.sections] == [
        "overview", "protocol", "scoring", "criteria", "equipment", "layouts", "cameras", "interfaces", "timetable",
    ]  # fmt: skip


def test_every_text_is_there_in_both_languages(found):
    for words in texts(found.sections):
        assert bool(words.en) == bool(words.zh) or words.en in RULES, words
        assert not re.search(r"[\u4e00-\u9fff]", words.en), words
    long = [words for words in texts(found.sections) if len(words.en) > 25]
    assert all(re.search(r"[\u4e00-\u9fff]", words.zh) for words in long)


def test_every_practice_case_has_the_criterion_of_every_sub_goal(found, cases):
    said = file_of(found, "en")
    assert all(goal.en in said for case in cases for goal in case.goals)
    criteria = next(section for section in found.sections if section.id == "criteria")
    tables = [block for block in criteria.blocks if isinstance(block, Grid)]
    assert len(tables[0].rows) == len(RULES)
    assert [len(table.rows) for table in tables[1:]] == [len(case.goals) for case in cases]


def test_nothing_of_a_hidden_case_is_in_it(found, hidden):
    for language in ("en", "zh"):
        page = file_of(found, language)
        for case in hidden:
            assert case.id not in page
            assert not [said for said in case.instruction[language] if said in page]


def test_no_hidden_file_is_opened(home, rules, tmp_path):
    shutil.copytree(home, tmp_path / "contest")
    for name in ("hidden", "truth"):
        shutil.rmtree(tmp_path / "contest" / "data" / "manip" / "onsite" / name)
    assert pack(Source(rules, tmp_path / "contest")).digest == pack(Source(rules, home)).digest


# What is played, and when it may be told


def a_match(hidden, rules) -> Match:
    known = catalogue(hidden[:1])
    body = e.MatchOpened(
        match="m", phase="onsite", rules=PRESETS["seed"], groups=sheet(hidden[:1], known).groups, things=known.things,
        teams=(Entrant("t1", "Red"), Entrant("t2", "Blue")), head="head",
    )  # fmt: skip
    return opened(body, START)


def add(match: Match, *bodies) -> None:
    for body in bodies:
        apply(match, e.Entry(match.seq + 1, START + match.seq + 1, "head", body))


def played(match: Match, team: str, case) -> None:
    ids = {"match": "m", "team": team}
    add(match, e.ImageTaken(**ids, image="i"), e.ImageFrozen(**ids, image="i"))
    add(match, e.TurnBegun(**ids, referees=("a", "b"), order=(case.group,)))
    add(match, e.CaseAbandoned(**ids, case=case.id), e.ResultsPublished(**ids, cases=(case.id,)))


def test_a_case_is_told_once_every_team_has_played_it_and_it_is_published(home, rules, hidden):
    match, case = a_match(hidden, rules), hidden[0]
    played(match, "t1", case)
    assert case.said("en") not in file_of(pack(Source(rules, home, match=match)), "en")
    played(match, "t2", case)
    page = file_of(pack(Source(rules, home, match=match)), "en")
    assert case.said("en") in page and case.goals[0].en in page


def test_the_timetable_is_the_one_that_the_match_was_given(home, rules, hidden):
    match = a_match(hidden, rules)
    slots = tuple(e.Slot(team, START + n * 900_000, START + (n + 1) * 900_000) for n, team in enumerate(("t2", "t1")))
    add(match, e.SlotsPlanned(match="m", slots=slots), e.TeamsOrdered(match="m", teams=("t2", "t1")))
    times = next(one for one in pack(Source(rules, home, match=match)).sections if one.id == "timetable")
    slots_table, turns_table = (block for block in times.blocks if isinstance(block, Grid))
    assert [row[2] for row in slots_table.rows] == ["Blue", "Red"]
    assert [row[2] for row in turns_table.rows] == ["Blue", "Red"]


def test_before_there_is_a_match_places_are_numbered(found, rules):
    times = next(section for section in found.sections if section.id == "timetable")
    tables = [block for block in times.blocks if isinstance(block, Grid)]
    assert [row[2] for row in tables[0].rows] == [f"#{n}" for n in range(1, 13)]
    assert tables[1].rows[0][:2] == (Words("Sat 16 Oct 2027", "2027年10月16日（周六）"), "13:00–13:55")


# Rules


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (MatchPlan(), "Each group of cases has 10:00"),
        (MatchPlan("english"), "Each case has 5:00."),
        (MatchPlan("literal"), "Each case has 10:00."),
        (MatchPlan(counts="best"), "The best attempt counts"),
        (MatchPlan(draw="all"), "drawn once and is the same for all teams"),
        (MatchPlan(draw="fixed"), "The order of groups is fixed"),
        (MatchPlan(appeal_ms=3_600_000), "appeal for 60 minutes"),
        (MatchPlan(referees=3), "3 referees or more"),
        (MatchPlan(mean="groups"), "the mean of the groups' means"),
        (MatchPlan(slot_ms=900_000), "One slot of 15 minutes"),
    ],
)
def test_the_readings_of_the_contest_file_are_what_it_says(home, rules, plan, said):
    phases = tuple(
        msgspec.structs.replace(phase, match=plan) if phase.match else phase for phase in rules.phases
    )  # fmt: skip
    found = pack(Source(msgspec.structs.replace(rules, phases=phases), home))
    assert said in file_of(found, "en").replace("&#39;", "'")


def test_weights_are_told_where_there_is_a_final_score():
    assert "40 % online + 60 % on site" in str(texts(scoring(PRESETS["seed"], has_final=True)))
    assert "Final" not in str(texts(scoring(PRESETS["seed"], has_final=False)))
    assert "5 groups of 2 cases" in str(texts(protocol(PRESETS["english"])))


def test_it_is_versioned_with_the_rules(home, rules):
    versions = (Version(rules, 0, 0, ""), Version(rules, 5_000, 4_000, "two <b>retries</b>"))
    found = pack(Source(rules, home, "onsite", 2, versions))
    page = file_of(found, "en")
    assert "Version 2 of the rules" in page and "two &lt;b&gt;retries&lt;/b&gt;" in page
    assert [one.number for one in found.amendments] == [2, 1]
    assert "Draft: these rules were not announced yet" in file_of(pack(Source(rules, home)), "en")
    other = msgspec.structs.replace(rules, team_limit=3)
    assert pack(Source(other, home)).digest != found.digest


def test_without_practice_cases_it_says_what_to_do(rules, tmp_path):
    with pytest.raises(PalestraError, match="There are no practice cases: data/manip/onsite"):
        pack(Source(rules, tmp_path))


# The page


def test_the_file_opens_anywhere_and_the_page_keeps_the_servers_policy(found):
    alone, served = file_of(found, "zh"), page_of(found, "zh")
    assert "<style>" in alone and "/static/" not in alone and "<script" not in alone and "http" not in alone
    assert "<style>" not in served and " style=" not in served
    assert "</style" not in alone.split("<style>")[1].split("</style>")[0]


def test_what_people_wrote_is_made_harmless(home, rules):
    evil = msgspec.structs.replace(rules, name=Words("<script>alert(1)</script>", "甲"))
    assert "<script>alert" not in file_of(pack(Source(evil, home)), "en")
