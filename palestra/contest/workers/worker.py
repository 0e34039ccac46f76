"""A worker: leases jobs, has them done, keeps its leases by beats, and settles what came of them. Times are ms.

`do` runs in another process. `settle` runs here: it writes events and ends the job in one transaction, and is called
again with the same outcome when the database did not answer, so it must count on `jobs.finish` and `jobs.give_up`
saying False to what was settled before.
"""

import logging
import os
import secrets
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

import msgspec
from sqlalchemy import Engine
from sqlalchemy.exc import InterfaceError, OperationalError

from palestra.contest.log import ClockSet
from palestra.contest.queue import BEAT_MS, Job, Seen, jobs
from palestra.contest.storage import is_full
from palestra.executors import Crashed, Ended, Executor, Raised
from palestra.text import Words, say

POLL_S = 0.2  # how long an idle worker waits before it looks for jobs again
STOP_MS = 20_000  # how long a worker that is told to stop lets its jobs run on
LONGEST_NAME = 40

# What a contestant reads: never the words of the error, which may name what they must not see.
RAISED = say("The platform failed while it worked on this. It was no fault of yours and costs no quota.")
CRASHED = say("The process that worked on this crashed. It was no fault of yours and costs no quota.")
LOST = say("The machine that worked on this was lost. It was no fault of yours and costs no quota.")

# The database is away or busy, or nothing may be written by a clock that was set: what failed is tried again.
UNANSWERED = (OperationalError, InterfaceError, ClockSet)


def _may_pass(error: Exception) -> bool:
    """Whether what failed is tried again, as often as it takes: also where a disk has no room for now."""
    return isinstance(error, UNANSWERED) or is_full(error)


log = logging.getLogger(__name__)


class Fault(msgspec.Struct, frozen=True):
    """Why a job has no result."""

    whose: Literal["platform", "contestant"]
    message: Words  # for the contestant
    trace: str = ""  # for the organiser alone


class Round(msgspec.Struct, frozen=True):
    """What one step of a worker did."""

    taken: tuple[Job, ...] = ()
    settled: tuple[Job, ...] = ()
    dropped: tuple[Job, ...] = ()  # cancelled, or taken by others

    def __bool__(self) -> bool:
        return bool(self.taken or self.settled or self.dropped)


class Doing(msgspec.Struct, frozen=True):
    """A job that runs."""

    job: Job
    executor: Executor
    future: Future[Any]


def worker_name() -> str:
    """A name that no other worker has or had: a lease is known by it."""
    return f"{socket.gethostname()[:LONGEST_NAME]}-{os.getpid()}-{secrets.token_hex(4)}"


