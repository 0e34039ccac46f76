"""How many processes may work side by side, how they end with their parent, and how seldom they look for garbage."""

import ctypes
import gc
import os
import signal
import sys


def usable_cores() -> int:
    """What this process is granted: a container or a batch system often grants fewer cores than there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


WORKERS = "PALESTRA_WORKERS"  # how many processes to use, instead of one per core
PR_SET_PDEATHSIG = 1


def workers() -> int:
    asked = os.environ.get(WORKERS, "")
    return max(int(asked), 1) if asked.isdigit() else usable_cores()


def end_with_parent(parent: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:  # it ended before we asked
        os._exit(1)


def collect_seldom() -> None:
    """A thousand viewers are a million objects, none of them garbage: a search through all of them stops the server
    for a tenth of a second. A search through ten thousand new ones is not felt. Modules that are loaded are no garbage
    either: to look for some takes a sixth of a server's start."""
    gc.set_threshold(10_000, 50, 100)
