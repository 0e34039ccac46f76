"""Walks every route with every method, as everybody who may come, before, while and after boards are frozen, and looks
through all that comes back for what is not theirs. A route that is added later is walked as well, by itself."""

import asyncio
import hashlib
import itertools
import json
import re
import typing
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from palestra.contest import visibility
from palestra.contest.log import events as e
from palestra.web.actions.registry import ACTIONS
from palestra.web.api import transfers
from palestra.web.auth.middleware import SESSION
from tests.databases import Databases, Made, copy_of
from tests.web.asking import Answer, ask
from tests.web.marked import EVERYBODY, INVITATION, TIMES, Marked, Marker, Time, Told, Who, tell_all

# What path parameters are filled with: by their name, or by the route and their name where that says too little.
SUBMISSIONS = [
    "sub-a-early", "sub-b-early", "sub-a-bad", "sub-b-failed", "sub-a-faulted", "sub-a-judged", "sub-b-inner",
    "sub-a-live", "sub-a-late", "sub-b-late", "sub-a-live2", "base-early", "base-late", "bundle-a",
]  # fmt: skip
FILL: dict[str, list[str]] = {
    "phase": ["first", "stage", "judges", "inner", "none-of-these"],
    "part": ["view", "truth", "starter"],
    "number": ["1", "99"],
    "run": ["run-early", "run-late"],
    "submission": SUBMISSIONS,
    "what": ["file", "result", "scores"],
    "award": ["0"],
    "team": ["t1", "t2"],
    "rescoring": ["set-one"],
    "bundle": ["bundle-a"],
    "match": ["match-one"],
    "path": ["openapi.json"],
    "file_path": ["base.css", "../app.py"],
    "/desk/exports/{name:str} name": ["board-first.csv", "submissions.parquet", "events.csv", "teams.csv"],
    "/do/{name:str} name": list(ACTIONS),
}
# What is asked with a query.
QUERIES = {
    "/live": ["board=first", "board=stage", "board=judges", "board=inner", "home=1", "data=1", "screen=1", "desk=1",
              "run=run-early", "run=run-late", "submissions=first", *(f"submission={name}" for name in SUBMISSIONS),
              "match=match-one", "match=match-one/t1", "match=match-one/t2", "bench=match-one/t1", "side=match-one/t1"],
    "/audit": ["", "kind=result.made", "by=ann", "by=worker", "before=20", "after=5"],
    "/api/log": ["", "after=3&count=1000"],
    "/desk/promotion/{phase:str}": ["", "without.t1=a+reason"],
    "/api/matches/{match:str}": ["", "team=t1", "team=t2"],
    "/matches/{match:str}/referee": ["", "team=t1", "team=t2"],
    "/matches/{match:str}/head": ["", "team=t1", "team=t2"],
    "/sign-in": ["", "next=//evil.example"],
    "/": ["", "lang=zh"],
}  # fmt: skip
DOWNLOADS = re.compile(r"/api/(data/first/\w+|submissions/sub-(b-early|a-late)/(file|result)|boards/first)")
RANGES = [
    {"range": "bytes=0-3"}, {"range": "bytes=-4"}, {"range": "bytes=5-"}, {"if-none-match": "*"},
    {"if-range": '"nothing"', "range": "bytes=0-1"},
]  # fmt: skip

# Who may reach a route at all: the first that fits counts. `public` routes show to each what they may see.
REACH = [
    (r"/desk($|/)", "organise"),
    (r"/api/log$", "organise"),
    (r"/metrics$", "metrics"),
    (r"/api/uploads($|/)", "submit"),
    (r"/api/matches/[^/]+/(events|photos)$", "table"),
    (r"/(api/)?matches($|/)", "public"),
    (r"/(account|team)$", "pages"),
    (r"/api/(me|data)$", "read"),
    (r"/api/(phases|submissions)/", "read"),
    (r"/(|final|rules|screen|data|live|audit|health|register|sign-in|sign-in/(outside|back))$", "public"),
    (r"/(boards|rules|runs|phases|submissions|join|link|certificates|static)/", "public"),
    (r"/pack($|/)", "public"),
    (r"/api/(contest|final|schema)$", "public"),
    (r"/api/(rules|boards|runs|data|schema)/", "public"),
]


TABLE = {"member": ("team",), "referee": ("judge",), "organiser": ("judge", "organise")}  # who says something there
EVENTS: list[dict[str, Any]] = [  # of the table: for another team, in another's name, against what is published
    {"kind": "goal.marked", "team": "t1", "case": "case-two", "attempt": 1, "goal": "g1", "on": True, "referee": "x"},
    {"kind": "system.confirmed", "team": "t2", "case": "case-one"},
    {"kind": "case.ruled", "team": "t1", "case": "case-one", "attempt": 1, "met": [], "reason": "for a reason"},
    {"kind": "appeal.decided", "team": "t1", "appeal": "appeal-one", "upheld": True, "reason": "for a reason"},
    {"kind": "penalty.proposed", "team": "t1", "penalty": "p", "what": "team", "rule": "1", "reason": "for a reason"},
    {"kind": "match.opened", "phase": "first", "rules": {}, "groups": [], "teams": [], "head": "ann"},
]


