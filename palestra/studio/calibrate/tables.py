"""Tables that people measure and hand in: CSV with named columns, each fault with its line."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import Faults, clip, refuse
from palestra.formats import decode_text, read_bytes
from palestra.text import say

MAX_BYTES = 256_000_000
LARGEST = 1e9


class Table:
    """Columns of one length: texts, and numbers that are all finite."""

    def __init__(self, file: Path, texts: dict[str, list[str]], numbers: dict[str, NDArray[np.float64]]) -> None:
        self.file = file
        self.texts = texts
        self._numbers = numbers

    def __len__(self) -> int:
        return len(next(iter(self._numbers.values())))

    def numbers(self, *names: str) -> NDArray[np.float64]:
        """Columns side by side: (n, columns)."""
        return np.stack([self._numbers[name] for name in names], axis=1)


def read_table(file: Path, numbers: Sequence[str], texts: Sequence[str] = ()) -> Table:
    """The named columns of a CSV file; others may be there too."""
    rows = list(csv.reader(io.StringIO(decode_text(read_bytes(file, MAX_BYTES), file))))
    names = [name.strip() for name in rows[0]] if rows else []
    if missing := [name for name in (*texts, *numbers) if name not in names]:
        refuse(str(file), say("no column {names}", names=", ".join(missing)),
               say("a first line with {names}", names=",".join([*texts, *numbers])))  # fmt: skip
    lines = [(number, row) for number, row in enumerate(rows[1:], 2) if any(cell.strip() for cell in row)]
    if not lines:
        refuse(str(file), say("no rows"), say("a row for each measurement"))
    found, faults = _cells(names, lines, numbers), Faults()
    for (number, row), values in zip(lines, found, strict=True):
        if len(row) != len(names) or not all(abs(value) <= LARGEST for value in values):
            faults.add(say("{file}, line {number}", file=file, number=number), clip(",".join(row)),
                       say("{count} cells, with finite numbers for {names}",
                           count=len(names), names=", ".join(numbers)))  # fmt: skip
    faults.finish()
    columns = np.array(found).T
    words = {name: [row[names.index(name)].strip() for _, row in lines] for name in texts}
    return Table(file, words, dict(zip(numbers, columns, strict=True)))


def _cells(names: list[str], lines: list[tuple[int, list[str]]], numbers: Sequence[str]) -> list[list[float]]:
    """The numbers of each row; NaN for what is none."""
    places = [names.index(name) for name in numbers]
    return [[_number(row[at]) if at < len(row) else math.nan for at in places] for _, row in lines]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
