"""What the sandbox hands its keeper: what to run, what it sees, what it may use.

Standard library alone, and a little of it: the keeper starts in half the time without dataclasses."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SOCKET_FD = 3  # where the program finds its socket; it is told by PALESTRA_FD
SYSTEM_USERS = 0x70000000  # systemd's map of user ids has nobody from here to 2**31
CONTAINER_USERS = 61184  # in a container with few ids: those that systemd gives to services for a while


class Plan(NamedTuple):
    """One program to run."""

    backend: str  # bubblewrap, landlock, rlimits
    command: list[str]
    folder: str  # the working directory, as the program sees it
    environment: dict[str, str]
    readable: list[tuple[str, str]]  # where on the host, where for the program; parents before what is below them
    links: list[tuple[str, str]]  # target, path
    namespaces: bool  # landlock: whether it has a root, processes and a network of its own
    groups: bool  # whether control groups are used where they can be had; without them rlimits are
    scratch: str  # a folder of the host in which the keeper makes one for what it needs; then that one
    package: str  # the folder of palestra itself
    bwrap: str  # the programs that bubblewrap needs, where they are
    setpriv: str
    memory_bytes: int
    pids: int
    cpu_s: float
    wall_s: float
    tmp_bytes: int
    output_bytes: int
    writable: list[tuple[str, str]]  # as readable; a single file grows to `tmp_bytes` at most
    cores: list[int]  # where it runs; empty: wherever we do
    devices: str = "/dev"  # where on the host its devices are
    masks: Sequence[tuple[str, str]] = ()  # as readable, put over what /proc tells of the whole machine

    @property
    def alone(self) -> bool:
        """Whether the program is out of sight of the host's processes and network."""
        return self.backend == "bubblewrap" or self.namespaces

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()


def decode(data: bytes) -> Plan:
    return Plan(**json.loads(data))


def entrant_user() -> int | None:
    """The user id that a program takes: nobody's, and no other program's. None where we are an ordinary user."""
    if os.getuid() != 0:
        return None
    known = [[int(number) for number in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    uid = SYSTEM_USERS + os.getpid()
    if any(first <= uid < first + count for first, _, count in known):
        return uid
    return CONTAINER_USERS + os.getpid() % 4096
