"""The API: bounds of what it takes, errors in words, boards with tags, actions that pages and programs share."""

import asyncio
from typing import Any

import msgspec
import pytest

from palestra.contest.accounts import tokens
from palestra.contest.log import events as e
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.storage.database import writing
from palestra.web.actions.registry import ACTIONS, LONGEST
from palestra.web.views import public
from tests.contest.story import DAY, START
from tests.web.asking import Answer, ask
from tests.web.conftest import As, World


def by_token(world: World, method: str, path: str, body: bytes = b"", account: str = "olga", **headers: str) -> Answer:
    role = world.state.accounts[account].role
    with writing(world.contest.engine) as connection:
        token, _ = tokens.make(connection, "token", account, world.clock(), DAY, sorted(tokens.POWERS[role]))
    given = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}
    return asyncio.run(ask(world.app, method, path, given, body))


def act(world: World, action: str, by: str = "olga", /, **fields: Any) -> Answer:
    return by_token(world, "POST", f"/api/actions/{action}", msgspec.json.encode(fields), by)


# Bounds


@pytest.mark.parametrize("path", [
    "/api/log?after=99999999999999999999", "/api/log?count=0", "/api/log?count=100000", "/api/log?after=-1",
    "/api/log?after=x",
    "/audit?before=99999999999999999999999", "/audit?after=-5", "/audit?after=x", "/api/log?count=" + "9" * 5000,
])  # fmt: skip
def test_numbers_out_of_bounds_are_refused(world: World, path: str) -> None:
    answer = by_token(world, "GET", path)
    assert answer.status == 400


@pytest.mark.parametrize("path", [
    "/api/rules/0", "/api/rules/99", "/api/rules/" + "9" * 30, "/api/rules/-1", "/api/rules/x",
    "/certificates/99999999999999999999/t1", "/certificates/-1/t1",
])  # fmt: skip
def test_numbers_of_nothing_are_not_there(world: World, path: str) -> None:
    assert by_token(world, "GET", path).status in (400, 404)


@pytest.mark.parametrize("moment", [-1, 10**15, 2**63, 2**64, 10**30])
def test_no_phase_is_moved_to_where_calendars_end(world: World, moment: int) -> None:
    answer = act(world, "move-phase", phase="first", opens=0, closes=moment, reason="a reason")
    assert answer.status == 400
    assert asyncio.run(ask(world.app, "GET", "/")).status == 200


def test_a_phase_that_is_moved_far_makes_no_page_fail(world: World) -> None:
    assert act(world, "move-phase", phase="first", opens=0, closes=4_102_444_800_000, reason="a reason").status == 200
    for path in ("/", "/boards/first", "/phases/first", "/screen", "/data"):
        assert asyncio.run(ask(world.app, "GET", path)).status == 200


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"title_en": 5}', b'{"title_en": null}', b"\xff\xfe",
    b'{"title_en": "\xed\xa0\x80"}',
    b'{"title_en": "\\ud800"}', b"[" * 100_000, b'{"a":' * 50_000,
    b'{"title_en": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
])  # fmt: skip
def test_what_is_no_request_is_refused_in_words(world: World, body: bytes) -> None:
    before = world.state.seq
    answer = by_token(world, "POST", "/api/actions/announce", body)
    assert answer.status in (400, 409)
    assert answer.json["error"]
    assert world.state.seq == before


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", "x", ""]
)
def test_another_kind_of_body_makes_nothing_fail(world: World, kind: str) -> None:
    answer = by_token(world, "POST", "/api/actions/freeze", b'{"phase": "first"}', **{"content-type": kind})
    assert answer.status < 500


@pytest.mark.parametrize(("action", "fields"), [
    ("retry-job", {"id": "check:\0", "reason": "x"}), ("announce", {"title_en": "a\0b"}),
    ("make-team", {"name": "a\0b", "declaration": "x"}),
    ("sign-in", {"name": "\0", "password": "\0"}), ("join-team", {"invitation": "\0"}),
    ("withdraw", {"id": "\0", "reason": "\0\0\0"}),
    ("promote", {"phase": "first", "preview": "x", "reason": "x", "without": {"\0": "x"}}),
])  # fmt: skip
def test_a_letter_that_no_database_takes_is_refused(world: World, action: str, fields: dict[str, Any]) -> None:
    account = "olga" if ACTIONS[action].desk else "dan"
    answer = act(world, action, account, **fields)
    assert answer.status == 422
    assert "letters that can be printed" in answer.json["error"]


def test_texts_without_end_are_refused(world: World) -> None:
    assert act(world, "announce", title_en="x" * 201).status == 400
    assert act(world, "announce", title_en="x", text_en="x" * 20_001).status == 400
    long = act(world, "withdraw-submission", id="x" * (LONGEST + 1), reason="too long")
    assert long.status == 422
    assert f"at most {LONGEST:,}" in long.json["error"]
    assert by_token(world, "POST", "/api/actions/announce", b'{"title_en": "' + b"x" * (11 << 20) + b'"}').status == 413


