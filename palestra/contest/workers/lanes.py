"""The processes in which a worker's jobs are done. They load what jobs need while the worker itself still does so."""

import importlib
import os
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from palestra import registry
from palestra.executors import Executor, ProcessExecutor, RayExecutor

Kind = Literal["process", "ray"]
CHECKS = 1  # processes that only check: what is handed in is looked at though long jobs run
JOBS = "palestra.contest.workers.jobs"


@dataclass(frozen=True)
class Lanes:
    """Where jobs are checked, and where all else is done but live runs."""

    check: Executor
    main: Executor
    loading: tuple[Future[None], Future[None]]  # of what jobs need, by the first process of each


def start_lanes(kind: Kind = "process", capacity: int | None = None, address: str | None = None) -> Lanes:
    check = ProcessExecutor(CHECKS)
    main: Executor = _cluster(address, capacity) if kind == "ray" else ProcessExecutor(capacity)
    return Lanes(check, main, (check.submit(load, JOBS), main.submit(load, JOBS)))


def load(module: str) -> None:
    """Import a module by its name, which whoever asks need not have imported."""
    importlib.import_module(module)


def _cluster(address: str | None, capacity: int | None) -> RayExecutor:
    """Machines of a cluster find the contest's tracks in the same folders as this one."""
    outside = {name: os.environ[name] for name in (registry.OUTSIDE,) if name in os.environ}
    return RayExecutor(address, capacity, outside)
