"""A served contest with a match at the referees' table, and people who say things there."""

from typing import Any

import httpx
import msgspec
from litestar.testing import TestClient

from palestra.contest.log import events as e
from palestra.contest.match import events as m
from palestra.contest.match.cases import Case, Entrant, Goal, Group, Thing
from palestra.contest.match.rules import PRESETS
from palestra.contest.rules.model import MatchPlan, Phase, Promotion
from palestra.contest.rules.model import encode as encode_rules
from palestra.text import Words
from tests.contest.story import a_phase, some_rules
from tests.databases import Made
from tests.web.conftest import As, World

PEOPLE: dict[str, e.Role] = {
    "olga": "organiser", "hugo": "referee", "rolf": "referee", "rita": "referee", "ann": "member", "cleo": "member",
    "vera": "viewer",
}  # fmt: skip
JPEG = b"\xff\xd8\xff\xe0 a photo"
THINGS = (
    Thing(1, Words("red block", "红色方块"), "block", (40,), "wood", "red"),
    Thing(2, Words("bowl", "碗"), "bowl", (160, 50), "steel", "grey"),
)


def a_case(name: str, goals: int = 2, layout: str = "on paper") -> Case:
    return Case(
        name,
        Words(f"Secret instruction {name}.", f"保密指令 {name}。"),
        tuple(Goal(f"g{n}", Words(f"goal {n} holds", f"目标 {n} 达成")) for n in range(1, goals + 1)),
        (1, 2),
        layout,
    )


def a_sheet() -> tuple[Group, ...]:
    return tuple(
        Group(name, Words(name.title(), f"{name} 组"), (a_case(f"{name}-1"), a_case(f"{name}-2")))
        for name in ("pick", "stack")
    )


def table_rules(*phases: Phase, **more: Any) -> Any:
    online = a_phase("online", track="tabletop-manip-v1", promotion=Promotion("onsite", 2))
    onsite = a_phase("onsite", track="tabletop-manip-v1", entry="promoted", data="table", match=MatchPlan())
    return some_rules(online, onsite, *phases, **more)


class MatchWorld(World):
    """Two teams, a head referee (hugo) and two others (rolf, rita) at a table with four cases."""

    def tell(self, *phases: Phase) -> "MatchWorld":
        self.add(e.ContestOpened(encode_rules(table_rules(*phases)), "tests"))
        self.add(*(e.AccountMade(name, name, role) for name, role in PEOPLE.items()))
        self.team("t1", "ann")
        self.team("t2", "cleo")
        promoted = (e.Promoted("t1", 1), e.Promoted("t2", 2))
        self.add(e.PromotionConfirmed("online", "onsite", promoted, (), "by rank"))
        return self

    def opened(self, **more: Any) -> "MatchWorld":
        teams = (Entrant("t1", "Team <t1>"), Entrant("t2", "Team <t2>"))
        rules = msgspec.structs.replace(PRESETS["seed"], draw="fixed")
        fields = {"rules": rules, "groups": a_sheet(), "teams": teams, "head": "hugo", "things": THINGS, **more}
        self.add(m.MatchOpened(match="m1", phase="onsite", **fields))
        return self

    def begun(self, team: str = "t1") -> "MatchWorld":
        """The 55 minutes of a team run."""
        if not self.match.setup.declared:
            for name in ("hugo", "rolf", "rita"):
                self.add(m.RefereeDeclared(match="m1"), by=name)
            orders = dict.fromkeys(("t1", "t2"), ("pick", "stack"))
            self.add(m.GroupsDrawn(match="m1", orders=orders))
        ids = {"match": "m1", "team": team}
        self.add(m.ImageTaken(**ids, image="sha"), m.ImageFrozen(**ids, image="sha"), by="rolf")
        self.add(m.TurnBegun(**ids, referees=("rolf", "rita"), order=("pick", "stack")), by="rolf")
        return self

    def prepared(self, case: str = "pick-1", team: str = "t1") -> "MatchWorld":
        ids = {"match": "m1", "team": team, "case": case}
        photo = self.contest.files.put(JPEG)
        self.add(m.SceneChecked(**ids, things=(1, 2), layout="on paper", photo=photo), by="rolf")
        self.add(m.SystemConfirmed(**ids), by="ann")
        self.add(m.InstructionEntered(**ids, text=f"Secret instruction {case}."), by="rolf")
        self.add(m.SignalGiven(**ids), by="rolf")
        return self

    def started(self, case: str = "pick-1", team: str = "t1") -> "MatchWorld":
        self.prepared(case, team)
        self.add(m.CaseStarted(match="m1", team=team, case=case), by="rolf")
        return self

    def stopped(self, case: str = "pick-1", team: str = "t1") -> "MatchWorld":
        self.add(m.CaseStopped(match="m1", team=team, case=case), by="rolf")
        return self

    def signed(self, case: str, rolf: tuple[str, ...], rita: tuple[str, ...], team: str = "t1") -> "MatchWorld":
        for name, met in (("rolf", rolf), ("rita", rita)):
            self.add(m.MarksSigned(match="m1", team=team, case=case, attempt=1, met=met), by=name)
        return self

    @property
    def match(self) -> Any:
        return self.state.matches["m1"]


def match_world(made: Made) -> MatchWorld:
    return MatchWorld(made).tell().opened()


class Sayer(As):
    """Somebody at the table, by the API."""

    def say(self, kind: str, key: str = "", **fields: Any) -> httpx.Response:
        body = {"kind": kind, "match": "m1", **({"key": key} if key else {}), **fields}
        return self.send("/api/matches/m1/events", msgspec.json.encode(body))

    def send(self, path: str, body: bytes, kind: str = "application/json") -> httpx.Response:
        headers = self._headers({"x-csrf-token": self.csrf, "content-type": kind})
        return self._alone(self.client.post(path, content=body, headers=headers))

    def view(self, query: str = "") -> Any:
        return self.get(f"/api/matches/m1{query}").json()


def sayers(world: MatchWorld, client: TestClient[Any]) -> dict[str, Sayer]:
    return {name: Sayer(world, client, name) for name in PEOPLE} | {"nobody": Sayer(world, client, "")}
