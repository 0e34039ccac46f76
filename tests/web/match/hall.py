"""A match that is really served: two teams, a head referee and two others, in browsers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from palestra import registry
from palestra.contest.location import Place
from palestra.contest.log import events as e
from palestra.contest.match import events as m
from palestra.contest.match import state_machine as match
from palestra.contest.match.cases import Entrant
from palestra.contest.match.rules import PRESETS
from palestra.contest.match.state import Match
from palestra.contest.visibility import viewer_of
from palestra.web.match.messages import who_is
from tests.web.browsing import SIZES, Hall, Served, Window, database_in, open_between, opened, write_head

TRACK = registry.track("tabletop-manip-v1")
REFEREES = ("hugo", "rolf", "rita")  # the first is the head
CAPTAINS = ("ann", "ben")
TABLETS: dict[str, ViewportSize] = {
    "landscape": {"width": 1024, "height": 768},
    "portrait": {"width": 768, "height": 1024},
    "laptop": SIZES["laptop"],
}


def write_table_contest(folder: Path, data: Path) -> Path:
    (folder / "table").symlink_to(data)
    head = write_head("manip", "Tabletop manipulation", "桌面操作")
    text = f"""{head}
[[phase]]
id = "online"
title = {{ en = "Online", zh = "线上赛" }}
track = "tabletop-manip-v1"
data = "table"
{open_between(-30, -1)}promotion = {{ to = "onsite", top = 2 }}

[[phase]]
id = "onsite"
title = {{ en = "On site", zh = "线下赛" }}
track = "tabletop-manip-v1"
data = "table"
{open_between(-1, 30)}entry = "promoted"
"""
    file = folder / "contest.toml"
    file.write_text(text, "utf-8")
    return file


class Table:
    """The match, from beside the server: what people say is decided and logged as the server does it."""

    def __init__(self, place: Place, name: str = "m1") -> None:
        self.place, self.name = place, name
        self.contest = place.open()

    @property
    def match(self) -> Match:
        self.contest.catch_up()
        return self.contest.state.match(self.name)

    def account(self, name: str) -> str:
        return self.contest.state.names[name]

    def team(self, captain: str) -> str:
        return self.contest.state.accounts[self.account(captain)].team

    def open(self, data: Path, **more: Any) -> None:
        sheet = TRACK.match.sheet(data, "hidden").first()
        for layout in sheet.layouts.values():
            self.contest.files.put(layout)
        entrants = tuple(Entrant(self.team(name), f"Team {name}") for name in CAPTAINS)
        promoted = tuple(e.Promoted(one.team, rank) for rank, one in enumerate(entrants, 1))
        body = m.MatchOpened(
            match=self.name, phase="onsite", rules=PRESETS["seed"], groups=sheet.groups, teams=entrants,
            head=self.account("hugo"), things=sheet.things, **more,
        )  # fmt: skip
        if not self.contest.state.promotions:
            self.contest.act("system", lambda s, n: [e.PromotionConfirmed("online", "onsite", promoted, (), "by rank")])
        self.contest.act("system", lambda state, now: match.open_match(state.matches, "organiser", body))

    def say(self, who: str, kind: type, **fields: Any) -> None:
        body = kind(match=self.name, **fields)
        account = self.contest.state.accounts[self.account(who)]

        def decide(state: Any, now: int) -> Any:
            found = state.match(self.name)
            return match.decide(found, who_is(found, viewer_of(account)), body, now)

        self.contest.act(account.id, decide)

    def begin(self, captain: str = "ann") -> None:
        """The 55 minutes of a team run."""
        team = self.team(captain)
        if not self.match.setup.declared:
            for name in REFEREES:
                self.say(name, m.RefereeDeclared)
            self.say("hugo", m.GroupsDrawn, seed="dice 3 5 1")
        self.say("rolf", m.ImageTaken, team=team, image="f" * 64)
        self.say("rolf", m.ImageFrozen, team=team, image="f" * 64)
        seats = (self.account("rolf"), self.account("rita"))
        self.say("rolf", m.TurnBegun, team=team, referees=seats, reason="for a test")

    def prepare(self, captain: str = "ann") -> str:
        """All but the start of the case at the table; which it is."""
        from palestra.contest.match.turn import current

        team = self.team(captain)
        found = current(self.match.opened, self.match.turns[team])
        assert found is not None
        case = next(one for group in self.match.opened.groups for one in group.cases if one.id == found.id)
        about = {"team": team, "case": case.id}
        photo = self.contest.files.put(PHOTO)
        self.say("rolf", m.SceneChecked, **about, things=case.things, layout=case.layout, photo=photo)
        self.say(captain, m.SystemConfirmed, **about)
        self.say("rolf", m.InstructionEntered, **about, text=case.instruction.en)
        self.say("rolf", m.SignalGiven, **about)
        return case.id

    def start(self, captain: str = "ann") -> str:
        case = self.prepare(captain)
        self.say("rolf", m.CaseStarted, team=self.team(captain), case=case)
        return case

    def events(self, kind: str) -> list[Any]:
        """All of a kind, as the log has them."""
        from palestra.contest.log import chain
        from palestra.contest.storage.database import reading

        with reading(self.contest.engine) as connection:
            found = list(chain.read(connection))
        mine = [one for one in found if getattr(one.body, "match", "") == self.name]
        return [one for one in mine if e.kind_of(one.body) == kind]


def photo() -> bytes:
    """A picture of a table, as a camera above it takes one."""
    import cv2
    import numpy as np

    picture = np.full((500, 750, 3), (196, 214, 226), np.uint8)
    for n in range(6):
        cv2.rectangle(
            picture, (120 + 90 * n, 150 + 30 * n), (160 + 90 * n, 190 + 30 * n), (40 * n, 90, 220 - 30 * n), -1
        )
    return bytes(cv2.imencode(".jpg", picture)[1].tobytes())


PHOTO = photo()


class MatchHall(Hall):
    """The hall while a match is on."""

    match = "m1"

    def referee(self, name: str, size: str = "landscape", **how: Any) -> Page:
        """A referee's tablet with the page of the match."""
        window = self.window(name, viewport=TABLETS[size], has_touch=size != "laptop", **how)
        return window.open(f"/matches/{self.match}/referee")

    def page(self, name: str, what: str, **how: Any) -> Page:
        return self.window(name, **how).open(f"/matches/{self.match}/{what}")

    def window_of(self, page: Page) -> Window:
        return next(one for one in self.windows if one.page is page)


def match_hall_in(folder: Path, browser: Browser, data: Path, sort: str) -> Iterator[MatchHall]:
    people: dict[str, e.Role] = {**dict.fromkeys(REFEREES, "referee"), "olga": "organiser"}
    with database_in(folder, sort) as database:
        hall = MatchHall(Served(write_table_contest(folder, data), database), browser, data, folder)
        with opened(hall, CAPTAINS, people, workers=0):
            yield hall
