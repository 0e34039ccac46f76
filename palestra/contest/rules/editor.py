"""A contest file changed so that it says other rules: comments, order and every value that stays are kept as they are.

The text is cut at its [headers]; only the tables in which something differs are taken apart, by tomlkit. The result is
read before it is given out: whatever cannot be changed in parts is written anew, without its comments.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

from palestra.contest.rules import value_parsers
from palestra.contest.rules.keys import AWARD, CONTEST, PHASE, REGISTRATION, Key
from palestra.contest.rules.model import Phase, Rules
from palestra.contest.rules.reader import parse, text_of
from palestra.contest.rules.toml_lines import Path, headers_of
from palestra.contest.rules.writer import (
    PARTS,
    phase_text,
    reads_as,
    table_text,
    usual_values,
    value_text,
    weights_text,
    written,
)
from palestra.errors import PalestraError, Refused

LARGEST_EDITED = 50_000  # letters, ten times those of the longest ready contest; longer texts would take seconds
LONGEST_ALIGNED = 400  # values of a list; tomlkit counts all of them again after each change


def edited(text: str, rules: Rules) -> str:
    """The text of a contest file, changed where it says something else than these rules."""
    before = _read(text)
    if before == rules:
        return text
    anew = written(rules)
    if before is None or max(len(text), len(anew)) > LARGEST_EDITED:
        return anew
    of_windows = text.count("\r\n") == text.count("\n")
    try:
        changed = _Editor(text.replace("\r\n", "\n") if of_windows else text, before, rules).text()
    except TOMLKitError:  # it is stricter than the reader
        return anew
    if _read(changed) != rules:
        return anew
    return changed.replace("\n", "\r\n") if of_windows else changed


def edited_file(file: File, rules: Rules) -> str:
    """The text of a file, changed so. One that cannot be read is not needed: rules that were announced are in force."""
    try:
        return edited(text_of(file), rules)
    except PalestraError:
        return written(rules)


def _read(text: str) -> Rules | None:
    try:
        return parse(text, "contest.toml")
    except Refused:
        return None


@dataclass
class _Piece:
    """One table of the file, from the comment above its header to what stands below its last key."""

    path: Path
    head: str
    body: str
    tail: str = ""
    new: bool = False

    @property
    def text(self) -> str:
        return self.head + self.body + self.tail


class _Editor:
    """A text in pieces, while it is changed."""

    def __init__(self, text: str, before: Rules, rules: Rules) -> None:
        self.before, self.rules, self.zone = before, rules, rules.zone
        self.values = tomllib.loads(text)
        self.pieces = _cut(text)
        self.contest()
        self.phases()
        self.weights()
        self.awards()

    def text(self) -> str:
        """All pieces, with an empty line on both sides of those that are new."""
        told, after_new = "", False
        for piece in self.pieces:
            if not piece.text:
                continue
            if told and (piece.new or after_new):
                told += "" if told.endswith("\n\n") else "\n" if told.endswith("\n") else "\n\n"
            told, after_new = told + piece.text, piece.new
        return told

    # Tables that are there once

    def contest(self) -> None:
        self.change(("contest",), self.values["contest"], self.rules, CONTEST)
        here: Path = ("registration",)
        if "registration" in self.values:
            self.change(here, self.values["registration"], self.rules, REGISTRATION)
        elif (self.rules.registration_opens, self.rules.registration_closes) != (None, None):
            text = table_text("[registration]", self.rules, REGISTRATION, self.zone)
            self.add(here, text, self.end_of(("contest",)))

    def weights(self) -> None:
        here: Path = ("weights",)
        old, new = self.before.weights, self.rules.weights
        if not new:
            self.remove(here)
        elif not old:
            self.remove(here)  # it may be there, and empty
            self.add(here, weights_text(new), self.end_of(("phase",)))
        else:
            other = [name for name in {**old, **new} if old.get(name) != new.get(name)]
            self.put(here, {name: repr(new[name]) if name in new else "" for name in other}, {})

    # Tables that may come often

    def phases(self) -> None:
        """A phase is known by its id, whatever else of it changes."""
        places = {phase.id: i for i, phase in enumerate(self.before.phases)}
        wanted = {phase.id: phase for phase in self.rules.phases}
        for name, i in places.items():
            if name in wanted:
                self.phase(("phase", i), self.values["phase"][i], wanted[name])
            else:
                self.remove(("phase", i))
        self.reorder([places[name] for name in wanted if name in places])
        place = self.start_of(("phase",))
        for number, phase in enumerate(self.rules.phases):
            here: Path = ("phase", places.get(phase.id, len(places) + number))
            if phase.id not in places:
                self.add(here, phase_text(phase, self.zone), place)
            place = self.end_of(here)

    def phase(self, here: Path, values: dict[str, Any], phase: Phase) -> None:
        self.change(here, values, phase, PHASE)
        for name, keys in PARTS.items():
            part, path = getattr(phase, name), (*here, name)
            if part is None:
                self.remove(path)
            elif name in values:
                self.change(path, values[name], part, keys)
            else:
                self.add(path, table_text(f"[phase.{name}]", part, keys, self.zone), self.end_of(here))

    def reorder(self, wanted: Sequence[int]) -> None:
        """Phases that stay, in the places that such have in the file."""
        if list(wanted) == sorted(wanted):
            return
        blocks = {i: [piece for piece in self.pieces if piece.path[:2] == ("phase", i)] for i in wanted}
        order = iter(wanted)
        pieces: list[_Piece] = []
        for piece in self.pieces:
            if piece.path[:1] == ("phase",) and piece.path[1] in blocks:
                pieces += blocks[next(order)] if len(piece.path) == 2 else []
            else:
                pieces.append(piece)
        self.pieces = pieces

    def awards(self) -> None:
        """Awards have no ids: those that are the same at both ends stay, those between take each other's place."""
        old, new = self.before.awards, self.rules.awards
        first, both, last = _overlap(old, new)
        for i in range(first, both):
            self.change(("award", i), self.values["award"][i], new[i], AWARD)
        place = self.end_of(("award", both - 1)) if both else self.start_of(("award",))
        for i in range(both, len(old) - last):
            self.remove(("award", i))
        for i in reversed(range(both, len(new) - last)):
            self.add(("award", len(old) + i), table_text("[[award]]", new[i], AWARD, self.zone), place)

    # Pieces

    def start_of(self, path: Path) -> int:
        """Where a table begins; the end of the text where it is not there."""
        return next((i for i, piece in enumerate(self.pieces) if _is_in(piece, path)), len(self.pieces))

    def end_of(self, path: Path) -> int:
        """Where a table ends, with those within it."""
        return max((i + 1 for i, piece in enumerate(self.pieces) if _is_in(piece, path)), default=len(self.pieces))

    def add(self, path: Path, text: str, place: int) -> None:
        self.pieces.insert(place, _Piece(path, "", text, new=True))

    def remove(self, path: Path) -> None:
        """Take a table out, and those within it. What stands apart below it stays, as it may be about the next one."""
        for piece in self.pieces:
            if _is_in(piece, path):
                apart = f"\n{piece.tail}".partition("\n\n")[2]
                piece.head, piece.body, piece.tail = "", "", apart

    def change(self, path: Path, values: dict[str, Any], table: msgspec.Struct, keys: Mapping[str, Key]) -> None:
        """Put the values that differ into a table."""
        usual = usual_values(table)
        changes: dict[str, str] = {}
        for name, key in keys.items():
            field = key.field or name
            wanted = getattr(table, field)
            read = reads_as(key.read, values[name], self.zone) if name in values else usual[field]
            if read != wanted and ((text := value_text(key, wanted, self.zone)) or name in values):
                changes[name] = text
        self.put(path, changes, keys)

    def put(self, path: Path, changes: Mapping[str, str], keys: Mapping[str, Key]) -> None:
        for name in changes:
            self.remove((*path, name))  # a value with a header of its own goes where the others are
        for piece in self.pieces:
            if piece.path == path and changes:
                piece.body = self.changed(piece.body, changes, keys)

    def changed(self, body: str, changes: Mapping[str, str], keys: Mapping[str, Key]) -> str:
        """The lines of a table with other values, as TOML; an empty one takes a key out."""
        end = "" if body.endswith("\n") else "\n"
        table = tomlkit.parse(body + end)
        for name, text in changes.items():
            if not text:
                table.pop(name, None)
                continue
            old, item = table.get(name), tomlkit.value(text)
            if isinstance(item, dict) and isinstance(old, dict):
                _fill(old, item, keys[name].read, self.zone)
            elif isinstance(item, list) and isinstance(old, list) and len(old) + len(item) <= LONGEST_ALIGNED:
                _align(old, item)
            else:
                table[name] = item
        return tomlkit.dumps(table).removesuffix(end)


