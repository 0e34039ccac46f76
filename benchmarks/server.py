"""The contest server against a bare route and against what was asked of it, in one run.

make bench        (or: python -m benchmarks.server [--quick] [--only 1 4])

It wants a machine with nothing else to do. Clients run in processes of their own on the same cores. Whether something
asked is met is said, and not by the exit code.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from benchmarks import server_contest as sc
from palestra import registry
from palestra.contest.boards.cache import Boards
from palestra.contest.contest import Contest
from palestra.contest.visibility import NOBODY
from palestra.datasets import make
from palestra.records import Order
from palestra.remote import Server


@dataclass(frozen=True)
class Counts:
    teams: int = 50
    seconds: float = 5.0
    rounds: int = 3
    viewers: int = 1000
    updates: int = 20
    size: str = "paper"
    events: int = 1_000_000
    submitting: int = 100
    half_open: int = 300


QUICK = Counts(seconds=0.5, rounds=1, viewers=50, updates=3, size="tiny", events=20_000, submitting=10, half_open=20)


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.server")
    words.add_argument("--quick", action="store_true", help="tiny counts: that it works, and no numbers to believe")
    words.add_argument("--only", type=int, nargs="+", default=range(1, 7), help="which of the claims, from 1 to 6")
    given = words.parse_args()
    counts = QUICK if given.quick else Counts()
    claims: Sequence[Callable[[Counts, Path], None]] = [
        board_json,
        viewers,
        upload_to_board,
        million,
        all_at_once,
        attacked,
    ]
    with tempfile.TemporaryDirectory(prefix="palestra-bench-") as name:
        for number, claim in enumerate(claims, start=1):
            if number in given.only:
                print(f"\n{number}. {(claim.__doc__ or '').splitlines()[0]}")
                claim(counts, Path(name) / str(number))


def _say(what: str, found: str, asked: str, met: bool) -> None:
    print(f"   {what}: {found}   (asked: {asked}; {'met' if met else 'NOT met'})")


def board_json(counts: Counts, folder: Path) -> None:
    """A board's JSON beside a bare Litestar route with the same bytes."""
    place = sc.new_place(folder)
    contest = place.open()
    sc.fill(contest, counts.teams, 2 * counts.teams + 40 * counts.teams)
    contest.engine.dispose()
    with sc.serving(place) as (address, _):
        body = httpx.get(f"{address}/api/boards/gaze").content
        (folder / "board.json").write_bytes(body)
        bare = sc.free_port()
        with sc.process(
            ["-m", "benchmarks.server_bare", str(folder / "board.json"), str(bare)], folder / "bare.log"
        ) as b:
            sc.until_up(f"http://127.0.0.1:{bare}", b)
            ours, theirs = [], []
            for _ in range(counts.rounds):  # in turns, so that both have the same machine
                ours.append(_hammer(folder, int(address.rsplit(":", 1)[1]), "/api/boards/gaze", counts.seconds))
                theirs.append(_hammer(folder, bare, "/board", counts.seconds))
    ratio = float(np.median(ours) / np.median(theirs))
    print(f"   {len(body):,} bytes; ours {np.median(ours):,.0f}/s, bare {np.median(theirs):,.0f}/s")
    _say("ratio", f"{ratio:.2f}×", "at least 0.4×", ratio >= 0.4)


def _hammer(folder: Path, port: int, path: str, seconds: float) -> float:
    out = folder / "hammer.json"
    words = [sys.executable, "-m", "benchmarks.server_load", "hammer", "127.0.0.1", str(port), path, "16", str(seconds)]
    subprocess.run([*words, str(out)], check=True)
    return float(json.loads(out.read_text()))


