"""How a command is told to stop: Ctrl-C and SIGTERM mean the same, and neither ever shows a traceback.

The first of them raises KeyboardInterrupt, once. Those that follow at once belong to the same request: `timeout` and
batch systems tell a process and then its group. They must not raise again, because an exception in the middle of
clean-up leaves locks in a wrong state and processes behind. One that comes later is impatience, and ends the process
as it is; the kernel then ends what it started.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from types import FrameType

INTERRUPTED = 130  # the exit code of what was stopped; docs/commands.md has them all
SAME_REQUEST_S = 1.0  # after the first signal; what comes later is impatience
RAISED_AGAIN_S = 0.02  # after which a KeyboardInterrupt that went nowhere is raised once more
STOPPING = frozenset({signal.SIGINT, signal.SIGTERM})
AT_ONCE = b"Stopped at once, without waiting for anything to be put in order.\n"
SHOW_CURSOR = b"\x1b[?25h"  # which a bar has hidden


class _State:
    """What the main thread was told so far."""

    def __init__(self) -> None:
        self.told_at: float | None = None
        self.holds = 0  # parts of the program that must not be interrupted, one in another
        self.is_owed = False  # whether a KeyboardInterrupt waits for them to end


_state = _State()


def answer_signals() -> None:
    """From now on Ctrl-C and SIGTERM stop this process in good order. Only for the main thread of a command."""
    global _state
    _state = _State()
    sys.unraisablehook = _raise_again
    _answer_by(_stop)
    # When all is cleaned up, Python gives signals back to the system, which would end us with a code of its own.
    atexit.unregister(_answer_by)
    atexit.register(_answer_by, signal.SIG_IGN)


def raise_no_more() -> None:
    """The command is done and Python cleans up: an exception raised there would only be printed."""
    _answer_by(_stop_without_raising)


def came_of_stopping(error: BaseException) -> bool:
    """Whether an error was raised because the process was told to stop: while a KeyboardInterrupt went by."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__context__
    return seen is not None


@contextmanager
def held() -> Iterator[None]:
    """Until this ends, a signal interrupts nothing: for what must be done whole, such as starting a process."""
    if threading.current_thread() is not threading.main_thread():  # signals are answered in the main thread alone
        yield
        return
    _state.holds += 1
    try:
        yield
    finally:
        _state.holds -= 1
        if _state.is_owed and not _state.holds:
            _state.is_owed = False
            raise KeyboardInterrupt


def start_process(process: BaseProcess) -> None:
    """Start a process in which Ctrl-C and SIGTERM are blocked until it has decided what to do with them."""
    with held():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            resource_tracker.ensure_running()  # which unblocks these signals when it starts its process
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer_by(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    for number in STOPPING:
        signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    if _state.told_at is not None:
        _stop_without_raising(number, frame)
        return
    _state.told_at = time.monotonic()
    if not _state.holds:
        raise KeyboardInterrupt
    _state.is_owed = True


def _stop_without_raising(number: int, frame: FrameType | None) -> None:
    if _state.told_at is None or time.monotonic() - _state.told_at > SAME_REQUEST_S:
        _end_at_once(number, frame)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, (SHOW_CURSOR if os.isatty(2) else b"") + AT_ONCE)
    os._exit(INTERRUPTED)


def _raise_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """A KeyboardInterrupt that was raised in a finaliser goes nowhere: it is raised anew, once that is over."""
    if unraisable.exc_type is KeyboardInterrupt:
        _state.told_at = None
        again = threading.Timer(RAISED_AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGTERM))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)
