"""A served contest with a hidden set of points, as a team sees it: files go in by the API, numbers come out by it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from litestar.testing import TestClient
from numpy.typing import NDArray

from benchmarks.server_contest import token_of
from palestra.contest.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.queue import jobs
from palestra.contest.rules import Role
from palestra.contest.setup.location import Place
from palestra.contest.workers.jobs import do
from palestra.contest.workers.settle import Desk
from palestra.web.app import create_app
from palestra.web.site import Setup, Site

Points = NDArray[np.float64]
PEOPLE, GROUPS, FRAMES = 10, 2, 5  # half of the 100 points are shown: 50
DISTANCE_MM, WIDTH_MM, HEIGHT_MM = 1000.0, 700.0, 500.0  # the display that people look at
RULES = """
[contest]
id = "oracle"
name = "Oracle"
zone = "UTC"

[[phase]]
id = "gaze"
title = "Gaze"
track = "near-eye-gaze-v1"
data = "data"
opens = 2020-01-01
closes = 2099-01-01
split = 0.5
quota = "1000 per phase"
fault_quota = "1000 per phase"
{more}
"""


@dataclass(frozen=True)
class Hidden:
    """The truth, and which trials it belongs to."""

    names: list[tuple[str, str, str]]  # person, group, frame
    points: Points  # (trials, 2), mm

    def rows(self, people: set[str]) -> NDArray[np.int64]:
        return np.flatnonzero([name[0] in people for name in self.names])


def hide(folder: Path, seed: int) -> Hidden:
    """A data set without pictures: where people looked, drawn evenly from the display."""
    sizes = (range(PEOPLE), range(GROUPS), range(FRAMES))
    names = [(f"P{p:02}", f"G{g:02}", f"{f:04}") for p in sizes[0] for g in sizes[1] for f in sizes[2]]
    half = np.array([WIDTH_MM, HEIGHT_MM]) / 2
    points = np.random.default_rng(seed).uniform(-half, half, (len(names), 2))
    folder.mkdir(parents=True)
    (folder / "data.toml").write_text(f'plane_distance = {DISTANCE_MM}\nunit = "mm"\n')
    (folder / "template.csv").write_text(table(names, np.zeros_like(points)))
    for person, group in dict.fromkeys(name[:2] for name in names):
        known = folder / "test" / person / group
        known.mkdir(parents=True)
        (known / "calibration.csv").write_text("frame,x,y\n")
        truth = folder / "truth" / person / f"{group}.csv"
        truth.parent.mkdir(parents=True, exist_ok=True)
        its = [i for i, name in enumerate(names) if name[:2] == (person, group)]
        lines = [f"{names[i][2]},{float(points[i, 0])!r},{float(points[i, 1])!r}" for i in its]
        truth.write_text("\n".join(["frame,x,y", *lines, ""]))
    return Hidden(names, points)


def table(names: list[tuple[str, str, str]], points: Points) -> str:
    lines = [f"{','.join(name)},{float(x)!r},{float(y)!r}" for name, (x, y) in zip(names, points, strict=True)]
    return "\n".join(["person,group,frame,x,y", *lines, ""])


@dataclass(frozen=True)
class Seen:
    """What a team gets to see of one submission. Empty where it was refused."""

    result: Mapping[str, Any]  # its result.json
    page: Mapping[str, Any]  # the record of its page
    board: Mapping[str, Any]


class Team:
    """A team, or an organiser, as the server knows them: by a token."""

    def __init__(self, client: TestClient[Any], contest: Contest, home: Path, name: str, role: Role) -> None:
        account, team = f"a-{name}", f"t-{name}"
        bodies: list[e.Body] = [e.AccountMade(account, name, role)]
        if role == "member":
            bodies.append(e.TeamMade(team, name, account))
        contest.act(account, lambda state, now: bodies)
        self._client, self._contest, self._home = client, contest, home
        scopes = ("read", "submit") if role == "member" else ("read", "organise")
        self._headers = {"authorization": f"Bearer {token_of(contest, account, scopes)}"}

    def read(self, address: str) -> str:
        """A page, or a record, as it is sent to them."""
        return str(self._ask("GET", address).text)

    def submit(self, names: list[tuple[str, str, str]], points: Points) -> Seen:
        """Send answers in, have them scored, and look."""
        data = table(names, points).encode()
        begun = self._ask("POST", "/api/uploads", json={"phase": "gaze", "name": "a.csv", "bytes": len(data)})
        where = f"/api/uploads/{begun.json()['upload']}"
        self._ask("PATCH", where, content=data, headers={"upload-offset": "0"})
        submission = self._ask("POST", f"{where}/complete").json()["submission"]
        work_off(self._contest, self._home, "check", "score")
        page = self._ask("GET", f"/api/submissions/{submission}").json()
        if page["state"] != "scored":
            return Seen({}, page, {})
        result = self._ask("GET", f"/api/submissions/{submission}/result").json()
        return Seen(result, page, self._ask("GET", "/api/boards/gaze").json())

    def _ask(self, method: str, address: str, headers: Mapping[str, str] | None = None, **what: Any) -> Any:
        answer = self._client.request(method, address, headers={**self._headers, **(headers or {})}, **what)
        answer.raise_for_status()
        return answer


def work_off(contest: Contest, home: Path, *kinds: str) -> None:
    """Do all jobs of these kinds that wait, as a worker does."""
    desk = Desk(contest, home)
    while job := jobs.lease(contest.engine, "w", kinds, contest.now()):
        desk.settle(job, do(desk.begin(job)))


@dataclass(frozen=True)
class Served:
    """A contest that is served, and what only its organiser knows of it."""

    hidden: Hidden
    contest: Contest
    home: Path
    client: TestClient[Any]

    def team(self, name: str, role: Role = "member") -> Team:
        return Team(self.client, self.contest, self.home, name, role)


@contextmanager
def served(folder: Path, seed: int, more: str = "") -> Iterator[Served]:
    """A contest over a hidden set; `more` are further lines of its phase."""
    hidden = hide(folder / "data", seed)
    (folder / "contest.toml").write_text(RULES.format(more=more))
    place = Place(folder / "contest.toml")
    contest = place.open()
    setup = Setup(place.home, place.spool, requests_per_s=1e6, burst=1_000_000)
    with TestClient(create_app(Site(contest, setup))) as client:
        yield Served(hidden, contest, place.home, client)
    contest.engine.dispose()