def viewers(counts: Counts, folder: Path) -> None:
    """Live viewers of a board that changes once a second."""
    place = sc.new_place(folder)
    contest = place.open()
    sc.fill(contest, counts.teams, 20 * counts.teams)
    contest.catch_up()
    draws = sc.draws_of(contest, counts.teams)
    with sc.serving(place) as (address, child):
        port, out = address.rsplit(":", 1)[1], folder / "seen.json"
        words = ["-m", "benchmarks.server_load", "watch", "127.0.0.1", port, "/live?board=gaze", str(counts.viewers)]
        with sc.process([*words, str(counts.updates + 3), str(out)], folder / "watch.log") as watchers:
            while not Path(f"{out}.ready").exists():
                time.sleep(0.05)
            cpu, started, written = sc.cpu_s(child.pid), time.monotonic(), []
            for i in range(counts.updates):
                _sleep_until(started + 1.0 + i)
                bodies = sc.scored(f"x{i}", (7 * i) % counts.teams, 2.7 + 0.017 * i, draws[(7 * i) % counts.teams])
                sc.write(contest, bodies)
                written.append(time.time())
            used = (sc.cpu_s(child.pid) - cpu) / (time.monotonic() - started)
            watchers.wait()
    seen = json.loads(out.read_text())
    late = [1000 * (at - told) for one in seen for at, told in zip(one, written, strict=False)]
    whole = sum(len(one) == counts.updates for one in seen)
    p50, p99 = np.percentile(late, [50, 99])
    print(f"   {counts.viewers:,} viewers, {whole:,} saw all {counts.updates} updates; median {p50:.0f} ms")
    _say("p99 from the commit to the viewer", f"{p99:.0f} ms", "under 60 ms", p99 < 60)
    _say("of a core", f"{100 * used:.1f} %", "under 10 %", used < 0.10)


def _sleep_until(moment: float) -> None:
    time.sleep(max(moment - time.monotonic(), 0))


def upload_to_board(counts: Counts, folder: Path) -> None:
    """A submission of the whole near-eye test set, from the first byte to the board."""
    place = sc.new_place(folder)
    track = registry.track("near-eye-gaze-v1")
    order = Order(counts.size, 0, ("images",))  # type: ignore[arg-type]
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    file = folder / "answers.csv"
    assert track.writes and track.blank
    trials = track.trials(folder / "data")
    track.writes(track.blank(trials), file)
    contest = place.open()
    contest.act("bench", lambda state, now: list(sc.people(2)))
    tokens = [sc.token_of(contest, f"a{i}") for i in range(2)]
    contest.engine.dispose()
    took = []
    with sc.serving(place, workers=1) as (address, _):
        for token in tokens * 3:
            with Server(address, token, wait=lambda seconds: time.sleep(0.01)) as server:
                started = time.perf_counter()
                page = server.submit("gaze", file)
                while page.id not in [row.submission for row in server.board("gaze").rows if row.submission]:
                    time.sleep(0.005)
                    if time.perf_counter() - started > 60:
                        raise RuntimeError(f"not on the board: {page.state} {page.faults} {page.message}")
                    if page.state == "scored" and not page.counts:  # an equal one stands there already
                        break
                took.append(time.perf_counter() - started)
    each = ", ".join(f"{one:.2f}" for one in took)
    print(f"   {trials.height:,} rows, {file.stat().st_size / 1e6:.1f} MB; each: {each} s")
    _say("the first, from cold", f"{took[0]:.2f} s", "under 2 s", took[0] < 2)
    _say("median", f"{np.median(took):.2f} s", "under 3 s", float(np.median(took)) < 3)


