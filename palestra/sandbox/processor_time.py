"""How much processor time a program has used, and how long it was kept waiting for some.

Where the kernel tells the pressure on a group (PSI), waiting is the time in which the program could have run and none
of it did: what its own processes take from each other is no waiting. Elsewhere it is the run-queue delay of whichever
of its threads was delayed most, and threads that ended between two looks are not counted.
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from palestra.sandbox.processes import descendants

STALLED = re.compile(rb"^full .*total=(\d+)", re.MULTILINE)  # µs
USED = re.compile(rb"^usage_usec (\d+)", re.MULTILINE)
MOST_THREADS = 64  # that are looked at: a program must not make looking at it take long


class ProcessorTime:
    """The counters of one program. They only grow."""

    def __init__(self, files: Mapping[str, str], keeper: int) -> None:
        self._members, self._keeper = files.get("cgroup.procs"), keeper
        self._usage, self._stat, self._pressure = (
            _opened(files.get(name)) for name in ("cpuacct.usage", "cpu.stat", "cpu.pressure")
        )
        self._threads: dict[str, tuple[int, int]] = {}  # run and delayed so far, in ns
        self._used_ns = self._delayed_ns = 0  # of threads

    def used_s(self) -> float:
        if text := _read(self._usage):
            return int(text) / 1e9
        if found := USED.search(_read(self._stat)):
            return int(found[1]) / 1e6
        self._look()
        return self._used_ns / 1e9

    def waited_s(self) -> float:
        if found := STALLED.search(_read(self._pressure)):
            return int(found[1]) / 1e6
        self._look()
        return self._delayed_ns / 1e9

    def _look(self) -> None:
        now = dict(_threads(self._processes()))
        before = {name: self._threads.get(name, (0, 0)) for name in now}
        self._used_ns += sum(now[name][0] - before[name][0] for name in now)
        self._delayed_ns += max((now[name][1] - before[name][1] for name in now), default=0)
        self._threads = now

    def _processes(self) -> list[int]:
        if self._members is None:
            return descendants(self._keeper)
        with contextlib.suppress(OSError):  # it is over
            return [int(pid) for pid in Path(self._members).read_text().split()]
        return []

    def close(self) -> None:
        for file in (self._usage, self._stat, self._pressure):
            if file >= 0:
                os.close(file)
        self._usage = self._stat = self._pressure = -1
        self._members, self._keeper = None, -1


def _threads(processes: list[int]) -> Iterator[tuple[str, tuple[int, int]]]:
    left = MOST_THREADS
    for pid in processes:
        with contextlib.suppress(OSError):  # it ended meanwhile
            for task in islice(Path(f"/proc/{pid}/task").iterdir(), left):
                ran, delayed, _ = (task / "schedstat").read_text().split()
                left -= 1
                yield task.name, (int(ran), int(delayed))


def _opened(place: str | None) -> int:
    """A file to look into again and again; below 0 where there is none that tells anything."""
    if place is None:
        return -1
    try:
        file = os.open(place, os.O_RDONLY)
    except OSError:
        return -1
    if _read(file):
        return file
    os.close(file)
    return -1


def _read(file: int) -> bytes:
    if file >= 0:
        with contextlib.suppress(OSError):  # its group is gone, or the kernel was told not to count this
            return os.pread(file, 4096, 0)
    return b""
