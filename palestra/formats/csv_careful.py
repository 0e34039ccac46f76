"""The careful reader of CSV tables: exact lines, every fault, and what is harmless taken as it is meant."""

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from palestra.errors import SHOWN, clip, refuse
from palestra.formats.plain_files import FileFaults, shown_name
from palestra.text import Text, Words, say

BLANKS = " \t"
NUMBER_CHARS = 512  # longer ones cost more to read than any writer means
SPARE_ROWS = 1000  # beyond twice the trials
HINTS = 3  # unknown trials for which a near one is looked up: it takes a while
NEAR_AMONG = 3000  # and the most names to look through

# Possessive (++), so that a stranger's cell cannot make the matching slow.
NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
WHOLE = re.compile(r"([+-]?\d++)(?:\.0*+)?", re.ASCII)
NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """What a table should hold."""

    file: Path
    keys: tuple[str, ...]  # columns that tell trials apart
    columns: Mapping[str, type[pl.DataType]]  # columns of the answer
    expected: pl.DataFrame  # the keys, as texts, and `trial`
    limit: float  # the largest magnitude of a number
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of columns that have some of their own

    def between(self, column: str) -> tuple[float, float]:
        return self.bounds.get(column, (-self.limit, self.limit))

    @property
    def names(self) -> list[str]:
        return [*self.keys, *self.columns]


class _Bad(Exception):
    """A cell that refuses the file: what was expected in it."""

    def __init__(self, expected: Words) -> None:
        super().__init__(str(expected))
        self.expected = expected


class _Gap(Exception):
    """A cell without an answer."""


def read_carefully(text: str, layout: Layout) -> pl.DataFrame:
    """The answers in order, row by row; raises `Refused` with everything that is wrong."""
    faults = FileFaults(layout.file)
    rows = _rows(text, faults)
    header = next(rows, None)
    if header is None:
        faults.finish()
        refuse(faults.name, say("no header and no rows"), say("the header {names}", names=",".join(layout.names)))
    careful = _Careful(layout, _header(header[1], layout), faults)
    most = 2 * layout.expected.height + SPARE_ROWS
    for number, (line, cells) in enumerate(rows):
        if number == most:  # to look at all of millions of wrong rows would take minutes
            faults.add(
                faults.at(say("line {line:,}", line=line)),
                say("more than {most:,} rows", most=most),
                say("{height:,} rows", height=layout.expected.height),
            )
            break
        careful.take(line, cells)
    return careful.finish()


def _rows(text: str, faults: FileFaults) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    line = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip(BLANKS)):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        faults.add(
            faults.at(say("line {line:,}", line=line)),
            say("a row that cannot be read ({error})", error=error),
            say("cells separated by commas"),
        )


def _header(cells: list[str], layout: Layout) -> list[str]:
    """The names of the file's columns, which must be those of the layout in some order."""
    names = [cell.strip(BLANKS) for cell in cells]
    wanted = layout.names
    expected = say("the columns {wanted}", wanted=",".join(wanted))
    where = say("{shown_name}: line 1", shown_name=shown_name(layout.file))
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        refuse(
            where,
            say("the header {clip}", clip=clip(names[0])),
            say("{expected}, separated by commas", expected=expected),
        )
    faults = FileFaults(layout.file)
    for name in dict.fromkeys(names):
        if name not in wanted:
            faults.add(
                where, say("the column {name}", name=clip(name)), say("{expected}, no others", expected=expected)
            )
        elif names.count(name) > 1:
            faults.add(
                where,
                say("the column {name} {count} times", name=clip(name), count=names.count(name)),
                say("{expected}, each once", expected=expected),
            )
    for name in wanted:
        if name not in names:
            faults.add(where, say("no column {name}", name=clip(name)), expected)
    faults.finish()
    return names


