"""A contest that is really served, and browsers that look at it."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from palestra import registry
from palestra.contest.accounts import passwords
from palestra.contest.contest import Contest
from palestra.contest.decisions import teams
from palestra.contest.log.clock import new_id
from palestra.contest.rules.model import Role
from palestra.contest.setup.location import Place
from palestra.contest.workers.baselines import write_bundle
from tests.databases import new_database

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
START_S, STOP_S = 120, 60  # a busy machine takes its time
WAIT_MS = 60_000  # for what workers do, on a busy machine
ORGANISER, PASSWORD = "olga", "a long password"
CAPTAINS = ("ann", "ben", "cleo", "dora", "eva", "finn")
SIZES: dict[str, ViewportSize] = {"phone": {"width": 390, "height": 844}, "laptop": {"width": 1366, "height": 768}}
LICENCE = "Use it for this contest alone."

# What every page must have. A violation is one line in words.
LOOK = r"""() => {
  const faults = [];
  const all = (what) => [...document.querySelectorAll(what)];
  const told = (one) => one.outerHTML.slice(0, 80);
  const named = (one) => one.ariaLabel || one.getAttribute("aria-labelledby") || one.title || one.alt;
  if (!/^(en|zh-CN)$/.test(document.documentElement.lang)) faults.push(`lang is ${document.documentElement.lang}`);
  if (!document.title.trim()) faults.push("no title");
  const headings = all("h1").filter((one) => one.textContent.trim());
  if (headings.length !== 1) faults.push(`${headings.length} headings of the first order`);
  const ids = all("[id]").map((one) => one.id);
  for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i))) faults.push(`the id ${id} is there twice`);
  for (const one of all("input:not([type=hidden]), select, textarea"))
    if (!one.labels?.length && !named(one)) faults.push(`no label: ${told(one)}`);
  for (const one of all("button, a[href], summary"))
    if (!one.hidden && !one.textContent.trim() && !named(one)) faults.push(`nothing says what it does: ${told(one)}`);
  for (const one of all("svg:not([aria-hidden]), img, iframe, progress"))
    if (!named(one)) faults.push(`no words for those who do not see it: ${told(one)}`);
  for (const name of ["aria-labelledby", "aria-describedby", "for"])
    for (const one of all(`[${name}]`))
      for (const id of one.getAttribute(name).split(" "))
        if (!document.getElementById(id)) faults.push(`names ${id}, which is not there: ${told(one)}`);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) faults.push("it scrolls sideways");
  return faults;
}"""


def require_browser() -> None:
    if not CHROMIUM.exists():
        pytest.skip("needs Debian's Chromium: apt-get install chromium")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """A contest's server with a worker, as `palestra contest serve` starts it. It can be stopped and started again."""

    def __init__(self, file: Path, database: str = "") -> None:
        self.file, self.database, self.port = file, database, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.said: list[str] = []
        self._server: subprocess.Popen[str] | None = None

    def start(self, workers: int = 1) -> None:
        """Start it; it is there once it says so."""
        words = [sys.executable, "-m", "palestra.cli.app", "contest", "serve", str(self.file), "--port", str(self.port)]
        words += ["--workers", str(workers), *(["--database", self.database] if self.database else [])]
        self._server = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "400"}
        )
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(self._server, lines), daemon=True).start()
        while "Open http" not in lines.get(timeout=START_S):
            pass
        transport = httpx.HTTPTransport(retries=20)  # it says so just before it listens
        with httpx.Client(transport=transport, timeout=START_S) as client:
            client.get(f"{self.address}/health").raise_for_status()

    def _listen(self, server: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
        for line in server.stderr or ():
            self.said.append(line)
            lines.put(line)

    def stop(self, how: int = signal.SIGTERM) -> None:
        """SIGTERM ends it in good order; SIGKILL does not ask."""
        if self._server:
            self._server.send_signal(how)
            self._server.wait(STOP_S)
            self._server = None

    @property
    def first_link(self) -> str:
        found = re.search(rf"{re.escape(self.address)}/link/\S+", " ".join(self.said))
        assert found, self.said
        return found[0]


class Window:
    """A browser window of one person. Whatever its console complains of is kept."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context, self.address = context, address
        self.complaints: list[str] = []
        self.page = self._watched(context.new_page())

    def _watched(self, page: Page) -> Page:
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.complaints.append(f"{said.text} {said.location.get('url', '')}")

    def tab(self, path: str) -> Page:
        """Another tab of the same person."""
        page = self._watched(self.context.new_page())
        page.goto(self.address + path)
        return page

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def sign_in(self, name: str, password: str = PASSWORD) -> None:
        self.open("/sign-in")
        self.page.get_by_label("Name", exact=True).fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("main").get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("link", name=name)).to_be_visible()

    def register(self, name: str) -> None:
        self.open("/register")
        self.page.get_by_label("Name", exact=True).fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Make an account").click()
        expect(self.page.get_by_role("link", name=name)).to_be_visible()

    def make_team(self, name: str) -> None:
        self.open("/team")
        self.page.get_by_role("region", name="Make a team").get_by_label("Name of the team").fill(name)
        self.page.get_by_role("button", name="Make a team").click()
        expect(self.page.get_by_role("heading", level=1, name=name)).to_be_visible()

    def submit(self, phase: str, file: Path) -> Page:
        """Choose a file and send it off; the page of the submission."""
        self.open(f"/phases/{phase}")
        self.page.get_by_label("Choose a file").set_input_files(file)
        self.page.get_by_role("button", name="Upload and submit").click()
        self.page.wait_for_url("**/submissions/*")
        return self.page

    def confirm(self, label: str, reason: str = "") -> None:
        """Open what a dangerous button does, give a reason, and press it."""
        box = self.page.locator("details.confirm", has=self.page.locator("summary", has_text=label)).first
        box.locator("summary").click()
        if reason:
            box.get_by_label("Reason").fill(reason)
        box.get_by_role("button", name=label).click()

    def faults(self) -> list[str]:
        found: list[str] = self.page.evaluate(LOOK)
        return [f"{self.page.url}: {one}" for one in found]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    require_browser()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def write_head(contest: str, name_en: str, name_zh: str) -> str:
    """What a contest's file begins with."""
    return f"""[contest]
id = "{contest}"
name = {{ en = "{name_en}", zh = "{name_zh}" }}
zone = "Asia/Shanghai"
"""


def open_between(first_day: int, last_day: int) -> str:
    """The times of a phase, in days from now."""
    now = datetime.now(UTC).replace(microsecond=0)
    opens, closes = (now + timedelta(days=days) for days in (first_day, last_day))
    return f"opens = {opens.isoformat()}\ncloses = {closes.isoformat()}\n"


def write_contest(folder: Path, data: Path) -> Path:
    """A contest whose heat promotes one team to the second phase. The live phase beside them has no data yet."""
    (folder / "near-eye-gaze-v1").symlink_to(data)
    times, later = open_between(-1, 29), open_between(29, 59)
    head = write_head("browsed", "Eyes and browsers", "眼动与浏览器")
    text = f"""{head}
[[phase]]
id = "first"
title = {{ en = "Preliminary", zh = "初赛" }}
track = "near-eye-gaze-v1"
data = "near-eye-gaze-v1"
{times}quota = "100 per day"
licence = {{ en = "{LICENCE}", zh = "仅限本次比赛使用。" }}

[[phase]]
id = "heat"
title = {{ en = "Heat", zh = "预选" }}
track = "near-eye-gaze-v1"
data = "near-eye-gaze-v1"
{times}quota = "100 per day"
promotion = {{ to = "second", top = 1 }}

[[phase]]
id = "second"
title = {{ en = "Final", zh = "决赛" }}
track = "near-eye-gaze-v1"
data = "near-eye-gaze-v1"
entry = "promoted"
{later}

[[phase]]
id = "stage"
title = {{ en = "Live on stage", zh = "现场" }}
track = "near-eye-live-v1"
data = "near-eye-live-v1"
{times}pace = "fast"
quota = "100 per day"
"""
    file = folder / "contest.toml"
    file.write_text(text, "utf-8")
    return file


def write_answers(data: Path, file: Path, shift: float = 0.0) -> Path:
    """A file that is taken: the template, its answers moved a little, so that files differ in score."""
    import polars as pl

    track = registry.track("near-eye-gaze-v1")
    assert track.blank and track.writes
    trials = track.trials(data)
    blank = track.blank(trials)
    numbers = [name for name, kind in blank.schema.items() if kind.is_float()]
    track.writes(blank.with_columns(pl.col(numbers[0]) + shift), file)
    return file


def write_live_bundle(file: Path) -> Path:
    solution = next(one for one in registry.solutions("near-eye-live-v1") if one.plays)
    write_bundle(str(solution.plays), file)
    return file


AnyHall = TypeVar("AnyHall", bound="Hall")


@dataclass
class Hall:
    """A contest that is served, browsers that look at it, and files to hand in."""

    served: Served
    browser: Browser
    data: Path
    folder: Path
    windows: list[Window] = field(default_factory=list)

    @property
    def place(self) -> Place:
        return Place(self.served.file, self.served.database)

    def window(self, name: str = "", **how: object) -> Window:
        """A window of its own, of somebody who is signed in; of a stranger where no name is given."""
        options = {"locale": "en-GB", "viewport": SIZES["laptop"], **how}
        window = Window(self.browser.new_context(**options), self.served.address)  # type: ignore[arg-type]
        self.windows.append(window)
        if name:
            window.sign_in(name)
        return window

    def forgive(self) -> None:
        """Browsers complain of a server that is not there, and of every answer that is an error."""
        for window in self.windows:
            window.complaints.clear()

    def answers(self, name: str, shift: float) -> Path:
        return write_answers(self.data, self.folder / name, shift)

    def close_windows(self) -> list[str]:
        """What their consoles have complained of; a breach of the content policy shows there."""
        windows, self.windows = self.windows, []
        for window in windows:
            window.context.close()
        return [said for window in windows for said in window.complaints]


def make_account(contest: Contest, name: str, role: Role = "member") -> str:
    """Somebody who can sign in."""
    account, secret = new_id("a"), passwords.hashed(PASSWORD, name)
    contest.act(
        account,
        lambda state, now: teams.make_account(state, account, name, role),
        lambda connection, _: passwords.set_password(connection, account, secret, 0),
    )
    return account


def make_captain(contest: Contest, name: str) -> None:
    """Somebody with a team that is called like them."""
    account, team = make_account(contest, name), new_id("t")
    contest.act(account, lambda state, now: teams.make_team(state, now, team, f"Team {name}", account, declared=True))


@contextlib.contextmanager
def opened(hall: AnyHall, captains: Iterable[str], people: Mapping[str, Role], workers: int) -> Iterator[AnyHall]:
    """The hall with these captains and other people, while its server runs."""
    contest = hall.place.open()
    for name in captains:
        make_captain(contest, name)
    for name, role in people.items():
        make_account(contest, name, role)
    contest.engine.dispose()
    hall.served.start(workers)
    try:
        yield hall
    finally:
        hall.close_windows()
        hall.served.stop()


@contextlib.contextmanager
def database_in(folder: Path, sort: str) -> Iterator[str]:
    """The address of a database for a contest in this folder; none where it is to lie in the folder itself."""
    if sort == "sqlite":
        yield ""
        return
    with new_database(sort, folder) as address:
        yield address


def hall_in(folder: Path, browser: Browser, data: Path, sort: str) -> Iterator[Hall]:
    with database_in(folder, sort) as database:
        hall = Hall(Served(write_contest(folder, data), database), browser, data, folder)
        with opened(hall, CAPTAINS, {}, workers=1):
            become_organiser(hall)
            yield hall


def become_organiser(hall: Hall) -> None:
    window = hall.window()
    page = window.page
    page.goto(hall.served.first_link)
    expect(page.get_by_text("You will be: Organiser")).to_be_visible()
    page.get_by_label("Name", exact=True).fill(ORGANISER)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Save and sign in").click()
    expect(page.get_by_role("link", name="Organiser's desk")).to_be_visible()
    window.context.close()
