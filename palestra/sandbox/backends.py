"""The ways to contain a program that work on this machine: each is tried with a small one that looks for a way out."""

import os
import secrets
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import msgspec

from palestra.errors import PalestraError
from palestra.sandbox import landlock, seccomp
from palestra.sandbox.launch import PYTHON, Backend, Limits, start
from palestra.sandbox.running_program import Running
from palestra.text import joined, say

PROBE_LIMITS = Limits(memory_bytes=1 << 29, pids=32, cpu_s=5, wall_s=10, tmp_bytes=1 << 20)
# It prints what it could do that it must not, and that it got to the end.
PROGRAM = """
import os, socket, sys
held = []
def escapes(name, attempt):
    try:
        attempt()
    except OSError:
        return
    held.append(name)
escapes("reads the host's files", lambda: open(sys.argv[1]).close())
escapes("writes to its bundle", lambda: open("written", "w").close())
escapes("opens network sockets", lambda: socket.socket().close())
escapes("sends signals to us", lambda: os.kill(int(sys.argv[2]), 0))
open(os.environ["TMPDIR"] + "/x", "w").close()
if os.getuid() == 0:
    held.append("is root")
print("PROBE", ", ".join(held) or "nothing")
"""
ADVICE = {
    "bubblewrap": "apt-get install -y bubblewrap (and allow user namespaces for ordinary users: "
    "sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0)",
    "landlock": "a Linux kernel of 5.13 or later with Landlock (lsm=landlock,…), on x86_64 or aarch64",
}


def choose(trusted: bool = False) -> Backend:
    """The best backend that works here. `trusted` allows one that only limits."""
    for backend in probe():
        if backend.works and (backend.contains or trusted):
            return backend
    found = "; ".join(
        f"{backend.name}: {backend.reason} To get it: {backend.advice}" for backend in probe() if backend.advice
    )
    raise PalestraError(say("No sandbox works on this machine, and the program is not trusted. {found}", found=found))


@cache
def probe() -> list[Backend]:
    """What this machine can do, best first. Each is tried with a small program, once."""
    bubblewrap = Backend("bubblewrap", True, True, "", ADVICE["bubblewrap"])
    lock = Backend("landlock", True, True, "", ADVICE["landlock"])
    bare = msgspec.structs.replace(lock, namespaces=False)
    tried = [try_backend(bubblewrap, _lacks_bubblewrap()), try_backend(lock, _lacks_landlock())]
    if not tried[1].works:
        without = try_backend(bare, _lacks_landlock())
        tried[1] = (
            without
            if without.works
            else msgspec.structs.replace(tried[1], reason=f"{tried[1].reason} {without.reason}")
        )
    limits = Backend(
        "rlimits", True, False, "limits memory, time and processes but contains nothing: for trusted programs"
    )
    return [*tried, limits]


def _lacks_bubblewrap() -> str:
    missing = [name for name in ("bwrap", "setpriv") if shutil.which(name) is None]
    named = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed." if missing else ""
    return _lacks_linux() or named


def _lacks_landlock() -> str:
    return _lacks_linux() or ("" if landlock.version() else "this kernel has no Landlock.")


def _lacks_linux() -> str:
    if sys.platform.startswith("linux") and seccomp.supported():
        return ""
    return f"it needs Linux on x86_64 or aarch64, and this is {sys.platform} on {os.uname().machine}."


def try_backend(backend: Backend, lacks: str) -> Backend:
    """The backend with what was found: what it consists of, or why it does not work."""
    if lacks:
        return msgspec.structs.replace(backend, works=False, reason=lacks)
    try:
        reason, controls = _run(backend)
    except (OSError, PalestraError) as error:
        return msgspec.structs.replace(backend, works=False, reason=str(error))
    return msgspec.structs.replace(backend, works=True, reason=reason, controls=tuple(controls))


def _run(backend: Backend) -> tuple[str, list[str]]:
    with tempfile.TemporaryDirectory(prefix="palestra-probe-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        bundle = folder / "bundle"
        bundle.mkdir()
        secret = folder / secrets.token_hex(8)
        secret.write_text("secret")
        command = [PYTHON, "-I", "-S", "-c", PROGRAM, str(secret), str(os.getpid())]
        with start(backend, command, bundle, PROBE_LIMITS) as running:
            running.wait()
            return _judge(backend, running)


def _judge(backend: Backend, running: Running) -> tuple[str, list[str]]:
    lines = [line for line in running.output.splitlines() if line.startswith("PROBE ")]
    if not lines:
        said = running.output.strip().splitlines()[-1:]
        raise PalestraError(joined([running.why(), *(line[:300] for line in said)], ": "))
    if lines[0] != "PROBE nothing":
        raise PalestraError(say("a program in it {removeprefix}.", removeprefix=lines[0].removeprefix("PROBE ")))
    report = running.report
    assert report is not None
    parts = ["own namespaces"] if backend.namespaces else []
    parts += [f"Landlock {landlock.version()}"] if backend.name == "landlock" else []
    return ", ".join([*parts, "system call filter", report.group or "rlimits"]), report.controls
