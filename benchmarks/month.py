"""A month of a world-wide contest, and its busiest hour: on PostgreSQL, object storage and many worker processes.

python -m benchmarks.month [--teams 5000] [--submissions 200000] [--minutes 60] [--hourly 2000] [--workers 20]
                           [--machines 2] [--viewers 200] [--members 20]

The month's events are written by the log's own code; then what a server does with such a log is timed. The busiest hour
is served live on top of it: submissions come at random moments, are scored by the workers, people look on, and
everything is counted. Object storage is moto's server, which speaks S3 and keeps its files in memory. With fewer
minutes it is a part of the hour, with as many submissions a minute.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import httpx
from sqlalchemy import func, select, text

from benchmarks import server_contest as sc
from benchmarks.month_hour import Hour, busiest_hour, say
from benchmarks.soak import pss_mb
from palestra import registry
from palestra.contest import NOBODY
from palestra.contest.boards.cache import Boards
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.setup.location import Place
from palestra.contest.storage import snapshots
from palestra.contest.storage.database import reading
from palestra.datasets import make
from palestra.records import Order
from palestra.text import Words, human_bytes
from palestra.web.server import Serve, site_of
from palestra.web.views.board_cache import board_json
from tests import postgres

BUCKET = "contest"
ACCOUNT = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
ACTS = 300  # decisions that are timed one by one
PUTS, PUT_BYTES = 50, 1 << 20
T = TypeVar("T")


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.month")
    words.add_argument("--teams", type=int, default=5_000)
    words.add_argument("--submissions", type=int, default=200_000)
    words.add_argument("--minutes", type=float, default=60)
    words.add_argument("--hourly", type=int, default=2_000)
    words.add_argument("--workers", type=int, default=20, help="processes that score")
    words.add_argument("--machines", type=int, default=2, help="workers that these processes belong to")
    words.add_argument("--viewers", type=int, default=200, help="who are signed out")
    words.add_argument("--members", type=int, default=20, help="who look at the leaderboard while signed in")
    given = words.parse_args()
    hour = Hour(given.teams, given.minutes, given.hourly, given.workers, given.machines, given.viewers, given.members)
    programs = postgres.installed()
    if programs is None:
        sys.exit("PostgreSQL is not installed. To get it: apt-get install postgresql")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="palestra-month-")))
        cluster = stack.enter_context(postgres.Cluster(programs, {}))
        store = stack.enter_context(bucket(folder))
        place = Place(sc.new_place(folder).file, cluster.address, f"s3://{BUCKET}/files")
        file = prepare(folder)
        say("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        contest = write_month(place, given.teams, given.submissions)
        contest = use_month(place, contest)
        busiest_hour(place, contest, hour, file, (cluster.process, store))
        say("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


@contextmanager
def bucket(folder: Path) -> Iterator[int]:
    """A bucket in a server that speaks S3, and the settings by which an organiser names it; the server's process."""
    port = sc.free_port()
    with sc.process(["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], folder / "s3.log") as child:
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
        yield child.pid


def prepare(folder: Path) -> Path:
    """Data for the phase, and a submission to it."""
    track, order = registry.track("near-eye-gaze-v1"), Order("tiny", 0, ("images",))
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    assert track.writes and track.blank
    track.writes(track.blank(track.trials(folder / "data")), folder / "answers.csv")
    return folder / "answers.csv"


def write_month(place: Place, teams: int, submissions: int) -> Contest:
    """The events of all teams and submissions, each chained to the one before; the resampled scores of each team, in
    the object storage. (The answers of the month are not written: one digest stands for all of them.)"""
    contest = place.open()
    seconds, draws = timed(lambda: sc.draws_of(contest, teams))
    say("files in the object storage", f"{teams:,} of 4 kB in {seconds:.0f} s, {teams / seconds:,.0f} a second")
    events = contest.state.seq + 2 * teams + 4 * submissions
    seconds, _ = timed(lambda: sc.fill(contest, teams, events, draws))
    with reading(contest.engine) as connection:
        size = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
    say("events of the month", f"{events:,} written in {seconds:.0f} s, {events / seconds:,.0f} a second")
    say("database", human_bytes(size))
    return contest


def use_month(place: Place, contest: Contest) -> Contest:
    """What a server, a worker and an auditor do with the whole log. The contest comes back as a start finds it."""
    before = pss_mb(os.getpid())
    seconds, _ = timed(contest.catch_up)
    grown = pss_mb(os.getpid()) - before
    say("taking in all events, from nothing", f"{seconds:.1f} s, {grown:,.0f} MB of memory")
    boards = Boards(contest)
    seconds, seen = timed(lambda: boards.seen("gaze", NOBODY))
    say("ranking the leaderboard, from nothing", f"{seconds:.1f} s for {len(seen[1]) if seen else 0:,} teams")
    draws = sc.draws_of(contest, 1)[0]
    sc.write(contest, sc.scored("better", 0, 1.0, draws))
    contest.catch_up()
    seconds, _ = timed(lambda: boards.seen("gaze", NOBODY))
    say("ranking it again after one result", f"{1000 * seconds:.0f} ms")
    with reading(contest.engine) as connection:
        seconds, verdict = timed(lambda: chain.verify(connection))
    say("verifying the log", f"{seconds:.1f} s, {'it verifies' if verdict.ok else verdict.faults[:3]}")
    seconds, _ = timed(contest.close)
    with reading(contest.engine) as connection:
        size = connection.execute(select(func.length(snapshots.c.state))).scalar_one()
    say("keeping a snapshot", f"{seconds:.1f} s, {human_bytes(size)}")
    seconds, site = timed(lambda: site_of(Serve(place)))
    say("opening the contest from the snapshot", f"{seconds:.1f} s")
    board_json(site, "gaze", NOBODY)  # what is loaded once is not the leaderboard's
    site.boards_sent.clear()
    seconds, body = timed(lambda: board_json(site, "gaze", NOBODY)[1])
    say("writing the leaderboard as JSON", f"{1000 * seconds:.0f} ms, {human_bytes(len(body))}")
    write_one_by_one(site.contest)
    return site.contest


def write_one_by_one(contest: Contest) -> None:
    """Decisions, each a commit of its own, by one writer; and files of the size of answers."""
    made = [e.AnnouncementMade(f"n{i}", Words("Hello"), Words("World")) for i in range(ACTS)]
    seconds, _ = timed(lambda: [contest.act("bench", lambda state, at, one=one: [one]) for one in made])  # type: ignore[misc]
    say("decisions, one by one", f"{ACTS / seconds:,.0f} a second")
    pieces = [os.urandom(PUT_BYTES) for _ in range(PUTS)]
    seconds, _ = timed(lambda: [contest.files.put(piece) for piece in pieces])
    say("files of 1 MB into the object storage", f"{PUTS / seconds:,.0f} a second")


def timed(do: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = do()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    main()
