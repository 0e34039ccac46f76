"""What a contest holds on 1, 10 and 1,000 machines, and what stops it first: measured costs in a small simulation.

python -m benchmarks.growth [--quick] [--json]      (after `python -m tests.postgres`: with PostgreSQL as well)

Each cost is measured here and now, on this machine, and printed; what cannot be measured here is an assumption, and
printed as one. Then the hour before a deadline is played: the largest contest is looked for in which nothing is busy
for more than 80 % of the time, and its submissions go through the queues one by one.
"""

import argparse
import heapq
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import Engine, event

from benchmarks import server_contest as sc
from palestra import registry
from palestra.contest.contest import Contest
from palestra.contest.decisions.submissions import Sent, receive
from palestra.contest.log import events as e
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import open_database
from palestra.contest.storage.file_store import Files
from palestra.contest.storage.uploads import Uploads
from palestra.contest.workers.lanes import start_lanes
from palestra.contest.workers.setup import worker_of
from palestra.datasets import make
from palestra.parallel import usable_cores
from palestra.records import Order
from palestra.text import Words
from palestra.web.stream.feed import PAUSE_S

BUSY = 0.8  # of the time: beyond that, queues grow long
STEPS = (1, 10, 1_000)
CHANGES = 5  # of a board, whose lengths are looked at


@dataclass(frozen=True)
class Assumed:
    """What no machine can tell."""

    sent_per_team: float = 2.0  # submissions in the last hour
    rush_s: float = 900.0  # mean time before the deadline at which they come: most come late
    viewers_per_team: float = 10.0  # browsers that show the board
    teams_watching: float = 0.5  # share of the teams that look while signed in: their board is written for each
    link_bytes_s: float = 125e6  # a network card of 1 Gbit/s
    languages: int = 2


@dataclass(frozen=True)
class Measured:
    """What things cost on this machine."""

    cores: int
    sqlite_acts_s: float  # decisions that are written down, each one durable commit
    postgres_acts_s: float | None
    commits: float  # of one submission, from its upload to its result
    chained: float  # of these, commits that append to the log: the others pass PostgreSQL's writer by
    score_s: float  # of a core: to check one, score it and write its report
    answer_rows: int
    answer_bytes: int
    board_s: tuple[float, float]  # of a core, to write a board once: fixed, and for each row
    viewer_s: tuple[float, float]  # of a core, to send it to one viewer: fixed, and for each row
    change_bytes: tuple[float, float]  # that a viewer of it is sent: fixed, and for each row
    store_bytes_s: float  # that a folder takes, on the disk for sure
    load: float  # of the machine while this was measured: above its cores, somebody else was busy


@dataclass(frozen=True)
class Sizes:
    seconds: float = 4.0
    order: str = "paper"
    teams: tuple[int, int] = (50, 400)
    viewers: tuple[int, int] = (20, 400)
    updates: int = 20
    store_bytes: int = 256 << 20


QUICK = Sizes(0.3, "tiny", (10, 40), (5, 25), 4, 8 << 20)


# Measuring


def measure(sizes: Sizes, folder: Path) -> Measured:
    before = os.getloadavg()[0]
    address = os.environ.get("PALESTRA_TEST_POSTGRES", "")
    commits, chained, score_s, rows, size = _submission(sizes, folder / "submission")
    (board_0, board_1), (viewer_0, viewer_1), lengths = _fan_out(sizes, folder / "viewers")
    return Measured(
        usable_cores(),
        _acts(Place(_rules(folder / "acts")).open(), sizes.seconds),
        _acts(_on_postgres(address, folder), sizes.seconds) if address else None,
        commits,
        chained,
        score_s,
        rows,
        size,
        (board_0, board_1),
        (viewer_0, viewer_1),
        lengths,
        _store(sizes.store_bytes, folder / "store"),
        max(before, os.getloadavg()[0]),
    )


def _rules(folder: Path) -> Path:
    return sc.new_place(folder).file


def _on_postgres(address: str, folder: Path) -> Contest:
    return Contest(open_database(address), Files.open(str(folder / "files")))


def _acts(contest: Contest, seconds: float) -> float:
    """Announcements a second: the least that can be written down, through all that every action goes through."""
    count, started = 0, time.perf_counter()
    while (now := time.perf_counter()) - started < seconds:
        made = e.AnnouncementMade(f"n{count}", Words("Hello"), Words("World"))
        contest.act("bench", lambda state, at, made=made: [made])  # type: ignore[misc]
        count += 1
    contest.engine.dispose()
    return count / (now - started)


