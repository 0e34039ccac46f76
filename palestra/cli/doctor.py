"""What this machine can do, and how to get more. It only looks: nothing is installed, and nothing it meets stops it."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from palestra.text import human_bytes

PATIENCE_S = 1.5  # for a program that we ask
GIB = 1 << 30
SHARES_ADVICE = (
    "start as root where /sys/fs/cgroup can be written to (in a container: mount it so), or as a systemd service with "
    "Delegate=cpu cpuset memory pids and DelegateSubgroup=palestra (systemd 254), on control groups of version 2"
)


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked for."""

    name: str
    ok: bool
    found: str
    advice: str = ""  # how to get it; empty where all is well
    purpose: str = ""  # what it is for, where that is not plain


def report() -> list[Finding]:
    """Everything, in the order that people need it. The looks run side by side: some ask other programs."""
    with ThreadPoolExecutor(len(LOOKS)) as pool:
        found = list(pool.map(_safely, LOOKS.items()))
    return [finding for findings in found for finding in findings]


def as_rows(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """The findings as a table for people."""
    return [
        {
            "": "yes" if finding.ok else "no",
            "what": finding.name,
            "found": finding.found,
            "to get it": finding.advice,
            "for": finding.purpose,
        }
        for finding in findings
    ]


def _safely(named: tuple[str, Callable[[], list[Finding]]]) -> list[Finding]:
    name, look = named
    try:
        return look()
    except Exception as error:  # a doctor that falls ill helps nobody
        return [Finding(name, False, f"could not be looked at: {type(error).__name__}: {error}")]


def _python() -> list[Finding]:
    version = platform.python_version()
    good = tuple(map(int, platform.python_version_tuple()[:2])) >= (3, 11)
    return [
        Finding("python", good, version, "" if good else "Python 3.11 or later; then make PYTHON=python3.11 install")
    ]


def _cores() -> list[Finding]:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    advice = "" if count > 1 else "two or more, or real-time runs and the entrant share one"
    return [Finding("cores", count > 1, str(count), advice)]


def _memory() -> list[Finding]:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    good = total >= 4 * GIB
    return [Finding("memory", good, human_bytes(total), "" if good else "4 GB or more")]


def _disk() -> list[Finding]:
    from palestra.datasets import CACHE, cache_folder

    folder = cache_folder()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    good = free >= 2 * GIB and os.access(there, os.W_OK)
    advice = "" if good else f"2 GB that can be written to, or another folder in {CACHE}"
    return [Finding("disk for the cache", good, f"{human_bytes(free)} free at {folder}", advice)]


def _sandboxes() -> list[Finding]:
    from palestra.sandbox.backends import probe

    found = [
        Finding(
            f"sandbox: {backend.name}",
            backend.works,
            backend.reason if backend.works else f"does not work: {backend.reason}",
            "" if backend.works else backend.advice,
            "programs of contestants",
        )
        for backend in probe()
    ]
    used = next((backend for backend in probe() if backend.works and backend.contains), None)
    return [*found, _fairness(used.controls if used else ())]


def _fairness(controls: Sequence[str]) -> Finding:
    """Whether programs that play together get equal parts of the processors, and can be frozen."""
    lacking = [name for name in ("cpu", "freezer") if name not in controls]
    name, purpose = "equal processor time", "several programs in one live run"
    if not lacking:
        return Finding(name, True, "control groups with cpu and freezer", purpose=purpose)
    return Finding(name, False, f"no control group with {' and '.join(lacking)}", SHARES_ADVICE, purpose)


def _chromium() -> list[Finding]:
    known_as = ("chromium", "chromium-browser", "google-chrome")
    return [_program("chromium", known_as, "apt-get install -y chromium", "tests of the pages in a browser")]


def _postgresql() -> list[Finding]:
    """Its server. One on another machine needs nothing here but the driver."""
    purpose = "contests with several server processes, or workers on other machines"
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if installed:
        return [Finding("PostgreSQL", True, str(installed[-1]), purpose=purpose)]
    advice = "apt-get install -y postgresql (SQLite serves until then)"
    return [_program("PostgreSQL", ("postgres", "psql"), advice, purpose)]


def _program(name: str, known_as: Sequence[str], advice: str, purpose: str) -> Finding:
    found = next(filter(None, map(shutil.which, known_as)), None)
    return Finding(name, found is not None, found or "not installed", "" if found else advice, purpose)


def _osmesa() -> list[Finding]:
    from ctypes.util import find_library

    found = find_library("OSMesa")
    advice = "" if found else "apt-get install -y libosmesa6"
    purpose = "drawing the robot table without a screen"
    return [Finding("OSMesa", found is not None, found or "not installed", advice, purpose)]


def _fonts() -> list[Finding]:
    purpose = "Chinese in pictures, and on a screen that this machine drives"
    if shutil.which("fc-list") is None:
        advice = "apt-get install -y fontconfig fonts-noto-cjk"
        return [Finding("CJK fonts", False, "fc-list is not installed", advice, purpose)]
    names = sorted({line.split(",")[0] for line in _ask("fc-list", ":lang=zh", "family").splitlines() if line})
    advice = "" if names else "apt-get install -y fonts-noto-cjk"
    return [Finding("CJK fonts", bool(names), ", ".join(names[:3]) or "none", advice, purpose)]


def _gpu() -> list[Finding]:
    advice, purpose = "an NVIDIA GPU with its driver", "training; everything else runs well without"
    if shutil.which("nvidia-smi") is None:
        return [Finding("GPU", False, "nvidia-smi is not installed", advice, purpose)]
    names = _ask("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader").strip().splitlines()
    return [Finding("GPU", bool(names), "; ".join(names) or "none", "" if names else advice, purpose)]


# library → how to get it, what it is for
LIBRARIES = {
    "torch": ("pip install 'palestra[train]'", "training"),
    "onnxruntime": ("pip install onnxruntime", "solutions that are trained networks"),
    "psycopg": ("pip install 'psycopg[binary]'", "contests on PostgreSQL"),
    "obstore": ("pip install obstore", "a contest's files in S3, Google or Azure storage instead of a folder"),
    "ray": ("pip install 'palestra[ray]'", "scoring on a cluster: palestra contest worker --executor ray"),
    "pylsl": ("pip install 'palestra[lsl]'", "entrants of the lab streaming layer"),
    "playwright": ("pip install 'palestra[dev]'", "tests of the pages in a browser"),
}


def _libraries() -> list[Finding]:
    return [_library(name, advice, purpose) for name, (advice, purpose) in LIBRARIES.items()]


def _library(name: str, advice: str, purpose: str) -> Finding:
    try:
        # Looked up and not imported: torch alone takes more than two seconds.
        return Finding(name, True, importlib.metadata.version(name), purpose=purpose)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", advice, purpose)


def _ask(*words: str) -> str:
    asked = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return asked.stdout if asked.returncode == 0 else ""


LOOKS: dict[str, Callable[[], list[Finding]]] = {
    "python": _python,
    "cores": _cores,
    "memory": _memory,
    "disk for the cache": _disk,
    "sandbox": _sandboxes,
    "chromium": _chromium,
    "OSMesa": _osmesa,
    "PostgreSQL": _postgresql,
    "CJK fonts": _fonts,
    "GPU": _gpu,
    "libraries": _libraries,
}
