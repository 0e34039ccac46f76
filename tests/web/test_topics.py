"""What is sent live, to whom: topics that one may read, and which of them an event changes."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import update

from palestra.contest.log import events as e
from palestra.contest.queue import jobs
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.storage.database import writing
from palestra.contest.storage.tables import jobs as jobs_table
from palestra.contest.visibility import NOBODY, Viewer
from palestra.text import Words
from palestra.web import topics as live
from palestra.web.app import turned
from palestra.web.auth.middleware import SESSION
from tests.contest.story import DAY, START, a_phase, some_rules
from tests.web.asking import Answer, ask
from tests.web.conftest import As, World
from tests.web.html_forms import forms_in

ANN = Viewer("ann", "ann", "member", "t1")


def asked(world: World, query: str, account: str = "", **headers: str) -> Answer:
    if account:
        headers["cookie"] = f"{SESSION}={world.session(account)}"
    return asyncio.run(ask(world.app, "GET", f"/live?{query}", headers))


@pytest.mark.parametrize(
    ("query", "account", "event"),
    [
        ("board=first", "", "board"), ("home=1", "", "announcements"), ("screen=1", "", "screen"),
        ("screen=first", "", "screen"), ("submissions=first", "ann", "submissions"),
        ("submission=s1", "ann", "submission"), ("submission=s1", "olga", "submission"),
        ("desk=1", "olga", "desk"), ("board=first", "ann", "board"), ("data=1", "", "data"), ("data=1", "cleo", "data"),
    ],
)  # fmt: skip
def test_a_topic_is_sent_to_who_may_read_it(world: World, query: str, account: str, event: str) -> None:
    answer = asked(world, query, account)
    assert answer.status == 200
    assert answer.header("content-type").startswith("text/event-stream")
    assert answer.header("cache-control") == "no-store"
    assert f"event: {event}\n" in answer.text
    assert f"id: {world.state.seq}-" in answer.text


@pytest.mark.parametrize(
    ("query", "account"),
    [
        ("", ""), ("nothing=1", ""), ("board=nowhere", ""), ("screen=nowhere", ""), ("run=nowhere", ""),
        ("submission=s1", ""),
        ("submission=s1", "cleo"), ("submission=nowhere", "olga"), ("submissions=first", ""),
        ("submissions=first", "dan"),
        ("desk=1", ""), ("desk=1", "ann"), ("desk=1", "rolf"), ("board=", ""), ("submission=", "ann"),
        ("board=first&submission=s1", "cleo"),
    ],
)  # fmt: skip
def test_what_one_may_not_read_is_not_there(world: World, query: str, account: str) -> None:
    answer = asked(world, query, account)
    assert answer.status == 404
    assert answer.json["error"]


def test_a_board_for_teams_is_sent_to_teams_alone(world: World) -> None:
    world.clock.advance(1)
    rules = some_rules(a_phase(board_for="teams"), *world.state.rules().phases[1:])
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "for teams"))
    assert asked(world, "board=first").status == 404
    assert asked(world, "board=first", "vera").status == 404
    assert asked(world, "board=first", "ann").status == 200


def test_what_is_sent_to_all_has_no_sign_and_no_number_of_one_browser(world: World) -> None:
    session = world.session("ann")
    text = asyncio.run(ask(world.app, "GET", "/live?submission=s1", {"cookie": f"{SESSION}={session}"})).text
    assert 'action="/do/withdraw"' in text
    assert hashlib.sha256(f"csrf:{session}".encode()).hexdigest() not in text
    assert {form.fields["once"] for form in forms_in(text)} == {""}


def test_a_form_that_came_live_is_done_once_with_the_number_of_its_page(world: World, people: dict[str, As]) -> None:
    """live.js puts it in; that is looked at in a browser."""
    world.add(e.AttemptCancelled("live1", "for later"))
    with writing(world.contest.engine) as connection:
        jobs.cancel(connection, "check:live1", world.clock())
        connection.execute(update(jobs_table).values(state="failed").where(jobs_table.c.key == "check:live1"))
    organiser = people["organiser"]
    number = re.search('<meta name="once" content="([^"]+)">', organiser.get("/desk").text)
    assert number
    sent = asyncio.run(ask(world.app, "GET", "/live?desk=1", {"cookie": f"{SESSION}={organiser.session}"})).text
    form = next(form for form in forms_in(sent.replace("data: ", "")) if form.action == "/do/retry-job")
    given = {**form.fields, "csrf": organiser.csrf, "once": number[1]}
    assert [organiser.do("retry-job", **given).status_code for _ in range(2)] == [303, 303]
    assert organiser.do("retry-job", **{**given, "once": ""}).status_code == 409  # it does not wait to be tried again


def test_each_page_has_another_number_for_forms_that_come_live(people: dict[str, As]) -> None:
    pages = [people["organiser"].get("/desk").text for _ in range(2)]
    numbers = [re.findall('<meta name="once" content="([^"]{16,})">', page) for page in pages]
    assert len(numbers[0]) == len(numbers[1]) == 1
    assert numbers[0] != numbers[1]


def test_the_same_topic_by_another_name_is_written_once(world: World) -> None:
    """Else anybody could make the server write the same thing a thousand times."""

    async def names() -> list[str]:
        found = []
        for what in ("1", "2", "x" * 500):
            found += [*live._topic(world.site, NOBODY, "en", "home", "1" if "home" in live.ONLY_ONE else what)]
        return found

    assert len(set(asyncio.run(names()))) == 1
    assert asked(world, "home=2").status == 200


def test_topics_are_named_by_all_that_they_depend_on(world: World) -> None:
    viewers = [NOBODY, ANN, Viewer("cleo", "cleo", "member", "t2"), Viewer("olga", "olga", "organiser")]
    names = [
        next(iter(live._topic(world.site, who, language, "board", "first")))
        for who in viewers
        for language in ("en", "zh")
    ]
    assert len(set(names)) == 8
    bob = Viewer("bob", "bob", "member", "t1")
    assert (
        live._topic(world.site, bob, "en", "board", "first").keys()
        == live._topic(world.site, ANN, "en", "board", "first").keys()
    )


@pytest.mark.parametrize("change", ["leaves", "closed", "role"])
def test_who_is_no_longer_who_they_were_is_sent_nothing_more(world: World, change: str) -> None:
    bodies = {
        "leaves": e.MemberLeft("t1", "bob", "by mistake"), "closed": e.AccountClosed("bob", "lent"),
        "role": e.RoleChanged("bob", "viewer", "looks on"),
    }  # fmt: skip
    bob = Viewer("bob", "bob", "member", "t1")
    closed: list[bool] = []

    async def messages() -> AsyncIterator[bytes]:
        try:
            yield b"one"
            yield b"two"
            yield b"three"
        finally:
            closed.append(True)

    async def read() -> list[bytes]:
        found = []
        async for one in live._while_same(world.site, bob, messages()):
            found.append(one)
            if one == b"two":
                world.add(bodies[change])
        return found

    assert asyncio.run(read()) == [b"one", b"two"]
    assert closed == [True]


def prefixes(world: World, body: Any) -> set[str]:
    return live.touched(world.site, [e.Event(1, 1, "olga", body)])


def test_an_event_changes_what_shows_it(world: World) -> None:
    assert "home:" in prefixes(world, e.AnnouncementMade("n2", Words("x"), Words("x")))
    made = prefixes(world, e.ResultMade("s1", 1, {}))
    assert {"board:first:", "submission:s1:", "submissions:first:", "screen:"} <= made
    assert "board:second:" not in made
    assert {"board:", "screen:"} <= prefixes(world, e.BoardFrozen("first"))
    assert "run:u1:" in prefixes(world, e.RunStarted("u1", "stage", ("live1",)))
    assert {"run:u1:", "submissions:"} <= prefixes(world, e.WindowOpened("u1", "T1", 1))
    for body in (e.AccountMade("x", "x", "member"), e.CopyFound("s1", "s2", 1.0)):
        assert prefixes(world, body) == {"desk:"}


def test_a_frozen_board_is_sent_as_it_stood(world: World) -> None:
    world.add(e.BoardFrozen("first"))
    world.clock.at = START + DAY
    world.scored("late", "t2", 0.1234)
    assert "0.123" not in asked(world, "board=first").text
    assert "0.123" not in asked(world, "screen=first").text
    assert "0.123" not in asked(world, "board=first", "cleo").text
    assert "0.123" in asked(world, "board=first", "olga").text
    assert "0.123" not in asked(world, "submission=late", "cleo").text


def test_a_reader_sees_a_change_without_asking_again(world: World) -> None:
    """Through the server as it runs: an event, then its message."""

    async def watch() -> bytes:
        async with world.app.lifespan():
            topics = live._topic(world.site, NOBODY, "en", "home", "1")
            reader = world.site.feed.read(topics)
            await anext(reader)
            await asyncio.to_thread(world.add, e.AnnouncementMade("n7", Words("Breaking news"), Words("It broke.")))
            async for found in reader:
                if b"Breaking" in found:
                    return found
        return b""

    assert b"Breaking news" in asyncio.run(asyncio.wait_for(watch(), 20))


# Pages of a team


def test_access_that_is_granted_is_sent_to_the_page_of_data(world: World) -> None:
    before = asked(world, "data=1", "cleo").text
    assert "has not answered yet" in before
    world.add(e.AccessGranted("t2", "first"))
    after = asked(world, "data=1", "cleo").text
    assert "Your team has access." in after
    assert prefixes(world, e.AccessGranted("t2", "first")) >= {"data:"}
    assert prefixes(world, e.DataPacked("first", "view", "x", 1)) >= {"data:"}
    assert prefixes(world, e.AccessRequested("t2", "stage", "x")) >= {"data:"}


def test_a_form_that_is_sent_live_comes_back_to_the_page_it_is_on(world: World, people: dict[str, As]) -> None:
    sent = re.sub(r"(?m)^data: ", "", asked(world, "data=1", "cleo").text)
    form = next(form for form in forms_in(sent) if form.action == "/do/request-access")
    assert (form.fields["csrf"], form.fields["next"]) == ("", "/data")
    answer = people["rival"].do("request-access", **{**form.fields, "csrf": people["rival"].csrf, "licence": "old"})
    assert answer.status_code == 409
    assert "The licence has changed since you read it." in answer.text
    assert 'action="/do/request-access"' in answer.text


def test_what_can_be_handed_in_is_sent_as_a_phase_closes(world: World) -> None:
    open_one = asked(world, "submissions=first", "ann").text
    assert "Left now" in open_one
    assert "data-refusal" not in open_one
    world.clock.at = world.state.phase("first").closes
    closed = asked(world, "submissions=first", "ann").text
    assert 'data-refusal="closed"' in closed
    assert 'id="stated-answers" hx-swap-oob="innerHTML"' in closed
    assert "Left now" not in closed


def test_pages_of_teams_are_looked_at_when_a_minute_begins() -> None:
    assert "submissions:" not in turned(START, START + 5_000)
    assert {"submission:", "submissions:", "data:"} <= set(turned(START + 58_000, START + 60_000))
    assert "board:" in turned(START, START + 5_000)