def reach_of(template: str, filled: dict[str, str]) -> str:
    """The scope that a route asks for, "organise" for organisers, or "public"."""
    name = template.rpartition("/")[2] if template.startswith("/api/actions/") else filled.get("name", "")
    if template.startswith(("/api/actions/", "/do/")):
        return "organise" if ACTIONS[name].desk else ACTIONS[name].needs or "public"
    found = next((reach for pattern, reach in REACH if re.match(pattern, template)), None)
    assert found, f"{template} is new: say in REACH who may reach it, and in marked.py what of it is secret."
    return found


class Walk:
    """One who comes, at one time, and everything that is wrong with what they got."""

    def __init__(self, world: Marked, who: Who, time: Time, keys: dict[str, str]) -> None:
        self.world, self.who, self.time, self.key = world, who, time, keys.get(who.name, "")
        self.wrong: list[str] = []
        self.count = 0
        self.hidden = [marker for marker in world.told.markers if not marker.may(who, time)]
        self._texts = [marker.text.encode() for marker in self.hidden]
        fill = {"digest": [found[0] for found in world.told.digests.values()]}
        fill |= {"photo": world.told.digests["photo"], "layout": world.told.digests["layout"]}
        self.fill = {**FILL, **fill, "upload": [world.told.upload], "secret": [INVITATION, world.told.link]}

    def refresh(self) -> None:
        """Another session, as the last one was ended."""
        if self.who.account and not self.who.scope:
            self.key = self.world.key_of(self.who)

    def headers(self) -> dict[str, str]:
        if self.who.scope:
            return {"authorization": f"Bearer {self.key}"}
        secret = self.key or "some-browser"
        cookie = f"{SESSION if self.key else 'palestra_browser'}={secret}"
        return {"cookie": cookie, "x-csrf-token": hashlib.sha256(f"csrf:{secret}".encode()).hexdigest()}

    async def ask(self, template: str, method: str, path: str, body: bytes = b"", **more: str) -> Answer:
        kind = {"content-type": "application/x-www-form-urlencoded" if path.startswith("/do/") else "application/json"}
        headers = {**self.headers(), **(kind if body else {}), **more}
        self.count += 1
        answer = await ask(self.world.app, method, path, headers, body)
        self._look(template, method, path, body, answer)
        return answer

    def _look(self, template: str, method: str, path: str, body: bytes, answer: Answer) -> None:
        where = f"{self.who.name}, {self.time}: {method} {path} {body.decode()[:80]}-> {answer.status}"
        if answer.status >= 500 or not answer.status:
            self.wrong.append(f"{where}: {answer.text[-300:]}")
        everything = answer.everything()
        if any(text in everything for text in self._texts):
            for marker in self.hidden:
                self._look_for(marker, everything, f"{path} {body.decode()}", where)

    def _look_for(self, marker: Marker, everything: bytes, asked: str, where: str) -> None:
        """What somebody wrote into the address themselves, they knew."""
        text = marker.text.encode()
        if text in everything and marker.text not in asked:
            at = everything.index(text)
            self.wrong.append(f"{where}: has the {marker.what}: …{everything[max(at - 60, 0) : at + 40]!r}…")

    def reached(self, template: str, filled: dict[str, str], answer: Answer, where: str) -> None:
        reach = reach_of(template, filled)
        if reach == "public":
            return
        refused = answer.status in (401, 403)
        wanted = 401 if not self.who.account else 403
        scopes = {"pages": ("read", "organise"), "table": TABLE.get(self.who.role, ())}.get(reach, (reach,))
        may = any(map(self.who.may, scopes))
        if may and refused and reach != "table":  # there it depends on what is said
            self.wrong.append(
                f"{self.who.name}, {self.time}: {where} is refused ({answer.status}): {answer.text[:200]}"
            )
        if not may and not refused:
            self.wrong.append(
                f"{self.who.name}, {self.time}: {where} lacks a check: {answer.status}, expected {wanted}"
            )

    async def read_all(self) -> None:
        for template, filled, path in self.paths("GET"):
            for query in QUERIES.get(template, [""]):
                address = f"{path}?{query}" if query else path
                answer = await self.ask(template, "GET", address)
                self.reached(template, filled, answer, f"GET {address}")
                if DOWNLOADS.fullmatch(path):
                    await self.in_other_ways(template, path, answer)

    async def in_other_ways(self, template: str, path: str, plain: Answer) -> None:
        """HEAD, ranges and tags give nothing that a plain request does not."""
        await self.ask(template, "HEAD", path)
        for more in RANGES:
            answer = await self.ask(template, "GET", path, **more)
            if answer.status != plain.status and not (plain.status == 200 and answer.status in (206, 304, 416)):
                self.wrong.append(f"{self.who.name}: {path} with {more}: {answer.status}, without {plain.status}")

    async def change_all(self) -> None:
        """Every action, with what an intruder would send: things of the other team, ids that were guessed."""
        for method in ("POST", "PATCH", "DELETE", "PUT"):
            for template, filled, path in self.paths(method):
                if template.startswith("/do/") and self.time != "during":
                    continue  # forms do the same actions, behind the same checks
                for body in self.bodies(template, filled, method):
                    answer = await self.ask(template, method, path, body, **{"upload-offset": "5"})
                    if path.endswith(("/sign-out", "/change-password")):
                        self.refresh()
                    self.reached(template, filled, answer, f"{method} {path}")

    async def ask_for_options(self) -> None:
        """Which methods a route has is the same whatever it is filled with."""
        for _, same in itertools.groupby(self.paths("OPTIONS"), key=lambda found: found[0]):
            template, _, path = next(same)
            await self.ask(template, "OPTIONS", path)

    def bodies(self, template: str, filled: dict[str, str], method: str) -> list[bytes]:
        if template == "/api/uploads":
            return [json.dumps({"phase": "first", "name": "a.csv", "bytes": 10}).encode()]
        if template.startswith("/api/actions/"):
            action = ACTIONS[template.rpartition("/")[2]]
            return [json.dumps(given).encode() for given in guesses(action.takes)]
        if template.startswith("/do/"):
            given = guesses(ACTIONS[filled["name"]].takes)[0]
            pairs = [f"{name}={quote(str(value))}" for name, value in given.items() if not isinstance(value, list)]
            return ["&".join(pairs).encode()]
        if template.endswith("/events"):
            return [json.dumps({**event, "match": "match-one"}).encode() for event in EVENTS]
        return [b"x=1"] if method in ("POST", "PATCH") else [b""]

    def paths(self, method: str) -> Iterator[tuple[str, dict[str, str], str]]:
        """Every address of every route that has this method: its parameters filled in all ways that are known."""
        for route in sorted(self.world.app.routes, key=lambda one: one.path):
            if method not in getattr(route, "methods", ()):
                continue
            parameters = re.findall(r"{(\w+):\w+}", route.path)
            values = [self.values(route.path, name) for name in parameters]
            for chosen in itertools.product(*values):
                filled, path = dict(zip(parameters, chosen, strict=True)), route.path
                for name, value in filled.items():
                    path = re.sub(rf"{{{name}:\w+}}", value, path)
                yield route.path, filled, path

    def values(self, template: str, name: str) -> list[str]:
        found = self.fill.get(f"{template} {name}", self.fill.get(name))
        assert found, f"{template} has a parameter {name!r}: say in FILL what the walk puts there."
        return found