def test_what_is_longer_than_it_said_is_refused_while_it_comes(world: World) -> None:
    with writing(world.contest.engine) as connection:
        token, _ = tokens.make(connection, "token", "olga", world.clock(), DAY, ["organise"])
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    pieces = [b'{"title_en": "', *[b"x" * (1 << 20)] * 12, b'"}']
    answer = asyncio.run(ask(world.app, "POST", "/api/actions/announce", headers, parts=pieces))
    assert answer.status == 413


def test_a_request_that_breaks_off_does_nothing(world: World) -> None:
    with writing(world.contest.engine) as connection:
        token, _ = tokens.make(connection, "token", "olga", world.clock(), DAY, ["organise"])
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    before = world.state.seq
    sent = asyncio.run(ask(world.app, "POST", "/api/actions/announce", headers, parts=[b'{"title_en": "Lu'], cut=True))
    assert sent.status < 500
    assert world.state.seq == before


# Errors


def test_errors_are_told_to_programs_as_json_and_to_people_as_a_page(world: World) -> None:
    for path in ("/api/nothing", "/api/boards/nothing", "/api/me", "/live", "/metrics"):
        answer = asyncio.run(ask(world.app, "GET", path))
        assert answer.json["status"] == answer.status
        assert answer.json["error"]
    page = asyncio.run(ask(world.app, "GET", "/nothing"))
    assert page.header("content-type").startswith("text/html")
    assert "<h1" in page.text


def test_an_error_of_ours_says_a_number_and_nothing_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("/secret/path of truth.csv")

    monkeypatch.setattr(public, "home", fail)
    for path in ("/", "/api/contest"):
        answer = asyncio.run(ask(world.app, "GET", path))
        assert answer.status == 500
        assert "secret" not in answer.text
        assert "RuntimeError" not in answer.text
    assert len(asyncio.run(ask(world.app, "GET", "/api/contest")).json["reference"]) == 8


# Boards


def test_a_board_that_is_known_is_not_sent_again(world: World) -> None:
    first = asyncio.run(ask(world.app, "GET", "/api/boards/first"))
    tag = {"if-none-match": first.header("etag")}
    again = asyncio.run(ask(world.app, "GET", "/api/boards/first", tag))
    assert (again.status, again.body) == (304, b"")
    world.scored("s20", "t2", 0.5)
    assert asyncio.run(ask(world.app, "GET", "/api/boards/first", tag)).status == 200


def test_a_tag_opens_no_board_that_one_may_not_see(world: World) -> None:
    tag = asyncio.run(ask(world.app, "GET", "/api/boards/first")).header("etag")
    world.clock.advance(1)
    rules = msgspec.structs.replace(world.state.rules(), phases=tuple(
        msgspec.structs.replace(phase, board_for="organisers") for phase in world.state.rules().phases))  # fmt: skip
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "not for all"))
    assert asyncio.run(ask(world.app, "GET", "/api/boards/first", {"if-none-match": tag})).status == 404


def test_a_board_says_who_was_promoted_last(world: World) -> None:
    """A later promotion replaces an earlier one, and no board that was kept is older than it."""
    world.clock.at = START + 11 * DAY

    def promoted() -> list[str]:
        rows = asyncio.run(ask(world.app, "GET", "/api/boards/first")).json["rows"]
        return [row["team"] for row in rows if row.get("promoted")]

    world.add(e.PromotionConfirmed("first", "second", (e.Promoted("t1", 1),), (), "by rank"))
    assert promoted() == ["t1"]
    world.add(e.PromotionConfirmed("first", "second", (e.Promoted("t2", 2),), (), "the first was not verified"))
    assert promoted() == ["t2"]


def test_rules_do_not_say_where_data_lies(world: World) -> None:
    rules = world.state.rules()
    phases = tuple(msgspec.structs.replace(phase, data="data/secret") for phase in rules.phases)
    world.clock.advance(1)
    world.add(e.RulesAmended(encode_rules(msgspec.structs.replace(rules, phases=phases)), world.clock(), "data"))
    assert "data/secret" not in asyncio.run(ask(world.app, "GET", "/api/rules/2")).text


# Actions


def test_the_api_describes_every_action(world: World) -> None:
    paths = asyncio.run(ask(world.app, "GET", "/api/schema/openapi.json")).json["paths"]
    for name, action in ACTIONS.items():
        described = paths[f"/api/actions/{name}"]["post"]
        assert described["description"] == action.about
        assert {"400", "401", "403", "404", "409", "413", "422", "429", "503"} <= set(described["responses"])


def test_no_secret_of_a_session_is_in_a_body(world: World, people: dict[str, As]) -> None:
    answer = people["nobody"].call("register", name="newcomer", password="correct horse battery staple")
    assert answer.status_code == 200
    session = answer.cookies["palestra_session"]
    assert session not in answer.text
    assert set(answer.json()) == {"id"}


@pytest.mark.parametrize(
    "action", ["rename-team", "request-access", "leave-team", "change-captain", "invite", "withdraw"]
)
def test_who_is_in_no_team_is_told_so_and_of_no_other_team(world: World, action: str) -> None:
    given = {"name": "X", "phase": "first", "licence": "x", "account": "dan", "id": "s1", "reason": "a reason"}
    answer = act(world, action, "dan", **given)
    assert answer.status == 409
    assert "t1" not in answer.text
    assert "team" in answer.json["error"]