COLD = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from palestra.parallel import collect_seldom
collect_seldom()
from palestra.contest.setup import Place
from palestra.web.server import Serve, open_app
from palestra.contest import NOBODY
site, app = open_app(Serve(Place(Path(sys.argv[1]))))
app()
from palestra.web.views.board_cache import board_json
body = board_json(site, "gaze", NOBODY)[1]
print(time.perf_counter() - started, site.state.seq, len(body))
"""


def million(counts: Counts, folder: Path) -> None:
    """A log of a million events, opened from cold, and one event more."""
    place = sc.new_place(folder)
    contest = place.open()
    sc.fill(contest, 200, counts.events)
    contest.catch_up()
    Boards(contest).seen("gaze", NOBODY)  # as a server has it in memory when it is stopped
    contest.close()
    took = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", COLD, str(place.file)], capture_output=True, text=True, check=True)
        seconds, seq, _ = done.stdout.split()
        took.append(float(seconds))
    print(f"   {int(seq):,} events, 200 teams; each: {', '.join(f'{one:.2f}' for one in took)} s, imports and all")
    _say("from cold to the board", f"{np.median(took):.2f} s", "under 1 s", float(np.median(took)) < 1)
    contest = place.open()
    boards, draws = Boards(contest), sc.draws_of(contest, 200)
    boards.seen("gaze", NOBODY)
    more = []
    for i in range(30):
        bodies = sc.scored(f"more{i}", i, 0.4 - 0.001 * i, draws[i])
        sc.write(contest, bodies[:3])
        contest.catch_up()
        started = time.perf_counter()
        contest.act("bench", lambda state, now, bodies=bodies: bodies[3:])
        boards.seen("gaze", NOBODY)
        more.append(1000 * (time.perf_counter() - started))
    found = float(np.median(more))
    _say(
        "one event more, written and on the board", f"{found:.1f} ms (worst {max(more):.1f})", "under 20 ms", found < 20
    )


def all_at_once(counts: Counts, folder: Path) -> None:
    """Many teams submitting at the same moment."""
    place = sc.new_place(folder)
    track = registry.track("near-eye-gaze-v1")
    order = Order("tiny", 0, ("images",))
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    file = folder / "answers.csv"
    assert track.writes and track.blank
    track.writes(track.blank(track.trials(folder / "data")), file)
    contest: Contest = place.open()
    contest.act("bench", lambda state, now: list(sc.people(counts.submitting)))
    tokens = [sc.token_of(contest, f"a{i}") for i in range(counts.submitting)]
    gate = threading.Barrier(counts.submitting)
    with sc.serving(place, workers=1) as (address, _):

        def submit(token: str) -> str:
            with Server(address, token) as server:
                gate.wait()
                return server.submit("gaze", file).state

        started = time.monotonic()
        with ThreadPoolExecutor(counts.submitting) as pool:
            states = list(pool.map(submit, tokens))
        took = time.monotonic() - started
    contest.catch_up()
    on_board = len(Boards(contest).rows("gaze"))
    good = states.count("scored") == counts.submitting == on_board
    print(f"   {counts.submitting} teams, all scored in {took:.1f} s")
    _say("scored and on the board", f"{on_board} of {counts.submitting}", "all", good)


def attacked(counts: Counts, folder: Path) -> None:
    """/health beside live viewers, half-open requests and endless headers."""
    place = sc.new_place(folder)
    contest = place.open()
    sc.fill(contest, counts.teams, 20 * counts.teams)
    contest.engine.dispose()
    with sc.serving(place) as (address, child):
        port, seconds = address.rsplit(":", 1)[1], 4 * counts.seconds

        def load(what: str, path: str, count: int) -> list[str]:
            words = ["-m", "benchmarks.server_load", what, "127.0.0.1", port, path, str(count), "3600"]
            return [*words, str(folder / f"{what}.json")]

        with (
            sc.process(load("watch", "/live?board=gaze", counts.viewers), folder / "watch.log"),
            sc.process(load("attack", "/", counts.half_open), folder / "attack.log"),
        ):
            for what in ("watch", "attack"):
                while not (folder / f"{what}.json.ready").exists():
                    time.sleep(0.05)
            words = [*load("ask", "/health", 1)[:-2], str(seconds), str(folder / "ask.json")]
            subprocess.run([sys.executable, *words], check=True)
            memory = sc.peak_mb(child.pid)
    took = [1000 * one for one in json.loads((folder / "ask.json").read_text())]
    p50, p99 = np.percentile(took, [50, 99])
    print(f"   {counts.viewers:,} viewers, {counts.half_open} half-open requests, a header of 64 MiB every second")
    print(f"   {len(took)} requests, median {p50:.1f} ms, worst {max(took):.0f} ms; the server took {memory:,.0f} MB")
    _say("p99 of /health", f"{p99:.0f} ms", "under 100 ms", p99 < 100)


if __name__ == "__main__":
    main()
