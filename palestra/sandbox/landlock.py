"""Landlock: files that a process and its children may not open, by its own wish and for good (Linux 5.13 and later).

Standard library alone: the keeper runs without site-packages.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every machine
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, DEVICE_CALLS = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CALLS  # what a rule on a file, no folder, may have
BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many of the rights on files each version of the kernel's interface has
NEWEST = max(BITS)
SCOPED_FROM = 6  # the version that keeps signals and abstract sockets within
NETWORK_FROM = 4
BIND_AND_CONNECT, SIGNALS_AND_ABSTRACT = 3, 3


def version() -> int:
    """The kernel's version of Landlock; 0 where it has none."""
    return max(int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)), 0)


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From now on only these files and folders can be opened, and with all that they hold. No TCP; signals and abstract
    sockets reach no process outside, where the kernel knows how."""
    found = version()
    if not found:
        raise OSError("this kernel has no Landlock")
    everything = (1 << BITS[min(found, NEWEST)]) - 1
    attributes = struct.pack("<Q", everything)
    if found >= NETWORK_FROM:
        attributes += struct.pack("<Q", BIND_AND_CONNECT)
    if found >= SCOPED_FROM:
        attributes += struct.pack("<Q", SIGNALS_AND_ABSTRACT)
    rules = _call(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path in readable:
        _allow(rules, path, READ & everything)
    for path in writable:
        _allow(rules, path, everything & ~DEVICE_CALLS)
    libc = _libc()
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was not taken")
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # what is not there need not be allowed
    try:
        rights = rights if Path(path).is_dir() else rights & OF_FILES
        _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("<Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock call {number} failed")
    return result
