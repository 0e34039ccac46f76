"""A month of a world-wide contest, and its busiest hour: on PostgreSQL, object storage and many worker processes.

python -m benchmarks.month [--teams 5000] [--submissions 200000] [--minutes 60] [--hourly 2000] [--workers 20]

The month's events are written by the log's own code; then what a server does with such a log is timed. The busiest hour
is served live on top of it: submissions come at random moments, are scored by the workers, and everything is counted.
Object storage is moto's server, which speaks S3 and keeps its files in memory.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import numpy as np
from sqlalchemy import text

from benchmarks import server_contest as sc
from benchmarks.soak import descendants, pss_mb
from palestra import registry
from palestra.contest import NOBODY
from palestra.contest.boards.cache import Boards
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.state import UNDER_WAY
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import reading
from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.records import Order
from palestra.remote import Server
from palestra.text import human_bytes
from palestra.web.server import Serve, site_of
from palestra.web.views.board_cache import board_json
from tests import postgres

BUCKET = "contest"
ACCOUNT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
SENDERS = 40  # clients that send at the same time, at most
SETTLE_S = 900.0
T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    teams: int
    submissions: int
    minutes: float
    hourly: int
    workers: int


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.month")
    words.add_argument("--teams", type=int, default=5_000)
    words.add_argument("--submissions", type=int, default=200_000)
    words.add_argument("--minutes", type=float, default=60)
    words.add_argument("--hourly", type=int, default=2_000)
    words.add_argument("--workers", type=int, default=20)
    scale = Scale(**vars(words.parse_args()))
    programs = postgres.installed()
    if programs is None:
        sys.exit("PostgreSQL is not installed. To get it: apt-get install postgresql")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="palestra-month-")))
        cluster = stack.enter_context(postgres.Cluster(programs, {}))
        stack.enter_context(bucket(folder))
        place = Place(sc.new_place(folder).file, cluster.address, f"s3://{BUCKET}/files")
        file = prepare(folder)
        contest = write_month(place, scale)
        use_month(place, contest)
        busiest_hour(place, contest, scale, file)


@contextmanager
def bucket(folder: Path) -> Iterator[None]:
    """A bucket in a server that speaks S3, and the settings by which an organiser names it."""
    port = sc.free_port()
    with sc.process(["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], folder / "s3.log"):
        endpoint = f"http://127.0.0.1:{port}"
        os.environ.update(ACCOUNT | {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"})
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.put(f"{endpoint}/{BUCKET}").raise_for_status()
                break
            except httpx.TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield


def prepare(folder: Path) -> Path:
    """Data for the phase, and a submission to it."""
    track, order = registry.track("near-eye-gaze-v1"), Order("tiny", 0, ("images",))
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    assert track.writes and track.blank
    track.writes(track.blank(track.trials(folder / "data")), folder / "answers.csv")
    return folder / "answers.csv"


def write_month(place: Place, scale: Scale) -> Contest:
    """The events of all teams and submissions, each chained to the one before."""
    contest = place.open()
    events = contest.state.seq + 2 * scale.teams + 4 * scale.submissions
    seconds, _ = timed(lambda: sc.fill(contest, scale.teams, events))
    with reading(contest.engine) as connection:
        size = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
    say("events of the month", f"{events:,} written in {seconds:.0f} s, {events / seconds:,.0f} a second")
    say("database", human_bytes(size))
    return contest


def use_month(place: Place, contest: Contest) -> None:
    """What a server and an auditor do with the whole log."""
    seconds, _ = timed(contest.catch_up)
    say("taking in all events, from nothing", f"{seconds:.1f} s")
    boards = Boards(contest)
    seconds, seen = timed(lambda: boards.seen("gaze", NOBODY))
    say("ranking the leaderboard, from nothing", f"{seconds:.1f} s for {len(seen[1]) if seen else 0:,} teams")
    draws = sc.draws_of(contest, 1)[0]
    sc.write(contest, sc.scored("better", 0, 1.0, draws))
    contest.catch_up()
    seconds, _ = timed(lambda: boards.seen("gaze", NOBODY))
    say("ranking it again after one result", f"{1000 * seconds:.0f} ms")
    site = site_of(Serve(place))
    seconds, body = timed(lambda: board_json(site, "gaze", NOBODY)[1])
    say("writing it as JSON", f"{1000 * seconds:.0f} ms, {human_bytes(len(body))}")
    with reading(contest.engine) as connection:
        seconds, verdict = timed(lambda: chain.verify(connection))
    say("verifying the log", f"{seconds:.1f} s, {'it verifies' if verdict.ok else verdict.faults[:3]}")


def busiest_hour(place: Place, contest: Contest, scale: Scale, file: Path) -> None:
    count = round(scale.hourly * scale.minutes / 60)
    rng = random.Random(0)
    moments = sorted(rng.uniform(0, 60 * scale.minutes) for _ in range(count))
    teams = [rng.randrange(scale.teams) for _ in moments]
    tokens = {team: sc.token_of(contest, f"a{team}") for team in set(teams)}
    before = contest.state.seq
    took, refused, lock = [], Counter[str](), threading.Lock()
    with ExitStack() as stack:
        address, child = stack.enter_context(sc.serving(place))
        words = ["-m", "palestra.cli.app", "contest", "worker", str(place.file), "--capacity", "1"]
        words += ["--database", place.database, "--files", place.files]
        workers = [stack.enter_context(sc.process(words, place.home / f"worker-{i}.log")) for i in range(scale.workers)]

        def send(team: int) -> None:
            began = time.monotonic()
            try:
                with Server(address, tokens[team]) as server:
                    server.upload("gaze", file)
            except PalestraError as error:
                with lock:
                    refused[str(error)[:100]] += 1
            else:
                with lock:
                    took.append(time.monotonic() - began)

        cpu, began = sc.cpu_s(child.pid), time.monotonic()
        with ThreadPoolExecutor(SENDERS) as pool:
            for moment, team in zip(moments, teams, strict=True):
                time.sleep(max(began + moment - time.monotonic(), 0))
                pool.submit(send, team)
        settle(contest)
        used = sc.cpu_s(child.pid) - cpu
        seconds = time.monotonic() - began
        server_mb = pss_mb(child.pid) + sum(map(pss_mb, descendants(child.pid)))
        workers_mb = [pss_mb(one.pid) + sum(map(pss_mb, descendants(one.pid))) for one in workers]
    say("busiest hour", f"{count:,} submissions in {scale.minutes:g} minutes, {scale.workers} workers, settled in "
        f"{seconds / 60:.1f} minutes")  # fmt: skip
    say("refused or lost on the way", str(dict(refused) or 0))
    say("upload, as clients saw it", quantiles(took))
    tell_results(contest, before, took)
    say("server", f"{100 * used / seconds:.0f} % of a core, {server_mb:.0f} MB")
    say("workers", f"{np.mean(workers_mb):.0f} MB each")


def settle(contest: Contest) -> None:
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        contest.catch_up()
        if all(one.stage not in UNDER_WAY for one in contest.state.submissions.values() if one.id.startswith("s")):
            return
        time.sleep(1.0)


def tell_results(contest: Contest, before: int, took: list[float]) -> None:
    """How long each submission waited for its result, by the log's own times; and whether each has one."""
    with reading(contest.engine) as connection:
        events = list(chain.read(connection, after=before))
    made = {one.body.submission: one.at for one in events if isinstance(one.body, e.SubmissionMade)}
    results = [one for one in events if isinstance(one.body, e.ResultMade)]
    waited = [(one.at - made[one.body.submission]) / 1000 for one in results if isinstance(one.body, e.ResultMade)]
    say("from the submission to the result", quantiles(waited))
    counted = f"{len(took):,} confirmed, {len(made):,} in the log, {len(results):,} with a result"
    say("counted", f"{counted}, {len(waited) - len({one.body.submission for one in results})} twice")  # type: ignore[union-attr]


def quantiles(seconds: list[float]) -> str:
    if not seconds:
        return "nothing was measured"
    p50, p99 = np.percentile(seconds, [50, 99])
    return f"median {p50:.2f} s, p99 {p99:.2f} s, longest {max(seconds):.2f} s"


def timed(do: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = do()
    return time.perf_counter() - began, result


def say(what: str, found: str) -> None:
    print(f"   {what:<40}{found}", flush=True)


if __name__ == "__main__":
    main()