class Worker:
    """Pulls jobs of the kinds that it has executors for."""

    def __init__(
        self,
        engine: Engine,
        executors: Mapping[str, Executor],  # by kind of job
        do: Callable[[Any], Any],  # of a module, so that it can be sent to a process
        settle: Callable[[Job, Any], None],
        now: Callable[[], int],
        *,
        begin: Callable[[Job], Any] = lambda job: job,  # writes down that an attempt has started; what `do` is given
        room: Callable[[], Words] = Words,  # why nothing may be begun now, such as a full disk; nothing where it may
        wait: Callable[[float], None] | None = None,
        name: str | None = None,
    ) -> None:
        self.engine = engine
        self.executors = executors
        self.do = do
        self.settle = settle
        self.now = now
        self.begin = begin
        self.room = room
        self.wait = wait or self._until_woken
        self.name = name or worker_name()
        self.running: dict[int, Doing] = {}  # by the job's id
        self.stopping = False
        self._hurried = False
        self._answered = True  # by the database
        self._held_up = False  # by a disk that has no room
        self._started_at = now()
        self._beaten_at: int | None = None
        self._woken = threading.Event()

    def run(self, stop_ms: int = STOP_MS) -> None:
        """Work until told to stop; then finish what runs, and hand back what takes too long."""
        with self._told_by_signals():  # until the end: told again while it closes, it goes on closing
            try:
                while not self.stopping:
                    self._rest_after(self._step_or_wait())
                self._finish_by(self.now() + stop_ms)
            finally:
                self.close()

    def stop(self) -> None:
        """Take no more jobs; told twice, wait for none. Signal handlers call it, so it only sets flags."""
        self._hurried = self.stopping
        self.stopping = True

    def close(self) -> None:
        """End what runs, give it back to the queue, and say goodbye."""
        for executor in {id(executor): executor for executor in self.executors.values()}.values():
            executor.close()
        try:
            for doing in self.running.values():
                jobs.hand_back(self.engine, doing.job, self.now())
            jobs.left(self.engine, self.name)
        except Exception as error:  # then the leases run out, and others take the jobs
            if not _may_pass(error):
                raise
            log.warning("%s could not hand back its jobs: %s", self.name, error)
        self.running.clear()

    def step(self) -> Round:
        """One round: keep the leases, settle what is done, drop what is no longer ours, take what is free."""
        lost = self._beat()
        dropped = self._drop()
        settled = self._settle_done() + lost
        taken = () if self.stopping or self._has_no_room() else tuple(self._take())
        return Round(taken, settled, dropped)

    def _has_no_room(self) -> bool:
        """On a disk that is full each job would fail; so it waits, and goes on when there is room."""
        why = self.room()
        if bool(why) != self._held_up:
            log.warning("%s: %s", self.name, f"no job is begun: {why}" if why else "there is room again; it goes on")
        self._held_up = bool(why)
        return self._held_up

    def _step_or_wait(self) -> Round:
        """A step; when the database does not answer, nothing is lost: the next step goes on where this one was."""
        try:
            done = self.step()
            self._answered = True
            return done
        except Exception as error:
            if not _may_pass(error):
                raise
            if self._answered:
                log.warning("%s: nothing can be written now, and it is tried again: %s", self.name, error)
            self._answered = False
            return Round()

    def _rest_after(self, done: Round) -> None:
        if not done:
            self.wait(POLL_S)

    def _finish_by(self, deadline: int) -> None:
        while self.running and self.now() < deadline and not self._hurried:
            self._rest_after(self._step_or_wait())

    def _beat(self) -> tuple[Job, ...]:
        """Now and then: keep the leases, say that we are there, and look for jobs that lost their last worker."""
        now = self.now()
        if self._beaten_at is not None and now - self._beaten_at < BEAT_MS:
            return ()
        jobs.beat(self.engine, [doing.job for doing in self.running.values()], now)
        names = sorted({executor.name for executor in self.executors.values()})
        kinds = ",".join(sorted(self.executors))
        jobs.seen(self.engine, Seen(self.name, kinds, "+".join(names), self._started_at, now, len(self.running)))
        lost = self._settle_expired()
        self._beaten_at = now
        return lost

    def _drop(self) -> tuple[Job, ...]:
        """End the processes of jobs that were cancelled, or that others have taken."""
        mine = [doing.job for doing in self.running.values()]
        kept = {job.id for job in jobs.still_ours(self.engine, mine)}
        lost = [doing for doing in self.running.values() if doing.job.id not in kept]
        for doing in lost:
            doing.executor.end(doing.future)
            del self.running[doing.job.id]
        return tuple(doing.job for doing in lost)

    def _settle_done(self) -> tuple[Job, ...]:
        done = [doing for doing in self.running.values() if doing.future.done()]
        for doing in done:
            self._settle(doing.job, _outcome(doing.future))
            log.info("%s: done", doing.job.key)
            del self.running[doing.job.id]
        return tuple(doing.job for doing in done)

    def _settle_expired(self) -> tuple[Job, ...]:
        """Jobs that were lost at their last attempt: somebody must say so, or they would wait for ever."""
        lost = jobs.expired(self.engine, list(self.executors), self.now())
        for job in lost:
            self._settle(job, Fault("platform", LOST, f"the worker {job.worker} was lost at attempt {job.attempt}"))
        return tuple(lost)

    def _settle(self, job: Job, outcome: Any) -> None:
        """Have it written down; an outcome that cannot be is a fault of the platform."""
        try:
            self.settle(job, outcome)
        except Exception as error:
            if _may_pass(error):
                raise
            log.exception("%s: what came of %s could not be written down", self.name, job.key)
            self.settle(job, Fault("platform", RAISED, traceback.format_exc()))

    def _take(self) -> Iterator[Job]:
        for executor in {id(executor): executor for executor in self.executors.values()}.values():
            kinds = [kind for kind, its in self.executors.items() if its is executor]
            busy = sum(doing.executor is executor for doing in self.running.values())
            for _ in range(executor.capacity - busy):
                job = jobs.lease(self.engine, self.name, kinds, self.now())
                if job is None:
                    break
                self._start(job, executor)
                yield job

    def _start(self, job: Job, executor: Executor) -> None:
        try:
            argument = self.begin(job)
        except Exception as error:
            if _may_pass(error):
                raise
            log.exception("%s: that %s began could not be written down", self.name, job.key)
            self._settle(job, Fault("platform", RAISED, traceback.format_exc()))
            return
        log.info("%s: begun", job.key)
        future = executor.submit(self.do, argument)
        self.running[job.id] = Doing(job, executor, future)
        future.add_done_callback(lambda _: self._woken.set())

    def _until_woken(self, seconds: float) -> None:
        """Wait, but no longer than until a job is done."""
        self._woken.wait(seconds)
        self._woken.clear()

    @contextmanager
    def _told_by_signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C stop the worker in good order; where it is not the main thread, others tell it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.stop()


def _outcome(future: Future[Any]) -> Any:
    """What the work returned, or the fault that stands for it."""
    try:
        return future.result()
    except Raised as error:
        return Fault("platform", RAISED, str(error))
    except (Crashed, Ended, CancelledError) as error:
        return Fault("platform", CRASHED, str(error) or type(error).__name__)
