"""A run's log: one JSON record in a line. Each is handed to the system at once and is on the disk soon after."""

import fcntl
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from palestra.errors import PalestraError
from palestra.text import say

SYNC_S = 0.25
Record = dict[str, Any]


class RunLog:
    """Only one process writes it. A record that could not be written whole leaves nothing behind."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._out = file.open("ab")
        try:
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._out.close()
            raise PalestraError(
                say("{file}: another process is showing this run. Stop that one, or choose another --out.", file=file)
            ) from None
        self.cut = _cut_last_line(file, self._out.fileno())  # bytes of a record that a crash had left unfinished
        self._is_dirty = threading.Event()
        self._closing = threading.Event()
        self._sync = threading.Thread(target=self._keep_synced, daemon=True)
        self._sync.start()

    def append(self, record: Record) -> None:
        """Raises OSError where there is no room; the log is then as it was."""
        line = msgspec.json.encode({**stamp(), **record}) + b"\n"
        before = os.fstat(self._out.fileno()).st_size
        try:
            while line:  # a full disk takes a part, and says at the next try why not more
                line = line[os.write(self._out.fileno(), line) :]
        except OSError:
            os.ftruncate(self._out.fileno(), before)
            raise
        self._is_dirty.set()

    def close(self) -> None:
        if self._out.closed:
            return
        self._closing.set()
        self._is_dirty.set()
        self._sync.join()
        os.fsync(self._out.fileno())
        self._out.close()

    def _keep_synced(self) -> None:
        while not self._closing.is_set():
            self._is_dirty.wait()
            self._is_dirty.clear()
            os.fsync(self._out.fileno())
            self._closing.wait(SYNC_S)


def stamp() -> Record:
    """Now, on the clock that all of a recording shares, and for people."""
    return {"t_s": time.monotonic(), "utc": datetime.now(UTC).isoformat()}


def read_log(file: Path) -> list[Record]:
    """All records that are whole."""
    data = file.read_bytes()
    return [msgspec.json.decode(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def _cut_last_line(file: Path, number: int) -> int:
    data = file.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.ftruncate(number, whole)
    return len(data) - whole
