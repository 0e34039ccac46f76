"""Control groups: memory, processes and processor time of a whole tree of processes, counted and limited together.

Groups are made below the one that we are in, so that limits set on us by others hold for entrants, too. Version 2 is
used where it has the controllers, version 1 where it is writable; what cannot be had is left to rlimits by the caller.
Groups of equal weight share the processors equally, however many processes and sessions each of them has.
Standard library alone: the keeper runs without site-packages.
"""

import contextlib
import fcntl
import os
import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PREFIX = "palestra-"
LIMITED: list[str] = ["memory", "pids"]
SHARED: list[str] = ["cpu", "cpuset"]
SHARES, WEIGHT = 1024, 100  # of the processors, in version 1 and 2: what any other process of the host has
UNHIDDEN = ("cpuacct.usage", "cpu.stat", "cpu.pressure", "cgroup.procs", "cgroup.freeze", "freezer.state")


class Bounds(NamedTuple):
    """What a group is held to."""

    memory_bytes: int
    pids: int
    cores: tuple[int, ...] = ()  # empty: all that we may use ourselves


class Group:
    """One group, as the folders that it is in the file system. Empty where the machine has none to give."""

    def __init__(self, version_2: Path | None, version_1: dict[str, Path]) -> None:
        self.version_2 = version_2
        self.version_1 = version_1
        self._locks = [lock for folder in self.folders if (lock := _lock(folder)) >= 0]  # tell others: it is in use

    @property
    def folders(self) -> list[Path]:
        return [*self.version_1.values(), *([self.version_2] if self.version_2 else [])]

    @property
    def controls(self) -> list[str]:
        """What the group controls: memory, pids, cpu, cpuset, freezer."""
        two = _read(self.version_2 / "cgroup.controllers").split() if self.version_2 else []
        found = [name for name in (*LIMITED, *SHARED) if name in self.version_1 or name in two]
        return [*found, "freezer"] if self.file("cgroup.freeze") or self.file("freezer.state") else found

    @property
    def limits(self) -> list[str]:
        """What it limits, so that no rlimit has to."""
        return [name for name in self.controls if name in LIMITED]

    @property
    def words(self) -> str:
        """How a Result names it."""
        version = 1 if any(name in self.version_1 for name in (*LIMITED, *SHARED)) else 2
        return f"cgroup v{version} ({', '.join(self.controls)})" if self.controls else ""

    def file(self, name: str) -> Path | None:
        """The group's file of this name, where it has one."""
        return next((folder / name for folder in reversed(self.folders) if (folder / name).exists()), None)

    def files(self) -> dict[str, str]:
        """The files that tell of it, and by which it is frozen."""
        return {name: str(file) for name in UNHIDDEN if (file := self.file(name))}

    def limit(self, bounds: Bounds) -> None:
        if folder := self.version_1.get("memory"):
            _write(folder / "memory.limit_in_bytes", bounds.memory_bytes)
            _try_write(folder / "memory.memsw.limit_in_bytes", bounds.memory_bytes)  # memory and swap together
        if folder := self.version_1.get("pids"):
            _write(folder / "pids.max", bounds.pids)
        if self.version_2 and "memory" in self.limits and "memory" not in self.version_1:
            _write(self.version_2 / "memory.max", bounds.memory_bytes)
            _try_write(self.version_2 / "memory.swap.max", 0)
        if self.version_2 and "pids" in self.limits and "pids" not in self.version_1:
            _write(self.version_2 / "pids.max", bounds.pids)
        self._share(bounds.cores)

    def _share(self, cores: Sequence[int]) -> None:
        """Equal weights; and the cores that it may not leave, though it asks the kernel for others."""
        if folder := self.version_1.get("cpu"):
            _try_write(folder / "cpu.shares", SHARES)
        elif self.version_2:
            _try_write(self.version_2 / "cpu.weight", WEIGHT)
        if folder := self.version_1.get("cpuset"):  # it takes no process before both are told
            _try_write(folder / "cpuset.mems", _read(folder.parent / "cpuset.mems").strip())
            _try_write(folder / "cpuset.cpus", _cores(cores))
        elif self.version_2 and cores:
            _try_write(self.version_2 / "cpuset.cpus", _cores(cores))

    def add(self, pid: int) -> None:
        """Put a process in. A folder that does not take it is given up."""
        for name, folder in list(self.version_1.items()):
            if not _try_write(folder / "cgroup.procs", pid):
                _remove(self.version_1.pop(name))
        if self.version_2 and not _try_write(self.version_2 / "cgroup.procs", pid):
            _remove(self.version_2)
            self.version_2 = None

    def thaw(self) -> None:
        for folder in self.folders:
            _thaw(folder)

    def kill(self) -> None:
        """End every process in it; once more is needed only where it is version 1 and they multiply."""
        self.thaw()
        if self.version_2 and _try_write(self.version_2 / "cgroup.kill", 1):
            return
        for folder in self.version_1.values():
            _kill_all(folder)

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group for its memory."""
        one = self.version_1.get("memory")
        text = _read(one / "memory.oom_control") if one else ""
        text += _read(self.version_2 / "memory.events") if self.version_2 else ""
        return re.search(r"^oom_kill [1-9]", text, re.MULTILINE) is not None

    def memory_peak_bytes(self) -> int | None:
        one = self.version_1.get("memory")
        text = _read(one / "memory.max_usage_in_bytes") if one else ""
        text = text or (_read(self.version_2 / "memory.peak") if self.version_2 else "")
        return int(text) if text.strip().isdigit() else None

    def cpu_s(self) -> float | None:
        if self.version_2 and (found := re.search(r"usage_usec (\d+)", _read(self.version_2 / "cpu.stat"))):
            return int(found[1]) / 1e6
        if folder := self.version_1.get("cpuacct"):
            text = _read(folder / "cpuacct.usage")
            return int(text) / 1e9 if text.strip().isdigit() else None
        return None

    def remove(self) -> None:
        for folder in self.folders:
            _remove(folder)
        for lock in self._locks:
            os.close(lock)
        self.version_1, self.version_2, self._locks = {}, None, []


def make(bounds: Bounds) -> Group:
    """A new group within these bounds, as far as this machine and user may have one."""
    ours, name = _ours(), f"{PREFIX}{os.getpid()}"
    controllers = [*LIMITED, "cpu", *(["cpuset"] if bounds.cores else [])]
    version_1 = _version_1(ours, name, [*controllers, "cpuacct"])
    wanted = [controller for controller in controllers if controller not in version_1]
    version_2 = _version_2(ours[""], name, wanted) if "" in ours else None
    if version_2 is None or not (version_2 / "cgroup.freeze").exists():  # which costs a tenth of the other's time
        version_1 |= _version_1(ours, name, ["freezer"])
    group = Group(version_2, version_1)
    try:
        group.limit(bounds)
    except OSError:
        group.remove()
    return group


def _version_1(ours: dict[str, Path], name: str, controllers: list[str]) -> dict[str, Path]:
    made = {controller: _child(ours[controller], name) for controller in controllers if controller in ours}
    return {controller: folder for controller, folder in made.items() if folder}


def _version_2(ours: Path, name: str, wanted: list[str]) -> Path | None:
    """Below the folder at or above ours that hands on most of what is wanted; a group that has processes of its own
    hands on nothing, so it is often the one above. Below ours, if none does: such a group still kills all at once."""
    best, most = ours, 0
    for parent in (ours, *ours.parents):
        if not (parent / "cgroup.procs").exists() or most == len(wanted):
            break
        for controller in wanted:
            if controller not in _read(parent / "cgroup.subtree_control").split():
                _try_write(parent / "cgroup.subtree_control", f"+{controller}")
        handed_on = len(set(wanted) & set(_read(parent / "cgroup.subtree_control").split()))
        if handed_on > most and os.access(parent, os.W_OK):
            best, most = parent, handed_on
    return _child(best, name)


def own_version_2() -> Path | None:
    """The group of version 2 that this process is in."""
    return _ours().get("")


def _ours() -> dict[str, Path]:
    """The folder of the group that this process is in, for each controller; version 2 is called ''."""
    groups = {}
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    found = {}
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        left, right = line.split(" - ", 1)
        root, point = left.split()[3:5]
        kind, _, options = right.split()[:3]
        names = [""] if kind == "cgroup2" else options.split(",") if kind == "cgroup" else []
        for name in set(names) & groups.keys():
            found[name] = Path(point) / os.path.relpath(groups[name], root)
    return {name: folder.resolve() for name, folder in found.items() if folder.is_dir()}


def _child(parent: Path, name: str) -> Path | None:
    _tidy(parent)
    folder = parent / name
    try:
        folder.mkdir()
    except OSError:
        return None
    return folder


def _tidy(parent: Path) -> None:
    """Remove groups whose keeper was killed before it could, and end what is still in them."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*"):
            keeper = folder.name.removeprefix(PREFIX)
            if keeper == str(os.getpid()) or not Path("/proc", keeper).exists():  # or one that had our number before
                _clear(folder)


def _clear(folder: Path) -> None:
    """A keeper that is not to be seen from here may yet live, in a container: then it holds the lock, or its processes
    have no number here."""
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if "0" in _read(folder / "cgroup.procs").split():
            return
        _thaw(folder)
        _kill_all(folder)
        _remove(folder)
    except OSError:
        return
    finally:
        os.close(lock)


def _lock(folder: Path) -> int:
    """Below 0 where the folder is gone, or its file system knows no locks."""
    try:
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return -1
    return lock


def _thaw(folder: Path) -> None:
    """What is frozen by version 1 cannot be killed."""
    for name, word in (("cgroup.freeze", "0"), ("freezer.state", "THAWED")):
        _try_write(folder / name, word)


def _kill_all(folder: Path) -> None:
    for pid in _read(folder / "cgroup.procs").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def _cores(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _remove(folder: Path) -> None:
    for _ in range(50):  # the kernel takes a moment to let go of the last process
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _write(file: Path, value: int | str) -> None:
    # Opened without O_TRUNC or O_CREAT, which the files of some kernels refuse.
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _try_write(file: Path, value: int | str) -> bool:
    try:
        _write(file, value)
    except OSError:
        return False
    return True
