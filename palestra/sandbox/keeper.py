"""The keeper: a small process between us and one entrant's program, which ends the program whatever happens to us.

It makes the control group, starts the program, drains its output and watches the limits. When the program ends, when a
limit is passed, when it is told to, or when its parent is gone, it kills everything that the program left behind. It is
a process and not a thread, so that a runner that is killed leaves nothing running, a flood of output never takes the
runner's time, and the kernel's parent-death signal (which is about threads) means what it should.
Standard library alone: it runs as `python -I -S`, to start fast.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

from palestra.sandbox import cgroups, child, own_files
from palestra.sandbox.output import Output
from palestra.sandbox.plan import Plan, decode, entrant_user
from palestra.sandbox.processes import children, cpu_s, descendants, folder_bytes, memory_bytes

TICK_S = 0.2
GIVE_UP_S = 5.0  # for processes that not even SIGKILL ends
PR_SET_CHILD_SUBREAPER = 36
ETC = {
    "passwd": "entrant:x:UID:UID:entrant:/tmp:/bin/sh\n",
    "group": "entrant:x:UID:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


class Keeper:
    """One program, from start to end."""

    def __init__(self, plan: Plan, control: socket.socket) -> None:
        self.control = control
        self.parent = os.getppid()
        if plan.cores:
            with contextlib.suppress(OSError):  # cores that were taken from us meanwhile: then it runs where we do
                os.sched_setaffinity(0, plan.cores)
        bounds = cgroups.Bounds(plan.memory_bytes, plan.pids, tuple(plan.cores))
        self.group = cgroups.make(bounds) if plan.groups else cgroups.Group(None, {})
        self.limited = self.group.limits
        self.uid = None if plan.backend == "rlimits" else entrant_user()
        self.scratch = f"{plan.scratch}/palestra-{os.getpid()}-{os.urandom(4).hex()}"
        self.plan = furnish(plan, self.scratch, self.uid)
        self.looks = time.monotonic() + TICK_S
        self.ends = time.monotonic() + plan.wall_s
        self.pid = 0
        self.status: int | None = None
        self.cpu_s = 0.0

    def start(self, sock: int, output: int) -> tuple[int, int]:
        """Fork the program, put it in its group, and only then let it go; where it says what broke, and its status."""
        gate, go = os.pipe()
        broken, to_broken = os.pipe()
        status, to_status = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            limited = json.loads(os.read(gate, 100))
            given = {
                "output": output,
                "broken": to_broken,
                "status": to_status,
                "input": os.open(os.devnull, os.O_RDONLY),
            }
            child.start(self.plan, self.uid, limited, given | ({"socket": sock} if sock >= 0 else {}))
        for number in (gate, to_broken, to_status, output, *([sock] if sock >= 0 else [])):
            os.close(number)
        self.group.add(self.pid)
        self.limited = self.group.limits
        self.control.sendall(json.dumps(self.group.files()).encode() + b"\n")
        os.write(go, json.dumps(self.limited).encode())
        os.close(go)
        return broken, status

    def watch(self, output: Output) -> str:
        """Wait for the end; what it was."""
        ended = os.pidfd_open(self.pid)
        poll = select.poll()
        for number in (ended, self.control.fileno(), output.source):
            poll.register(number, select.POLLIN)
        while True:
            left = min(self.ends - time.monotonic(), TICK_S)
            ready = dict(poll.poll(max(left * 1000, 0) + 1))
            if output.source in ready and not output.drain():
                poll.unregister(output.source)  # closed: everything that had it is gone, or closed it
            if ended in ready:
                return "ended"
            if self.control.fileno() in ready or os.getppid() != self.parent:
                return "killed"
            if time.monotonic() >= self.ends:
                return "wall"
            if time.monotonic() >= self.looks and (over := self._over()):
                return over

    def _over(self) -> str:
        """The limit that is passed, of those that no kernel watches for a whole tree."""
        self.looks = time.monotonic() + TICK_S
        members = descendants()
        used = self.group.cpu_s()
        self.cpu_s = sum(map(cpu_s, members)) if used is None else used
        if self.cpu_s > self.plan.cpu_s:
            return "cpu"
        if "memory" not in self.limited and sum(map(memory_bytes, members)) > self.plan.memory_bytes:
            return "memory"
        if not self.plan.alone and sum(folder_bytes(place) for place, _ in self.plan.writable) > self.plan.tmp_bytes:
            return "tmp"
        return ""

    def sweep(self) -> bool:
        """Kill all that is left, and wait until it is gone. As a subreaper we inherit every orphan, so when we have no
        child any more, nothing is left: no daemon can have slipped away."""
        deadline = time.monotonic() + GIVE_UP_S
        while time.monotonic() < deadline:
            self._kill()
            if self._reap():
                return True
            time.sleep(0.002)
        return False

    def _kill(self) -> None:
        self.group.thaw()
        if self.plan.alone:  # with the first process of a namespace the kernel ends all others
            members = children(os.getpid())
        else:
            self.group.kill()
            members = descendants()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first: what is stopped starts no others meanwhile
            for pid in members:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _reap(self) -> bool:
        """Take the status of all children that ended; whether none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.pid:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return True

    def tidy(self) -> None:
        """Remove the control group and our folder."""
        from shutil import rmtree  # here, where it keeps nobody waiting

        self.group.remove()
        rmtree(self.scratch, ignore_errors=True)

    def report(self, cause: str, broken: str, clean: bool) -> dict[str, Any]:
        code = self.status or 0
        code = 128 - code if code > 128 else code  # as bubblewrap and shells hand on a signal
        if cause == "ended" and code in (-signal.SIGXCPU, -signal.SIGKILL) and self.cpu_s > 0.9 * self.plan.cpu_s:
            cause = "cpu"
        if cause == "ended" and code == -signal.SIGXCPU:
            cause = "cpu"
        if cause == "ended" and code == -signal.SIGKILL and self.group.ran_out_of_memory():
            cause = "memory"
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "cause": "broken" if cause == "ended" and broken else cause,
            "code": code,
            "broken": broken,
            "clean": clean,
            "cpu_s": max(self.cpu_s, self.group.cpu_s() or used.ru_utime + used.ru_stime),
            "memory_bytes": self.group.memory_peak_bytes() or used.ru_maxrss * 1024,
            "group": self.group.words,
            "controls": self.group.controls,
        }


