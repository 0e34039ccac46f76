"""A served contest left alone with its load: teams that submit, a live run, viewers. What grows, and what is told?

python -m benchmarks.soak [--minutes 60] [--teams 8] [--viewers 200]

Teams submit files by the client that people use; one team's program plays a live phase at real pace again and again;
viewers read the board's event stream. Memory is what the server and the worker with all of its processes use (PSS),
and is fitted by a line after the first sixth of the time. At the end everything is counted and the log verified.
"""

import argparse
import random
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import server_contest as sc
from benchmarks.server import _say as say_whether
from palestra import registry
from palestra.contest.log import chain
from palestra.contest.setup.location import Place
from palestra.contest.storage.database import reading
from palestra.datasets import make, write_kit
from palestra.errors import PalestraError
from palestra.records import Order
from palestra.remote import Server

LIVE = """
[[phase]]
id = "live"
title = "Live"
track = "near-eye-live-v1"
settings = { window_s = 0 }
pace = "real"
data = "live/data"
opens = 2020-01-01
closes = 2099-01-01
quota = "900000 per phase"
access = "open"
"""
SAMPLE_S = 10.0
PAUSE_S = (10.0, 30.0)  # between two submissions of a team
FLAT = 0.05  # of what is used, in an hour
BAD = re.compile(r"^(WARNING|ERROR|CRITICAL|Traceback|A worker ended)", re.MULTILINE)


@dataclass
class Told:
    """What clients were told."""

    scored: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Stopped(Exception):
    """The time is over."""


@dataclass
class Memory:
    """Megabytes at moments, of the server and of the worker with all that it started."""

    at_s: list[float] = field(default_factory=list)
    server_mb: list[float] = field(default_factory=list)
    worker_mb: list[float] = field(default_factory=list)


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    words.add_argument("--minutes", type=float, default=60)
    words.add_argument("--teams", type=int, default=8)
    words.add_argument("--viewers", type=int, default=200)
    given = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="palestra-soak-") as name:
        soak(Path(name), 60 * given.minutes, given.teams, given.viewers)


def soak(folder: Path, seconds: float, teams: int, viewers: int) -> None:
    place, files = prepare(folder)
    contest = place.open()
    contest.act("bench", lambda state, now: list(sc.people(teams + 1)))
    tokens = [sc.token_of(contest, f"a{i}") for i in range(teams + 1)]
    told, stop, memory = Told(), threading.Event(), Memory()
    with ExitStack() as stack:
        address, child = stack.enter_context(sc.serving(place, workers=1))
        watching = [sys_words(address, viewers, seconds, folder)]
        watchers = [stack.enter_context(sc.process(words, folder / "watch.log")) for words in watching]
        phases = [*["gaze"] * teams, "live"]
        clients = [
            threading.Thread(target=submit_on, args=(address, token, phase, files[phase], told, stop))
            for token, phase in zip(tokens, phases, strict=True)
        ]
        for client in clients:
            client.start()
        sample_until(time.monotonic() + seconds, child.pid, memory)
        stop.set()
        for client in clients:
            client.join()
        gone = [watcher.poll() for watcher in watchers]
    report(place, memory, told, [code for code in gone if code])


def prepare(folder: Path) -> tuple[Place, dict[str, Path]]:
    """The contest with data for both phases; what is handed in to each."""
    place = sc.new_place(folder)
    place.file.write_text(place.file.read_text() + LIVE)
    track, order = registry.track("near-eye-gaze-v1"), Order("tiny", 0, ("images",))
    make.run(track, order, make.plan(track, order), folder / "data", lambda count: None)
    assert track.writes and track.blank
    answers = folder / "answers.csv"
    track.writes(track.blank(track.trials(folder / "data")), answers)
    write_kit(registry.track("near-eye-live-v1"), folder / "live")
    bundle = shutil.make_archive(str(folder / "bundle"), "zip", folder / "live" / "bundle")
    return place, {"gaze": answers, "live": Path(bundle)}


