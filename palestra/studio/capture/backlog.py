"""What has come from a source and is not yet written: a queue with bounds. What does not fit is dropped and counted."""

import dataclasses
import threading
from collections import deque

from palestra.studio.capture.source import Frame, Item, Lost, Notice, Offset, Samples

MOST_ITEMS = 1000
MOST_BYTES = 256 << 20
Kept = Frame | Samples | Offset | Notice


class Backlog:
    """Between the thread that reads a source and the one that writes its files."""

    def __init__(self, most_items: int = MOST_ITEMS, most_bytes: int = MOST_BYTES) -> None:
        self._most_items, self._most_bytes = most_items, most_bytes
        self._items: deque[Kept] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._ended = False
        self._owed = 0  # dropped since the last one that was taken in; the next one says so
        self.dropped = 0  # frames or samples, in all

    def put(self, item: Item, may_wait: bool) -> None:
        """Take an item in. One that does not fit is waited for, or dropped and counted."""
        with self._changed:
            if isinstance(item, Lost):
                self._owed += item.count
                self.dropped += item.count
                return
            if not isinstance(item, Frame | Samples):  # words and offsets are few and small
                self._items.append(item)
                self._changed.notify_all()
                return
            while may_wait and self._is_full() and not self._ended:
                self._changed.wait()
            if self._is_full():
                self._owed += item.count + item.lost
                self.dropped += item.count + item.lost
                return
            self.dropped += item.lost
            if self._owed:
                item, self._owed = dataclasses.replace(item, lost=item.lost + self._owed), 0
            self._bytes += item.size
            self._items.append(item)
            self._changed.notify_all()

    def _is_full(self) -> bool:
        return len(self._items) >= self._most_items or self._bytes >= self._most_bytes

    def take(self, within_s: float) -> Kept | None:
        """The oldest item; None if there was none for so long, or there will be none."""
        with self._changed:
            if not self._items and not self._ended:
                self._changed.wait(within_s)
            if not self._items:
                return None
            item = self._items.popleft()
            if isinstance(item, Frame | Samples):
                self._bytes -= item.size
            self._changed.notify_all()
            return item

    def end(self) -> None:
        """No more comes; what is here is still handed out."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def is_done(self) -> bool:
        with self._changed:
            return self._ended and not self._items

    def __len__(self) -> int:
        return len(self._items)
