"""Control groups: memory, processes and processor time of a whole tree of processes, counted and limited together.

Groups are made below the one that we are in, so that limits set on us by others hold for entrants, too. Version 2 is
used where it has the controllers, version 1 where it is writable; what cannot be had is left to rlimits by the caller.
Standard library alone: the keeper runs without site-packages.
"""

import contextlib
import os
import re
import signal
import time
from pathlib import Path

PREFIX = "palestra-"
LIMITED: list[str] = ["memory", "pids"]
VERSION_1 = (*LIMITED, "cpuacct")


class Group:
    """One group, as the folders that it is in the file system. Empty where the machine has none to give."""

    def __init__(self, version_2: Path | None, version_1: dict[str, Path]) -> None:
        self.version_2 = version_2
        self.version_1 = version_1

    @property
    def limits(self) -> list[str]:
        """What the group limits: memory, pids."""
        two = _read(self.version_2 / "cgroup.controllers").split() if self.version_2 else []
        return [name for name in LIMITED if name in self.version_1 or name in two]

    @property
    def words(self) -> str:
        """How a Result names it."""
        version = 1 if any(name in self.version_1 for name in LIMITED) else 2
        return f"cgroup v{version} ({', '.join(self.limits)})" if self.limits else ""

    def limit(self, memory_bytes: int, pids: int) -> None:
        if folder := self.version_1.get("memory"):
            _write(folder / "memory.limit_in_bytes", memory_bytes)
            _try_write(folder / "memory.memsw.limit_in_bytes", memory_bytes)  # memory and swap together
        if folder := self.version_1.get("pids"):
            _write(folder / "pids.max", pids)
        if self.version_2 and "memory" in self.limits and "memory" not in self.version_1:
            _write(self.version_2 / "memory.max", memory_bytes)
            _try_write(self.version_2 / "memory.swap.max", 0)
        if self.version_2 and "pids" in self.limits and "pids" not in self.version_1:
            _write(self.version_2 / "pids.max", pids)

    def add(self, pid: int) -> None:
        """Put a process in. A folder that does not take it is given up."""
        for name, folder in list(self.version_1.items()):
            if not _try_write(folder / "cgroup.procs", pid):
                _remove(self.version_1.pop(name))
        if self.version_2 and not _try_write(self.version_2 / "cgroup.procs", pid):
            _remove(self.version_2)
            self.version_2 = None

    def kill(self) -> None:
        """End every process in it; once more is needed only where it is version 1 and they multiply."""
        if self.version_2 and _try_write(self.version_2 / "cgroup.kill", 1):
            return
        for folder in self.version_1.values():
            for pid in _read(folder / "cgroup.procs").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)

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
        for folder in [*self.version_1.values(), *([self.version_2] if self.version_2 else [])]:
            _remove(folder)
        self.version_1, self.version_2 = {}, None


def make(memory_bytes: int, pids: int) -> Group:
    """A new group with these limits, as far as this machine and user may have one."""
    ours, name = _ours(), f"{PREFIX}{os.getpid()}"
    version_1 = {}
    for controller in VERSION_1:
        if controller in ours and (folder := _child(ours[controller], name)):
            version_1[controller] = folder
    wanted = [controller for controller in LIMITED if controller not in version_1]
    version_2 = _version_2(ours[""], name, wanted) if "" in ours else None
    group = Group(version_2, version_1)
    try:
        group.limit(memory_bytes, pids)
    except OSError:
        group.remove()
    return group


def _version_2(ours: Path, name: str, wanted: list[str]) -> Path | None:
    """The lowest folder at or above ours that hands on the controllers wanted; a group that has processes of its own
    cannot, so it is often the one above. Without them, one below ours: it still kills all at once."""
    for parent in (ours, *ours.parents):
        if not (parent / "cgroup.procs").exists() or not wanted:
            break
        for controller in wanted:
            if controller not in _read(parent / "cgroup.subtree_control").split():
                _try_write(parent / "cgroup.subtree_control", f"+{controller}")
        if set(wanted) <= set(_read(parent / "cgroup.subtree_control").split()) and (folder := _child(parent, name)):
            return folder
    return _child(ours, name)


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
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return folder


def _tidy(parent: Path) -> None:
    """Remove groups whose keeper was killed before it could."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*"):
            if not Path("/proc", folder.name.removeprefix(PREFIX)).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


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
