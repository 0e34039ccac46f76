"""Work in parallel processes that end when their parent does, and never see Ctrl-C themselves."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar


def usable_cores() -> int:
    """What this process is granted: a container or a batch system often grants fewer cores than there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


WORKERS = "PALESTRA_WORKERS"  # how many processes to use, instead of one per core
PR_SET_PDEATHSIG = 1
T = TypeVar("T")
R = TypeVar("R")


def workers() -> int:
    asked = os.environ.get(WORKERS, "")
    return max(int(asked), 1) if asked.isdigit() else usable_cores()


def in_processes(work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
    """Each item with its outcome, as they are done. Stopped early, what is under way is finished and the rest left."""
    count = min(workers(), len(items))
    if count <= 1:
        yield from ((item, work(item)) for item in items)
        return
    # Spawned, not forked: a fork copies the locks of polars' and OpenCV's threads in whatever state they are.
    with ProcessPoolExecutor(count, get_context("spawn"), _end_with_parent, (os.getpid(),)) as pool:
        with _no_interrupts():  # what is started now inherits it: Ctrl-C is the parent's to answer
            running: dict[Future[R], T] = {pool.submit(work, item): item for item in items}
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(parent: int) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    end_with_parent(parent)


def end_with_parent(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)
