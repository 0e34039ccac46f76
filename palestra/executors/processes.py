"""Where jobs run: in processes of this machine, in one that is kept for live runs, or on a Ray cluster.

A job that fails harms no other. `Raised` is an error of the work itself, `Crashed` a process that ended, `Ended` one
that we ended; each says what the organiser may read. None of them says whose fault it was: that is for the caller.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from palestra.executors import stop_signals
from palestra.parallel import end_with_parent, usable_cores

FREE_CORES = "PALESTRA_FREE_CORES"  # what a pinned process leaves to those that it starts
JOIN_S = 10.0  # how long a killed process may take to be gone

Work = Callable[[Any], Any]
Answer = tuple[bool, Any]  # whether it is a result; else the words of an error


class Raised(Exception):
    """The work raised an error; these are its words, with the traceback."""

    @property
    def tb(self) -> str:
        """The traceback as text, by the name that Python's own pools of processes have for it."""
        return str(self)


class Crashed(Exception):
    """The process that did the work ended by itself."""


class Ended(Exception):
    """The work was ended by `end` or `close`."""


class Executor(Protocol):
    """Runs up to `capacity` jobs at a time. Functions must be of a module, and arguments such as can be pickled."""

    name: str
    capacity: int

    def submit(self, work: Work, argument: Any) -> Future[Any]:
        """What will come of the work; fails with Raised, Crashed or Ended."""

    def end(self, future: Future[Any]) -> None:
        """Stop it, whatever it does; its process is ended."""

    def close(self) -> None:
        """End all that runs, and let nothing remain."""


