"""The busiest hour of a month, served live: submissions at random moments, people who look, and what each part does.

The load comes from this process and one for the viewers, on the same machine. Who looks is signed out, or a member of
a team, whose leaderboard has its own row marked and is written for that team alone.
"""

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import text

from benchmarks import server_contest as sc
from benchmarks.soak import descendants, pss_mb
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.state import UNDER_WAY
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import reading
from palestra.errors import PalestraError
from palestra.remote import Server

SENDERS = 40  # clients that send at the same time, at most
SETTLE_S = 900.0
START_S = 1500.0  # until each worker has answered once
LOOK_S = 1.0  # between two looks of somebody who opens /health and the leaderboard
TICKS_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Hour:
    """What is asked of the hour."""

    teams: int
    minutes: float
    hourly: int
    workers: int  # processes that score
    machines: int  # that they are spread over: each has one `palestra contest worker`
    viewers: int  # signed out
    members: int  # signed in, each of another team


@dataclass
class Told:
    """What clients saw, in seconds."""

    uploads: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    board: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)  # from a result to the leaderboard that a viewer was sent
    refused: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refuse(self, error: Exception) -> None:
        with self.lock:
            self.refused[str(error)[:100]] += 1


@dataclass(frozen=True)
class Parts:
    """Process ids of what serves."""

    server: int
    workers: list[int]
    database: int
    store: int

    def cpu_s(self) -> dict[str, float]:
        return {
            "server": sc.cpu_s(self.server),
            "workers": sum(map(tree_cpu_s, self.workers)),
            "PostgreSQL": tree_cpu_s(self.database),
            "object storage (moto)": sc.cpu_s(self.store),
        }


def tree_cpu_s(process: int) -> float:
    """Processor time of a process, of all that it started, and of those of them that have ended."""
    spent = 0.0
    for one in (process, *descendants(process)):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            spent += sum(map(int, fields[11:15])) / TICKS_S
    return spent