def _submission(sizes: Sizes, folder: Path) -> tuple[float, float, float, int, int]:
    """One submission through upload, check and score, in this process: its commits, its events' commits, seconds of a
    core, rows and bytes."""
    from palestra.contest.workers.jobs import do

    place, track = sc.new_place(folder), registry.track("near-eye-gaze-v1")
    order = Order(sizes.order, 0, ("images",))  # type: ignore[arg-type]
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    assert track.writes and track.blank
    trials, file = track.trials(folder / "data"), folder / "answers.csv"
    track.writes(track.blank(trials), file)
    contest = Place(place.file).open()
    contest.act("bench", lambda state, now: list(sc.people(3)))
    uploads = Uploads(contest.engine, folder / "spool", contest.files, contest.now)
    took = []
    written = _Commits(contest.engine)
    for i in range(3):  # the first one finds nothing in memory
        written.reset()
        before = contest.state.seq
        _hand_in(contest, uploads, file, i)
        took.append(_work_off(place, contest, do))
    events = contest.state.seq - before
    return written.count, events, float(np.median(took[1:])), trials.height, file.stat().st_size


def _hand_in(contest: Contest, uploads: Uploads, file: Path, team: int) -> None:
    data = file.read_bytes()
    begun = uploads.begin(f"a{team}", f"t{team}", "gaze", "answers", file.name, len(data))
    for start in range(0, len(data), 4 << 20):
        uploads.append(begun.id, start, [data[start : start + (4 << 20)]])
    digest = uploads.complete(begun.id)
    contest.act(
        f"a{team}",
        lambda state, now: receive(state, now, Sent(f"s{team}", f"t{team}", "gaze", digest, file.name, len(data))),
        lambda connection, _: bool(uploads.bind(connection, begun.id, f"s{team}")),
    )


def _work_off(place: Place, contest: Contest, do: Callable[..., object]) -> float:
    """Everything that is queued, done here and now; processor time of the work alone."""
    from palestra.contest.queue import jobs

    worker = worker_of(place, contest, start_lanes(capacity=1))
    spent = 0.0
    while job := jobs.lease(contest.engine, worker.name, list(worker.executors), contest.now()):
        assignment = worker.begin(job)
        started = time.process_time()
        outcome = do(assignment)
        spent += time.process_time() - started
        worker.settle(job, outcome)
    worker.close()
    return spent


class _Commits:
    """Counts transactions that wrote."""

    def __init__(self, engine: Engine) -> None:
        self.count = 0

        @event.listens_for(engine, "commit")
        def committed(connection) -> None:  # type: ignore[no-untyped-def]
            self.count += bool(connection.get_execution_options().get("writes"))

    def reset(self) -> None:
        self.count = 0


Line = tuple[float, float]  # fixed, and for each row of a board


def _fan_out(sizes: Sizes, folder: Path) -> tuple[Line, Line, Line]:
    """A real server with few and many viewers of small and large boards: what an update and what a viewer costs."""
    per_update, per_viewer, length = [], [], []
    for teams in sizes.teams:
        few, many = (_update_s(sizes, folder / f"{teams}-{count}", teams, count) for count in sizes.viewers)
        slope = max(many[0] - few[0], 0.0) / (sizes.viewers[1] - sizes.viewers[0])
        per_viewer.append(slope)
        per_update.append(max(few[0] - slope * sizes.viewers[0], 0.0))
        length.append(float(few[1]))
    return _line(sizes.teams, per_update), _line(sizes.teams, per_viewer), _line(sizes.teams, length)


def _line(at: tuple[int, int], found: list[float]) -> Line:
    """Through two points, and never falling."""
    slope = max((found[1] - found[0]) / (at[1] - at[0]), 0.0)
    return max(found[0] - slope * at[0], 0.0), slope


def _update_s(sizes: Sizes, folder: Path, teams: int, viewers: int) -> tuple[float, int]:
    """Processor time of the server for one change of a board, and the bytes that each viewer is sent of it."""
    place = sc.new_place(folder)
    contest = place.open()
    sc.fill(contest, teams, 12 * teams)
    contest.catch_up()
    draws = sc.draws_of(contest, teams)
    with sc.serving(place) as (address, child):
        port, out = address.rsplit(":", 1)[1], folder / "seen.json"
        changes = (_better(f"y{i}", 11 * i % teams, draws) for i in range(CHANGES))
        length = _change_bytes(f"{address}/live?board=gaze", contest, changes)
        words = ["-m", "benchmarks.server_load", "watch", "127.0.0.1", port, "/live?board=gaze", str(viewers)]
        with sc.process([*words, str(0.25 * sizes.updates + 2), str(out)], folder / "watch.log"):
            while not Path(f"{out}.ready").exists():
                time.sleep(0.05)
            idle = _cpu_over(child.pid, 1.0)
            started, before = time.monotonic(), sc.cpu_s(child.pid)
            for i in range(sizes.updates):
                sc.write(contest, _better(f"x{i}", 7 * i % teams, draws))
                time.sleep(max(started + 0.25 * (i + 1) - time.monotonic(), 0))
            spent = sc.cpu_s(child.pid) - before - idle * (time.monotonic() - started)
    contest.engine.dispose()
    return max(spent, 0.0) / sizes.updates, length


