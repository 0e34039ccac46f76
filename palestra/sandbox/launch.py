"""Runs a program that nobody trusts: without network, files, processes and privileges, within limits, killed for sure.

    bubblewrap  its own mounts, processes, network and user; system call filter; control group, or rlimits
    landlock    the same by our own system calls where namespaces can be had, with Landlock on top; without namespaces
                Landlock, a stricter filter and rlimits
    rlimits     limits alone: for programs that are trusted

Between us and each program stands a keeper (keeper.py): the program ends though we be killed.
"""

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from palestra.errors import PalestraError
from palestra.sandbox import visible_files
from palestra.sandbox.plan import SOCKET_FD, Plan
from palestra.sandbox.running_program import Running
from palestra.text import say

PYTHON = sys.executable  # the interpreter that programs are run with; it is the same one inside
GIB = 1 << 30
FREE_CORES = "PALESTRA_FREE_CORES"  # set where we are pinned to a core: what is left for programs, as 0,2,3


class Limits(msgspec.Struct, frozen=True):
    """What a program and all that it starts may use together."""

    memory_bytes: int = 4 * GIB  # with control groups what lies in /tmp counts as well
    pids: int = 256  # processes and threads
    cpu_s: float = 3600.0
    wall_s: float = 3600.0
    tmp_bytes: int = GIB // 4
    output_bytes: int = 1 << 16  # printed; half from the start and half from the end are kept


class Backend(msgspec.Struct, frozen=True):
    """One way to contain a program on this machine."""

    name: str  # bubblewrap, landlock, rlimits
    works: bool
    contains: bool  # whether untrusted programs may run in it
    reason: str  # what it consists of here, or why it does not work
    advice: str = ""  # how to get it
    namespaces: bool = True  # its own processes, network and mounts
    groups: bool = True  # control groups, where they can be had
    controls: tuple[str, ...] = ()  # what they control here: memory, pids, cpu, freezer

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def start(
    backend: Backend,
    command: Sequence[str],
    bundle: Path,
    limits: Limits = Limits(),  # noqa: B008 - it is frozen
    sock: socket.socket | None = None,
    environment: Mapping[str, str] | None = None,
    site: Path | None = None,
) -> Running:
    """Start a program in its bundle's folder. The caller closes its copy of `sock`, the program's end of a socket pair;
    the program finds it by PALESTRA_FD. `site` is a folder that `install_wheels` filled."""
    return Running(plan(backend, command, Sees(bundle, site), limits, environment, sock is not None), sock)


class Sees(msgspec.Struct, frozen=True):
    """The folders of its own that a program sees."""

    bundle: Path
    site: Path | None = None  # its installed wheels
    site_writable: bool = False  # while they are being installed
    data: Path | None = None  # that it may read; it is told where by PALESTRA_DATA
    answer: Path | None = None  # a file that it is to write, by PALESTRA_ANSWER; it grows to `tmp_bytes` at most


def plan(
    backend: Backend,
    command: Sequence[str],
    sees: Sees,
    limits: Limits,
    environment: Mapping[str, str] | None = None,
    has_socket: bool = False,
) -> Plan:
    """What the keeper is told."""
    alone = backend.name == "bubblewrap" or (backend.name == "landlock" and backend.namespaces)
    bound, links = visible_files.system()
    bundle = _pair(sees.bundle, visible_files.BUNDLE, alone)
    site = [_pair(sees.site, visible_files.SITE, alone)] if sees.site else []
    data = [_pair(sees.data, visible_files.DATA, alone)] if sees.data else []
    answer = [_file_pair(sees.answer, visible_files.ANSWER, alone)] if sees.answer else []
    pairs = [*bound, *visible_files.interpreter(), bundle, *data, *([] if sees.site_writable else site)]
    _check_reachable(backend, alone, [*pairs, *answer], [sees.bundle, *([sees.data] if sees.data else [])])
    least = minimal_environment(bundle[1], site[0][1] if site else None)
    told = {"PALESTRA_FD": str(SOCKET_FD)} if has_socket else {}
    told |= {name: pair[1] for name, found in (("PALESTRA_DATA", data), ("PALESTRA_ANSWER", answer)) for pair in found}
    return Plan(
        backend=backend.name,
        command=list(command),
        folder=bundle[1],
        environment=least | dict(environment or {}) | told,
        readable=visible_files.arrange(pairs),
        links=links,
        namespaces=alone,
        groups=backend.groups,
        package=str(visible_files.PACKAGE),
        scratch=tempfile.gettempdir(),
        bwrap=shutil.which("bwrap") or "",
        setpriv=shutil.which("setpriv") or "",
        writable=[*(site if sees.site_writable else []), *answer],
        cores=free_cores(),
        **msgspec.structs.asdict(limits),
    )


def minimal_environment(bundle: str, site: str | None) -> dict[str, str]:
    """All that a program finds in its environment: nothing of ours."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "USER": "entrant",
        "LOGNAME": "entrant",
        "PYTHONPATH": visible_files.import_path(site),
        "PYTHONUNBUFFERED": "1",  # what it printed before it was killed is kept
        "PYTHONDONTWRITEBYTECODE": "1",
        "PALESTRA_BUNDLE": bundle,
        # Threads of numerical libraries that have nothing to do sleep at once. They would keep looking for work, for
        # 50 ms and more: time that others need, and that the program is charged for.
        "OPENBLAS_THREAD_TIMEOUT": "16",  # 2^16 ticks of the processor
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
    }


def _pair(folder: Path, inside: str, alone: bool) -> tuple[str, str]:
    real = os.path.realpath(folder)
    if not Path(real).is_dir():
        raise PalestraError(say("{folder} is no folder.", folder=folder))
    return real, inside if alone else real


def _file_pair(file: Path, inside: str, alone: bool) -> tuple[str, str]:
    """A file alone, and not its folder: nothing can be put beside it, and a limit on the size of files bounds it."""
    real = os.path.realpath(file)
    if not Path(real).is_file():
        raise PalestraError(say("{file} is no file.", file=file))
    return real, f"{inside}/{file.name}" if alone else real


def free_cores() -> list[int]:
    """Where programs run while we have a core for ourselves; empty where we have not."""
    words = os.environ.get(FREE_CORES, "").split(",")
    return [int(word) for word in words if word.isdecimal()]


def _check_reachable(backend: Backend, alone: bool, pairs: Sequence[tuple[str, str]], own: Sequence[Path]) -> None:
    """Started by root, a program gets a user id of its own, with which it must be able to read its files; without
    mounts of its own it must also be able to walk to them."""
    if os.getuid() != 0 or not backend.contains:
        return
    closed = next(filter(None, map(visible_files.unreadable, own)), "")
    closed = closed or ("" if alone else visible_files.closed_to_others(source for source, _ in pairs))
    if closed:
        raise PalestraError(
            say(
                "{closed} is closed to other users, and a program runs as a user without privileges: chmod o+rX it.",
                closed=closed,
            )
        )
