"""Real time, for runs before an audience: waits on the clock and on the lines at once."""

import select
import time
from collections.abc import Callable, Sequence

from palestra.collect.stream import Line

LONGEST_S = 0.02  # between two looks at every line: what a full socket did not take is sent on then
DEAF_S = 0.002  # the same where a line gives nothing to wait on
AT_ONCE_S = 0.0002  # a wait so short did not wait: what it found may have come before


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
        if left_s > 0:
            _wait(poll, left_s)
        now = time.monotonic()
        # What is found at once may have come while we were busy elsewhere, and is not charged for it.
        self._heard = now if now - began > AT_ONCE_S else self._listened
        self._listened = now


def _wait(poll: select.poll, left_s: float) -> None:
    """Wait for a line, or exactly so long: poll itself counts whole milliseconds, and rounds up."""
    whole_ms = int(left_s * 1e3)
    end = time.monotonic() + left_s
    if not poll.poll(whole_ms):
        time.sleep(max(end - time.monotonic(), 0.0))
