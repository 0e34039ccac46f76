"""A small contest that is served: an organiser, two teams with scores, and clients signed in as each of them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from argon2 import PasswordHasher
from litestar import Litestar
from litestar.testing import TestClient

from palestra.contest.accounts import passwords, tokens
from palestra.contest.contest import Contest
from palestra.contest.decisions.access import licence_digest
from palestra.contest.decisions.teams import digest_of
from palestra.contest.log import events as e
from palestra.contest.rules.model import Award, Promotion, Rules, Verification
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.storage.database import connect, writing
from palestra.contest.storage.file_store import Files
from palestra.records import Estimate
from palestra.text import Words
from palestra.web.app import house, routed
from palestra.web.auth.middleware import BROWSER, SESSION
from palestra.web.site.setup import Setup
from palestra.web.site.site import Site
from tests.contest.conftest import Clock
from tests.contest.story import DAY, START, a_phase, numbers, some_rules
from tests.databases import Databases, Made, copy_of, on_sorts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROLES = {"organiser": "olga", "captain": "ann", "member": "bob", "rival": "cleo", "viewer": "vera", "referee": "rolf"}
PEOPLE: dict[str, e.Role] = {
    "olga": "organiser", "ann": "member", "bob": "member", "cleo": "member", "dan": "member", "vera": "viewer",
    "rolf": "referee",
}  # fmt: skip
OUTSIDERS = {"captain": 403, "rival": 403, "viewer": 403, "referee": 403, "nobody": 401}  # at the desk
PLENTY = 1_000_000  # requests, so that a clock that stands still stops nobody


def contest_rules() -> Rules:
    """A phase that promotes one team, the phase that it goes on to, and a live one."""
    words = Words("I accept.", "我接受。")
    first = a_phase(
        title=Words("First", "初赛"), promotion=Promotion("second", 1), verification=Verification(5), licence=words
    )
    second = a_phase("second", entry="promoted", opens=START + 12 * DAY, closes=START + 20 * DAY, licence=words)
    stage = a_phase("stage", track="near-eye-live-v1")
    awards = (Award("first", Words("First prize", "一等奖"), 1), Award("first", Words("Second prize", "二等奖"), 1))
    return some_rules(first, second, stage, awards=awards, declaration=Words("We are alone.", "我们独立参赛。"))


# Routes that no world uses now. To put them together takes longer than most tests, and they keep nothing of a contest.
FREE: list[Litestar] = []


class World:
    """A contest with its server. `now` moves on by a second with each event, so that none is of the same moment."""

    def __init__(self, made: Made) -> None:
        self.clock, folder = Clock(START), made.folder
        self.contest = Contest(connect(made.address), Files.open(str(folder / "files")), self.clock)
        self.clock.at = max(START, self.contest.state.at)
        setup = Setup(folder, folder / "spool", requests_per_s=PLENTY, burst=PLENTY)
        self.site = Site(self.contest, setup)
        self.app = house(FREE.pop() if FREE else routed(), self.site)

    def close(self) -> None:
        """It is over, and the next world takes its routes."""
        self.contest.engine.dispose()
        FREE.append(self.app)

    @property
    def state(self) -> Any:
        return self.contest.state

    def add(self, *bodies: e.Body, by: str = "olga") -> None:
        self.clock.advance(1000)
        self.contest.act(by, lambda state, now: bodies)

    def put(self, text: str) -> str:
        return self.contest.files.put(text.encode())

    def session(self, account: str) -> str:
        """A session of somebody who has signed in."""
        with writing(self.contest.engine) as connection:
            return tokens.start_session(connection, account, self.clock())[0]

    def team(self, team: str, captain: str, *members: str) -> None:
        self.add(e.TeamMade(team, f"Team <{team}>", captain, "d" * 64), by=captain)
        for member in members:
            self.add(e.MemberInvited(team, digest_of(member)), by=captain)
            self.add(e.MemberJoined(team, member, digest_of(member)), by=member)

    def submit(self, name: str, team: str, phase: str = "first", file: str = "answers") -> str:
        by = self.state.teams[team].captain
        self.add(e.SubmissionMade(name, team, phase, self.put(file), f"{name}.csv", len(file)), by=by)
        return name

    def score(self, name: str, value: float, rescoring: str = "") -> None:
        """A result with resamples and a report, all of them in the file store."""
        draws = (value + np.random.default_rng(7).normal(0, 0.2, 50)).astype(np.float32).tobytes()
        made = e.ResultMade(
            name, 1, {**numbers(value), "misses": Estimate(0.0)}, self.put("{}"), self.contest.files.put(draws),
            report=self.put("<!doctype html><p>a report"), rescoring=rescoring,
        )  # fmt: skip
        self.add(made, by="worker:w")

    def scored(self, name: str, team: str, value: float, phase: str = "first") -> str:
        self.submit(name, team, phase)
        self.add(e.SubmissionAccepted(name), by="worker:w")
        self.score(name, value)
        return name

    def tell(self) -> "World":
        """Some days of a contest, in which most things happen once."""
        self.add(e.ContestOpened(encode_rules(contest_rules()), "tests"))
        self.add(*(e.AccountMade(name, name, role, f"{name}@example.org") for name, role in PEOPLE.items()))
        self.team("t1", "ann", "bob")
        self.team("t2", "cleo")
        accepted = licence_digest(self.state.phase("first"))
        self.add(e.AccessRequested("t1", "first", accepted), e.AccessGranted("t1", "first"), by="ann")
        self.add(e.AccessRequested("t2", "first", accepted), by="cleo")
        self.scored("s1", "t1", 2.0)
        self.scored("s2", "t2", 3.0)
        self.scored("s3", "t1", 1.5)
        self.submit("s4", "t2")
        trace = self.put("Traceback: <b>it</b> broke")
        self.add(e.AttemptFailed("s4", 1, "platform", "our fault", trace, last=True), by="worker:w")
        self.add(e.CopyFound("s3", "s2", 0.97), by="worker:w")
        self.add(e.AnnouncementMade("n1", Words("Hello", "你好"), Words("All is well.", "一切顺利。")))
        self.add(e.SubmissionMade("live1", "t1", "stage", self.put("bundle"), "live1.zip", 6), by="ann")
        self.add(e.SubmissionAccepted("live1"), by="worker:w")
        return self

    def close_first(self) -> None:
        """To after the first phase, with its team promoted, and its bundle handed in and run again."""
        self.clock.at = START + 11 * DAY
        self.add(e.PromotionConfirmed("first", "second", (e.Promoted("t1", 1),), (), "by rank"))
        self.add(e.BundleMade("b1", "t1", "first", self.put("code"), "t1_Test.zip", 4), by="ann")
        report = self.put("<!doctype html><p>all the same")
        self.add(e.VerificationMade("b1", "s3", "reproduced", "All the same.", report, 10, 0, 0.0), by="worker:w")


class As:
    """Somebody's browser: its session, and the sign that its forms carry. Who stayed away for long signs in again."""

    def __init__(self, world: World, client: TestClient[Any], account: str) -> None:
        self.world, self.client, self.account = world, client, account
        self.session, self._since = "", 0

    @property
    def csrf(self) -> str:
        self._sign_in()
        return hashlib.sha256(f"csrf:{self.session or 'browser'}".encode()).hexdigest()

    def _sign_in(self) -> None:
        if self.account and self.world.clock() > self._since + DAY:
            self.session, self._since = self.world.session(self.account), self.world.clock()

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        self._sign_in()
        cookie = f"{SESSION}={self.session}" if self.session else f"{BROWSER}=browser"
        return {"cookie": "; ".join(filter(None, [cookie, more.pop("cookie", "")])), **more}

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self._alone(self.client.get(path, headers=self._headers(headers), follow_redirects=False))

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> httpx.Response:
        form = {"csrf": self.csrf, **fields}
        return self._alone(self.client.post(path, data=form, headers=self._headers(headers), follow_redirects=False))

    def do(self, action: str, **fields: Any) -> httpx.Response:
        """Send the form of an action."""
        return self.post(f"/do/{action}", fields)

    def done(self, action: str, **fields: Any) -> str:
        """Send a form and say where it leads; it must have been done."""
        answer = self.do(action, **{"next": "/desk", **fields})
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    def call(self, action: str, sign: str | None = None, **fields: Any) -> httpx.Response:
        """Do an action by the API, as a script in a page does."""
        headers = self._headers({"x-csrf-token": self.csrf if sign is None else sign})
        return self._alone(self.client.post(f"/api/actions/{action}", json=fields, headers=headers))

    def _alone(self, response: httpx.Response) -> httpx.Response:
        self.client.cookies.clear()  # several people share this client
        return response