def _better(name: str, team: int, draws: list[str]) -> list[e.Body]:
    """A team gets a little better than it was, and overtakes about six others."""
    return sc.scored(name, team, 2.8 + 0.02 * team, draws[team])


def _change_bytes(address: str, contest: Contest, changes: Iterable[list[e.Body]]) -> int:
    """The bytes of what a viewer is sent when a board changes, in the middle of several changes."""
    lengths = []
    with httpx.stream("GET", address, timeout=60) as stream:
        messages = _messages(stream.iter_raw())
        next(messages)  # the whole board, as a page gets it when it is opened
        for change in changes:
            sc.write(contest, change)
            lengths.append(len(next(messages)))
    return sorted(lengths)[len(lengths) // 2]


def _messages(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Events of a stream; signs of life are none."""
    got = b""
    for part in parts:
        *whole, got = (got + part).split(b"\n\n")
        yield from (one + b"\n\n" for one in whole if b"event: " in one)


def _cpu_over(pid: int, seconds: float) -> float:
    """Of a core, while nothing happens."""
    before = sc.cpu_s(pid)
    time.sleep(seconds)
    return (sc.cpu_s(pid) - before) / seconds


def _store(count: int, folder: Path) -> float:
    files, piece = Files.open(str(folder)), os.urandom(1 << 20)
    started = time.perf_counter()
    files.put_stream(piece for _ in range(count >> 20))
    return count / (time.perf_counter() - started)


# The machines, and how busy each part of them is


@dataclass(frozen=True)
class Layout:
    """What so many machines are used for."""

    machines: int
    servers: int  # server processes, a core each
    server_machines: int
    workers: int  # cores that score
    postgres: bool


def layouts(machines: int, cores: int) -> list[Layout]:
    """Ways to use so many machines: one has the database, some serve, the others score."""
    if machines == 1:
        return [Layout(1, 1, 1, max(cores - 1, 1), False)]
    serving = sorted({round(share) for share in np.geomspace(1, machines - 2, 40)})
    return [Layout(machines, count * cores, count, (machines - count - 1) * cores, True) for count in serving]


def best_layout(machines: int, m: "Measured", a: "Assumed") -> Layout:
    return max(layouts(machines, m.cores), key=lambda one: most_teams(one, m, a))


def busy(teams: float, on: Layout, m: Measured, a: Assumed) -> dict[str, float]:
    """How much of the time each part has something to do, in the worst minute before the deadline."""
    rate = teams * a.sent_per_team / a.rush_s  # submissions a second
    changes = min(rate, 1 / PAUSE_S)  # of a board; what comes together is shown together
    viewers = teams * a.viewers_per_team
    topics = (a.languages + a.teams_watching * teams) / on.servers  # that one process writes
    sent_bytes = changes * viewers * _at(m.change_bytes, teams)  # a second
    acts = (m.postgres_acts_s or m.sqlite_acts_s) if on.postgres else m.sqlite_acts_s
    return {
        "writer of the log": rate * (m.chained if on.postgres else m.commits) / acts,
        "workers": rate * m.score_s / on.workers,
        "writing boards": changes * max(topics, 1) * _at(m.board_s, teams),
        "sending boards": changes * viewers / on.servers * _at(m.viewer_s, teams),
        "network of the servers": sent_bytes / (a.link_bytes_s * on.server_machines),
        "file store": rate * m.answer_bytes / m.store_bytes_s,
    }


def _at(line: Line, rows: float) -> float:
    return line[0] + line[1] * rows


def most_teams(on: Layout, m: Measured, a: Assumed) -> int:
    """The largest contest in which nothing is busy for more than BUSY of the time."""
    low, high = 1, 2
    while max(busy(high, on, m, a).values()) <= BUSY and high < 1 << 40:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if max(busy(middle, on, m, a).values()) <= BUSY else (low, middle)
    return low


# The hour before the deadline, submission by submission


def waits(teams: int, on: Layout, m: Measured, a: Assumed, seed: int = 0) -> np.ndarray:
    """Seconds from the end of each upload to its result in the log: through the writer, a worker and the writer again.

    Work takes as long as was measured, times a random factor with mean 1 (gamma, shape 4)."""
    rng = np.random.default_rng(seed)
    before_s = rng.exponential(a.rush_s, rng.poisson(teams * a.sent_per_team))
    arrivals = np.sort(3600 - before_s[before_s < 3600])
    acts = (m.postgres_acts_s or m.sqlite_acts_s) if on.postgres else m.sqlite_acts_s
    half = (m.chained if on.postgres else m.commits) / 2 / acts
    work = m.score_s * rng.gamma(4, 1 / 4, len(arrivals))
    return np.fromiter(_through(arrivals, half, work, on.workers), float, len(arrivals))


def _through(arrivals: np.ndarray, half_s: float, work: np.ndarray, workers: int) -> Iterator[float]:
    """One by one in the order of time. Requests are (when, which, whether its work is done)."""
    asked = [(float(at), i, False) for i, at in enumerate(arrivals)]
    heapq.heapify(asked)
    writer_free, free = 0.0, [0.0] * min(workers, len(arrivals) or 1)
    while asked:
        at, i, done = heapq.heappop(asked)
        writer_free = max(writer_free, at) + half_s
        if done:
            yield writer_free - float(arrivals[i])
            continue
        start = max(heapq.heappop(free), writer_free)
        heapq.heappush(free, start + float(work[i]))
        heapq.heappush(asked, (start + float(work[i]), i, True))


# Telling


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    words.add_argument("--quick", action="store_true", help="tiny counts: that it works, and no numbers to believe")
    words.add_argument("--json", action="store_true", help="what was measured, as JSON")
    given = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="palestra-growth-") as name:
        found = measure(QUICK if given.quick else Sizes(), Path(name))
    if given.json:
        print(json.dumps(asdict(found)))
        return
    print("\n".join([*told_measured(found), "", *told_assumed(Assumed()), "", *told_steps(found, Assumed())]))


def told_measured(m: Measured) -> list[str]:
    postgres = "as SQLite (not measured)" if m.postgres_acts_s is None else f"{m.postgres_acts_s:10,.0f} /s"
    board, viewer, change, size = m.board_s, m.viewer_s, m.change_bytes, m.answer_bytes / 1e6
    noisy = f"  (load {m.load:.1f} on {m.cores} cores: others were busy, so costs are too high)"
    return [
        "Measured on this machine" + (noisy if m.load > m.cores + 1 else f"  (load {m.load:.1f} on {m.cores} cores)"),
        f"  writes to the log, SQLite       {m.sqlite_acts_s:10,.0f} /s",
        f"  writes to the log, PostgreSQL   {postgres}",
        f"  writes for one submission       {m.commits:10.0f}     of which {m.chained:.0f} events",
        f"  check, score and report on one  {m.score_s:10.2f} s   of a core: {m.answer_rows:,} rows, {size:.1f} MB",
        f"  write a board                   {1e3 * board[0]:10.2f} ms  of a core, and {1e3 * board[1]:.3f} ms a row",
        f"  send it to a viewer             {1e6 * viewer[0]:10.0f} µs  of a core, and {1e6 * viewer[1]:.2f} µs a row",
        f"  length of a board's change      {change[0] / 1e3:10.1f} kB  and {change[1]:.0f} bytes a row",
        f"  file store                      {m.store_bytes_s / 1e6:10.0f} MB/s",
    ]


def told_assumed(a: Assumed) -> list[str]:
    return [
        "Assumed",
        f"  a team sends {a.sent_per_team:g} files in the last hour, on average {a.rush_s / 60:g} min before the end",
        f"  {a.viewers_per_team:g} browsers for each team show the board; half of the teams look while signed in",
        f"  network cards of {8 * a.link_bytes_s / 1e9:g} Gbit/s; machines like this one",
    ]


def told_steps(m: Measured, a: Assumed) -> list[str]:
    lines = [
        "machines (serve, score)      teams   sent/h    viewers   to the result, p50 / p99   first bottleneck, then"
    ]
    for machines in STEPS:
        on = best_layout(machines, m, a)
        teams = most_teams(on, m, a)
        late = waits(teams, on, m, a)
        order = sorted(busy(teams, on, m, a).items(), key=lambda part: -part[1])
        named = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in order[:3])
        middle, most = np.percentile(late, [50, 99]) if len(late) else (0.0, 0.0)
        used = f"{machines:,} ({on.server_machines:,}, {on.workers // m.cores or 1:,})"
        counts = f"{teams:9,} {teams * a.sent_per_team:8,.0f} {teams * a.viewers_per_team:10,.0f}"
        lines.append(f"{used:<23} {counts}   {middle:9.2f} s / {most:.2f} s      {named}")
    return lines


if __name__ == "__main__":
    main()