GUESSES: dict[str, Any] = {
    "id": "sub-b-early", "phase": "first", "team": "t2", "account": "dan", "reason": "for a reason", "name": "Walker",
    "password": "short", "email": "walker@example.org", "link": "pll_nothing", "old": "wrong", "new": "short",
    "label": "walk", "scopes": ["read"], "role": "viewer", "invitation": "join-guess", "licence": "0" * 64,
    "preview": "0" * 64, "reasons": "for reasons", "text": "[contest]", "solution": "nothing",
    "submissions": ["sub-b-live"], "title_en": "Walked", "counts_from": 1, "opens": 1, "closes": 2, "head": "rolf",
}  # fmt: skip


def guesses(takes: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """What an action takes, filled by the names of its fields; and nothing at all."""
    hints = typing.get_type_hints(takes)
    return [{name: GUESSES[name] for name in hints if name in GUESSES}, {}]


@pytest.fixture(scope="session")
def marked(databases: Databases) -> Callable[[str], tuple[dict[Time, Made], Told]]:
    """The contest as it was told once, by the sort of its database."""
    return cache(lambda sort: tell_all(databases, sort))


@pytest.fixture
def world_at(
    marked: Callable[[str], tuple[dict[Time, Made], Told]], database_sort: str, tmp_path: Path
) -> Iterator[Any]:
    """Makes a copy of the contest at one of its times."""
    until = ExitStack()

    def at(time: Time) -> Marked:
        found, told = marked(database_sort)
        world = Marked(until.enter_context(copy_of(found[time], tmp_path / time)), told)
        until.callback(world.close)
        world.mark("folder of the contest", str(tmp_path), lambda who, _: False)
        world.begin_upload()
        world.site.runs.catch_up()
        return world

    with until:
        yield at


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("who", EVERYBODY, ids=lambda who: who.name)
def test_nobody_gets_what_is_not_theirs(world_at: Any, who: Who, time: Time) -> None:
    world = world_at(time)
    walk = Walk(world, who, time, world.keys_for_all())

    async def whole() -> None:
        await walk.read_all()
        if time == "during":
            await walk.ask_for_options()
        if time == "during" or not who.scope:  # what a token is good for is the same at all times
            await walk.change_all()

    asyncio.run(whole())
    assert walk.count > 250
    assert not walk.wrong, f"{len(walk.wrong)} faults:\n" + "\n".join(walk.wrong[:12])


# Whether the walk would notice

# Kept, and given to nobody by any route; or of something that the walk does not ask for, as it asks for one like it.
UNSERVED = re.compile(
    r"(the (digest of the )?secret|scores|recording|an error|an upload|bundle) .*"
    r"|.* of (base-\w+-once|sub-b-early-set-one)"
    r"|file of sub-b-live2?|trace of sub-a-faulted|an upload's name|a password's hash|folder of the contest"
)


def named(name: str) -> Who:
    return next(who for who in EVERYBODY if who.name == name)


def test_what_is_marked_is_found_by_those_who_may_see_it(world_at: Any) -> None:
    """Else a marker that pages write otherwise would prove nothing."""
    world = world_at("after")
    keys, seen = world.keys_for_all(), b""

    async def look(who: Who) -> bytes:
        walk = Walk(world, who, "after", keys)
        answers = [
            await walk.ask(template, "GET", f"{path}?{query}" if query else path)
            for template, _, path in walk.paths("GET")
            for query in QUERIES.get(template, [""])
        ]
        return b"\n".join(answer.everything() for answer in answers)

    for name in ("organiser", "captain", "rival"):
        seen += asyncio.run(look(named(name)))
    unseen = [marker.what for marker in world.told.markers if marker.text.encode() not in seen]
    assert [what for what in unseen if not UNSERVED.fullmatch(what)] == []


def test_a_check_that_is_missing_is_noticed(world_at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_at("during")
    walk = Walk(world, named("rival"), "during", world.keys_for_all())
    monkeypatch.setattr(transfers, "sees_submission", lambda submission, viewer: True)
    asyncio.run(walk.ask("/api/submissions/{submission:str}/{what:str}", "GET", "/api/submissions/sub-a-early/file"))
    assert "has the file of sub-a-early" in walk.wrong[0]


def test_a_number_that_is_frozen_is_noticed(world_at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_at("during")
    walk = Walk(world, named("nobody"), "during", {})
    monkeypatch.setattr(visibility, "frozen_since", lambda state, phase, now: None)
    asyncio.run(walk.ask("/api/boards/{phase:str}", "GET", "/api/boards/first"))
    assert "has the score of sub-a-late on the people shown" in "".join(walk.wrong)


def test_a_route_without_a_check_is_noticed(world_at: Any) -> None:
    world = world_at("before")
    walk = Walk(world, named("viewer"), "before", world.keys_for_all())
    walk.reached("/desk", {}, Answer(200), "GET /desk")
    assert "lacks a check" in walk.wrong[0]


def test_a_route_that_the_walk_does_not_know_is_asked_about(world_at: Any) -> None:
    walk = Walk(world_at("before"), named("nobody"), "before", {})
    with pytest.raises(AssertionError, match="say in FILL"):
        walk.values("/new/{thing:str}", "thing")
    with pytest.raises(AssertionError, match="say in REACH"):
        reach_of("/new/{thing:str}", {})


# What the walk cannot see, as a name is no secret in itself


@pytest.mark.parametrize("name", ["nobody", "captain", "rival", "viewer"])
def test_who_won_is_told_when_the_board_is_released(world_at: Any, name: str) -> None:
    world = world_at("during")
    world.add(e.AwardGiven(0, "t1", "by rank"))
    walk = Walk(world, named(name), "during", world.keys_for_all())

    def asked(path: str) -> Answer:
        return asyncio.run(walk.ask(path, "GET", path))

    assert asked("/api/contest").json["home"]["prizes"][0]["winners"] == []
    assert asked("/certificates/0/t1").status == 404
    assert "First prize" not in asked("/boards/first/print").text
    world.add(e.BoardReleased("first"))
    assert asked("/api/contest").json["home"]["prizes"][0]["winners"] == ["Team <t1>"]
    assert asked("/certificates/0/t1").status == 200
    assert "First prize" in asked("/boards/first/print").text
