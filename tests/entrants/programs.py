"""Hostile programs, and parts of them."""

import time
from collections.abc import Callable

TRIES = """
def tries(what):
    try:
        print("did it:", what())
    except BaseException as error:
        print("refused:", type(error).__name__, error)
"""

DAEMONS = """
import os, sys, time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            for number in range(3): os.close(number)
            time.sleep(1000)
        os._exit(0)
    os.wait()
print("ready")
"""

CALLS = """
import ctypes, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
calls = dict(mount=(165, 40), ptrace=(101, 117), keyctl=(250, 219), bpf=(321, 280), perf_event_open=(298, 241),
    userfaultfd=(323, 282), kexec_load=(246, 104), reboot=(169, 142), init_module=(175, 105), unshare=(272, 97),
    setns=(308, 268), open_by_handle_at=(304, 265), pivot_root=(155, 41), process_vm_readv=(310, 270),
    io_uring_setup=(425, 425), clone3=(435, 435), memfd_create=(319, 279), shmget=(29, 194), future=(1000, 1000))
for name, numbers in calls.items():
    ctypes.set_errno(0)
    result = libc.syscall(numbers[0 if x86 else 1], 0, 0, 0, 0, 0)
    print(name, result, errno.errorcode.get(ctypes.get_errno()))
print("clone", libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
"""


def until(true: Callable[[], bool], within_s: float = 10) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