class _Careful:
    """Takes rows one by one and puts their values where their trials are."""

    def __init__(self, layout: Layout, header: list[str], faults: FileFaults) -> None:
        self.layout, self.header, self.faults = layout, header, faults
        self.key_at = [header.index(name) for name in layout.keys]
        self.cells = [(name, header.index(name), kind) for name, kind in layout.columns.items()]
        keys = layout.expected.select(layout.keys).rows()
        self.row_of = {key: row for row, key in enumerate(keys)}
        if len(self.row_of) != len(keys):
            raise ValueError(f"the trials to be answered are not told apart by {layout.keys}")
        self.lines = [0] * len(keys)  # where each trial's row is; 0: nowhere yet
        self.gaps = bytearray(len(keys))
        self.values: dict[str, list[Any]] = {name: [None] * len(keys) for name, _, _ in self.cells}
        self.hints = HINTS

    def take(self, line: int, cells: list[str]) -> None:
        row = self._row(line, cells)
        if len(cells) != len(self.header):
            more = say(" (decimal commas, perhaps)") if len(cells) > len(self.header) else ""
            expected = say("{number} cells: {header}", number=len(self.header), header=",".join(self.header))
            self.faults.add(self._at(line), say("{number:,} cells{more}", number=len(cells), more=more), expected)
        elif row is not None:
            self._fill(row, line, cells)

    def _row(self, line: int, cells: list[str]) -> int | None:
        """The number of the trial that this row is for."""
        if len(cells) <= max(self.key_at):
            return None
        key = tuple(cells[at].strip(BLANKS) for at in self.key_at)
        row = self.row_of.get(key)
        if row is None:
            found = say("a row for {named}", named=self._named(key))
            self.faults.add(self._at(line), found, say("a trial of this data set{hint}", hint=self._hint(key)))
        elif self.lines[row]:
            found = say(
                "a second row for {named}, which line {lines:,} has", named=self._named(key), lines=self.lines[row]
            )
            self.faults.add(self._at(line), found, say("one row for each trial"))
            return None
        else:
            self.lines[row] = line
        return row

    def _fill(self, row: int, line: int, cells: list[str]) -> None:
        for name, at, kind in self.cells:
            cell = cells[at].strip(BLANKS)
            try:
                self.values[name][row] = _value(cell, kind, *self.layout.between(name))
            except _Bad as error:
                self.faults.add(self._at(line, name), clip(cell), error.expected)
            except _Gap:
                if not self.gaps[row]:  # one gap for each answer, however many cells it lacks
                    self.faults.gap(self._at(line, name), clip(cell) if cell else say("an empty cell"), _words(kind))
                self.gaps[row] = 1

    def finish(self) -> pl.DataFrame:
        layout, faults = self.layout, self.faults
        if not any(self.lines) and not faults and self.lines:
            refuse(faults.name, say("a header and no rows"), say("{number:,} rows", number=len(self.lines)))
        self._note_missing()
        kinds = {} if faults.count else dict(layout.columns)  # what refuses the file leaves values of no type
        columns = [pl.Series(name, self.values[name], kind) for name, kind in kinds.items()]
        answers = layout.expected.select("trial").with_columns(columns)
        keep = [line > 0 and not gap for line, gap in zip(self.lines, self.gaps, strict=True)]
        answers = answers.filter(pl.Series(keep, dtype=pl.Boolean))
        faults.finish(usable=answers)
        return answers

    def _note_missing(self) -> None:
        missing = [row for row, line in enumerate(self.lines) if not line]
        expected = say("a row for each of {number:,} trials", number=len(self.lines))
        for row in missing[:SHOWN]:
            key = self.layout.expected.select(self.layout.keys).row(row)
            self.faults.gap(self.faults.name, say("no row for {named}", named=self._named(key)), expected)
        if len(missing) > SHOWN:
            self.faults.gap(self.faults.name, say("further rows missing"), expected, count=len(missing) - SHOWN)

    def _at(self, line: int, name: str = "") -> Words:
        if name:
            return self.faults.at(say("line {line:,}, column {column}", line=line, column=name))
        return self.faults.at(say("line {line:,}", line=line))

    def _named(self, key: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {clip(part)}" for name, part in zip(self.layout.keys, key, strict=True))

    def _hint(self, key: tuple[str, ...]) -> Text:
        """The nearest valid name of the first part that nothing here has."""
        self.hints -= 1
        if self.hints < 0:
            return ""
        for name, part in zip(self.layout.keys, key, strict=True):
            known = self.layout.expected[name].unique(maintain_order=True).to_list()
            if part not in known:
                near = difflib.get_close_matches(part[:80], known[:NEAR_AMONG], n=1, cutoff=0.4)
                return say(" ({name} {near}, perhaps)", name=name, near=clip(near[0])) if near else ""
        return ""


def _value(cell: str, kind: type[pl.DataType], least: float, most: float) -> float | int | str:
    if not cell:
        raise _Gap
    if kind == pl.String:
        return cell
    if NO_NUMBER.fullmatch(cell):
        raise _Gap
    whole = WHOLE.fullmatch(cell) if kind == pl.Int64 else NUMBER.fullmatch(cell)
    if whole is None or len(cell) > NUMBER_CHARS:
        raise _Bad(_words(kind))
    value = int(whole[1]) if kind == pl.Int64 else float(cell)
    if not least <= value <= most or (kind == pl.Int64 and abs(value) >= 2**63):
        raise _Bad(_between(kind, least, most))
    return value


def _between(kind: type[pl.DataType], least: float, most: float) -> Words:
    if least == -most:
        return say("{number} of at most ±{limit:g}", number=_words(kind), limit=most)
    return say("{number} from {least:g} to {most:g}", number=_words(kind), least=least, most=most)


def _words(kind: type[pl.DataType]) -> Words:
    if kind == pl.Int64:
        return say("a whole number")
    return say("a text") if kind == pl.String else say("a number")
