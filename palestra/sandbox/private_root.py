"""A root of its own for a process: its own mounts, processes, network and names, made with system calls.

What bubblewrap does, for machines without it. Standard library alone: the keeper runs without site-packages.
"""

import ctypes
import os
import signal
import struct
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from palestra.sandbox.own_files import BIND, NODEV, NOSUID, RECURSIVE, mount, owned

if TYPE_CHECKING:
    from palestra.sandbox.plan import Plan

NEW_MOUNTS, NEW_CGROUP, NEW_NAMES, NEW_IPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEW_USER, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
NOEXEC = 8
DETACH = 2
MOUNT_SETATTR, AT_RECURSIVE = 442, 0x8000
ATTR_READ_ONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
CAPSET = {"x86_64": 126, "aarch64": 91}
PR_SET_PDEATHSIG, PR_CAPBSET_DROP = 1, 24
CAPABILITIES = 64
DEVICES = ("null", "zero", "full", "random", "urandom")
DEVICE_LINKS = (("/proc/self/fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr"), ("/tmp", "shm"))

libc = ctypes.CDLL(None, use_errno=True)


def enter(plan: "Plan") -> None:
    """Return in a process that sees only what the plan lists. Those before it stay, to hand on how it ends."""
    root = os.getuid() == 0
    ids = f"{os.getuid()} {os.getuid()} 1", f"{os.getgid()} {os.getgid()} 1"
    flags = NEW_MOUNTS | NEW_CGROUP | NEW_NAMES | NEW_IPC | NEW_PIDS | NEW_NETWORK
    checked(libc.unshare(flags | (0 if root else NEW_USER)), "new namespaces")
    if not root:  # an ordinary user has the right to mount only in a user namespace, where it stays who it is
        for file, text in zip(("setgroups", "uid_map", "gid_map"), ("deny", *ids), strict=True):
            Path("/proc/self", file).write_text(text)
    plan = owned(plan)
    _split()  # the first child is process 1 of the new namespace: when it ends, the kernel ends all in it
    _build_root(plan)
    checked(libc.sethostname(b"palestra", 8), "a host name")
    _split()  # process 1 itself must not be the program: it has to reap orphans, and default signals do not end it


def _split() -> None:
    """Go on as a child; the parent waits for it and ends as it did."""
    pid = os.fork()
    if pid:
        _stand_in(pid)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _stand_in(child: int) -> NoReturn:
    os.closerange(0, 4096)  # the socket's other end must see its end when the program ends
    status = 0
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _build_root(plan: "Plan") -> None:
    # The host's root moves to /old, so that sources are still in reach wherever they are.
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    for name in ("/tmp/old", "/tmp/new"):
        Path(name).mkdir()
    _pivot("/tmp", "/tmp/old")
    mount("tmpfs", "/new", "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    _folder("/new/tmp")  # before others: what is bound may lie in it
    mount("tmpfs", "/new/tmp", "tmpfs", NOSUID | NODEV, f"mode=1777,size={plan.tmp_bytes}")
    for source, target in plan.readable:
        _bind(f"/old{source}", f"/new{target}", ATTR_READ_ONLY | ATTR_NOSUID | ATTR_NODEV)
    for target, path in plan.links:
        _link(target, f"/new{path}")
    _devices(plan.devices)
    _folder("/new/proc")
    mount("proc", "/new/proc", "proc", NOSUID | NODEV | NOEXEC)
    for source, target in plan.masks:
        mount(f"/old{source}", f"/new{target}", None, BIND)
        _set(f"/new{target}", ATTR_READ_ONLY | ATTR_NOSUID | ATTR_NODEV)
    for source, target in plan.writable:
        _bind(f"/old{source}", f"/new{target}", ATTR_NOSUID | ATTR_NODEV)
    _set("/new", ATTR_READ_ONLY, recursive=False)
    checked(libc.umount2(b"/old", DETACH), "letting go of the host's root")
    os.chdir("/new")
    _pivot(".", ".")
    checked(libc.umount2(b".", DETACH), "letting go of the old root")
    os.chdir("/")


def _devices(place: str) -> None:
    for name in DEVICES:
        _bind(f"/old{place}/{name}", f"/new/dev/{name}", ATTR_NOSUID)
    for target, name in DEVICE_LINKS:
        _link(target, f"/new/dev/{name}")


def _bind(source: str, target: str, attributes: int) -> None:
    if Path(source).is_dir():
        _folder(target)
    else:
        _folder(str(Path(target).parent))
        Path(target).touch()
    mount(source, target, None, BIND | RECURSIVE)
    _set(target, attributes)


def _folder(path: str) -> None:
    Path(path).mkdir(parents=True, exist_ok=True)


def _link(target: str, path: str) -> None:
    _folder(str(Path(path).parent))
    Path(path).symlink_to(target)


def _set(target: str, attributes: int, recursive: bool = True) -> None:
    held = struct.pack("<QQQQ", attributes, 0, 0, 0)
    where = (-100, target.encode(), AT_RECURSIVE if recursive else 0)
    checked(libc.syscall(MOUNT_SETATTR, *where, held, ctypes.c_size_t(len(held))), f"protecting {target}")


def _pivot(new: str, old: str) -> None:
    checked(libc.syscall(PIVOT_ROOT[os.uname().machine], new.encode(), old.encode()), f"making {new} the root")
    os.chdir("/") if new != "." else None


def become(uid: int | None) -> None:
    """Take this user (or stay who we are) and give up every capability, for good."""
    for number in range(CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)  # fails where we have no right to: then there is nothing to drop
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    header, none = struct.pack("<Ii", 0x20080522, 0), bytes(24)
    checked(libc.syscall(CAPSET[os.uname().machine], header, none), "giving up capabilities")


def checked(result: int, what: str) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
