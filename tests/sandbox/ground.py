"""Sandboxes to run hostile programs in."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from palestra.sandbox import backends, launch, visible_files
from palestra.sandbox.launch import Backend, Limits
from palestra.sandbox.running_program import Report, Running

SHORT = Limits(memory_bytes=1 << 28, pids=24, cpu_s=5, wall_s=5, tmp_bytes=1 << 20, output_bytes=4096)
SYSTEM_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Ended:
    """What became of a program."""

    output: str
    why: str
    report: Report


@dataclass(frozen=True)
class Ground:
    """A sandbox, and a bundle to run programs from."""

    backend: Backend
    bundle: Path
    python: str

    def start(self, program: str, limits: Limits = SHORT, **changes: object) -> Running:
        sock = changes.pop("sock", None)
        environment = changes.pop("environment", None)
        site = changes.pop("site", None)
        words = list(changes.pop("words", ()))  # type: ignore[call-overload]
        limits = msgspec.structs.replace(limits, **changes)
        (self.bundle / "main.py").write_text(program)
        command = [self.python, "main.py", *map(str, words)]
        return launch.start(self.backend, command, self.bundle, limits, sock, environment, site)  # type: ignore[arg-type]

    def run(self, program: str, limits: Limits = SHORT, **changes: object) -> Ended:
        with self.start(program, limits, **changes) as running:
            assert running.wait(20), "the limits did not end it"
            assert running.report is not None
            return Ended(running.output, str(running.why()), running.report)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can walk to, unlike pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="palestra-test-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


KINDS = ["bubblewrap", "landlock", "landlock without namespaces"]


@pytest.fixture(params=KINDS)
def ground(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """Each sandbox that holds untrusted programs, where it works."""
    return _ground(request.param, folder, monkeypatch)


@pytest.fixture(params=[*KINDS, "bubblewrap without groups", "landlock without namespaces and groups"])
def any_ground(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """The same, and as they are where control groups cannot be had."""
    return _ground(request.param, folder, monkeypatch)


def _ground(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    name, bare = kind.split()[0], "namespaces" in kind
    backend = next(backend for backend in backends.probe() if backend.name == name)
    if not backend.works:
        pytest.skip(f"{backend} ({backend.advice})")
    python = launch.PYTHON
    if bare:
        python = _bare(monkeypatch)
        backend = msgspec.structs.replace(backend, namespaces=False)
    elif not backend.namespaces:
        pytest.skip("namespaces cannot be had here")
    backend = msgspec.structs.replace(backend, groups="groups" not in kind)
    bundle = folder / "bundle"
    bundle.mkdir()
    return Ground(backend, bundle, python)


def _bare(monkeypatch: pytest.MonkeyPatch) -> str:
    """The interpreter that a program without mounts of its own can reach: ours may be in a closed home."""
    if os.getuid() != 0 or not visible_files.closed_to_others(source for source, _ in visible_files.interpreter()):
        return launch.PYTHON
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip("this Python is in a closed folder, and there is no other")
    monkeypatch.setattr(visible_files, "interpreter", list)
    return SYSTEM_PYTHON


@pytest.fixture
def gone() -> Callable[[str], bool]:
    """Whether no process of the host has this word in its command line."""

    def look(word: str) -> bool:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if word.encode() in (place / "cmdline").read_bytes():
                    return False
            except OSError:
                continue
        return True

    return look
