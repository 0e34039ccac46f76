"""How a source's clock stands to ours, measured again and again, so that drift and jumps show.

A source that answers round trips measures the offset itself. Of any other, only arrivals are seen: the frame that was
quickest on its way in each window stands for the offset, which then includes the shortest way there is.
"""

import statistics

import numpy as np
from numpy.typing import NDArray

from palestra.studio.capture.source import Notice, Offset
from palestra.text import say

JUMP_NS = 500_000_000  # what no drift and no delay explains
FIRST_NS, WINDOW_NS = 1_000_000_000, 5_000_000_000
MOST_JUMPS = 100  # that are told
MOST_DELAYS = 100_000  # of one window: a source that sends faster is measured by the first of them


class SourceClock:
    """Watches the times of one source, and tells of offsets and jumps."""

    def __init__(self, measures_itself: bool) -> None:
        self._measures_itself = measures_itself
        self._last_taken = self._last_arrived = 0
        self._jumps = 0
        self._known: Offset | None = None  # the newest that was told
        self._window: list[tuple[int, int]] = []  # delay and arrival
        self._began_ns = 0
        self._length_ns = FIRST_NS

    def seen(self, taken_ns: int, arrived_ns: int) -> list[Offset | Notice]:
        """Take note of one frame; what there is to tell after it."""
        delay = arrived_ns - taken_ns
        told: list[Offset | Notice] = []
        if self._window and (taken_ns < self._last_taken or delay < self._low() - JUMP_NS):
            told += self._jumped(taken_ns, arrived_ns)
        elif not self._measures_itself and self._window and arrived_ns - self._began_ns >= self._length_ns:
            told += self._end_window()
        if not self._window:
            self._began_ns = arrived_ns
        if len(self._window) < MOST_DELAYS:
            self._window.append((delay, arrived_ns))
        if self._measures_itself and arrived_ns - self._began_ns >= WINDOW_NS:
            self._window = self._window[-1:]  # only kept to notice jumps by
            self._began_ns = arrived_ns
        self._last_taken, self._last_arrived = taken_ns, arrived_ns
        return told

    def measured(self, found: Offset) -> list[Offset | Notice]:
        """Take note of an offset that the source measured."""
        before, self._known = self._known, found
        if before and abs(found.offset_ns - before.offset_ns) > JUMP_NS:
            # One offset on either side of the jump: times between two offsets are a line through both.
            step = Offset(found.at_ns - 1, before.offset_ns, before.spread_ns)
            self._window = []  # what came before was told by another clock
            return [step, found, _jump(found.at_ns, before.offset_ns - found.offset_ns)]
        return [found]

    def finish(self) -> list[Offset | Notice]:
        """What the last window was, when nothing more comes."""
        return [] if self._measures_itself or not self._window else self._end_window()

    def _low(self) -> int:
        lows = [min(delay for delay, _ in self._window[-1000:])] if self._window else []
        if self._known and not self._measures_itself:
            lows.append(self._known.offset_ns)
        return min(lows) if lows else -(1 << 62)

    def _jumped(self, taken_ns: int, arrived_ns: int) -> list[Offset | Notice]:
        by_ns = taken_ns - self._last_taken - (arrived_ns - self._last_arrived)
        told: list[Offset | Notice] = []
        if not self._measures_itself:
            told += self._end_window() if self._window else []
            old = self._known.offset_ns if self._known else arrived_ns - taken_ns
            self._known = Offset(arrived_ns, arrived_ns - taken_ns, 0)
            told += [Offset(self._last_arrived, old, 0), self._known]
        self._window = []
        self._jumps += 1
        if self._jumps > MOST_JUMPS:
            return told
        return [*told, _jump(arrived_ns, by_ns) if self._jumps < MOST_JUMPS else _no_more_jumps(arrived_ns)]

    def _end_window(self) -> list[Offset | Notice]:
        low, at_ns = min(self._window)
        middle = statistics.median_low([delay for delay, _ in self._window])
        before, self._known = self._known, Offset(at_ns, low, middle - low)
        self._window, self._length_ns = [], WINDOW_NS
        if before and low - before.offset_ns > JUMP_NS:
            return [self._known, _fell_behind(at_ns, low - before.offset_ns)]
        return [self._known]


def _jump(at_ns: int, by_ns: int) -> Notice:
    return Notice(at_ns, say("Its clock jumped by {by:+.3f} s; its offset is measured anew.", by=by_ns / 1e9))


def _no_more_jumps(at_ns: int) -> Notice:
    return Notice(
        at_ns, say("Its clock jumps again and again. No more of its jumps are told; offsets are measured still.")
    )


def _fell_behind(at_ns: int, by_ns: int) -> Notice:
    return Notice(at_ns, say("It came {by:.3f} s later than before, or its clock was put back.", by=by_ns / 1e9))


def on_our_clock(
    taken_ns: NDArray[np.int64], arrived_ns: NDArray[np.int64], known: NDArray[np.bool_], offsets: list[Offset]
) -> NDArray[np.int64]:
    """When each frame was taken, on our clock; when it arrived, where its source has no clock or no offset is known.

    Nothing is taken after it arrived: where the measured offset says so, it is the offset that is wrong.
    """
    if not offsets:
        return arrived_ns.copy()
    at = np.array([one.at_ns for one in offsets], np.int64)
    start = int(at[0])  # seconds since then are small, and lose nothing as floats
    order = np.argsort(at, kind="stable")
    base = offsets[0].offset_ns
    shifts = np.array([one.offset_ns - base for one in offsets], np.float64)[order]
    shift = np.interp((arrived_ns - start).astype(np.float64), (at[order] - start).astype(np.float64), shifts)
    ours = taken_ns + base + np.rint(shift).astype(np.int64)
    return np.where(known, np.minimum(ours, arrived_ns), arrived_ns)
