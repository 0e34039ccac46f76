"""Kills at random moments under load: the server, a worker, PostgreSQL, its connections. Then everything is counted.

python -m benchmarks.faults [--kills 200] [--seed 0]        (on SQLite, and on PostgreSQL where that is installed)

Teams submit all the time, by the client that people use. After so many kills, everything is left to settle, and then:
no event that was confirmed to a client is missing, none counts twice, every submission has a result or a named fault,
the log verifies, and the state folded anew is the state that the server had.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

from benchmarks import server_contest as sc
from palestra import registry
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import UNDER_WAY
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import reading
from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.records import Order
from palestra.remote import Server
from tests import postgres

TEAMS = 6
SETTLE_S = 240.0
CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@dataclass
class Tally:
    """What clients were told."""

    sent: list[str] = field(default_factory=list)  # submissions that were confirmed
    refused: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.faults")
    words.add_argument("--kills", type=int, default=200)
    words.add_argument("--seed", type=int, default=0)
    given = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="palestra-faults-") as name:
        run(Path(name), given.kills, given.seed)
    programs = postgres.installed()
    if programs is None:
        print("   PostgreSQL is not installed, so there were no kills of it. To get it: apt-get install postgresql")
        return
    with tempfile.TemporaryDirectory(prefix="palestra-faults-") as name, postgres.Cluster(programs, {}) as cluster:
        run(Path(name), given.kills, given.seed, cluster)


def run(
    folder: Path,
    kills: int,
    seed: int,
    cluster: postgres.Cluster | None = None,
    names: Sequence[str] = ("server", "worker-1", "worker-2"),
) -> None:
    """Load, kill, settle, count; raises where something does not add up."""
    chance = random.Random(seed)
    place = _prepare(folder, cluster.address if cluster else "")
    contest = place.open()
    contest.act("bench", lambda state, now: list(sc.people(TEAMS)))
    tokens = [sc.token_of(contest, f"a{i}") for i in range(TEAMS)]
    tally, stop, port = Tally(), threading.Event(), sc.free_port()
    with ExitStack() as stack:
        processes = {name: _start(name, place, port, folder) for name in names}
        stack.callback(lambda: [_end(child) for child in processes.values()])
        clients = [
            threading.Thread(target=_submit_on, args=(f"http://127.0.0.1:{port}", token, folder, tally, stop, seed + i))
            for i, token in enumerate(tokens)
        ]
        for client in clients:
            client.start()
        _until_one_is_in(tally)
        killed = _kill_on(place, processes, port, folder, kills, chance, cluster)
        stop.set()
        for client in clients:
            client.join()
        if not any(name.startswith("worker") for name in names):
            processes["worker"] = _start("worker", place, port, folder)
        _settle(contest)
    _count(contest, tally, killed)


def _prepare(folder: Path, database: str) -> Place:
    base = sc.new_place(folder)
    track, order = registry.track("near-eye-gaze-v1"), Order("tiny", 0, ("images",))
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    assert track.writes and track.blank
    track.writes(track.blank(track.trials(folder / "data")), folder / "good.csv")
    (folder / "bad.csv").write_text("person,group,frame,x,y\nnobody,1,1,0,0\n")
    return Place(base.file, database)


def _start(name: str, place: Place, port: int, folder: Path) -> subprocess.Popen[bytes]:
    words = ["serve", str(place.file), "--port", str(port), "--workers", "0"] if name == "server" else [
        "worker", str(place.file), "--capacity", "1"]  # fmt: skip
    words += ["--database", place.database] if place.database else []
    with (folder / f"{name}.log").open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "palestra.cli.app", "contest", *words],
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _kill_on(
    place: Place,
    processes: dict[str, subprocess.Popen[bytes]],
    port: int,
    folder: Path,
    kills: int,
    chance: random.Random,
    cluster: postgres.Cluster | None,
) -> Counter[str]:
    """Kill something, start it again, at random moments."""
    done: Counter[str] = Counter()
    targets = [*processes, *(["connections", "PostgreSQL"] if cluster else [])]
    while sum(done.values()) < kills:
        time.sleep(chance.uniform(0.1, 3.0))
        name = chance.choice(targets)
        if cluster and name == "connections":
            _cut_connections(place.database)
        elif cluster and name == "PostgreSQL":
            cluster.crash()
            cluster.start()
        else:
            _end(processes[name])
            processes[name] = _start(name, place, port, folder)
        done[name] += 1
        print(f"\r   {sum(done.values())} of {kills} kills", end="", flush=True)
    print()
    return done


def _cut_connections(database: str) -> None:
    engine = create_engine(make_url(database).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        connection.execute(text(CUT))
    engine.dispose()


def _submit_on(address: str, token: str, folder: Path, tally: Tally, stop: threading.Event, seed: int) -> None:
    """Submit again and again, as a patient person would."""
    chance = random.Random(seed)
    while not stop.is_set():
        file = folder / ("bad.csv" if chance.random() < 0.1 else "good.csv")
        try:
            with Server(address, token) as server:
                submission = server.upload("gaze", file)
            with tally.lock:
                tally.sent.append(submission)
        except PalestraError as error:
            with tally.lock:
                tally.refused[str(error).split("(")[0][:80]] += 1
        stop.wait(chance.uniform(0.2, 1.0))


def _until_one_is_in(tally: Tally) -> None:
    """Kills of what has no work yet would show nothing."""
    deadline = time.monotonic() + SETTLE_S
    while not tally.sent:
        if time.monotonic() > deadline:
            raise AssertionError(f"no submission was confirmed in {SETTLE_S:.0f} s: {tally.refused}")
        time.sleep(0.1)


def _settle(contest: Contest) -> None:
    """Wait until nothing is under way."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        contest.catch_up()
        if all(one.stage not in UNDER_WAY for one in contest.state.submissions.values()):
            return
        time.sleep(0.5)
    left = [(one.id, one.stage) for one in contest.state.submissions.values() if one.stage in UNDER_WAY]
    raise AssertionError(f"still under way after {SETTLE_S:.0f} s: {left[:5]}")


def _count(contest: Contest, tally: Tally, killed: Counter[str]) -> None:
    contest.catch_up()  # reports may have come after the last result
    state = contest.state
    with reading(contest.engine) as connection:
        verdict = chain.verify(connection)
        events = list(chain.read(connection))
    again = fold(events)
    again.hash = state.hash
    made = Counter(event.body.submission for event in events if type(event.body).__name__ == "SubmissionMade")  # type: ignore[union-attr]
    results = Counter(event.body.submission for event in events if type(event.body).__name__ == "ResultMade")  # type: ignore[union-attr]
    stages = Counter(one.stage for one in state.submissions.values())
    assert verdict.ok, verdict.faults
    assert again == state, "the state is not what the log says"
    assert not set(tally.sent) - set(made), "a confirmed submission is missing"
    assert len(set(tally.sent)) == len(tally.sent), "two uploads became one submission"
    assert max(made.values(), default=1) == 1 and max(results.values(), default=1) == 1, "something counts twice"
    assert set(stages) <= {"scored", "refused", "failed", "faulted"}, stages
    where = contest.engine.dialect.name
    each = ", ".join(f"{count} {what}" for what, count in sorted(killed.items()))
    print(f"   {where}: {sum(killed.values())} kills ({each}),")
    print(f"   {len(events):,} events, {len(tally.sent)} submissions confirmed, {len(made)} made: {dict(stages)};")
    print(f"   clients were sent away {sum(tally.refused.values())} times. The log verifies; nothing is missing, and")
    print("   nothing counts twice.")


if __name__ == "__main__":
    main()
