"""What a machine is like on which programs run, as far as it may decide how fast and how exactly they answer."""

import os
import platform
import socket
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from palestra.text import Text, Words, joined, say

LIBRARIES = (
    "numpy", "onnxruntime", "onnxruntime-gpu", "opencv-python", "opencv-python-headless", "palestra", "polars", "scipy",
    "torch",
)  # fmt: skip
GPUS = Path("/proc/driver/nvidia")


class Machine(msgspec.Struct, frozen=True):
    """A machine and what is installed on it."""

    name: str
    cpu: str
    cores: int  # of the machine: a run is pinned to some of them
    memory_gib: int
    gpus: tuple[str, ...]
    kernel: str
    python: str
    libraries: dict[str, str]  # versions of those that are there; "nvidia" is the driver


def fingerprint() -> Machine:
    """This machine."""
    return Machine(
        name=socket.gethostname(),
        cpu=_after(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        gpus=tuple(sorted(_after(file, "Model") for file in GPUS.glob("gpus/*/information"))),
        kernel=platform.release(),
        python=platform.python_version(),
        libraries=dict(_libraries()),
    )


def _after(file: Path, key: str) -> str:
    """What stands behind a key in a file of the kernel's; empty where it tells nothing."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == key), "")


def _libraries() -> Iterator[tuple[str, str]]:
    for name in LIBRARIES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if driver := _after(GPUS / "version", "NVRM version"):
        yield "nvidia", driver


def differences(machines: Sequence[Machine]) -> list[Words]:
    """In what machines are not alike, in words; nothing where they are, or where there is one alone."""
    names = sorted({name for one in machines for name in one.libraries})
    told: list[tuple[Text, list[Any]]] = [
        (say("processor"), [one.cpu for one in machines]),
        (say("cores"), [one.cores for one in machines]),
        (say("memory"), [f"{one.memory_gib} GiB" for one in machines]),
        (say("graphics cards"), [", ".join(one.gpus) or say("none") for one in machines]),
        (say("kernel"), [one.kernel for one in machines]),
        ("Python", [one.python for one in machines]),
        *((name, [one.libraries.get(name) or say("not installed") for one in machines]) for name in names),
    ]
    return [_told(what, machines, values) for what, values in told if len(set(map(str, values))) > 1]


def _told(what: Text, machines: Sequence[Machine], values: Sequence[Any]) -> Words:
    """Like values together, in the order of the machines."""
    having: dict[str, list[str]] = defaultdict(list)
    shown = {str(value): value for value in values}
    for machine, value in zip(machines, values, strict=True):
        having[str(value)].append(machine.name)
    parts = [say("{value} on {machines}", value=shown[key], machines=", ".join(names)) for key, names in having.items()]
    return say("{what}: {values}", what=what, values=joined(parts, "; "))
