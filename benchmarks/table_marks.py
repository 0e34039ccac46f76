"""How long a referee's mark takes to a second screen: a served match, a page that marks, and two that look on.

What marks is sent as match_link.js sends it, and what looks on reads the same streams as the hall's screen and the
head referee's page do. A message counts as seen when all of it is there.
"""

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec

from benchmarks.server_contest import DAY_MS, serving
from palestra.contest.accounts import tokens as keys
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.match import events as m
from palestra.contest.match.cases import Case, Entrant, Goal, Group
from palestra.contest.match.rules import PRESETS
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import writing
from palestra.text import Words

RULES = """
[contest]
id = "bench"
name = "Benchmark"
zone = "UTC"

[[phase]]
id = "onsite"
title = "On site"
track = "tabletop-manip-v1"
data = "data"
opens = 2020-01-01
closes = 2099-01-01
access = "open"
match = { preset = "seed", draw = "fixed" }
"""
GROUPS, CASES, GOALS, TEAMS = 5, 5, 6, 12  # as many as a contest on site has
PEOPLE: dict[str, e.Role] = {"hugo": "referee", "rolf": "referee", "rita": "referee", "ann": "member"}
IDS: dict[str, Any] = {"match": "m1", "team": "t1"}
PATIENCE_S = 5.0


@dataclass
class Found:
    bare_ms: list[float]
    seen_ms: dict[str, list[float]] = field(default_factory=dict)


def measure(count: int) -> Found:
    """So many marks, one after the other, each waited for on both screens."""
    with tempfile.TemporaryDirectory(prefix="palestra-marks-") as folder, ExitStack() as stack:
        place = Place(_written(Path(folder)), "")
        tokens = _told(place.open())
        address, _ = stack.enter_context(serving(place))
        screens = {
            "the hall's screen": stack.enter_context(_watching(address, "hall=m1")),
            "the head referee's page": stack.enter_context(_watching(address, "bench=m1", tokens["hugo"])),
        }
        page = stack.enter_context(httpx.Client(base_url=address, headers=_bearer(tokens["rolf"])))
        found = Found(_bare(count, 400), {name: [] for name in screens})
        for number in range(count):
            started = time.perf_counter()
            _mark(page, number)
            for name, screen in screens.items():
                found.seen_ms[name].append(1000 * (screen.next_after(started) - started))
        return found


def _written(folder: Path) -> Path:
    (folder / "contest.toml").write_text(RULES, "utf-8")
    return folder / "contest.toml"


def _told(contest: Contest) -> dict[str, str]:
    """A match in which a case runs; the keys of those who are at its table."""
    goals = tuple(Goal(f"g{n}", Words(f"sub-goal {n} holds", f"子目标 {n} 达成")) for n in range(GOALS))
    groups = tuple(
        Group(f"p{g}", Words(f"Group {g}"), tuple(Case(f"p{g}c{c}", Words(f"Do {g}.{c}"), goals) for c in range(CASES)))
        for g in range(GROUPS)
    )
    first, order = {**IDS, "case": "p0c0"}, tuple(group.id for group in groups)
    said: list[tuple[str, Any]] = [
        *(("system", e.AccountMade(name, name, role)) for name, role in PEOPLE.items()),
        *(("system", e.TeamMade(f"t{n}", f"Team {n}", "ann")) for n in range(1, TEAMS + 1)),
        ("system", m.MatchOpened(match="m1", phase="onsite", rules=PRESETS["seed"], groups=groups, head="hugo",
                                 teams=tuple(Entrant(f"t{n}", f"Team {n}") for n in range(1, TEAMS + 1)))),
        *((name, m.RefereeDeclared(match="m1")) for name in ("hugo", "rolf", "rita")),
        ("hugo", m.GroupsDrawn(match="m1", orders={f"t{n}": order for n in range(1, TEAMS + 1)})),
        ("rolf", m.ImageTaken(**IDS, image="sha")),
        ("rolf", m.ImageFrozen(**IDS, image="sha")),
        ("rolf", m.TurnBegun(**IDS, referees=("rolf", "rita"), order=order)),
        ("rolf", m.SceneChecked(**first, things=(), layout="", photo="photo")),
        ("rolf", m.SystemConfirmed(**first)),
        ("rolf", m.InstructionEntered(**first, text="Do 0.0")),
        ("rolf", m.SignalGiven(**first)),
        ("rolf", m.CaseStarted(**first)),
        *(("rita", m.GoalMarked(**first, attempt=1, goal=goal.id, on=True)) for goal in goals),
    ]  # fmt: skip
    with writing(contest.engine) as connection:
        for by, body in said:
            chain.append(connection, [body], by, contest.now())
        made = {
            name: keys.make(connection, "token", name, contest.now(), DAY_MS, ("read", "judge"), "bench")[0]
            for name in ("hugo", "rolf")
        }
    contest.engine.dispose()
    return made


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _mark(page: httpx.Client, number: int) -> None:
    """One switch after the other goes on, then off: with the other referee's marks, each is seen in the hall."""
    body = m.GoalMarked(
        **IDS, case="p0c0", attempt=1, goal=f"g{number % GOALS}", on=number // GOALS % 2 == 0, key=f"page-{number:09}"
    )
    answer = page.post("/api/matches/m1/events", content=msgspec.json.encode(body))
    if not answer.is_success:
        raise RuntimeError(f"the mark was refused: {answer.text}")


# Those who look on


class Screen:
    """An event stream, read by a thread of its own: when each of its messages was there whole."""

    def __init__(self, address: str, topic: str, token: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        self._line = socket.create_connection((host, int(port)), PATIENCE_S)
        self._line.settimeout(None)
        sign = f"Authorization: Bearer {token}\r\n" if token else ""
        asked = f"GET /live?{topic} HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n{sign}\r\n"
        self._line.sendall(asked.encode())
        self._seen: list[float] = []
        self._more = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        while data := self._line.recv(1 << 16):
            *whole, rest = (rest + data).split(b"\n\n")
            told = [time.perf_counter() for message in whole if b"event: " in message]
            with self._more:
                self._seen += told
                self._more.notify_all()

    def next_after(self, started: float) -> float:
        """When the first message after a moment was there."""
        with self._more:
            if not self._more.wait_for(lambda: self._after(started), PATIENCE_S):
                raise RuntimeError("a mark did not reach a second screen")
            return self._after(started)[0]

    def _after(self, started: float) -> list[float]:
        return [at for at in self._seen[-8:] if at >= started]

    def close(self) -> None:
        self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()


@contextmanager
def _watching(address: str, topic: str, token: str = "") -> Iterator[Screen]:
    screen = Screen(address, topic, token)
    try:
        screen.next_after(0.0)  # what the page shows when it is opened
        yield screen
    finally:
        screen.close()


# What the line alone costs


def _bare(count: int, size: int) -> list[float]:
    """Round trips on loopback to somebody who only sends back what came."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_echo, args=(listener,), daemon=True).start()
    took, sent = [], b"x" * size
    with socket.create_connection(listener.getsockname()) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            started = time.perf_counter()
            line.sendall(sent)
            left = size
            while left:
                left -= len(line.recv(left))
            took.append(1000 * (time.perf_counter() - started))
    listener.close()
    return took


def _echo(listener: socket.socket) -> None:
    line, _ = listener.accept()
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with line:
        while data := line.recv(1 << 16):
            line.sendall(data)
