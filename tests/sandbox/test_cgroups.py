"""Control groups: version 1 for real where it can be written to, version 2 against a faked tree."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from palestra.sandbox import cgroups, host_weight
from palestra.sandbox.cgroups import Bounds
from palestra.sandbox.freezer import Freezer
from palestra.sandbox.processor_time import ProcessorTime
from tests.entrants.programs import until

BOUNDS = Bounds(1 << 28, 24)
BUSY = "while True: pass"
CONTROLLERS = "cpu cpuset memory pids"
FILES = {
    "cgroup.procs": "", "cgroup.controllers": CONTROLLERS, "cgroup.subtree_control": CONTROLLERS,
    "cgroup.freeze": "0", "cpu.weight": "100", "cpuset.cpus": "", "memory.max": "max", "memory.swap.max": "max",
    "pids.max": "max", "cpu.stat": "usage_usec 5", "cpu.pressure": "some avg10=0 total=9\nfull avg10=0 total=7000\n",
}  # fmt: skip


@pytest.fixture
def version_1(monkeypatch) -> dict[str, Path]:
    """Our groups of version 1 alone."""
    ours = {name: folder for name, folder in cgroups._ours().items() if name}
    if not all(name in ours and os.access(ours[name], os.W_OK) for name in ("cpu", "freezer", "cpuacct")):
        pytest.skip("control groups of version 1 cannot be written to here")
    monkeypatch.setattr(cgroups, "_ours", lambda: ours)
    return ours


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        yield process
        process.kill()


def test_what_is_frozen_by_version_1_uses_no_processor_and_can_still_be_killed(version_1, busy):
    group = cgroups.make(BOUNDS)
    try:
        group.add(busy.pid)
        assert {"cpu", "freezer"} <= set(group.controls) and group.words.startswith("cgroup v1 (memory, pids, cpu")
        freezer, counters = Freezer(group.files()), ProcessorTime(group.files(), -1)
        until(lambda: counters.used_s() > 0.01)
        freezer.freeze()
        until(lambda: (version_1["freezer"] / group.folders[0].name / "freezer.state").read_text() == "FROZEN\n")
        used_s = counters.used_s()
        _work(0.05)
        assert counters.used_s() == used_s
        group.kill()
        busy.wait(10)
        freezer.close()
        counters.close()
    finally:
        group.kill()
        group.remove()


def test_version_1_keeps_a_program_on_the_cores_that_it_is_given(version_1, busy):
    if "cpuset" not in version_1 or not os.access(version_1["cpuset"], os.W_OK):
        pytest.skip("cpuset cannot be written to here")
    core = min(os.sched_getaffinity(0))
    group = cgroups.make(Bounds(1 << 28, 24, (core,)))
    try:
        group.add(busy.pid)
        assert "cpuset" in group.controls
        # What a program asks the kernel for: every core that there is.
        os.sched_setaffinity(busy.pid, range(os.cpu_count() or 1))
        assert os.sched_getaffinity(busy.pid) == {core}
        group.kill()
        busy.wait(10)
    finally:
        group.kill()
        group.remove()


def test_what_a_killed_keeper_left_is_ended_and_removed_and_what_is_in_use_is_not(version_1, busy):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left, used = (version_1[name] / f"palestra-{gone.pid}" for name in ("freezer", "cpu"))
    for folder in (left, used):
        folder.mkdir()
    (left / "cgroup.procs").write_text(str(busy.pid))
    (left / "freezer.state").write_text("FROZEN")
    lock = os.open(used, os.O_RDONLY)  # as the keeper of a container has it, whose number means nothing here
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        cgroups.make(BOUNDS).remove()
        assert busy.wait(10) == -9
        assert used.is_dir()
        until(lambda: (cgroups.make(BOUNDS).remove(), not left.exists())[1])
    finally:
        os.close(lock)
        used.rmdir()


@pytest.fixture
def version_2(monkeypatch, tmp_path) -> Path:
    """A tree as version 2 has it: our group has processes, so that the one above hands on its controllers."""
    child = cgroups._child

    def filled(parent: Path, name: str) -> Path | None:
        folder = child(parent, name)
        return _fill(folder) if folder else None

    ours = _fill(tmp_path / "service" / "worker")
    (ours / "cgroup.subtree_control").write_text("")
    (ours / "cgroup.subtree_control").chmod(0o444)
    _fill(tmp_path / "service")
    monkeypatch.setattr(cgroups, "_child", filled)
    monkeypatch.setattr(cgroups, "_ours", lambda: {"": ours})
    return ours


def _work(seconds: float) -> None:
    """Use so much processor time: others got theirs meanwhile."""
    before = time.process_time()
    while time.process_time() - before < seconds:
        pass


def _fill(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def test_version_2_gives_equal_weights_and_the_cores_beside_our_own_group(version_2, tmp_path):
    # Root may write to files that are closed to others, so that the kernel's refusal is played by an odd file.
    (version_2 / "cgroup.subtree_control").unlink()
    (version_2 / "cgroup.subtree_control").mkdir()
    group = cgroups.make(Bounds(1 << 28, 24, (1, 3)))
    assert group.version_2 is not None and group.version_2.parent == version_2.parent
    assert (group.version_2 / "cpu.weight").read_text() == "100"
    assert (group.version_2 / "cpuset.cpus").read_text() == "1,3"
    assert (group.version_2 / "pids.max").read_text().startswith("24")
    assert group.controls == ["memory", "pids", "cpu", "cpuset", "freezer"]
    assert group.words == "cgroup v2 (memory, pids, cpu, cpuset, freezer)"
    group.thaw()


def test_version_2_freezes_and_tells_the_time_that_was_used_and_waited(version_2):
    group = cgroups.make(BOUNDS)
    assert group.version_2 is not None
    freezer, counters = Freezer(group.files()), ProcessorTime(group.files(), -1)
    freezer.freeze()
    assert (group.version_2 / "cgroup.freeze").read_text() == "1"
    freezer.thaw()
    assert (group.version_2 / "cgroup.freeze").read_text() == "0"
    assert (counters.used_s(), counters.waited_s()) == (5e-6, 7e-3)
    freezer.close()
    counters.close()


def test_without_a_group_time_is_that_of_the_threads_below_the_keeper(busy):
    counters = ProcessorTime({}, os.getpid())
    until(lambda: counters.used_s() > 0.05)
    assert counters.waited_s() >= 0.0
    assert not Freezer({}).works


def test_the_host_weighs_more_while_it_must_be_punctual_and_as_before_afterwards(monkeypatch, tmp_path):
    session, group = tmp_path / "autogroup", tmp_path / "group"
    session.write_text("/autogroup-7 nice 0")
    group.mkdir()
    (group / "cpu.weight").write_text("100\n")
    monkeypatch.setattr(host_weight, "AUTOGROUP", session)
    monkeypatch.setattr(cgroups, "own_version_2", lambda: group)
    with host_weight.raised():
        assert session.read_text() == "-10"
        assert (group / "cpu.weight").read_text() == "1000"
    assert session.read_text() == "0" and (group / "cpu.weight").read_text() == "100"