def furnish(plan: Plan, scratch: str, uid: int | None) -> Plan:
    """The plan with what is made for it: a short /etc, or a folder for temporary files where /tmp is the host's."""
    if uid is not None:
        for source in (Path(source) for source, _ in plan.writable):
            for place in (source, *(source.iterdir() if source.is_dir() else ())):
                os.chown(place, uid, uid)
    return _with_etc(plan, scratch, uid) if plan.alone else _with_tmp(plan, scratch, uid)


def _with_etc(plan: Plan, scratch: str, uid: int | None) -> Plan:
    folder, number = Path(scratch, "etc"), os.getuid() if uid is None else uid
    folder.mkdir(parents=True)
    for name, text in ETC.items():
        (folder / name).write_text(text.replace("UID", str(number)))
    readable = [*plan.readable, *((f"{folder}/{name}", f"/etc/{name}") for name in ETC)]
    masks = own_files.masks(f"{scratch}/proc", plan.memory_bytes)
    return plan._replace(readable=readable, masks=masks, scratch=scratch)


def _with_tmp(plan: Plan, scratch: str, uid: int | None) -> Plan:
    folder, imports = Path(scratch, "tmp"), Path(scratch, "import")
    folder.mkdir(parents=True)
    imports.mkdir()
    # Imports list the folder that a package is in; the one that ours is in may hold more than the program should see.
    (imports / "palestra").symlink_to(plan.package)
    if uid is not None:
        os.chown(folder, uid, uid)
    path = plan.environment["PYTHONPATH"].replace(str(Path(plan.package).parent), str(imports))
    return plan._replace(
        readable=[*plan.readable, (str(imports), str(imports))],
        writable=[*plan.writable, (str(folder), str(folder))],
        environment=plan.environment | {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": path},
    )


def keep(control: socket.socket, sock: int, shared: int) -> dict[str, Any]:
    """Do as the plan says, which comes by `control`; how it ended."""
    length = struct.unpack("<I", control.recv(4, socket.MSG_WAITALL))[0]
    keeper = Keeper(decode(control.recv(length, socket.MSG_WAITALL)), control)
    source, target = os.pipe()
    output = Output(source, shared, keeper.plan.output_bytes)
    try:
        broken, status = keeper.start(sock, target)
        cause = keeper.watch(output)
        clean = keeper.sweep()
        while output.drain():
            pass
        return keeper.report(cause, _broken(keeper.plan, broken, status), clean)
    finally:
        keeper.sweep()
        keeper.tidy()


def _broken(plan: Plan, broken: int, status: int) -> str:
    """What failed before the program ran; empty when it did run. Nothing that the program does can change that."""
    words = _rest(broken).decode(errors="replace")
    if not words and plan.backend == "bubblewrap" and b"exit-code" not in _rest(status):
        return "bubblewrap could not set up the sandbox"
    return words


def _rest(pipe: int) -> bytes:
    os.set_blocking(pipe, False)  # a process that could not be killed may still hold it
    with contextlib.suppress(BlockingIOError):
        return os.read(pipe, 4000)
    return b""


def main() -> None:
    for number in (int(word) for word in sys.argv[1:4]):
        if number >= 0:  # they came to us open; whatever numbers they have, no program gets them
            os.set_inheritable(number, False)
    control = socket.socket(fileno=int(sys.argv[1]))
    os.umask(0o022)  # ours may be stricter, and the program has another user
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        report = keep(control, int(sys.argv[2]), int(sys.argv[3]))
    except Exception as error:
        words = f"its keeper failed: {type(error).__name__}: {error}"
        report = {
            "cause": "broken",
            "code": 0,
            "broken": words,
            "clean": False,
            "cpu_s": 0,
            "memory_bytes": 0,
            "group": "",
            "controls": [],
        }
    with contextlib.suppress(OSError):
        control.sendall(json.dumps(report).encode())


if __name__ == "__main__":
    main()
