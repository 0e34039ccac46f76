"""The system calls that an entrant's program is refused, as a BPF program that the kernel runs before each call.

A list of what is refused, rather than of what is allowed: numerical libraries use most of what is harmless, and differ.
Calls newer than this list do not exist for the program. Standard library alone: the keeper runs without site-packages.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

# name: (x86_64, aarch64); None where the machine has no such call
Numbers = dict[str, tuple[int | None, int | None]]

FORBIDDEN: Numbers = {  # answered with "not permitted"
    # mounts and roots: what the program sees is not its to change
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "statmount": (457, 457),
    "listmount": (458, 458), "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "acct": (163, 89),
    # namespaces
    "unshare": (272, 97), "setns": (308, 268),
    # other processes' memory and descriptors
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
    # files by handle: a way around paths
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    # the kernel itself: keys, programs in it, modules, another kernel
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "syslog": (103, 116), "lookup_dcookie": (212, 18), "nfsservctl": (180, 42),
    "vhangup": (153, 58), "personality": (135, 92), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None), "sysfs": (139, None),
    "_sysctl": (156, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None),
    # the clock and the name of the machine
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162),
}  # fmt: skip

ABSENT: Numbers = {  # answered with "no such call", so that libraries take their other way
    "clone3": (435, 435),  # its flags are behind a pointer, where no filter sees them; `clone` is judged below
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # memory that no size limit of ours counts
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180),
    # what others do: with files that several see, with what the system keeps of files in memory, with the machine
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27), "mincore": (27, 232),
    "cachestat": (451, 451), "sysinfo": (99, 179),
}  # fmt: skip

# Calls that take the id of a process, first: where the host's processes can be named, only one's own (0) may be.
OF_A_PROCESS: Numbers = {
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
# These can mean all processes of a user, which may be us.
OF_A_USER: Numbers = {"setpriority": (141, 140), "ioprio_set": (251, 30)}

CLONE, SOCKET, IOCTL, FCNTL, PREADV2 = (56, 220), (41, 198), (16, 29), (72, 25), (327, 286)
UNKNOWN_FROM = (
    467  # calls from this number on are newer than the list; x32 calls have a high bit and fall under it, too
)
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net
TIOCSTI, TIOCLINUX = 0x5412, 0x541C  # type into somebody's terminal
F_SETLEASE, F_GETLEASE, F_NOTIFY = 1024, 1025, 1026  # tell of what others do with a file
RWF_NOWAIT = 8  # tells whether somebody has read it before
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # AUDIT_ARCH, column

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, ARGUMENTS = 0, 4, 16  # where seccomp_data has them; arguments have 8 bytes, low half first
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2


def supported() -> bool:
    return os.uname().machine in MACHINES


def program(alone: bool = True, machine: str | None = None) -> bytes:
    """The filter. `alone`: the program has its own process and network namespaces, so it may make Unix sockets and name
    any process it sees; without them it may not."""
    architecture, column = MACHINES[machine or os.uname().machine]
    code = [_load(MACHINE), _step(EQUAL, architecture, 1, 0), _return(KILL), _load(NUMBER)]
    code += [_step(AT_LEAST, UNKNOWN_FROM, 0, 1), _return(REFUSE | errno.ENOSYS)]
    code += _each(FORBIDDEN, column, [_return(REFUSE | errno.EPERM)])
    code += _each(ABSENT, column, [_return(REFUSE | errno.ENOSYS)])
    code += _when(
        CLONE[column], [_load(ARGUMENTS), _step(ANY_BIT, NEW_NAMESPACES, 0, 1), *_refuse_or_allow(errno.EPERM)]
    )
    code += _when(SOCKET[column], _sockets(alone))
    keys = [_step(EQUAL, TIOCSTI, 1, 0), _step(EQUAL, TIOCLINUX, 0, 1), *_refuse_or_allow(errno.EPERM)]
    code += _when(IOCTL[column], [_load(ARGUMENTS + 8), *keys])
    told = [_step(EQUAL, F_SETLEASE, 2, 0), _step(EQUAL, F_GETLEASE, 1, 0), _step(EQUAL, F_NOTIFY, 0, 1)]
    code += _when(FCNTL[column], [_load(ARGUMENTS + 8), *told, *_refuse_or_allow(errno.EPERM)])
    nowait = [_load(ARGUMENTS + 40), _step(ANY_BIT, RWF_NOWAIT, 0, 1)]
    code += _when(PREADV2[column], [*nowait, *_refuse_or_allow(errno.EOPNOTSUPP)])
    if not alone:
        own = [_load(ARGUMENTS), _step(EQUAL, 0, 1, 0), *_refuse_or_allow(errno.EPERM)]
        code += _each(OF_A_PROCESS, column, own)
        code += _each(OF_A_USER, column, [_return(REFUSE | errno.EPERM)])
    return b"".join([*code, _return(ALLOW)])


def _sockets(alone: bool) -> list[bytes]:
    """Only Unix sockets, and those only where the host's are out of reach. There is no network to talk to, so the
    kernel's network code need not be within reach either."""
    if not alone:
        return [_return(REFUSE | errno.EACCES)]
    return [_load(ARGUMENTS), _step(EQUAL, 1, 1, 0), *_refuse_or_allow(errno.EACCES)]


def apply(code: bytes) -> None:
    """Put the filter on this process and all that come from it, for good."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    held = Program(len(code) // 8, ctypes.addressof(buffer))
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER_MODE, ctypes.byref(held), 0, 0)):
        if libc.prctl(*words):
            raise OSError(ctypes.get_errno(), "the system call filter was not taken")


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _step(LOAD, offset)


def _return(value: int) -> bytes:
    return _step(RETURN, value)


def _refuse_or_allow(number: int) -> list[bytes]:
    return [_return(REFUSE | number), _return(ALLOW)]


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps for one call, which must end in a return; others go on behind them."""
    return [_step(EQUAL, number, 0, len(steps)), *steps]


def _each(calls: Numbers, column: int, steps: list[bytes]) -> Iterable[bytes]:
    for numbers in calls.values():
        number = numbers[column]
        if number is not None:
            yield from _when(number, steps)
