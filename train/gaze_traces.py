"""Eyes at work without pictures: what simulated people do in 55 frames, and what a data set says of it.

Movers are drawn with seeds that begin with PEOPLE_SEED, so none of them is in a data set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from palestra.eyes.simulator.movements import EYES, draw_mover, pick_windows, watch
from palestra.eyes.simulator.scene import mirrored
from palestra.eyes.simulator.targets import FARTHEST_CM, NEAREST_CM, random_pattern, ring_pattern
from palestra.metrics.angles import to_angles

PEOPLE_SEED = 20_200_526
FRAMES = 55
PER_JOB = 4  # people
Traces = np.ndarray[Any, np.dtype[np.float32]]  # (windows, 2, frames, 2): true, labelled; yaw, pitch in degrees


def traces(seed: int, job: int, people: int = PER_JOB) -> Traces:
    """All windows of what some people do while they watch each pattern once."""
    rng = np.random.default_rng([PEOPLE_SEED, seed, job])
    return np.concatenate([_of_one(rng) for _ in range(people)])


def _of_one(rng: np.random.Generator) -> Traces:
    mover, found = draw_mover(rng), []
    for ring in (True, False):
        eye = EYES[int(rng.integers(2))]
        targets = ring_pattern(rng.uniform(NEAREST_CM, FARTHEST_CM)) if ring else random_pattern(rng)
        trace = watch(targets, mover, eye, rng)
        both = [mirrored(part) if eye == "left" else part for part in (trace.gaze, trace.label)]
        angles = np.stack([np.stack(to_angles(part), -1) for part in both])
        starts = pick_windows(trace.valid, FRAMES, 10_000, rng)
        found += [angles[:, start : start + FRAMES] for start in starts]
    return np.array(found, np.float32).reshape(-1, 2, FRAMES, 2)


class Watching:
    """People who are watched in other processes while the card learns from pictures."""

    def __init__(self, seed: int, jobs: int) -> None:
        workers = max(1, (os.cpu_count() or 2) - 3)
        # Spawned: a copy of a process that uses the card must not be.
        self._pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        self._jobs: list[Future[Traces]] = [self._pool.submit(traces, seed, job) for job in range(jobs)]

    def collect(self) -> Traces:
        """What is there by now, at least of one job; the rest is dropped."""
        self._jobs[0].result()
        for job in self._jobs:
            job.cancel()
        return np.concatenate([job.result() for job in self._jobs if job.done() and not job.cancelled()])

    def each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """As `map`, in those processes; after what they do already."""
        return self._pool.map(work, items)

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
