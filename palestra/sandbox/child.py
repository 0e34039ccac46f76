"""The last steps before an entrant's program starts, in the process that becomes it. Standard library alone."""

import contextlib
import fcntl
import os
import resource
import signal
from pathlib import Path
from typing import NoReturn

from palestra.sandbox import bubblewrap, landlock, own_files, private_root, seccomp
from palestra.sandbox.plan import SOCKET_FD, Plan

DESCRIPTORS = 1024
OUT_OF_MEMORY_FIRST = 500  # whom the kernel ends when the whole machine is short: an entrant before ourselves
SAFE_FD = 100  # above what the program will have; ours are moved here first
FILTER_FD, WORDS_FD, STATUS_FD = 10, 11, 12  # bubblewrap reads them and closes them
# What programs read about the machine; without a /proc of its own the program gets no more than that.
PROC = ("/proc/self", "/proc/cpuinfo", "/proc/filesystems")


def start(plan: Plan, uid: int | None, limited: list[str], descriptors: dict[str, int]) -> NoReturn:
    """Become the program. `limited`: what a control group limits, so that no rlimit has to."""
    broken = _place(descriptors)
    try:
        _calm()
        _limit(plan, uid, limited)
        if plan.backend == "bubblewrap":
            _bubblewrap(plan, uid, descriptors["status"])
        if plan.backend == "landlock":
            _landlock(plan, uid)
        os.chdir(plan.folder)
        os.execve(plan.command[0], plan.command, plan.environment)
    except BaseException as error:
        os.write(broken, f"{type(error).__name__}: {error}".encode())
    os._exit(126)


def _place(descriptors: dict[str, int]) -> int:
    """Put input, output and socket where the program expects them; the rest closes when it starts."""
    for name, number in descriptors.items():
        descriptors[name] = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, SAFE_FD)
    os.closerange(SOCKET_FD, SAFE_FD)
    for name, number in (("input", 0), ("output", 1), ("output", 2), ("socket", SOCKET_FD)):
        if name in descriptors:
            os.dup2(descriptors[name], number)
    return descriptors["broken"]


def _calm() -> None:
    """Undo what Python and the keeper changed for themselves, and leave the terminal."""
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    if os.getpriority(os.PRIO_PROCESS, 0) < 0:  # a host that must be punctual has raised its own
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    with contextlib.suppress(OSError):  # a nicety
        Path("/proc/self/oom_score_adj").write_text(str(OUT_OF_MEMORY_FIRST))


def _limit(plan: Plan, uid: int | None, limited: list[str]) -> None:
    seconds = max(int(plan.cpu_s + 0.999), 1)
    _rlimit(resource.RLIMIT_CPU, seconds, seconds + 1)
    _rlimit(resource.RLIMIT_CORE, 1)  # 0 would still start a handler where core_pattern names one
    _rlimit(resource.RLIMIT_FSIZE, plan.tmp_bytes)
    _rlimit(resource.RLIMIT_NOFILE, DESCRIPTORS)
    if "memory" not in limited:
        _rlimit(resource.RLIMIT_AS, plan.memory_bytes)
    if "pids" not in limited:
        # It counts all of a user's processes: for an ordinary user those that are there already, too.
        _rlimit(resource.RLIMIT_NPROC, plan.pids + (0 if uid is not None else _running()))


def _rlimit(what: int, soft: int, hard: int | None = None) -> None:
    most = resource.getrlimit(what)[1]
    bound = [value if most == resource.RLIM_INFINITY else min(value, most) for value in (soft, hard or soft)]
    resource.setrlimit(what, (bound[0], bound[1]))


def _running() -> int:
    """Threads that this user has now."""
    count = 0
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            count += len(list((place / "task").iterdir())) if place.stat().st_uid == os.getuid() else 0
    return count


def _bubblewrap(plan: Plan, uid: int | None, status: int) -> NoReturn:
    bubblewrap.memory_file(seccomp.program(), FILTER_FD)
    os.dup2(status, STATUS_FD)
    if uid is not None:
        with contextlib.suppress(OSError):  # without the right to mount, bubblewrap makes a user namespace
            private_root.checked(private_root.libc.unshare(private_root.NEW_MOUNTS), "new mounts")
            plan = own_files.owned(plan)
    words = bubblewrap.words(plan, uid, FILTER_FD, STATUS_FD)
    bubblewrap.memory_file(b"".join(word.encode() + b"\0" for word in words), WORDS_FD)
    os.execve(plan.bwrap, bubblewrap.command(plan, uid, WORDS_FD), plan.environment)


def _landlock(plan: Plan, uid: int | None) -> None:
    devices = [f"/dev/{name}" for name in private_root.DEVICES]
    writable = [target for _, target in plan.writable]
    if plan.namespaces:
        private_root.enter(plan)
        readable = ["/"]
        writable.append("/tmp")
    else:
        readable = [target for _, target in plan.readable] + list(PROC)
    private_root.become(uid)
    # /proc/self is this very process by now; its children have none.
    landlock.restrict(readable, writable + devices)
    seccomp.apply(seccomp.program(plan.alone))