def sys_words(address: str, viewers: int, seconds: float, folder: Path) -> list[str]:
    port = address.rsplit(":", 1)[1]
    words = ["-m", "benchmarks.server_load", "watch", "127.0.0.1", port, "/live?board=gaze", str(viewers)]
    return [*words, str(seconds + 600), str(folder / "seen.json")]  # until it is ended


def submit_on(address: str, token: str, phase: str, file: Path, told: Told, stop: threading.Event) -> None:
    """Submit, wait for the score, and again after a while."""
    chance = random.Random(token)

    def wait(seconds: float) -> None:
        if stop.wait(seconds):
            raise Stopped

    with suppress(Stopped), Server(address, token, wait=wait) as server:
        while True:
            try:
                page = server.follow(server.upload(phase, file))
                with told.lock:
                    (told.scored if page.state == "scored" else told.other)[f"{phase}: {page.state}"] += 1
            except PalestraError as error:
                with told.lock:
                    told.other[str(error)[:100]] += 1
            wait(chance.uniform(*PAUSE_S))


def sample_until(ends: float, server: int, memory: Memory) -> None:
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task("soak", total=ends - began)
        while (now := time.monotonic()) < ends:
            workers = descendants(server)
            memory.at_s.append(now - began)
            memory.server_mb.append(pss_mb(server))
            memory.worker_mb.append(sum(map(pss_mb, workers)))
            told = f"server {memory.server_mb[-1]:.0f} MB, worker {memory.worker_mb[-1]:.0f} MB"
            progress.update(bar, completed=now - began, description=told)
            time.sleep(min(SAMPLE_S, max(ends - now, 0)))


def descendants(process: int) -> Iterator[int]:
    """All processes that a process started, and those started. Whoever ends meanwhile is left out."""
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from descendants(int(child))


def pss_mb(process: int) -> float:
    """Memory that a process uses, what is shared counted in parts; 0 for one that has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
        return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024  # type: ignore[index]
    return 0.0


def report(place: Place, memory: Memory, told: Told, gone: list[int]) -> None:
    contest = place.open()
    contest.catch_up()
    with reading(contest.engine) as connection:
        verdict = chain.verify(connection)
    log = (place.home / "serve.log").read_text(errors="replace")
    stages = Counter(one.stage for one in contest.state.submissions.values())
    print(f"   {memory.at_s[-1] / 60:.0f} minutes, {contest.state.seq:,} events, submissions: {dict(stages)}")
    print(f"   clients saw scores {dict(told.scored)}, other ends {dict(told.other)}")
    for what, used in (("server", memory.server_mb), ("worker and its processes", memory.worker_mb)):
        _report_memory(what, np.array(memory.at_s), np.array(used))
    found = BAD.findall(log)
    say_whether("errors and warnings in the log", str(len(found)), "none", not found)
    if found:
        print("\n".join(f"      {line}" for line in log.splitlines())[-4000:])
    say_whether("log verifies", "yes" if verdict.ok else str(verdict.faults[:3]), "yes", verdict.ok)
    say_whether("viewers' connections lost", str(len(gone)), "none", not gone)


def _report_memory(what: str, at_s: np.ndarray, used_mb: np.ndarray) -> None:
    warm = at_s >= at_s[-1] / 6
    slope = float(np.polyfit(at_s[warm], used_mb[warm], 1)[0]) * 3600
    middle = float(np.median(used_mb[warm]))
    parts = " ".join(f"{np.median(part):.0f}" for part in np.array_split(used_mb, 6) if len(part))
    found = f"{parts} MB (medians of sixths of the time), {slope:+.1f} MB an hour, most {used_mb.max():.0f} MB"
    say_whether(f"memory of the {what}", found, f"within {100 * FLAT:.0f} % an hour", slope <= FLAT * middle)


if __name__ == "__main__":
    main()
