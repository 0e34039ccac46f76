"""What came last from each source, on our clock: kept in memory beside the recording."""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.studio.capture.clock import SourceClock
from palestra.studio.capture.source import About, Frame, Image, Item, Notice, Offset, Samples

KEPT_NS = 2_000_000_000  # of pictures


class Timed:
    """Times of one source on our clock, as they come."""

    def __init__(self, about: About) -> None:
        self._clock = SourceClock(about.measures_offset)
        self._offset_ns: int | None = None

    def note(self, item: Offset) -> None:
        self._take(self._clock.measured(item))

    def seen(self, taken_ns: int, arrived_ns: int) -> None:
        self._take(self._clock.seen(taken_ns, arrived_ns))

    def _take(self, told: Iterable[Offset | Notice]) -> None:
        for one in told:
            if isinstance(one, Offset):
                self._offset_ns = one.offset_ns

    def on_our_clock(self, taken_ns: int, arrived_ns: int) -> int:
        """Nothing is taken after it arrived."""
        return arrived_ns if self._offset_ns is None else min(taken_ns + self._offset_ns, arrived_ns)


class NewestPictures:
    """The newest seconds of a camera."""

    def __init__(self, about: About) -> None:
        self._timed = Timed(about)
        self._kept: deque[tuple[int, Image]] = deque()
        self._lock = threading.Lock()

    def hear(self, item: Item) -> None:
        if isinstance(item, Offset):
            self._timed.note(item)
        if not isinstance(item, Frame):
            return
        at_ns = item.arrived_ns
        if item.taken_ns is not None:
            self._timed.seen(item.taken_ns, item.arrived_ns)
            at_ns = self._timed.on_our_clock(item.taken_ns, item.arrived_ns)
        with self._lock:
            self._kept.append((at_ns, item.images[0]))
            while self._kept[0][0] < at_ns - KEPT_NS:
                self._kept.popleft()

    def newest_ns(self) -> int | None:
        with self._lock:
            return self._kept[-1][0] if self._kept else None

    def nearest(self, at_ns: int) -> tuple[int, Image] | None:
        """The picture taken nearest to a moment, and when that was."""
        with self._lock:
            return min(self._kept, key=lambda one: abs(one[0] - at_ns), default=None)


@dataclass(frozen=True)
class Piece:
    """Samples that came together, with the time of each."""

    at_ns: NDArray[np.int64]
    values: NDArray[Any]  # samples × channels


class NewestSamples:
    """A signal's samples, until they are taken."""

    def __init__(self, about: About) -> None:
        self._timed = Timed(about)
        self._waiting: deque[Piece] = deque()

    def hear(self, item: Item) -> None:
        if isinstance(item, Offset):
            self._timed.note(item)
        if isinstance(item, Samples) and item.count and isinstance(item.values, np.ndarray):
            newest = int(item.taken_ns[-1])
            self._timed.seen(newest, item.arrived_ns)
            shift = self._timed.on_our_clock(newest, item.arrived_ns) - newest
            self._waiting.append(Piece(item.taken_ns + shift, item.values))

    def take(self, before_ns: int) -> Piece | None:
        """What was taken before a moment, if anything."""
        pieces = []
        while self._waiting and self._waiting[0].at_ns[0] < before_ns:
            piece = self._waiting.popleft()
            count = int(np.searchsorted(piece.at_ns, before_ns))
            if count < len(piece.at_ns):
                self._waiting.appendleft(Piece(piece.at_ns[count:], piece.values[count:]))
                piece = Piece(piece.at_ns[:count], piece.values[:count])
            pieces.append(piece)
        if not pieces:
            return None
        return Piece(np.concatenate([one.at_ns for one in pieces]), np.concatenate([one.values for one in pieces]))