# What is written, locked or told of between processes may differ between databases, and what letters they take. These
# tests run on both with `make test`.
ON_BOTH = [f"tests.web.{name}" for name in (
    "actions.test_desk", "api.test_transfers", "stream.test_feed", "test_topics", "test_log_tail", "test_hostile",
    "match.test_api",
)]  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_sorts(metafunc, ON_BOTH, scope="module")


@pytest.fixture(autouse=True)
def _quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a password takes to check is tested with passwords; here it would only take that long."""
    monkeypatch.setattr(passwords, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def world(databases: Databases, database_sort: str, tmp_path: Path) -> Iterator[World]:
    """A copy of a contest that was told once."""
    told = databases.made(database_sort, "told", lambda blank: World(blank).tell().close())
    with copy_of(told, tmp_path / "contest") as made:
        world = World(made)
        yield world
        world.close()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    from tests.web.browsing import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture
def calm(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test in a hall no console may have complained."""
    from tests.web.browsing import Hall, require_browser

    require_browser()
    yield
    halls = [given for given in request.node.funcargs.values() if isinstance(given, Hall)]
    assert "\n".join(said for hall in halls for said in hall.close_windows()) == ""


@pytest.fixture
def client(world: World) -> Iterator[TestClient[Any]]:
    with TestClient(world.app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def people(world: World, client: TestClient[Any]) -> dict[str, As]:
    """Everybody who may come, by their role; "nobody" is not signed in."""
    signed_in = {role: As(world, client, account) for role, account in ROLES.items()}
    return {**signed_in, "nobody": As(world, client, "")}


@pytest.fixture
def organiser(people: dict[str, As]) -> As:
    return people["organiser"]
