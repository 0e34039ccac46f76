"""Files of the host behind inodes that one sandbox alone has: two programs that see the same files cannot signal with
them.

Locks, leases, watches and times of access belong to an inode. Each folder that a program sees is therefore an overlay
of its own (nothing is copied), and what /proc tells of the whole machine is replaced by files that tell nothing.
Standard library alone: the keeper runs without site-packages.
"""

import contextlib
import ctypes
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palestra.sandbox.plan import Plan

READ_ONLY, NOSUID, NODEV, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
CORES = "/sys/devices/system/cpu"
BUSY = ("cpufreq", "cpuidle", "thermal_throttle", "power")  # what tells there how busy a core is
MARK = "null"  # a device, to see whether devices can be opened
# Of /proc/sys, what is a setting and no count of what others do.
SETTINGS = (
    "kernel/osrelease", "kernel/ostype", "kernel/version", "kernel/pid_max", "kernel/threads-max",
    "kernel/cap_last_cap", "kernel/ngroups_max", "vm/overcommit_memory", "vm/max_map_count",
)  # fmt: skip
# Of /proc, what stays the same whatever anybody does. All else is replaced, or empty, where others may read it.
KEPT = {
    "acpi", "bus", "config.gz", "consoles", "crypto", "devices", "dma", "execdomains", "filesystems", "iomem",
    "ioports", "misc", "mtrr", "tty", "version",
}  # fmt: skip
SILENT = {"loadavg": "0.00 0.00 0.00 1/1 1\n", "uptime": "0.00 0.00\n"}
MEMORY = ("MemTotal", "MemFree", "MemAvailable")
NO_MEMORY = ("Buffers", "Cached", "SwapCached", "Active", "Inactive", "SwapTotal", "SwapFree", "Shmem", "Slab")

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    what = (source.encode(), target.encode(), kind.encode() if kind else None)
    if libc.mount(*what, ctypes.c_ulong(flags), options.encode()) < 0:
        raise OSError(ctypes.get_errno(), f"mounting {target}: {os.strerror(ctypes.get_errno())}")


def owned(plan: "Plan") -> "Plan":
    """The plan with each file behind an inode of its own, in a mount namespace that is ours alone. Where overlays
    cannot be had (a file system that takes none, a kernel before 5.11 for an ordinary user), a folder is as it was."""
    place = f"{plan.scratch}/own"
    Path(place).mkdir()
    mount("none", "/", None, RECURSIVE | PRIVATE)
    mount("tmpfs", place, "tmpfs", NOSUID | NODEV, "mode=0755,size=4m")
    view = _View(place)
    readable = [(view.of(source, target), target) for source, target in plan.readable]
    faces = view.folder(f"{plan.scratch}/proc")
    masks = [(f"{faces}/{Path(source).name}", target) for source, target in plan.masks]
    devices = view.folder(plan.devices, flags=NOSUID)
    try:
        os.close(os.open(f"{devices}/{MARK}", os.O_RDWR | os.O_NONBLOCK))
        real = Path(devices, MARK).stat().st_rdev == Path(plan.devices, MARK).stat().st_rdev
    except OSError:  # an ordinary user's overlays open no devices
        real = False
    return plan._replace(readable=readable, masks=masks, devices=devices if real else plan.devices)


