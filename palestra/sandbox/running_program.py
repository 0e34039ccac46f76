"""A program that runs in a sandbox, seen from our side."""

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path
from types import TracebackType

import msgspec

from palestra.sandbox import output
from palestra.sandbox.freezer import Freezer
from palestra.sandbox.plan import Plan
from palestra.sandbox.processor_time import ProcessorTime
from palestra.text import Words, human_bytes, message, say

KEEPER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from palestra.sandbox.keeper import main; main()"
ROOT = Path(__file__).parent.parent.parent
KILL_S = 8.0  # the keeper itself gives up after five
SIGNALS = {
    signal.SIGSEGV: message("a bad memory access"),
    signal.SIGBUS: message("a bad memory access"),
    signal.SIGABRT: message("it gave up"),
    signal.SIGFPE: message("a bad calculation"),
    signal.SIGILL: message("a bad instruction"),
    signal.SIGSYS: message("a forbidden system call"),
    signal.SIGXFSZ: message("a file grew too large"),
    signal.SIGKILL: message("killed from inside, or short of memory"),
}


class Report(msgspec.Struct, frozen=True):
    """How a program ended, as its keeper saw it."""

    cause: str  # ended, killed (by us), wall, cpu, memory, tmp, broken
    code: int  # the exit code, or a signal's number below 0
    broken: str  # what failed before the program ran
    clean: bool  # whether nothing is left of it
    cpu_s: float
    memory_bytes: int  # the most that was in use
    group: str  # the control group that limited it; empty where rlimits did
    controls: list[str] = []  # what that group controls


class Running:
    """One program and all that it starts. Closing it, or losing it, kills them."""

    def __init__(self, plan: Plan, sock: socket.socket | None) -> None:
        self.plan = plan
        self.bundle = plan.folder  # where the program finds it
        self._report: Report | None = None
        self._heard = b""  # of the keeper
        self._output = os.memfd_create("palestra-output")
        self._control, theirs = socket.socketpair()
        child = -1 if sock is None else sock.fileno()
        words = [str(ROOT), str(theirs.fileno()), str(child), str(self._output)]
        passed = [theirs.fileno(), self._output, *([child] if sock else [])]
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", KEEPER, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            pass_fds=passed,
            start_new_session=True,  # Ctrl-C is for us
        )
        theirs.close()
        data = plan.encode()
        with contextlib.suppress(OSError):  # the keeper may be dead already; `why` then says so
            self._control.sendall(struct.pack("<I", len(data)) + data)

    @property
    def alive(self) -> bool:
        return not self.wait(0)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end, at most so long; whether it has ended, with all that it started."""
        ends = None if timeout_s is None else time.monotonic() + timeout_s
        while self._report is None and self._listen(None if ends is None else max(ends - time.monotonic(), 0.0)):
            pass
        return self._report is not None

    def _listen(self, timeout_s: float | None) -> bool:
        """Take what the keeper says: a line at the start, the report at the end. Whether anything came."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(None if timeout_s is None else timeout_s * 1000):
            return False
        data = b""
        with contextlib.suppress(OSError):
            data = self._control.recv(1 << 16)
        self._heard += data
        if not data:
            self._report = self._reported()
        return True

    def _reported(self) -> Report:
        code, said = self._keeper.wait(), self._heard.rpartition(b"\n")[2]
        if said:
            return msgspec.json.decode(said, type=Report)
        return Report("broken", 0, f"its keeper ended (code {code})", False, 0, 0, "")

    @cached_property
    def _files(self) -> dict[str, str]:
        """The files of its control group; none where it never got one."""
        while b"\n" not in self._heard and self._report is None:
            self._listen(None)
        line, ended, _ = self._heard.partition(b"\n")
        return msgspec.json.decode(line, type=dict[str, str]) if ended else {}

    @cached_property
    def freezer(self) -> Freezer:
        return Freezer(self._files)

    @cached_property
    def processor_time(self) -> ProcessorTime:
        return ProcessorTime(self._files, self._keeper.pid)

    def kill(self) -> None:
        """End it and all that it started; they are gone when this returns."""
        if self._report is None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
            if not self.wait(KILL_S):
                self._keeper.kill()  # the program dies with it
                self.wait()

    def why(self) -> Words:
        """How it ended, in words for people; that it runs, while it does."""
        if not self.wait(0) or self._report is None:
            return say("it is running")
        return words_of(self._report, self.plan)

    @property
    def report(self) -> Report | None:
        """What the keeper saw, once the program has ended."""
        return self._report

    @property
    def output(self) -> str:
        """What it printed so far: the start and the end, where it was more than is kept."""
        return output.text(self._output, self.plan.output_bytes) if self._output >= 0 else ""

    def close(self) -> None:
        """Kill it and let go of everything; its report stays, its output does not."""
        if self._output >= 0:
            self.kill()
            for used in vars(self).keys() & {"freezer", "processor_time"}:
                getattr(self, used).close()
            self._control.close()
            os.close(self._output)
            self._output = -1

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def words_of(report: Report, plan: Plan) -> Words:
    why = _why(report, plan)
    if report.clean or report.cause == "broken":
        return why
    return say("{why}; some of its processes could not be killed", why=why)


def _why(report: Report, plan: Plan) -> Words:
    match report.cause:
        case "killed":
            return say("killed by us")
        case "wall":
            return say("killed: it ran longer than {limit:g} s", limit=plan.wall_s)
        case "cpu":
            return say("killed: it used more than {limit:g} s of processor time", limit=plan.cpu_s)
        case "memory":
            return say("killed: it used more than {limit} of memory", limit=human_bytes(plan.memory_bytes))
        case "tmp":
            return say("killed: it wrote more than {limit} of temporary files", limit=human_bytes(plan.tmp_bytes))
        case "broken":
            return say("it was never started: {why}", why=report.broken)
        case _:
            return _ended(report.code)


def _ended(code: int) -> Words:
    if code >= 0:
        return say("ended by itself with exit code {code}", code=code)
    try:
        number = signal.Signals(-code)
    except ValueError:
        return say("ended by signal {number}", number=-code)
    if number not in SIGNALS:
        return say("ended by signal {number} ({name})", number=-code, name=number.name)
    cause = say(SIGNALS[number])
    return say("ended by signal {number} ({name}: {cause})", number=-code, name=number.name, cause=cause)
