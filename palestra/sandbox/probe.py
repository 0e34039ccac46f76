"""Tries a backend with a small program that looks for a way out."""

import os
import secrets
import tempfile
from pathlib import Path

import msgspec

from palestra.errors import PalestraError
from palestra.sandbox import landlock
from palestra.sandbox.process import Running
from palestra.sandbox.sandbox import PYTHON, Backend, Limits, start

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


def try_backend(backend: Backend, lacks: str) -> Backend:
    """The backend with what was found: what it consists of, or why it does not work."""
    if lacks:
        return msgspec.structs.replace(backend, works=False, reason=lacks)
    try:
        reason = _run(backend)
    except (OSError, PalestraError) as error:
        return msgspec.structs.replace(backend, works=False, reason=str(error))
    return msgspec.structs.replace(backend, works=True, reason=reason)


def _run(backend: Backend) -> str:
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


def _judge(backend: Backend, running: Running) -> str:
    lines = [line for line in running.output.splitlines() if line.startswith("PROBE ")]
    if not lines:
        said = running.output.strip().splitlines()[-1:]
        raise PalestraError(f"{running.why()}{': ' if said else ''}{''.join(said)[:300]}.")
    if lines[0] != "PROBE nothing":
        raise PalestraError(f"a program in it {lines[0].removeprefix('PROBE ')}.")
    report = running.report
    assert report is not None
    parts = ["own namespaces"] if backend.namespaces else []
    parts += [f"Landlock {landlock.version()}"] if backend.name == "landlock" else []
    return ", ".join([*parts, "system call filter", report.group or "rlimits"])