class ProcessExecutor:
    """Processes of this machine: one for each job that runs, kept for the next job, replaced when it ends."""

    name = "processes"

    def __init__(self, capacity: int | None = None, core: int | None = None) -> None:
        self.capacity = capacity or usable_cores()
        self._tasks = _Tasks()
        self._lanes = [_Lane(self._tasks, core) for _ in range(self.capacity)]
        atexit.register(self.close)  # else multiprocessing would wait for the processes at exit

    def submit(self, work: Work, argument: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._tasks.put((future, work, argument))
        return future

    def end(self, future: Future[Any]) -> None:
        if not future.cancel():  # it runs, or is done
            for lane in self._lanes:
                lane.end(future)

    def close(self) -> None:
        atexit.unregister(self.close)
        for _ in self._lanes:
            self._tasks.put(None)
        for lane in self._lanes:
            lane.close()


class PinnedExecutor(ProcessExecutor):
    """One process that has a core for itself, where there is more than one: for live runs, one at a time."""

    name = "pinned"

    def __init__(self) -> None:
        super().__init__(1, _last_core())


def _last_core() -> int | None:
    """A core to pin to: the last one, because the first serves most interrupts. None where there is no choice."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = os.sched_getaffinity(0)
    return max(cores) if len(cores) > 1 else None


Task = tuple[Future[Any], Work, Any] | None  # none is the last one


class _Tasks:
    """Jobs that wait. Of those that are free, the lane gets one whose process runs already, the last used first: it has
    loaded what the job needs."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Task] = deque()
        self._free: list[_Lane] = []  # in the order in which they became so

    def put(self, task: Task) -> None:
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()

    def free(self, lane: _Lane) -> None:
        """It will ask for the next one in a moment."""
        with self._changed:
            self._free.append(lane)

    def get(self, lane: _Lane) -> Task:
        with self._changed:
            if lane not in self._free:
                self._free.append(lane)
            self._changed.wait_for(lambda: self._is_turn_of(lane))
            self._free.remove(lane)
            task = self._waiting.popleft()
            self._changed.notify_all()
            return task

    def _is_turn_of(self, lane: _Lane) -> bool:
        started = [one for one in reversed(self._free) if one.is_started]
        order = [*started, *(one for one in self._free if not one.is_started)]
        return lane in order[: len(self._waiting)]


class _Lane:
    """A thread with a process that does one job after another.

    The thread lives as long as the executor, because the kernel ends a process with the thread that started it.
    """

    def __init__(self, tasks: _Tasks, core: int | None) -> None:
        self._tasks = tasks
        self._core = core
        self._lock = threading.Lock()  # over what follows
        self._running: Future[Any] | None = None
        self._ended = False  # whether we ended the job that runs
        self._closed = False
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def is_started(self) -> bool:
        return self._process is not None

    def end(self, future: Future[Any]) -> None:
        with self._lock:
            if self._running is future:
                self._ended = True
                kill_group(self._process)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._ended = True
            kill_group(self._process)
        self._thread.join()

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # Ctrl-C is the parent's to answer
        while (task := self._tasks.get(self)) is not None:
            future, work, argument = task
            if self._closed:
                future.cancel()
            if future.set_running_or_notify_cancel():
                with self._lock:
                    self._running, self._ended = future, self._closed
                came = self._try(work, argument)
                with self._lock:
                    self._running = None
                if self._ended:  # it is dying, and must not get the next job
                    self._drop()
                self._tasks.free(self)  # before anybody hears that it is done, and has the next job
                settle(future, came)
        self._drop()

    def _try(self, work: Work, argument: Any) -> Answer | Exception:
        """What came of it: an answer of the process, or the error that stands for it."""
        try:
            answer: Answer = self._sent(work, argument).recv()
            return answer
        except (EOFError, OSError):
            return self._gone()
        except Exception:  # cannot be pickled, on the way there or back
            return False, traceback.format_exc()

    def _sent(self, work: Work, argument: Any) -> Connection:
        """The pipe on which the answer will come. A process that ended while it was idle is replaced."""
        pipe = self._connected()
        try:
            pipe.send((work, argument))
        except OSError:
            if self._ended:
                raise
            self._drop()
            pipe = self._connected()
            pipe.send((work, argument))
        return pipe

    def _connected(self) -> Connection:
        """The pipe to a living process."""
        if self._pipe is None or self._process is None:
            ours, theirs = get_context("spawn").Pipe()
            process = get_context("spawn").Process(target=_work_on, args=(theirs, os.getpid(), self._core))
            stop_signals.start_process(process)
            theirs.close()
            with self._lock:
                self._process, self._pipe = process, ours
                if self._ended:  # while it was being started
                    kill_group(process)
            return ours
        return self._pipe

    def _gone(self) -> Exception:
        process = self._process
        self._drop()
        if self._ended:
            return Ended("it was stopped")
        return Crashed(f"the process that did it ended by itself ({how_ended(process.exitcode if process else None)})")

    def _drop(self) -> None:
        process, pipe = self._process, self._pipe
        with self._lock:
            self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is not None:
            kill_group(process)
            process.join(JOIN_S)


def settle(future: Future[Any], came: Answer | Exception) -> None:
    if isinstance(came, Exception):
        future.set_exception(came)
    elif came[0]:
        future.set_result(came[1])
    else:
        future.set_exception(Raised(came[1]))


def kill_group(process: BaseProcess | None) -> None:
    """End a process with all that is in its group."""
    if process is None or process.pid is None or process.exitcode is not None:
        return
    with contextlib.suppress(ProcessLookupError):  # it has ended, or has no group of its own yet
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def how_ended(code: int | None) -> str:
    if code is None:
        return "nobody knows how"
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}" + (": often too little memory" if code == -signal.SIGKILL else "")


def _work_on(pipe: Connection, parent: int, core: int | None) -> None:
    """What a process does: one job after another, until its parent closes the pipe or ends."""
    os.setsid()  # a group of its own, and no Ctrl-C
    end_with_parent(parent)  # that is, with the thread that started us
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that came before we had a group of our own is forgotten
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    if core is not None:
        os.environ[FREE_CORES] = ",".join(str(free) for free in sorted(os.sched_getaffinity(0) - {core}))
        os.sched_setaffinity(0, {core})
    while True:
        try:
            work, argument = pipe.recv()
        except EOFError:
            return
        except Exception:  # what came cannot be unpickled here
            pipe.send((False, traceback.format_exc()))
            continue
        answer = attempt(work, argument)
        try:
            pipe.send(answer)
        except Exception:  # the result cannot be pickled
            pipe.send((False, traceback.format_exc()))


def attempt(work: Work, argument: Any) -> Answer:
    """Do it, and give what it raised as words: errors of other modules cannot always be sent."""
    try:
        return True, work(argument)
    except BaseException:
        return False, traceback.format_exc()
