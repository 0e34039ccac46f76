"""How many cores this process may use."""

import os


def usable_cores() -> int:
    """What this process is granted: a container or a batch system often grants fewer cores than there are."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1
