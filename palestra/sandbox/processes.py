"""Processes of the host, by what /proc says of them. Standard library alone: the keeper runs without site-packages."""

import contextlib
import os
from pathlib import Path


def children(of: int) -> list[int]:
    """The processes that one started, or inherited."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it ended meanwhile
        for task in Path(f"/proc/{of}/task").iterdir():
            found += map(int, _text(task / "children").split())
    return found


def descendants(of: int | None = None) -> list[int]:
    """All processes below one, by default this, as the host names them."""
    found = children(os.getpid() if of is None else of)
    for pid in found:  # which grows meanwhile
        found += children(pid)
    return found


def cpu_s(pid: int) -> float:
    """Its processor time and that of the children it waited for."""
    words = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK") if len(words) > 14 else 0.0


def memory_bytes(pid: int) -> int:
    """Its share of the memory in use; pages that several have are divided among them."""
    for line in _text(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    words = _text(f"/proc/{pid}/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") if words else 0


def folder_bytes(place: str) -> int:
    """What a folder takes on its disk."""
    total = 0
    for folder, _, files in os.walk(place):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_blocks * 512
    return total


def _text(place: str | Path) -> str:
    try:
        return Path(place).read_text()
    except OSError:
        return ""
