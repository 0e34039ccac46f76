"""Contests to measure, and servers of them in processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import numpy as np

from palestra.contest.accounts import passwords, tokens
from palestra.contest.contest import LOG_CHANNEL, Contest, notify
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.events import Body
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import writing
from palestra.records import Estimate

METRICS = ("pe_deg", "p50_deg", "p95_deg", "mean_deg")
DAY_MS = 86_400_000
RULES = """
[contest]
id = "bench"
name = "Benchmark"
zone = "UTC"

[[phase]]
id = "gaze"
title = "Gaze"
track = "near-eye-gaze-v1"
data = "data"
opens = 2020-01-01
closes = 2099-01-01
quota = "900000 per phase"
access = "open"
"""


def new_place(folder: Path) -> Place:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contest.toml").write_text(RULES)
    return Place(folder / "contest.toml", os.environ.get("PALESTRA_BENCH_DATABASE", ""))


def draws_of(contest: Contest, count: int) -> list[str]:
    """Resamples of a ranking metric, of so many imagined teams."""
    rng = np.random.default_rng(0)
    means = 3 + 0.02 * np.arange(count)
    return [contest.files.put(rng.normal(mean, 0.2, 1000).astype(np.float32).tobytes()) for mean in means]


def people(count: int) -> Iterator[Body]:
    for i in range(count):
        yield e.AccountMade(f"a{i}", f"person{i}", "member")
        yield e.TeamMade(f"t{i}", f"Team {i}", f"a{i}")


def scored(name: str, team: int, value: float, draws: str) -> list[Body]:
    """A submission from its arrival to its result."""
    metrics = {metric: Estimate(value, value - 0.4, value + 0.4) for metric in METRICS}
    return [
        e.SubmissionMade(name, f"t{team}", "gaze", "0" * 64, "answers.csv", 1_000_000),
        e.SubmissionAccepted(name),
        e.AttemptStarted(name, 1, "worker"),
        e.ResultMade(name, 1, metrics, "1" * 64, draws, report="2" * 64),
    ]


def fill(contest: Contest, teams: int, events: int, draws: list[str] | None = None) -> None:
    """A log of so many events, appended as events are, a few thousand to a transaction; `draws`, where they are kept
    already."""
    rng, draws = np.random.default_rng(1), draws or draws_of(contest, teams)
    bodies: list[Body] = list(people(teams))
    number, written = 0, contest.state.seq
    while written < events:
        while len(bodies) < 20_000 and written + len(bodies) < events:
            team = number % teams
            bodies += scored(f"s{number:07d}", team, float(rng.normal(3 + 0.02 * team, 0.1)), draws[team])
            number += 1
        with writing(contest.engine) as connection:
            chain.append(connection, bodies, "bench", contest.now())
        written, bodies = written + len(bodies), []


def write(contest: Contest, bodies: list[Body]) -> None:
    """Append events as a worker elsewhere would."""
    with writing(contest.engine) as connection:
        chain.append(connection, bodies, "bench", contest.now())
        notify(connection, LOG_CHANNEL)


def token_of(contest: Contest, account: str, scopes: tuple[str, ...] = ("read", "submit")) -> str:
    with writing(contest.engine) as connection:
        return tokens.make(connection, "token", account, contest.now(), DAY_MS, scopes, "bench")[0]


def set_password(contest: Contest, account: str, name: str) -> None:
    secret = passwords.hashed("a long enough password", name)
    with writing(contest.engine) as connection:
        passwords.set_password(connection, account, secret, contest.now())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def process(words: list[str], log_file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its group, ended whatever happens."""
    with log_file.open("wb") as out:
        child = subprocess.Popen([sys.executable, *words], stdout=out, stderr=out, start_new_session=True)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@contextmanager
def serving(place: Place, workers: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server of a contest at an address."""
    port = free_port()
    words = [
        "-m",
        "palestra.cli.app",
        "contest",
        "serve",
        str(place.file),
        "--port",
        str(port),
        "--workers",
        str(workers),
    ]
    if place.database:
        words += ["--database", place.database]
    if place.files:
        words += ["--files", place.files]
    with process(words, place.home / "serve.log") as child:
        address = f"http://127.0.0.1:{port}"
        until_up(address, child)
        yield address, child


def until_up(address: str, child: subprocess.Popen[bytes], limit_s: float = 120.0) -> None:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise RuntimeError(f"the server ended with {child.returncode}")
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/health", timeout=5).is_success:
                return
        time.sleep(0.02)
    raise RuntimeError("the server did not come up")


def cpu_s(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    """The most memory that a process has had."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000
