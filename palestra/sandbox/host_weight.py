"""The host's own weight against its programs and other work, while it must be punctual.

A priority counts among the processes of one group alone, and Linux puts each session into a group of its own
(autogroup), or systemd each service into a control group. So the group is given the weight as well.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from palestra.sandbox import cgroups

AUTOGROUP = Path("/proc/self/autogroup")
NICE = -10  # of the session
WEIGHT = 10 * cgroups.WEIGHT


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """As much more as we may have; afterwards all is as it was."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_written(AUTOGROUP, NICE))
        if group := cgroups.own_version_2():
            stack.enter_context(_written(group / "cpu.weight", WEIGHT))
        yield


@contextlib.contextmanager
def _written(file: Path, value: int) -> Iterator[None]:
    """The last word of such a file is its value. Where it is not ours to change, nothing is."""
    try:
        before = file.read_text().split()[-1]
        file.write_text(str(value))
    except (OSError, IndexError):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.write_text(before)
