"""A function applied to many items side by side, in processes that end when their parent does.

It all happens in the caller's thread, over plain pipes: no thread of a queue can lose an item that cannot be pickled,
and there are no semaphores to leave behind.
"""

import itertools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import FrameType
from typing import Any, Literal, NoReturn, TypeVar

import msgspec

from palestra.errors import PalestraError, brief
from palestra.executors import stop_signals
from palestra.executors.processes import Raised, how_ended, kill_group
from palestra.parallel import end_with_parent, workers
from palestra.text import Message, message, say

ENDING_S = 3.0  # that workers get to remove what they have half written
KILLED_S = 10.0  # how long a killed process may take to be gone
NOTICED_S = 1.0  # after which a signal is noticed that came in the moment before we wait
TERMINATED = 143
FUNCTION = message("The function that worker processes are to call")
ITEM, RESULT = message("What a worker process is to work on"), message("The result of a worker process")
HOW_TO_SEND = message(
    "Define it at the top level of a module; lambdas and what is defined inside a function cannot be sent."
)

T = TypeVar("T")
R = TypeVar("R")


class CannotSend(PalestraError):
    """Something cannot be sent to another process, or back from there."""

    def __init__(self, what: Message, why: str, item: Any = None) -> None:
        how = say(HOW_TO_SEND)
        super().__init__(
            say("{what} cannot be sent to another process ({why}). {how}", what=say(what), why=why, how=how)
        )
        self.why = why
        self.item = item  # that it was about, if about one


class _Outcome(msgspec.Struct, frozen=True):
    """What came of an item. A result or an error follows it, pickled, which may be such as cannot be read."""

    kind: Literal["done", "raised", "cannot read", "cannot send"]
    words: str = ""


def in_processes(work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
    """Each item with its outcome, as they are done. Stopped early, workers are ended, and with them what they do."""
    count = min(workers(), len(items))
    if count <= 1:
        yield from ((item, work(item)) for item in items)
        return
    waiting = iter(items)
    function = _pickled(work, FUNCTION)
    pool: list[_Worker] = []
    try:
        for item in itertools.islice(waiting, count):
            payload = _pickled(item, ITEM, item)
            pool.append(_Worker(function))
            pool[-1].give(item, payload)
        while busy := [worker for worker in pool if worker.is_busy]:
            for worker in _heard_of(busy):
                item, result = worker.item, worker.result()
                for following in itertools.islice(waiting, 1):
                    worker.give(following, _pickled(following, ITEM, following))
                yield item, result
    except BaseException:
        for worker in pool:
            worker.tell_to_end()
        raise
    finally:
        _let_go(pool)


class _Worker:
    """A process that works on one item after another."""

    def __init__(self, function: bytes) -> None:
        context = get_context("spawn")  # a fork copies the locks of polars' and OpenCV's threads in whatever state
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, os.getpid()))
        stop_signals.start_process(self.process)
        theirs.close()
        self.function = function
        self.item: Any = None
        self.is_busy = False

    def give(self, item: Any, payload: bytes) -> None:
        try:
            if self.function:
                self.pipe.send_bytes(self.function)
                self.function = b""  # it has that now
            self.pipe.send_bytes(payload)
        except OSError:
            self._tell_that_it_died()
        self.item, self.is_busy = item, True

    def result(self) -> Any:
        """What came of its item; what it raised is raised here."""
        self.is_busy = False
        try:
            if not self.pipe.poll():  # we hear of it because it ended
                self._tell_that_it_died()
            outcome = msgspec.msgpack.decode(self.pipe.recv_bytes(), type=_Outcome)
            pickled = self.pipe.recv_bytes()
        except (EOFError, OSError):
            self._tell_that_it_died()
        if outcome.kind == "cannot read":
            raise CannotSend(ITEM, outcome.words, self.item)
        if outcome.kind == "cannot send":
            raise CannotSend(RESULT, outcome.words, self.item)
        try:
            value = ForkingPickler.loads(pickled)
        except Exception as error:
            if outcome.kind == "raised":  # its words tell what it was
                raise RuntimeError(outcome.words.strip().splitlines()[-1]) from Raised(outcome.words)
            raise CannotSend(RESULT, brief(error), self.item) from None
        if outcome.kind == "raised":
            raise value from Raised(outcome.words)
        return value

    def tell_to_end(self) -> None:
        if self.process.exitcode is None:
            self.process.terminate()

    def let_go(self, seconds: float) -> None:
        """Wait for its end, which comes because nobody is at the other end of its pipe; else make it end."""
        self.pipe.close()
        self.process.join(max(seconds, 0))
        kill_group(self.process)
        self.process.join(KILLED_S)

    def _tell_that_it_died(self) -> NoReturn:
        self.process.join(KILLED_S)
        raise PalestraError(
            say("A worker process ended by itself ({how_ended}).", how_ended=how_ended(self.process.exitcode))
        ) from None


def _heard_of(busy: Sequence[_Worker]) -> list[_Worker]:
    """Workers that have answered, or have ended."""
    ready = connection.wait([end for one in busy for end in (one.pipe, one.process.sentinel)], NOTICED_S)
    return [worker for worker in busy if worker.pipe in ready or worker.process.sentinel in ready]


def _let_go(pool: Sequence[_Worker]) -> None:
    deadline = time.monotonic() + ENDING_S
    for worker in pool:
        worker.let_go(deadline - time.monotonic())


def _pickled(value: Any, what: Message, item: Any = None) -> bytes:
    try:
        return bytes(ForkingPickler.dumps(value))
    except Exception as error:
        raise CannotSend(what, brief(error), item) from None


# In the worker


def _serve(pipe: Connection, parent: int) -> None:
    """Work on what comes, until the pipe is closed or the parent ends."""
    os.setsid()  # Ctrl-C in a terminal is the parent's to answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    end_with_parent(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stop_signals.STOPPING)
    try:
        function = pipe.recv_bytes()
        while True:
            outcome, pickled = _worked(function, pipe.recv_bytes())
            pipe.send_bytes(msgspec.msgpack.encode(outcome))
            pipe.send_bytes(pickled)
    except (EOFError, OSError):  # the parent has let go of the pipe
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is half done any more


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind, so that what is half written is removed; told again meanwhile, go on with that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(TERMINATED)


def _worked(function: bytes, payload: bytes) -> tuple[_Outcome, bytes]:
    # The function is unpickled for each item: what it keeps in itself must not depend on who did what before.
    try:
        work, item = ForkingPickler.loads(function), ForkingPickler.loads(payload)
    except Exception as error:
        return _Outcome("cannot read", brief(error)), b""
    try:
        result = work(item)
    except Exception as error:
        return _Outcome("raised", traceback.format_exc()), _error_pickled(error)
    try:
        return _Outcome("done"), bytes(ForkingPickler.dumps(result))
    except Exception as error:
        return _Outcome("cannot send", brief(error)), b""


def _error_pickled(error: Exception) -> bytes:
    """Nothing, where an error cannot be pickled: its words tell what it was."""
    try:
        return bytes(ForkingPickler.dumps(error))
    except Exception:
        return b""
