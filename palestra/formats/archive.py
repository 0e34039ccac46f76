"""A submission of many files: a folder, a .zip or a .tar(.gz), read in place; nothing is unpacked to disk.

What an archive says of itself is not believed: names, sizes and kinds are checked first, and no more is unpacked than
the limits allow. The list of members takes about 1 kB for each of at most 2 × `max_members` + 1,000 entries, and
`read` at most twice `max_member_bytes`.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from palestra.errors import clip, refuse
from palestra.formats.archive_kinds import Entry, Source, open_source
from palestra.formats.plain_files import FileFaults, shown_name
from palestra.text import human_bytes, say

NAME_CHARS, NAME_PARTS = 512, 16
DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class Limits:
    """How much may be in an archive."""

    members: int
    member_bytes: int
    total_bytes: int

    @property
    def entries(self) -> int:
        """Folders, and what macOS adds to each file, come on top of the members."""
        return 2 * self.members + 1000


def open_members(
    path: str | Path,
    max_members: int,
    max_member_bytes: int,
    max_total_bytes: int,
    *,
    strip_top: bool = True,
    expected: Collection[str] = (),
) -> "Members":
    """The members of a folder, .zip, .tar or .tar.gz, by content and not by the file's name.

    With `strip_top`, a single folder that all members lie in is left out of their names, unless one of the names in
    `expected` is there as it is (a submission of one sequence lies in one folder, rightly).
    """
    limits = Limits(max_members, max_member_bytes, max_total_bytes)
    source = open_source(Path(path), limits.total_bytes, limits.entries)
    try:
        entries = _index(source, shown_name(path), limits)
    except BaseException:
        source.close()
        raise
    if strip_top:
        entries = _without_top(entries, expected)
    return Members(source, shown_name(path), entries, limits)


class Members:
    """The files of a submission: iterate for their names, in the order of the archive, and `read` them by name.

    Threads may share it. A .tar.gz can only be read forwards: reading in the order of iteration unpacks it once,
    any step back unpacks it again from the start.
    """

    def __init__(self, source: Source, name: str, entries: dict[str, Entry], limits: Limits) -> None:
        self._source, self._name, self._entries, self._limits = source, name, entries, limits

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """What the archive says the member's size is."""
        return self._entry(name).size

    def read(self, name: str) -> bytes:
        """The whole of a member."""
        where, entry = f"{self._name}: {name}", self._entry(name)
        data = self._source.read(entry, self._limits.member_bytes, where)
        if len(data) != entry.size or len(data) > self._limits.member_bytes:
            refuse(
                where,
                say("a member of {human_bytes} or more", human_bytes=human_bytes(len(data))),
                say("{size}, as it says", size=human_bytes(entry.size)),
            )
        return data

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            refuse(self._name, say("no member {name}", name=clip(name)), say("the name of a member"))
        return self._entries[name]


def _index(source: Source, name: str, limits: Limits) -> dict[str, Entry]:
    """The members by name, once all of them are known to be harmless."""
    faults, members, total = FileFaults(name), dict[str, Entry](), 0
    for number, entry in enumerate(source.entries()):
        if number >= limits.entries:
            refuse(
                name,
                say("more than {number:,} members and folders", number=number),
                say("at most {members:,}", members=limits.members),
            )
        where = faults.at(entry.name if entry.name.isprintable() and len(entry.name) < 120 else clip(entry.name, 120))
        parts = [part for part in entry.name.split("/") if part not in ("", ".")]
        if wrong := _wrong_name(entry.name, parts):
            faults.add(where, wrong, say("a relative name like S_0/1.npy"))
        elif entry.kind == "a folder" or _is_junk(parts):
            continue
        elif entry.kind != "a file":
            faults.add(where, entry.kind, say("a file"))
        elif entry.size > limits.member_bytes:
            faults.add(
                where,
                human_bytes(entry.size),
                say("at most {member_bytes}", member_bytes=human_bytes(limits.member_bytes)),
            )
        elif (clean := "/".join(parts)) in members:
            faults.add(where, say("a second member of this name"), say("each name once"))
        else:
            members[clean] = entry
            total += entry.size
    if len(members) > limits.members:
        faults.add(
            name, say("{number:,} members", number=len(members)), say("at most {members:,}", members=limits.members)
        )
    if total > limits.total_bytes:
        faults.add(
            name,
            say("{total} in all", total=human_bytes(total)),
            say("at most {total_bytes}", total_bytes=human_bytes(limits.total_bytes)),
        )
    faults.finish()
    return members


def _wrong_name(name: str, parts: list[str]) -> str:
    """What is wrong with a name; empty if nothing is."""
    if not name.isprintable():
        return "a name with unprintable characters, or not in UTF-8"
    if "\\" in name:
        return "a backslash in the name"
    if name.startswith("/") or DRIVE.match(name):
        return "an absolute name"
    if ".." in parts:
        return "'..' in the name"
    if len(name) > NAME_CHARS or len(parts) > NAME_PARTS:
        return f"a name of {len(name):,} characters and {len(parts):,} folders"
    return ""


def _is_junk(parts: list[str]) -> bool:
    """What macOS adds."""
    return not parts or parts[0] == "__MACOSX" or parts[-1] == ".DS_Store" or parts[-1].startswith("._")


def _without_top(entries: dict[str, Entry], expected: Collection[str]) -> dict[str, Entry]:
    tops = {name.partition("/")[0] if "/" in name else "" for name in entries}
    wanted = set(expected)
    if len(tops) != 1 or "" in tops or any(name in wanted for name in entries):
        return entries
    return {name.partition("/")[2]: entry for name, entry in entries.items()}