class _View:
    """Overlays of the host's folders."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.known: dict[str, str] = {}
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
        self.mounts = sorted({line.split()[4].decode("unicode_escape") for line in lines})

    def of(self, source: str, target: str) -> str:
        """Where this file or folder is to be had. What is at its place on the host comes from one overlay of all that
        is mounted with it; of others that would tell where they are, since a sandbox can read what is mounted."""
        is_folder = Path(source).is_dir()
        if not is_folder and source in self.mounts:  # it hides what its folder has in its place
            return source
        base = folder = source if is_folder else source.rpartition("/")[0]
        if source == target and base != CORES:
            base = max((place for place in self.mounts if f"{base}/".startswith(f"{place.rstrip('/')}/")), key=len)
        if self.folder(base) == base:  # an ordinary user may not lay over the root itself
            base = folder
        own = self.folder(base)
        if own == base:
            return source
        found = own + source[len(base.rstrip("/")) :]
        return found if self._lay_inner(source, found) else source

    def folder(self, source: str, flags: int = NOSUID | NODEV) -> str:
        if source not in self.known:
            target = f"{self.place}/{len(self.known)}"
            self.known[source] = target if self._lay(source, target, flags) else source
        return self.known[source]

    def _lay(self, source: str, target: str, flags: int = NOSUID | NODEV) -> bool:
        """Overlay a folder; whether that worked."""
        mask = f"{self.place}/mask{source}"
        try:
            Path(target).mkdir(exist_ok=True)
            _overlay(source, target, _mask(mask, source), flags)
        except OSError:
            return False
        return True

    def _lay_inner(self, source: str, found: str) -> bool:
        """Overlay what is mounted below a folder, too: an overlay stays within one file system."""
        for inner in self.mounts:
            if inner.startswith(f"{source}/"):
                below = found + inner.removeprefix(source)
                if not Path(inner).is_dir():
                    mount(inner, below, None, BIND)
                elif not self._lay(inner, below):
                    return False
        return True


def _mask(place: str, source: str) -> str:
    """A folder to lay over this one. An overlay needs two; what this one has as a whiteout is not to be seen."""
    Path(place).mkdir(parents=True, exist_ok=True)
    if source == CORES:
        for name in ("", *(core.name for core in Path(source).glob("cpu[0-9]*"))):
            Path(place, name).mkdir(exist_ok=True)
            for busy in BUSY:
                os.mknod(f"{place}/{name}/{busy}", stat.S_IFCHR, 0)
    return place


def _overlay(source: str, target: str, mask: str, flags: int) -> None:
    """By descriptors: what is mounted from where can be read in the sandbox."""
    layers = [os.open(layer, os.O_PATH | os.O_DIRECTORY) for layer in (mask, source)]
    try:
        lower = ":".join(f"/proc/self/fd/{number}" for number in layers)
        mount("overlay", target, "overlay", flags | READ_ONLY, f"lowerdir={lower}")
    finally:
        for number in layers:
            os.close(number)


def masks(place: str, memory_bytes: int) -> list[tuple[str, str]]:
    """What is put over each entry of /proc that tells of the whole machine: files that are made in this folder."""
    Path(place, "none").mkdir(parents=True)
    for name, text in _texts(memory_bytes).items():
        file = Path(place, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    pairs = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() or entry.name in KEPT or entry.is_symlink():
            continue
        if entry.stat().st_mode & stat.S_IROTH:
            own = entry.name if Path(place, entry.name).exists() else "none" if entry.is_dir() else "empty"
            pairs.append((f"{place}/{own}", f"/proc/{entry.name}"))
    return pairs


def _texts(memory_bytes: int) -> dict[str, str]:
    texts = SILENT | {"empty": "", "sys/none": ""}
    for name in ("cpuinfo", *(f"sys/{name}" for name in SETTINGS)):
        with contextlib.suppress(OSError):  # not every kernel has each
            texts[name] = Path("/proc", name).read_text()
    lines = texts.get("cpuinfo", "").splitlines(keepends=True)
    texts["cpuinfo"] = "".join(line for line in lines if not line.startswith("cpu MHz"))
    sizes = dict.fromkeys(MEMORY, memory_bytes // 1024) | dict.fromkeys(NO_MEMORY, 0)
    texts["meminfo"] = "".join(f"{name + ':':<15}{size:>9} kB\n" for name, size in sizes.items())
    cores = range(os.cpu_count() or 1)
    texts["stat"] = "".join(f"{name} {' '.join('0' * 10)}\n" for name in ("cpu ", *(f"cpu{core}" for core in cores)))
    texts["stat"] += "intr 0\nctxt 0\nbtime 0\nprocesses 0\nprocs_running 1\nprocs_blocked 0\n"
    return texts
