"""A worker of one contest, put together: which jobs go where, and how they are prepared, done and settled."""

import logging
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

from palestra.contest import Contest
from palestra.contest.log import events as e
from palestra.contest.rules import held_on_stage
from palestra.contest.setup import Place
from palestra.contest.workers import predict
from palestra.contest.workers.jobs import do, warm_up
from palestra.contest.workers.lanes import Lanes, start_lanes
from palestra.contest.workers.score import Assignment
from palestra.contest.workers.settle import Desk
from palestra.contest.workers.worker import Worker
from palestra.entrants import bundle
from palestra.executors import Executor, PinnedExecutor, fingerprint

Kind = Literal["process", "ray"]
CHECKS = 1  # processes that only check: what is handed in is looked at though long jobs run
log = logging.getLogger(__name__)


def worker_of(place: Place, contest: Contest, lanes: Lanes | None = None) -> Worker:
    """A worker for all kinds of jobs. Live runs and their like have a process of their own, on a core of its own."""
    sweep(place)
    lanes = lanes or start_lanes()
    desk = Desk(contest, place.home)
    _make_ready(lanes, desk.warm_up())
    pinned = PinnedExecutor()
    executors: dict[str, Executor] = {
        "check": lanes.check,
        "score": lanes.main,
        "report": lanes.main,
        "verify": lanes.main,
        "baseline": lanes.main,
        "live": pinned,
        "run": pinned,
    }
    worker = Worker(contest.engine, executors, do, desk.settle, contest.now, begin=desk.begin, room=desk.lacking_room)
    tell_machine(contest, worker.name)
    return worker


def tell_machine(contest: Contest, worker: str) -> None:
    """Before a final the organiser is told where the machines that may play it differ."""
    if any(held_on_stage(phase) for phase in contest.state.rules(contest.now()).phases):
        contest.act(f"worker:{worker}"[:80], lambda state, now: [e.MachineSeen(worker, fingerprint())])


def _make_ready(lanes: Lanes, looks: list[Assignment]) -> None:
    """One process that checks and one that scores get ready for what comes first, and a second one only then: side by
    side all would take longer. One of the last two looks may come to the first, which has nothing to do for it."""

    def after(one: Future[None], then: Callable[[], object]) -> None:
        one.add_done_callback(lambda done: done.cancelled() or done.exception() or then())

    def look(executor: Executor) -> Future[None]:
        return executor.submit(warm_up, looks)

    def others() -> None:
        for _ in range(2 if lanes.main.capacity > 1 else 0):
            look(lanes.main)

    checking, scoring = lanes.loading
    after(checking, lambda: look(lanes.check))
    after(scoring, lambda: after(look(lanes.main), others))


def sweep(place: Place) -> None:
    """Remove what workers that were killed left of contestants' programs: a bundle has gigabytes, at worst."""
    folders = ((place.home, predict.PREFIX), (Path(tempfile.gettempdir()), bundle.PREFIX))
    if count := sum(bundle.sweep(folder, prefix) for folder, prefix in folders):
        log.info("removed %d folders that killed workers had left", count)
