"""What a program prints, in a file in memory that its keeper writes and we read: the first half of what is kept, and a
ring of the last. However much it prints, the file does not grow.

Standard library alone: the keeper runs without site-packages.
"""

import os
import struct
import time

DRAIN_BYTES = 1 << 16
FLOOD_PAUSE_S = 0.005  # past the limit we read more slowly: a flood then costs the program, and not the machine
COUNT = struct.Struct("<Q")  # at the start of the output file: bytes written in all


class Output:
    """What the program printed, in a file that our parent shares: the first half, and a ring of the last."""

    def __init__(self, source: int, file: int, limit: int) -> None:
        self.source, self.file, self.head = source, file, limit // 2
        self.tail = limit - self.head
        self.total = 0
        os.set_blocking(source, False)

    def drain(self) -> bool:
        """Take what is there now, within reason; whether anything was."""
        try:
            data = os.read(self.source, DRAIN_BYTES)
        except BlockingIOError:
            return False
        self._keep(data)
        if self.total > self.head + self.tail:
            time.sleep(FLOOD_PAUSE_S)
        return bool(data)

    def _keep(self, data: bytes) -> None:
        place, self.total = self.total, self.total + len(data)
        if place < self.head:
            os.pwrite(self.file, data[: self.head - place], COUNT.size + place)
            data, place = data[self.head - place :], self.head
        skip = max(len(data) - self.tail, 0)
        data, place = data[skip:], place + skip
        while data:
            at = (place - self.head) % self.tail
            part = data[: self.tail - at]
            os.pwrite(self.file, part, COUNT.size + self.head + at)
            data, place = data[len(part) :], place + len(part)
        os.pwrite(self.file, COUNT.pack(self.total), 0)


def text(file: int, limit: int) -> str:
    """What was printed so far, with a note where something is left out."""
    data = os.pread(file, COUNT.size + limit, 0)
    if len(data) < COUNT.size:
        return ""
    (total,), data, head = COUNT.unpack_from(data), data[COUNT.size :], limit // 2
    if total <= limit:
        return data[:total].decode(errors="replace")
    turn = (total - head) % (limit - head)
    tail = data[head + turn :] + data[head : head + turn]
    note = f"\n… {total - limit:,} bytes of output are left out here …\n"
    return data[:head].decode(errors="replace") + note + tail.decode(errors="replace")
