"""One writer at a time in a folder: what a writer that died left there, the next one removes."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palestra.errors import refuse
from palestra.text import say


@contextmanager
def turn(folder: Path, leftovers: str) -> Iterator[None]:
    """Wait until nobody else writes there, then remove what has these names: its writer is gone."""
    if not folder.is_dir():
        refuse(str(folder), say("no folder"), say("a folder to write to"))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for path in folder.glob(leftovers):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        yield
    finally:
        os.close(descriptor)
