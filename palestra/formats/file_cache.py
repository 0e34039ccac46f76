"""What a reader made of a file, kept as long as the file is the same.

A challenge's trials, truth and stream are asked for one after the other, and all three may need the same file. A
reader that is marked with `read_once` opens it for the first of them alone.
"""

import time
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
FRESH_NS = 100_000_000  # written so lately, a file may be written again and look the same: disks have coarse clocks


def read_once(most: int) -> Callable[[Callable[[Path], T]], Callable[[Path], T]]:
    """Marks a reader of one file, whose outcome nobody changes. Those of the `most` files read last are kept."""

    def marked(read: Callable[[Path], T]) -> Callable[[Path], T]:
        @lru_cache(most)
        def kept(file: Path, looks: tuple[int, ...]) -> T:
            return read(file)

        @wraps(read)
        def reading(file: Path) -> T:
            looks = _looks(file)
            return kept(file, looks) if looks else read(file)

        return reading

    return marked


def _looks(file: Path) -> tuple[int, ...] | None:
    """Something else once the file was written again, or another was put in its place; None where that is not sure."""
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None  # the reader says what is wrong with it
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < FRESH_NS:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
