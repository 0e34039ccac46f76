"""What of the host an entrant's program sees: the system, the interpreter that runs us, its bundle, and nothing else.

Everything but the bundle is at the path that it has on the host: an interpreter that is bound elsewhere does not find
its libraries. The bundle is at /bundle, its installed wheels at /site, data that it may read at /dataset and the file
that it is to write below /answer, so that no message has the host's paths.
"""

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

import palestra

BUNDLE, SITE, DATA, ANSWER = "/bundle", "/site", "/dataset", "/answer"
PACKAGE = Path(palestra.__file__).parent
SYSTEM = ("/usr", "/nix/store", "/sys/devices/system/cpu")  # the last: libraries count cores and caches there
ROOTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr on most systems, folders on some
ETC = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "mime.types", "fonts", "ssl/openssl.cnf",
    "os-release", "debian_version", "lsb-release",
)  # fmt: skip

# Of a prefix, no more than these: people make a virtual environment in the folder that has their data, too.
PREFIX_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "share", "pyvenv.cfg")

Pair = tuple[str, str]


def system() -> tuple[list[Pair], list[Pair]]:
    """What of the system is bound, and which links lead to it."""
    bound = [(place, place) for place in SYSTEM if Path(place).exists()]
    links: list[Pair] = []
    for name in ROOTS:
        place = Path("/", name)
        if place.is_symlink():
            links.append((str(place.readlink()), str(place)))
        elif place.is_dir():
            bound.append((str(place), str(place)))
    bound += [(os.path.realpath(f"/etc/{name}"), f"/etc/{name}") for name in ETC if Path("/etc", name).exists()]
    return bound, links


def interpreter() -> list[Pair]:
    """The folders of this Python, of its virtual environment, and of this package."""
    prefixes = {sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix}
    prefixes |= {os.path.realpath(prefix) for prefix in prefixes}
    parts = {str(Path(prefix, part)) for prefix in prefixes for part in PREFIX_PARTS}
    return [(os.path.realpath(place), place) for place in sorted(parts | {str(PACKAGE)}) if Path(place).exists()]


def arrange(pairs: Iterable[Pair]) -> list[Pair]:
    """Parents before what lies below them, without what a parent shows already."""
    kept: list[Pair] = []
    for source, target in sorted(set(pairs), key=lambda pair: pair[1]):
        if not any(_shows(parent, (source, target)) for parent in kept):
            kept.append((source, target))
    return kept


def _shows(parent: Pair, pair: Pair) -> bool:
    (source, target), (inner_source, inner_target) = parent, pair
    if not Path(inner_target).is_relative_to(target):
        return False
    return inner_source == os.path.realpath(f"{source}{inner_target.removeprefix(target)}")


def import_path(site: str | None) -> str:
    """PYTHONPATH: the wheels that came with the bundle, then where this package is."""
    return os.pathsep.join([*([site] if site else []), str(PACKAGE.parent)])


def unreadable(folder: Path) -> str:
    """The first file or folder in this one that only its owner or group may read; empty when there is none."""
    for place, names, files in os.walk(folder):
        for name, needed in [(".", 0o005), *((name, 0o005) for name in names), *((name, 0o004) for name in files)]:
            mode = Path(place, name).lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & needed != needed:
                return str(Path(place, name))
    return ""


def closed_to_others(places: Iterable[str]) -> str:
    """The first folder on the way to one of these that only its owner may enter; empty when all can be reached."""
    for place in places:
        for parent in reversed([Path(place), *Path(place).parents]):
            if parent.is_dir() and not parent.stat().st_mode & 0o001:
                return str(parent)
    return ""
