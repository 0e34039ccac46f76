"""A match is opened at the desk: its teams from the contest, its cases from the phase's data."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from litestar.testing import TestClient

from palestra.contest.match.cases import cases_of, check_sheet
from palestra.tracks.tabletop import format as on_disk
from palestra.web.match.layout import Layout, drawing
from palestra.web.match.opening import read_sheet
from tests.databases import Made
from tests.web.match.world import MatchWorld, Sayer, sayers


@pytest.fixture
def world(blank: Made, tiny: Callable[[str], Path]) -> Iterator[MatchWorld]:
    shutil.copytree(tiny("tabletop-manip-v1"), blank.folder / "table")
    world = MatchWorld(blank).tell()
    yield world
    world.close()


@pytest.fixture
def people(world: MatchWorld) -> Iterator[dict[str, Sayer]]:
    with TestClient(world.app, raise_server_exceptions=False) as client:
        yield sayers(world, client)


def open_one(people: dict[str, Sayer], **fields: Any) -> Any:
    answer = people["olga"].call("open-match", **{"phase": "onsite", "head": "hugo", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def test_a_match_has_the_promoted_teams_and_the_hidden_cases_with_their_sub_goals(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    opened = world.state.match(open_one(people)).opened
    assert [one.team for one in opened.teams] == ["t1", "t2"]
    assert (opened.head, opened.rules.preset, opened.rules.limit_per) == ("hugo", "seed", "group")
    assert [group.id for group in opened.groups] == ["pick", "place", "stack", "insert", "long"]
    cases = [case for _, case in cases_of(opened.groups)]
    assert all("-h" in case.id and case.goals and case.instruction.en and case.instruction.zh for case in cases)
    assert all(goal.criterion.en and goal.criterion.zh for case in cases for goal in case.goals)
    assert all(world.contest.files.has(case.layout) for case in cases)


def test_practice_cases_another_preset_and_a_draw_can_be_chosen(world: MatchWorld, people: dict[str, Sayer]) -> None:
    name = open_one(people, preset="literal", draw="fixed", cases="practice", rehearsal=True)
    opened = world.state.match(name).opened
    assert (opened.rules.preset, opened.rules.limit_per, opened.rules.draw) == ("literal", "case", "fixed")
    assert opened.rehearsal
    assert all("-p" in case.id for _, case in cases_of(opened.groups))


def test_a_preset_with_another_shape_than_the_data_is_refused_in_words(people: dict[str, Sayer]) -> None:
    answer = people["olga"].call("open-match", phase="onsite", head="hugo", preset="english")
    assert "5 groups of 2 cases" in answer.json()["error"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"head": "ann"}, "account of a referee"),
        ({"head": "nobody-known"}, "account of a referee"),
        ({"phase": "online", "head": "hugo"}, ""),
    ],
    ids=["a-member", "a-stranger", "no-data"],
)
def test_what_cannot_be_opened_is_said(people: dict[str, Sayer], fields: dict[str, str], said: str) -> None:
    answer = people["olga"].call("open-match", **{"phase": "onsite", **fields})
    assert answer.status_code in (409, 422)
    assert said in answer.json()["error"]


@pytest.mark.parametrize("name", ["rolf", "hugo", "ann", "vera"])
def test_only_organisers_open_a_match(world: MatchWorld, people: dict[str, Sayer], name: str) -> None:
    assert people[name].call("open-match", phase="onsite", head="hugo").status_code == 403
    assert world.state.matches == {}


def test_the_desk_leads_to_the_match(people: dict[str, Sayer]) -> None:
    page = people["olga"].get("/desk/matches").text
    assert 'action="/do/open-match"' in page and "hugo" in page
    to = people["olga"].done("open-match", phase="onsite", head="hugo")
    assert people["olga"].get(to).status_code == 200
    assert to.removesuffix("/head") in people["rolf"].get("/matches").text
    places = {"rolf": "referee", "hugo": "head", "olga": "head", "ann": "team", "vera": "screen"}
    for name, place in places.items():
        assert people[name].get(to.removesuffix("/head")).headers["location"].endswith(f"/{place}")


# Things and layouts


def test_two_things_alike_in_a_scene_have_numbers_of_their_own(world: MatchWorld, tiny: Callable[[str], Path]) -> None:
    data = tiny("tabletop-manip-v1")
    sheet = read_sheet(data, True, None, world.contest.files)
    check_sheet(sheet.groups, sheet.things)
    laid = {case.id: len(case.scene.things) for case in on_disk.read_cases(data, True)}
    assert {case.id: len(set(case.things)) for _, case in cases_of(sheet.groups)} == laid


def test_a_layout_is_drawn_to_scale_with_every_number(world: MatchWorld, people: dict[str, Sayer]) -> None:
    opened = world.state.match(open_one(people)).opened
    case = next(case for _, case in cases_of(opened.groups))
    record = world.contest.files.read(case.layout)
    svg = ElementTree.fromstring(drawing(record))
    space = "{http://www.w3.org/2000/svg}"
    assert {int(text.text or "") for text in svg.iter(f"{space}text")} == set(case.things)
    thing = msgspec.json.decode(record, type=Layout).things[0]
    drawn = next(iter(svg.iter(f"{space}polygon"))).attrib["points"].split()
    across = [int(point.partition(",")[0]) for point in drawn]
    ys = [y for _, y in thing.outline_m]
    assert abs((max(across) - min(across)) - 1000 * (max(ys) - min(ys))) <= 1
    path = f"/api/matches/{opened.match}/layouts/{case.layout}"
    assert people["rolf"].get(path).headers["content-type"].startswith("image/svg+xml")
    for name in ("ann", "vera", "nobody"):
        assert people[name].get(path).status_code == 404


def test_pages_are_for_those_at_the_table(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.opened().begun()
    allowed = {"referee": {"rolf", "rita"}, "head": {"hugo", "olga"}, "team": {"ann", "cleo"}}
    for page, names in allowed.items():
        for name, who in people.items():
            for language in ("en", "zh"):
                found = who.get(f"/matches/m1/{page}?lang={language}")
                assert found.status_code == (200 if name in names else 403), (page, name)
    assert people["rolf"].get("/matches/none/referee").status_code == 404


def test_the_head_sees_a_late_message_that_had_no_effect(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.opened().begun()
    late = {"team": "t1", "case": "pick-1", "queued": True, "said_at": world.clock()}
    assert people["rolf"].say("case.stopped", "k9", **late).status_code == 200
    assert "Came too late to have an effect" in people["hugo"].get("/matches/m1/head").text
    assert len(world.match.turn_logs["t1"].strays) == 1
