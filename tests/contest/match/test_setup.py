"""Draws, slots, the sheet and what a match is opened with."""

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.log.events import Body
from palestra.contest.match import events as e
from palestra.contest.match.cases import Case
from palestra.contest.match.draw import check_slots, equal_slots, group_orders, shuffled
from palestra.contest.match.reducer import take_in
from palestra.contest.match.rules import PRESETS
from palestra.contest.match.setup import check_opening
from palestra.errors import PalestraError
from palestra.text import Words
from tests.contest.match.table import HEAD, ORGANISER, Table, a_sheet
from tests.contest.match.test_state_machine import refused

GROUPS = ["pick", "place", "stack", "insert", "long"]


@given(st.text(max_size=20), st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=8))
def test_a_draw_is_an_order_of_all_and_the_same_for_the_same_seed(seed, names):
    assert sorted(shuffled(names, seed)) == sorted(names)
    assert shuffled(names, seed) == shuffled(names[::-1], seed)


def test_a_draw_can_be_checked_with_any_tool():
    assert shuffled(GROUPS, "dice 3 5 1")[0] == min(
        GROUPS, key=lambda name: hashlib.sha256(f"dice 3 5 1/{name}".encode()).hexdigest()
    )


def test_one_draw_for_all_one_for_each_team_or_none():
    teams = [f"t{number}" for number in range(20)]
    for_all = group_orders("all", "7", GROUPS, teams)
    assert len(set(for_all.values())) == 1
    assert len(set(group_orders("team", "7", GROUPS, teams).values())) > 5
    assert set(group_orders("fixed", "", GROUPS, teams).values()) == {tuple(GROUPS)}


def test_a_draw_is_logged_with_seed_and_orders_and_a_second_one_needs_a_reason():
    table = Table("english")
    refused(table, ORGANISER, e.GroupsDrawn, "needs a seed", seed=" ")
    body = table.ask(ORGANISER, e.GroupsDrawn, seed="7")[0]
    assert body.orders == {"red": shuffled(["g1", "g2"], "7"), "blue": shuffled(["g1", "g2"], "7")}
    refused(table, ORGANISER, e.GroupsDrawn, "say why", seed="8")
    table.ask(HEAD, e.GroupsDrawn, seed="8", reason="a group was left out")
    assert table.match.setup.seed == "8"
    table.begun()
    refused(table, HEAD, e.GroupsDrawn, "A team has played", seed="9", reason="another one")


def test_the_running_order_can_be_drawn():
    table = Table()
    body = table.ask(ORGANISER, e.TeamsOrdered, seed="x")[0]
    assert body.teams == shuffled(["red", "blue"], "x")
    refused(table, ORGANISER, e.TeamsOrdered, "every team once", teams=("red",), reason="blue left")
    refused(table, ORGANISER, e.TeamsOrdered, "no team", teams=("red", "green"), reason="a new one")


def test_slots_are_equal_and_never_overlap():
    names = {"red": "Red", "blue": "Blue"}
    slots = equal_slots(["red", "blue"], 1000, 600, gap_ms=50)
    assert [(slot.opens, slot.closes) for slot in slots] == [(1000, 1600), (1650, 2250)]
    check_slots(slots, names)
    with pytest.raises(PalestraError, match="equally long"):
        check_slots([slots[0], e.Slot("blue", 1650, 2251)], names)
    with pytest.raises(PalestraError, match="Red and Blue overlap"):
        check_slots([slots[0], e.Slot("blue", 1599, 2199)], names)
    with pytest.raises(PalestraError, match="as many"):
        check_slots(slots, names | {"green": "Green"})
    table = Table()
    table.ask(ORGANISER, e.SlotsPlanned, slots=slots)
    assert table.match.setup.slots == slots


@pytest.mark.parametrize(
    "change, words",
    [
        ({"teams": ()}, "one team or more"),
        ({"head": ""}, "head referee"),
        ({"groups": ()}, "found none"),
        ({"groups": a_sheet(1) + a_sheet(1)}, "there twice: g1"),
        ({"things": ()}, "found none"),
        ({"rules": PRESETS["english"]}, "5 groups of 2 cases"),
    ],
    ids=["no team", "no head", "no group", "double group", "no catalogue", "another shape"],
)
def test_a_match_that_cannot_be_played_is_not_opened(change, words):
    body = Table().body
    check_opening(body)
    with pytest.raises(PalestraError, match=words):
        check_opening(msgspec.structs.replace(body, **change))


def test_a_case_without_sub_goals_or_with_unknown_things_is_not_opened():
    body = Table().body
    group = body.groups[0]
    for case, words in [
        (Case("x", Words("Do"), ()), "sub-goal of case x"),
        (msgspec.structs.replace(group.cases[0], things=(1, 99)), "not in the catalogue: 99"),
    ]:
        groups = (msgspec.structs.replace(group, cases=(case,)),)
        with pytest.raises(PalestraError, match=words):
            check_opening(msgspec.structs.replace(body, groups=groups))


def test_a_contests_log_can_have_these_among_its_events():
    """One decoder for both: kinds are told apart by their tags."""
    decode = msgspec.json.Decoder(Body | e.MatchBody).decode
    table = Table("literal").begun()
    matches = {}
    for entry in table.log:
        body = decode(msgspec.json.encode(entry.body))
        take_in(matches, e.Entry(entry.seq, entry.at, entry.by, body))
    assert matches == {"m": table.match}


def test_events_are_written_and_read_as_json():
    table = Table("literal").begun()
    table.played()
    encode, decode = msgspec.json.Encoder(order="deterministic").encode, msgspec.json.Decoder(e.MatchBody).decode
    for entry in table.log:
        assert decode(encode(entry.body)) == entry.body
