"""The careful reader of CSV tables: exact lines, every fault, and what is harmless taken as it is meant."""

import csv
import difflib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from palestra.errors import SHOWN, clip, refuse
from palestra.formats.plain_files import FileFaults, shown_name

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

    @property
    def names(self) -> list[str]:
        return [*self.keys, *self.columns]


class _Bad(Exception):
    """A cell that refuses the file: what was expected in it."""


class _Gap(Exception):
    """A cell without an answer."""


def read_carefully(text: str, layout: Layout) -> pl.DataFrame:
    """The answers in order, row by row; raises `Refused` with everything that is wrong."""
    faults = FileFaults(layout.file)
    rows = _rows(text, faults)
    header = next(rows, None)
    if header is None:
        faults.finish()
        refuse(faults.name, "no header and no rows", f"the header {','.join(layout.names)}")
    careful = _Careful(layout, _header(header[1], layout), faults)
    most = 2 * layout.expected.height + SPARE_ROWS
    for number, (line, cells) in enumerate(rows):
        if number == most:  # to look at all of millions of wrong rows would take minutes
            faults.add(faults.at(f"line {line:,}"), f"more than {most:,} rows", f"{layout.expected.height:,} rows")
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
        faults.add(faults.at(f"line {line:,}"), f"a row that cannot be read ({error})", "cells separated by commas")


def _header(cells: list[str], layout: Layout) -> list[str]:
    """The names of the file's columns, which must be those of the layout in some order."""
    names = [cell.strip(BLANKS) for cell in cells]
    wanted = layout.names
    expected = f"the columns {','.join(wanted)}"
    where = f"{shown_name(layout.file)}: line 1"
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        refuse(where, f"the header {clip(names[0])}", f"{expected}, separated by commas")
    faults = FileFaults(layout.file)
    for name in dict.fromkeys(names):
        if name not in wanted:
            faults.add(where, f"the column {clip(name)}", f"{expected}, no others")
        elif names.count(name) > 1:
            faults.add(where, f"the column {clip(name)} {names.count(name)} times", f"{expected}, each once")
    for name in wanted:
        if name not in names:
            faults.add(where, f"no column {clip(name)}", expected)
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
            more = " (decimal commas, perhaps)" if len(cells) > len(self.header) else ""
            expected = f"{len(self.header)} cells: {','.join(self.header)}"
            self.faults.add(self._at(line), f"{len(cells):,} cells{more}", expected)
        elif row is not None:
            self._fill(row, line, cells)

    def _row(self, line: int, cells: list[str]) -> int | None:
        """The number of the trial that this row is for."""
        if len(cells) <= max(self.key_at):
            return None
        key = tuple(cells[at].strip(BLANKS) for at in self.key_at)
        row = self.row_of.get(key)
        if row is None:
            found = f"a row for {self._named(key)}"
            self.faults.add(self._at(line), found, f"a trial of this data set{self._hint(key)}")
        elif self.lines[row]:
            found = f"a second row for {self._named(key)}, which line {self.lines[row]:,} has"
            self.faults.add(self._at(line), found, "one row for each trial")
            return None
        else:
            self.lines[row] = line
        return row

    def _fill(self, row: int, line: int, cells: list[str]) -> None:
        for name, at, kind in self.cells:
            cell = cells[at].strip(BLANKS)
            try:
                self.values[name][row] = _value(cell, kind, self.layout.limit)
            except _Bad as error:
                self.faults.add(self._at(line, name), clip(cell), str(error))
            except _Gap:
                if not self.gaps[row]:  # one gap for each answer, however many cells it lacks
                    self.faults.gap(self._at(line, name), clip(cell) if cell else "an empty cell", _words(kind))
                self.gaps[row] = 1

    def finish(self) -> pl.DataFrame:
        layout, faults = self.layout, self.faults
        if not any(self.lines) and not faults and self.lines:
            refuse(faults.name, "a header and no rows", f"{len(self.lines):,} rows")
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
        expected = f"a row for each of {len(self.lines):,} trials"
        for row in missing[:SHOWN]:
            key = self.layout.expected.select(self.layout.keys).row(row)
            self.faults.gap(self.faults.name, f"no row for {self._named(key)}", expected)
        if len(missing) > SHOWN:
            self.faults.gap(self.faults.name, "further rows missing", expected, count=len(missing) - SHOWN)

    def _at(self, line: int, name: str = "") -> str:
        return self.faults.at(f"line {line:,}" + (f", column {name}" if name else ""))

    def _named(self, key: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {clip(part)}" for name, part in zip(self.layout.keys, key, strict=True))

    def _hint(self, key: tuple[str, ...]) -> str:
        """The nearest valid name of the first part that nothing here has."""
        self.hints -= 1
        if self.hints < 0:
            return ""
        for name, part in zip(self.layout.keys, key, strict=True):
            known = self.layout.expected[name].unique(maintain_order=True).to_list()
            if part not in known:
                near = difflib.get_close_matches(part[:80], known[:NEAR_AMONG], n=1, cutoff=0.4)
                return f" ({name} {clip(near[0])}, perhaps)" if near else ""
        return ""


def _value(cell: str, kind: type[pl.DataType], limit: float) -> float | int | str:
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
    if not -limit <= value <= limit or (kind == pl.Int64 and abs(value) >= 2**63):
        raise _Bad(f"{_words(kind)} of at most ±{limit:g}")
    return value


def _words(kind: type[pl.DataType]) -> str:
    return {pl.Int64: "a whole number", pl.String: "a text"}.get(kind, "a number")
