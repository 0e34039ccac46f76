"""Real time, for runs before an audience: waits on the clock and on the lines at once."""

import gc
import os
import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from palestra.live.stream import Line
from palestra.sandbox import host_weight

LONGEST_S = 0.02  # between two looks at every line: what a full socket did not take is sent on then
DEAF_S = 0.002  # the same where a line gives nothing to wait on
CLOSE_S = 1e-6  # what is found when a deadline has just passed may have come just before it
AT_ONCE_S = 0.0002  # a wait so short did not wait: what it found may have come before
SPIN_S = 0.0001  # to be woken takes longer than to look a little more; only where nobody else waits
NICE = -10  # the host's priority in real time, where it may be raised


class WallClock:
    """The host's clock. `idle` is told how long nothing is due, before each wait, and may use some of it."""

    def __init__(self, idle: Callable[[float], None] = lambda left_s: None) -> None:
        self.idle = idle
        self._heard = self._listened = time.monotonic()

    def now(self) -> float:
        return time.monotonic()

    def heard(self) -> float:
        return self._heard

    def wait(self, until: float, lines: Sequence[Line]) -> None:
        self.idle(until - time.monotonic())
        numbers = [line.fileno() for line in lines if not line.dead()]
        poll = select.poll()
        for number in numbers:
            if number >= 0:
                poll.register(number, select.POLLIN)
        began = time.monotonic()
        left_s = min(until - began, LONGEST_S if numbers and min(numbers) >= 0 else DEAF_S)
        empty_at = None
        if left_s > 0 and not (len(numbers) == 1 and numbers[0] >= 0 and _speaks_soon(poll, min(left_s, SPIN_S))):
            empty_at = _wait(poll, max(began + left_s - time.monotonic(), 0.0))
        now = time.monotonic()
        # What may have come while we were busy, or slept too long, is not charged for it.
        if empty_at is not None:
            self._heard = empty_at
        elif now - began <= AT_ONCE_S:
            self._heard = self._listened
        else:
            self._heard = min(now, max(until - CLOSE_S, began))
        self._listened = now


def _speaks_soon(poll: select.poll, within_s: float) -> bool:
    """Look again and again, without sleeping."""
    awake_until = time.monotonic() + within_s
    while time.monotonic() < awake_until:
        if poll.poll(0):
            return True
    return False


def _wait(poll: select.poll, left_s: float) -> float | None:
    """Wait for a line, or exactly so long: poll itself counts whole milliseconds, and rounds up. When all lines were
    last seen to be silent, if none spoke."""
    end = time.monotonic() + left_s
    if poll.poll(int(left_s * 1e3)):
        return None
    empty_at = time.monotonic()
    time.sleep(max(end - empty_at, 0.0))
    return min(empty_at, end)


@contextmanager
def punctual(pace: str) -> Iterator[None]:
    """In real time the host comes first, where it may, and does not stop to collect garbage."""
    if pace != "real":
        yield
        return
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):  # then it is as punctual as others; its lateness is measured either way
        os.setpriority(os.PRIO_PROCESS, 0, min(before, NICE))
    gc.collect()
    gc.disable()
    try:
        with host_weight.raised():
            yield
    finally:
        gc.enable()
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, before)