def busiest_hour(place: Place, contest: Contest, hour: Hour, file: Path, others: tuple[int, int]) -> None:
    """`others`: the processes of PostgreSQL and of the object storage."""
    count = round(hour.hourly * hour.minutes / 60)
    rng, told, stop = random.Random(0), Told(), threading.Event()
    moments = sorted(rng.uniform(0, 60 * hour.minutes) for _ in range(count))
    teams = [rng.randrange(hour.teams) for _ in moments]
    tokens = {team: sc.token_of(contest, f"a{team}") for team in {*teams, *range(hour.members)}}
    with ExitStack() as stack:
        began = time.monotonic()
        address, child = stack.enter_context(sc.serving(place))
        say("starting the server", f"{time.monotonic() - began:.1f} s")
        began = time.monotonic()
        each = -(-hour.workers // hour.machines)
        workers = [stack.enter_context(_worker(place, i, each)) for i in range(hour.machines)]
        until_working(contest, hour.machines)
        say("starting all workers at once", f"{time.monotonic() - began:.1f} s")
        parts = Parts(child.pid, [one.pid for one in workers], *others)
        stack.enter_context(_watching(address, hour.viewers, place.home))
        lookers = [threading.Thread(target=_look, args=(address, told, stop)),
                   threading.Thread(target=_follow, args=(address, contest, told, stop))]  # fmt: skip
        members = [tokens[team] for team in range(hour.members)]
        lookers += [threading.Thread(target=_stay, args=(address, token, told, stop)) for token in members]
        for one in lookers:
            one.start()
        before, cpu, began = contest.state.seq, parts.cpu_s(), time.monotonic()
        with ThreadPoolExecutor(SENDERS) as pool:
            for moment, team in zip(moments, teams, strict=True):
                time.sleep(max(began + moment - time.monotonic(), 0))
                pool.submit(_send, address, tokens[team], file, told)
        settle(contest)
        seconds = time.monotonic() - began
        used = {name: spent - cpu[name] for name, spent in parts.cpu_s().items()}
        server_mb, workers_mb = pss_mb(child.pid), [_all_mb(one) for one in parts.workers]
        stop.set()
        for one in lookers:
            one.join()
    say("busiest hour", f"{count:,} submissions in {hour.minutes:g} minutes ({hour.hourly:,} an hour), {hour.workers} "
        f"processes of {hour.machines} workers, settled in {seconds / 60:.1f} minutes")  # fmt: skip
    say("people who looked", f"{hour.viewers:,} signed out, {hour.members} members of as many teams")
    _tell_latencies(contest, before, told)
    for name, spent in used.items():
        a_submission = f"{spent / count:.2f} s a submission" if count else ""
        say(f"processor time: {name}", f"{100 * spent / seconds:.0f} % of a core, {a_submission}")
    say("memory", f"server {server_mb:,.0f} MB, each worker with its processes {np.mean(workers_mb):,.0f} MB, together "
        f"{server_mb + sum(workers_mb):,.0f} MB")  # fmt: skip


def _worker(place: Place, number: int, capacity: int):  # type: ignore[no-untyped-def]
    words = ["-m", "palestra.cli.app", "contest", "worker", str(place.file), "--capacity", str(capacity)]
    words += ["--database", place.database, "--files", place.files]
    return sc.process(words, place.home / f"worker-{number}.log")


def until_working(contest: Contest, count: int) -> None:
    """Workers tell the queue that they are there once they have taken in the log."""
    deadline = time.monotonic() + START_S
    query = text("SELECT count(*) FROM workers")
    while time.monotonic() < deadline:
        with reading(contest.engine) as connection:
            if int(connection.execute(query).scalar_one()) >= count:
                return
        time.sleep(0.2)
    raise RuntimeError("the workers did not come up")


@contextmanager
def _watching(address: str, viewers: int, folder: Path) -> Iterator[None]:
    """Viewers who are signed out, in a process of their own."""
    if not viewers:
        yield
        return
    port, out = address.rsplit(":", 1)[1], folder / "seen.json"
    words = ["-m", "benchmarks.server_load", "watch", "127.0.0.1", port, "/live?board=gaze", str(viewers), "86400"]
    with sc.process([*words, str(out)], folder / "watch.log") as child:
        while not Path(f"{out}.ready").exists():
            if child.poll() is not None:
                raise RuntimeError((folder / "watch.log").read_text())
            time.sleep(0.1)
        yield
        if child.poll() is not None:
            raise RuntimeError((folder / "watch.log").read_text())


def _send(address: str, token: str, file: Path, told: Told) -> None:
    began = time.monotonic()
    try:
        with Server(address, token) as server:
            server.upload("gaze", file)
    except PalestraError as error:
        told.refuse(error)
    else:
        with told.lock:
            told.uploads.append(time.monotonic() - began)


def _look(address: str, told: Told, stop: threading.Event) -> None:
    """Somebody who is not signed in opens the leaderboard again and again; a machine asks for /health."""
    with httpx.Client(base_url=address, timeout=120) as client:
        while not stop.wait(LOOK_S):
            for path, took in (("/health", told.health), ("/boards/gaze", told.board)):
                _timed(lambda path=path: client.get(path).raise_for_status(), took, told)  # type: ignore[misc]


def _timed(do: Callable[[], object], took: list[float], told: Told) -> None:
    began = time.monotonic()
    try:
        do()
    except httpx.HTTPError as error:
        told.refuse(error)
    else:
        took.append(time.monotonic() - began)


def _stay(address: str, token: str, told: Told, stop: threading.Event) -> None:
    """A member of a team with the leaderboard open."""
    for _ in _messages(address, {"Authorization": f"Bearer {token}"}, told, stop):
        pass


def _follow(address: str, contest: Contest, told: Told, stop: threading.Event) -> None:
    """How old the newest result is when a viewer is sent a leaderboard with it, by the machine's clock and the log's
    times. A message's id begins with the number of the last event that it shows."""
    shown = contest.state.seq
    with contest.engine.connect() as connection:
        query = text("SELECT max(at) FROM events WHERE seq > :shown AND seq <= :seq AND body LIKE '%result.made%'")
        for at, seq in _messages(address, {}, told, stop):
            made = connection.execute(query, {"shown": shown, "seq": seq}).scalar()
            connection.rollback()
            shown = max(shown, seq)
            if made is not None:
                told.behind.append(at - made / 1000)


def _messages(address: str, headers: dict[str, str], told: Told, stop: threading.Event) -> Iterator[tuple[float, int]]:
    """When each message of the leaderboard's stream was there, and how far into the log it goes."""
    sent = {"Accept": "text/event-stream", **headers}
    try:
        with httpx.stream("GET", f"{address}/live?board=gaze", headers=sent, timeout=120) as stream:
            stream.raise_for_status()
            seq = 0
            for line in stream.iter_lines():
                if stop.is_set():
                    return
                if line.startswith("id: "):
                    seq = int(line[4:].split("-")[0])
                elif not line and seq:
                    yield time.time(), seq
                    seq = 0
    except httpx.HTTPError as error:
        told.refuse(error)


def _all_mb(process: int) -> float:
    return pss_mb(process) + sum(map(pss_mb, descendants(process)))


def settle(contest: Contest) -> None:
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        contest.catch_up()
        if all(one.stage not in UNDER_WAY for one in contest.state.submissions.values()):
            return
        time.sleep(1.0)
    say("not all were settled", f"after {SETTLE_S:g} s")


def _tell_latencies(contest: Contest, before: int, told: Told) -> None:
    """How long each submission waited for its result, by the log's own times; and whether each has one."""
    with reading(contest.engine) as connection:
        events = list(chain.read(connection, after=before))
    made = {one.body.submission: one.at for one in events if isinstance(one.body, e.SubmissionMade)}
    results = [(one.body.submission, one.at) for one in events if isinstance(one.body, e.ResultMade)]
    say("refused or lost on the way", str(dict(told.refused) or 0))
    say("upload, as clients saw it", quantiles(told.uploads))
    say("from the submission to the result", quantiles([(at - made[name]) / 1000 for name, at in results]))
    say("from a result to a viewer's leaderboard", quantiles(told.behind))
    say("/health", quantiles(told.health))
    say("opening the page of the leaderboard", quantiles(told.board))
    counted = f"{len(told.uploads):,} confirmed, {len(made):,} in the log, {len(results):,} with a result"
    say("counted", f"{counted}, {len(results) - len(dict(results))} twice")


def quantiles(seconds: list[float]) -> str:
    if not seconds:
        return "nothing was measured"
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"median {p50:.2f} s, p99 {p99:.2f} s, longest {max(seconds):.2f} s ({len(seconds):,})"


def say(what: str, found: str) -> None:
    print(f"   {what:<42}{found}", flush=True)
