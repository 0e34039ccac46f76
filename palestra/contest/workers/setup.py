"""A worker of one contest, put together: which jobs go where, and how they are prepared, done and settled."""

import logging
import os
import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

from palestra import registry
from palestra.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.rules import held_on_stage
from palestra.contest.setup import Place
from palestra.contest.workers import predict
from palestra.contest.workers.jobs import do, warm_up
from palestra.contest.workers.score import Assignment
from palestra.contest.workers.settle import Desk
from palestra.contest.workers.worker import Worker
from palestra.entrants import bundle
from palestra.executors import Executor, PinnedExecutor, ProcessExecutor, RayExecutor, fingerprint

Kind = Literal["process", "ray"]
CHECKS = 1  # processes that only check: what is handed in is looked at though long jobs run
log = logging.getLogger(__name__)


def worker_of(place: Place, contest: Contest, executor: Kind = "process", capacity: int | None = None,
              address: str | None = None) -> Worker:  # fmt: skip
    """A worker for all kinds of jobs. Live runs and their like have a process of their own, on a core of its own."""
    sweep(place)
    desk = Desk(contest, place.home)
    main: Executor = _cluster(address, capacity) if executor == "ray" else ProcessExecutor(capacity)
    pinned = PinnedExecutor()
    executors: dict[str, Executor] = {
        "check": ProcessExecutor(CHECKS),
        "score": main,
        "report": main,
        "verify": main,
        "baseline": main,
        "live": pinned,
        "run": pinned,
    }
    for one in (executors["check"], main):
        _make_ready(one, desk.warm_up())
    worker = Worker(contest.engine, executors, do, desk.settle, contest.now, begin=desk.begin, room=desk.lacking_room)
    tell_machine(contest, worker.name)
    return worker


def tell_machine(contest: Contest, worker: str) -> None:
    """Before a final the organiser is told where the machines that may play it differ."""
    if any(held_on_stage(phase) for phase in contest.state.rules(contest.now()).phases):
        contest.act(f"worker:{worker}"[:80], lambda state, now: [e.MachineSeen(worker, fingerprint())])


def _make_ready(executor: Executor, looks: list[Assignment]) -> None:
    """One process gets ready for what comes first, and a second one only then: side by side both would take longer. The
    first may get one of the two looks that follow, and has nothing to do for it."""

    def go_on(done: Future[None]) -> None:
        if not done.cancelled() and done.exception() is None:
            for _ in range(2):
                executor.submit(warm_up, looks)

    first = executor.submit(warm_up, looks)
    if executor.capacity > 1:
        first.add_done_callback(go_on)


def _cluster(address: str | None, capacity: int | None) -> RayExecutor:
    """Machines of a cluster find the contest's tracks in the same folders as this one."""
    outside = {name: os.environ[name] for name in (registry.OUTSIDE,) if name in os.environ}
    return RayExecutor(address, capacity, outside)


def sweep(place: Place) -> None:
    """Remove what workers that were killed left of contestants' programs: a bundle has gigabytes, at worst."""
    folders = ((place.home, predict.PREFIX), (Path(tempfile.gettempdir()), bundle.PREFIX))
    if count := sum(bundle.sweep(folder, prefix) for folder, prefix in folders):
        log.info("removed %d folders that killed workers had left", count)
