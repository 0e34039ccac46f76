"""Debugging slots at the desk: never two teams at once, and told to the teams and in the pack."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from litestar.testing import TestClient

from palestra.contest.rules.calendar import MINUTE_MS
from tests.databases import Made
from tests.web.match.world import MatchWorld, Sayer, match_world, sayers

NINE = "2022-11-20T09:00"
AT_NINE = 1_668_906_000_000  # the same, in Shanghai


@pytest.fixture
def world(blank: Made) -> Iterator[MatchWorld]:
    world = match_world(blank)
    yield world
    world.close()


@pytest.fixture
def people(world: MatchWorld) -> Iterator[dict[str, Sayer]]:
    with TestClient(world.app, raise_server_exceptions=False) as client:
        yield sayers(world, client)


def plan(people: dict[str, Sayer], opens: int = AT_NINE, reason: str = "") -> str:
    answer = people["olga"].call("plan-slots", match="m1", opens=opens, minutes=20, gap_minutes=0, reason=reason)
    return str(answer.json().get("error", ""))


def slots(world: MatchWorld) -> list[tuple[str, int]]:
    """Each team with the minute at which its slot begins, counted from nine."""
    return [(one.team, (one.opens - AT_NINE) // MINUTE_MS) for one in world.match.setup.slots]


def test_a_round_gives_each_team_a_slot_and_another_one_needs_a_reason(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    assert plan(people) == ""
    assert slots(world) == [("t1", 0), ("t2", 20)]
    later = AT_NINE + 120 * MINUTE_MS
    assert "say why" in plan(people, later)
    assert plan(people, later, "the hall is free") == ""
    assert slots(world) == [("t1", 0), ("t2", 20), ("t1", 120), ("t2", 140)]


def test_slots_that_overlap_are_refused_with_the_names_of_both_teams(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    plan(people)
    assert "overlap" in plan(people, AT_NINE + 10 * MINUTE_MS, "a second round")
    to = AT_NINE + 30 * MINUTE_MS
    answer = people["olga"].call("move-slot", match="m1", team="t1", opens=AT_NINE, to=to, reason="a late train")
    assert "The slots of Team <t2> and Team <t1> overlap." in answer.json()["error"]
    assert slots(world) == [("t1", 0), ("t2", 20)]


def test_a_slot_is_moved_or_given_up_with_a_reason_that_is_kept(world: MatchWorld, people: dict[str, Sayer]) -> None:
    plan(people)
    to = AT_NINE + 40 * MINUTE_MS
    people["olga"].call("move-slot", match="m1", team="t1", opens=AT_NINE, to=to, reason="a late train")
    assert slots(world) == [("t2", 20), ("t1", 40)]
    gone = people["olga"].call("move-slot", match="m1", team="t1", opens=AT_NINE, to=to, reason="a late train")
    assert "no such slot any more" in gone.json()["error"]
    people["olga"].call("cancel-slot", match="m1", team="t2", opens=AT_NINE + 20 * MINUTE_MS, reason="not needed")
    assert slots(world) == [("t1", 40)]
    people["olga"].call("cancel-slot", match="m1", reason="the hall is closed")
    assert slots(world) == []
    reasons = [entry.body.reason for entry in world.match.setup_log.entries]
    assert reasons == ["", "a late train", "not needed", "the hall is closed"]


@pytest.mark.parametrize("fields", [{"minutes": 0}, {"minutes": 1441}, {"gap_minutes": -1}, {"opens": -5}])
def test_lengths_and_times_that_are_none_are_refused(
    world: MatchWorld, people: dict[str, Sayer], fields: dict[str, int]
) -> None:
    asked = {"match": "m1", "opens": AT_NINE, "minutes": 20, "gap_minutes": 0, **fields}
    assert people["olga"].call("plan-slots", **asked).status_code in (400, 409, 422)
    assert slots(world) == []


def test_nobody_but_the_organiser_plans(world: MatchWorld, people: dict[str, Sayer]) -> None:
    for name in ("rolf", "ann", "vera"):
        asked = {"match": "m1", "opens": AT_NINE, "minutes": 20}
        assert people[name].call("plan-slots", **asked).status_code == 403
    assert slots(world) == []


def test_a_team_sees_its_slots_and_all_see_them_in_the_pack(
    world: MatchWorld, people: dict[str, Sayer], tiny: Callable[[str], Path]
) -> None:
    shutil.copytree(tiny("tabletop-manip-v1"), world.site.setup.home / "table")
    plan(people)
    mine = people["ann"].get("/matches/m1/team").text
    assert "Your debugging slots" in mine and "09:00" in mine and "09:20" not in people["vera"].get("/").text
    assert "本队的调试时段" in people["cleo"].get("/matches/m1/team?lang=zh").text
    manual = people["nobody"].get("/pack").text
    table = manual.split("Debugging slots")[-1].split("Running order")[0]
    assert table.index("09:00–09:20") < table.index("Team &lt;t1&gt;") < table.index("09:20–09:40")
    assert "/pack" in people["nobody"].get("/").text and "/pack" in people["ann"].get("/team").text
    assert "/pack" in people["nobody"].get("/matches").text


def test_turns_come_after_the_last_slot_in_the_pack(
    world: MatchWorld, people: dict[str, Sayer], tiny: Callable[[str], Path]
) -> None:
    shutil.copytree(tiny("tabletop-manip-v1"), world.site.setup.home / "table")
    plan(people, AT_NINE + 360 * MINUTE_MS)  # from three in the afternoon
    turns = people["nobody"].get("/pack").text.split("Running order")[-1]
    assert "15:40–16:35" in turns
