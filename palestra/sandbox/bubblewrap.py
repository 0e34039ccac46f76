"""The words that bubblewrap is called with. Standard library alone: the keeper runs without site-packages.

As root, bubblewrap makes no user namespace: root itself makes the mounts, so that an interpreter under a closed home
can be bound, and `setpriv` then takes a user id that nobody has, for real. (With `--uid` alone the
program would be root to the host wherever a file is bound.) For an ordinary user bubblewrap makes a user namespace in
which the user stays who it is; what that user can read, it can bind.
"""

import os

from palestra.sandbox.plan import Plan
from palestra.sandbox.private_root import DEVICE_LINKS, DEVICES

NEEDED_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # for setpriv, which gives them up


def words(plan: Plan, uid: int | None, filter_fd: int, status_fd: int) -> list[str]:
    """All options, in the order that bubblewrap acts on them."""
    found = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    found += ["--hostname", "palestra", "--die-with-parent", "--cap-drop", "ALL"]
    if uid is None:
        found.append("--unshare-user")
    else:
        for name in NEEDED_CAPABILITIES:
            found += ["--cap-add", name]
    found += ["--perms", "1777", "--size", str(plan.tmp_bytes), "--tmpfs", "/tmp"]  # first: what is bound may lie in it
    for parent in [*_parents([target for _, target in plan.readable + plan.writable]), "/dev"]:
        found += [
            "--perms",
            "0755",
            "--dir",
            parent,
        ]  # by itself it closes those above a folder that is closed to others
    for source, target in plan.readable:
        found += ["--ro-bind", source, target]
    for target, path in plan.links:
        found += ["--symlink", target, path]
    found += ["--proc", "/proc", *_devices(plan.devices)]
    for source, target in plan.masks:
        found += ["--ro-bind", source, target]
    for source, target in plan.writable:
        found += ["--bind", source, target]
    found += ["--remount-ro", "/", "--chdir", plan.folder]  # else the root, a tmpfs, could be filled
    return [*found, "--seccomp", str(filter_fd), "--json-status-fd", str(status_fd)]


def command(plan: Plan, uid: int | None, words_fd: int) -> list[str]:
    """The options come by a descriptor: the program can read command lines in /proc, and they have the host's paths."""
    start = [plan.bwrap, "--args", str(words_fd), "--"]
    if uid is not None:
        start += [plan.setpriv, "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
        start += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"]
    return start + plan.command


def _parents(places: list[str]) -> list[str]:
    """Every folder above these, from the top, that is in none of them."""
    found = set()
    for place in places:
        parts = place.strip("/").split("/")[:-1]
        found |= {"/" + "/".join(parts[: end + 1]) for end in range(len(parts))}
    return sorted(parent for parent in found if not any(f"{parent}/".startswith(f"{place}/") for place in places))


def _devices(place: str) -> list[str]:
    found = []
    for name in DEVICES:
        found += ["--dev-bind", f"{place}/{name}", f"/dev/{name}"]
    for target, name in DEVICE_LINKS:
        found += ["--symlink", target, f"/dev/{name}"]
    return found


def memory_file(data: bytes, number: int) -> int:
    """Data as an open file with this very descriptor, which the next program inherits."""
    made = os.memfd_create("palestra")
    os.write(made, data)
    os.lseek(made, 0, os.SEEK_SET)
    os.dup2(made, number)
    os.close(made)
    return number