def _is_in(piece: _Piece, path: Path) -> bool:
    return piece.path[: len(path)] == path


def _cut(text: str) -> list[_Piece]:
    """The pieces of a text. A comment right above a header belongs to it."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    headers = headers_of(text)
    starts = [_start(lines, line, end) for _, line, end in headers]
    pieces = [_Piece((), "".join(lines[: starts[0]]), "")]
    for (path, line, _), start, (_, _, end), following in zip(headers, starts, headers[1:], starts[1:], strict=False):
        cuts = ((start, line), (line, end), (max(line, end), following))
        head, body, tail = ("".join(lines[begin:stop]) for begin, stop in cuts)
        pieces.append(_Piece(path, head, body, tail))
    return pieces


def _start(lines: Sequence[str], line: int, end: int) -> int:
    """The place of the first line of a piece whose header is in this line, while others end in that one."""
    start = line - 1
    while start > end and start <= len(lines) and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _overlap(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int, int]:
    """How many are the same at the beginning, up to where both have one, and how many are the same at the end."""
    shorter = min(len(old), len(new))
    first = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    last = next((i for i in range(shorter - first) if old[-1 - i] != new[-1 - i]), shorter - first)
    return first, shorter - last, last


def _fill(old: dict[str, Any], new: Mapping[str, Any], read: value_parsers.Reader, zone: str) -> None:
    """Put the members that differ into a { … }, or into keys with dots."""
    for name in [name for name in old if name not in new]:
        del old[name]
    for name, item in new.items():
        if name not in old or reads_as(read, {name: old[name]}, zone) != read({name: item}, zone):
            old[name] = item


def _align(old: list[Any], new: Sequence[Any]) -> None:
    """Put what differs into a [ … ]."""
    first, both, last = _overlap(old, new)
    for i in range(first, both):
        if old[i] != new[i]:
            old[i] = new[i]
    for i in reversed(range(both, len(old) - last)):
        del old[i]
    for i in range(both, len(new) - last):
        old.insert(i, new[i])
