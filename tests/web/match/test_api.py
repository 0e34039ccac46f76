"""The referees' table by its API: who may say what, once each, and who gets to know what."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from palestra.contest.contest import Contest
from palestra.contest.log.chain import rows
from palestra.contest.storage.database import reading
from palestra.contest.visibility import NOBODY, viewer_of
from palestra.web.match.topics import in_lines, topic_of
from palestra.web.stream.feed import Said, change
from palestra.web.topics import touched
from tests.databases import Made
from tests.web.match.world import JPEG, MatchWorld, Sayer, match_world, sayers

CASE = {"team": "t1", "case": "pick-1"}


@pytest.fixture
def world(blank: Made) -> Iterator[MatchWorld]:
    world = match_world(blank)
    yield world
    world.close()


@pytest.fixture
def people(world: MatchWorld) -> Iterator[dict[str, Sayer]]:
    with TestClient(world.app, raise_server_exceptions=False) as client:
        yield sayers(world, client)


def kinds(world: MatchWorld) -> list[str]:
    with reading(world.contest.engine) as connection:
        return [msgspec.json.decode(row[3])["kind"] for row in rows(connection)]


# Saying something


def test_a_mark_is_written_down_with_its_author_and_when_it_was_said(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    world.begun().started()
    said_at = world.clock()
    world.clock.advance(5000)
    answer = people["rolf"].say("goal.marked", "k1", **CASE, attempt=1, goal="g1", on=True, said_at=said_at)
    assert answer.status_code == 200, answer.text
    held = world.match.turns["t1"].cases["pick-1"].marks["rolf"][1]["g1"]
    assert (held.on, held.at) == (True, said_at)


def test_the_same_message_twice_is_answered_as_done_and_written_once(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    world.begun().started()
    mark = {**CASE, "attempt": 1, "goal": "g1", "on": True}
    first, second = (people["rolf"].say("goal.marked", "k1", **mark) for _ in range(2))
    assert (first.status_code, first.json()["again"]) == (200, False)
    assert (second.status_code, second.json()["again"]) == (200, True)
    assert kinds(world).count("goal.marked") == 1


def test_the_same_key_of_another_referee_is_another_message(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    for name in ("rolf", "rita"):
        assert not people[name].say("goal.marked", "k1", **CASE, attempt=1, goal="g1", on=True).json()["again"]
    assert kinds(world).count("goal.marked") == 2


def test_what_cannot_be_done_now_is_refused_with_what_can(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun()
    answer = people["rolf"].say("case.started", **CASE)
    assert answer.status_code == 409
    assert "First the hand signal. Possible now: sign off the scene" in answer.json()["error"]
    assert "case.started" not in kinds(world)


def test_a_refusal_names_people_and_not_accounts(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    world.state.accounts["rita"].name = "Rita Rossi"
    answer = people["hugo"].say("program.restarted", **CASE, approved_by="hugo", reason="it hangs")
    assert "approved by a referee of this turn: rolf, Rita Rossi" in answer.json()["error"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"kind": "goal.marked"}', b'{"kind": "team.made", "match": "m1"}', b"[" * 5000, b"\xff"],
    ids=["empty", "nothing", "list", "incomplete", "another-kind", "deep", "no-text"],
)
def test_what_is_no_event_of_a_match_is_refused_in_words(people: dict[str, Sayer], body: bytes) -> None:
    answer = people["rolf"].send("/api/matches/m1/events", body)
    assert answer.status_code == 409
    assert "no event of a match" in answer.json()["error"]


def test_a_message_about_another_match_is_refused(people: dict[str, Sayer]) -> None:
    answer = people["rolf"].say("referee.declared", match="m2")
    assert answer.status_code == 409
    assert people["rolf"].send("/api/matches/m2/events", b'{"kind":"referee.declared","match":"m2"}').status_code == 404


def test_a_match_cannot_be_opened_by_a_message(world: MatchWorld, people: dict[str, Sayer]) -> None:
    opening = msgspec.to_builtins(world.match.opened)
    for name in ("rolf", "olga"):
        assert people[name].send("/api/matches/m1/events", msgspec.json.encode(opening)).status_code in (403, 409)


# Who may


@pytest.mark.parametrize(("name", "status"), [("nobody", 401), ("vera", 403), ("cleo", 403), ("ann", 403)])
def test_who_is_no_referee_marks_nothing(world: MatchWorld, people: dict[str, Sayer], name: str, status: int) -> None:
    world.begun().started()
    assert people[name].say("goal.marked", **CASE, attempt=1, goal="g1", on=True).status_code == status
    assert "goal.marked" not in kinds(world)


def test_a_mark_in_another_referees_name_is_refused(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    forged = people["rolf"].say("goal.marked", **CASE, attempt=1, goal="g1", on=True, referee="rita")
    assert forged.status_code == 403
    assert world.match.turns["t1"].cases["pick-1"].marks == {}


def test_a_message_without_the_pages_sign_is_refused(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    rolf = people["rolf"]
    headers = rolf._headers({"content-type": "application/json", "x-csrf-token": "f" * 64})
    body = msgspec.json.encode({"kind": "case.stopped", "match": "m1", **CASE})
    assert rolf.client.post("/api/matches/m1/events", content=body, headers=headers).status_code == 403
    assert world.match.turns["t1"].cases["pick-1"].running


def test_a_team_confirms_for_itself_alone(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun()
    assert people["cleo"].say("system.confirmed", **CASE).status_code == 403
    assert people["ann"].say("system.confirmed", **CASE).status_code == 200


def test_only_the_head_referee_rules_and_publishes(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started().stopped().signed("pick-1", ("g1",), ())
    ruling = {**CASE, "attempt": 1, "met": ["g1"], "reason": "seen on the film"}
    for name in ("rolf", "olga", "ann"):
        assert people[name].say("case.ruled", **ruling).status_code == 403
    published = people["hugo"].say("results.published", team="t1", cases=["pick-1"])
    assert published.status_code == 409
    assert "differ on g1" in published.json()["error"]
    assert people["hugo"].say("case.ruled", **ruling).status_code == 200
    assert people["hugo"].say("results.published", team="t1", cases=["pick-1"]).status_code == 200


# Photos


def test_a_scene_is_signed_off_with_a_photo_that_has_arrived(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun()
    scene = {**CASE, "things": [1, 2], "layout": "on paper"}
    missing = people["rolf"].say("scene.checked", **scene, photo="0" * 64)
    assert "has not arrived" in missing.json()["error"]
    photo = people["rolf"].send("/api/matches/m1/photos", JPEG, "image/jpeg").json()["photo"]
    assert people["rolf"].say("scene.checked", **scene, photo=photo).status_code == 200
    for name, status in {"rita": 200, "olga": 200, "ann": 200, "cleo": 404, "vera": 404, "nobody": 404}.items():
        assert people[name].get(f"/api/matches/m1/photos/{photo}").status_code == status, name


def test_what_is_no_picture_is_not_kept(people: dict[str, Sayer]) -> None:
    answer = people["rolf"].send("/api/matches/m1/photos", b"<svg onload=alert(1)>", "image/jpeg")
    assert "JPEG, PNG or WebP" in answer.json()["error"]
    assert people["ann"].send("/api/matches/m1/photos", JPEG, "image/jpeg").status_code == 403


# Who gets to know what


def test_instructions_are_known_to_others_when_the_clock_starts(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().prepared()
    for name in ("ann", "cleo", "vera", "nobody"):
        assert "Secret instruction" not in people[name].get("/api/matches/m1").text
    assert "Secret instruction pick-1" in people["rita"].get("/api/matches/m1").text
    people["rolf"].say("case.started", **CASE)
    told = people["ann"].get("/api/matches/m1").text
    assert "Secret instruction pick-1" in told
    assert "Secret instruction pick-2" not in told


def seats_seen(sayer: Sayer) -> dict[str, Any]:
    attempt = sayer.view()["turn"]["cases"][0]["attempts"][0]
    return {seat["account"]: seat["met"] for seat in attempt["seats"]}


def test_a_referee_sees_what_another_marked_only_after_signing(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    people["rita"].say("goal.marked", **CASE, attempt=1, goal="g1", on=True)
    assert seats_seen(people["rolf"]) == {"rolf": [], "rita": None}
    assert people["rolf"].view()["turn"]["cases"][0]["attempts"][0]["seats"][1]["marked"] == 1
    assert seats_seen(people["hugo"]) == {"rolf": [], "rita": ["g1"]}
    world.stopped()
    people["rolf"].say("marks.signed", **CASE, attempt=1, met=[])
    assert seats_seen(people["rolf"]) == {"rolf": [], "rita": ["g1"]}


def test_steps_say_what_they_cost_and_what_is_to_be_filled_in(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    steps = {step["kind"]: step for step in people["rolf"].view()["steps"]}
    assert "adds 5:00 to the total time" in steps["case.abandoned"]["cost"]["en"]
    assert "计 0 分" in steps["case.abandoned"]["cost"]["zh"]
    assert steps["case.retried"]["needs"] == ["why"]
    assert "case.started" not in steps
    assert people["vera"].view()["steps"] == []


# Clocks


def test_clocks_are_functions_that_outlive_the_server(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    world.clock.advance(12_345)
    before = people["rolf"].view()
    again = Contest(world.contest.engine, world.contest.files, world.clock)
    clock = again.state.matches["m1"].turns["t1"].cases["pick-1"].clock
    dial = before["turn"]["cases"][0]["dial"]
    assert (dial["since"], dial["ran_ms"]) == (clock.since, clock.ran_ms)
    assert before["now"] - dial["since"] == clock.elapsed(world.clock()) == 12_345
    assert people["nobody"].get("/api/matches/m1/clock").json() == {"now": world.clock()}


# Live


def test_a_record_in_lines_is_the_same_record_and_a_mark_changes_few_of_them(
    world: MatchWorld, people: dict[str, Sayer]
) -> None:
    world.begun().started()
    awkward = '},{"id": "x"},\n{"'
    people["rolf"].say("conduct.noted", team="t1", text=awkward)
    before = people["hugo"].get("/api/matches/m1").text
    assert msgspec.json.decode(in_lines(before)) == msgspec.json.decode(before)
    people["rolf"].say("goal.marked", **CASE, attempt=1, goal="g1", on=True)
    texts = (in_lines(text) for text in (before, people["hugo"].get("/api/matches/m1").text))
    first, second = (Said("match", text, "1") for text in texts)
    assert 0 < len(change(first, second)) < len(second.text) / 2


def test_a_mark_touches_the_topics_of_its_match_alone(world: MatchWorld, people: dict[str, Sayer]) -> None:
    world.begun().started()
    found: list[set[str]] = []
    world.contest.listen(lambda events: found.append(touched(world.site, events)))
    people["rolf"].say("goal.marked", **CASE, attempt=1, goal="g1", on=True)
    assert found == [{"desk:", "match:m1:"}]


@pytest.mark.parametrize(
    ("topic", "names"),
    [("match", {"rolf", "hugo", "ann", "vera", "nobody"}), ("bench", {"hugo", "olga"}), ("side", {"ann", "cleo"})],
    ids=["match", "bench", "side"],
)
def test_who_may_read_which_topic(world: MatchWorld, topic: str, names: set[str]) -> None:
    world.begun()
    for name in ("rolf", "hugo", "olga", "ann", "cleo", "vera", "nobody"):
        viewer = viewer_of(world.state.accounts[name]) if name != "nobody" else NOBODY
        found = topic_of(world.site, viewer, "en", topic, "m1")
        assert bool(found) == (name in names or topic == "match"), name
        for write in (found or {}).values():
            said = write()
            assert said and said.event == topic
    assert topic_of(world.site, NOBODY, "en", topic, "none") is None
