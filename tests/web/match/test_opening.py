"""A match is opened at the desk: its teams from the contest, its cases from the phase's data."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from palestra import registry
from palestra.contest.log import events as e
from palestra.contest.match.cases import cases_of
from palestra.contest.match.turn import flags
from palestra.records import Estimate
from tests.contest.story import a_phase
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


def test_a_phase_whose_track_has_no_match_is_not_offered_and_is_refused_in_words(blank: Made) -> None:
    frames = a_phase("frames", track="near-eye-gaze-v1", data="frames")
    world = MatchWorld(blank).tell(frames)
    with TestClient(world.app, raise_server_exceptions=False) as client:
        olga = sayers(world, client)["olga"]
        assert [name for name, _ in olga.get("/api/matches").json()["phases"]] == ["online", "onsite"]
        answer = olga.call("open-match", phase="frames", head="hugo", rehearsal=True)
    assert answer.json()["error"] == "Phase frames is not played at a table: its track is near-eye-gaze-v1."
    assert world.state.matches == {}
    world.contest.engine.dispose()


# Layouts


def test_a_layout_is_drawn_for_referees_alone(world: MatchWorld, people: dict[str, Sayer]) -> None:
    opened = world.state.match(open_one(people)).opened
    case = next(case for _, case in cases_of(opened.groups))
    path = f"/api/matches/{opened.match}/layouts/{case.layout}"
    shown = people["rolf"].get(path)
    assert shown.headers["content-type"].startswith("image/svg+xml")
    assert all(f">{number}</text>" in shown.text for number in case.things)
    for name in ("ann", "vera", "nobody"):
        assert people[name].get(path).status_code == 404


def test_a_layout_that_was_recorded_elsewhere_has_no_drawing(world: MatchWorld, people: dict[str, Sayer]) -> None:
    opened = world.state.match(open_one(people)).opened
    assert people["rolf"].get(f"/api/matches/{opened.match}/layouts/{'0' * 64}").status_code == 404


def test_an_image_that_was_uploaded_brings_its_own_digests_and_other_code_than_online_is_flagged(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    def sent(name: str, phase: str, code: str) -> str:
        file = world.put(name)
        world.add(e.SubmissionMade(name, "t1", phase, file, f"{name}.zip", 6), by="ann")
        world.add(e.SubmissionAccepted(name, parts=e.BundleParts(code, "w" * 64)), by="worker:w")
        return file

    sent("s1", "online", "a" * 64)
    metrics = {metric.name: Estimate(0.5) for metric in registry.track("tabletop-manip-v1").metrics}
    world.add(e.ResultMade("s1", 1, metrics), by="worker:w")
    promoted = (e.Promoted("t1", 1), e.Promoted("t2", 2))
    world.add(e.PromotionConfirmed("online", "onsite", promoted, (), "by rank"))
    match = world.state.match(open_one(people))
    assert {one.team: one.core for one in match.opened.teams} == {"t1": "a" * 64, "t2": ""}
    image = sent("s2", "onsite", "b" * 64)
    wish = {"kind": "image.taken", "match": match.opened.match, "team": "t1", "image": image, "core": "a" * 64}
    answer = people["hugo"].send(f"/api/matches/{match.opened.match}/events", msgspec.json.encode(wish))
    assert answer.status_code == 200, answer.text
    turn = world.state.match(match.opened.match).turns["t1"]
    assert (turn.images[0].core, turn.images[0].weights) == ("b" * 64, "w" * 64), "whatever somebody said"
    turn.frozen = image
    assert [told.en for told in flags(match.opened, turn)] == ["The core code differs from that of the online phase."]
