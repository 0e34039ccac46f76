"""JSON objects from strangers: gaze vectors, and where the strings of a very large object are.

A double key is a fault here, although JSON parsers keep the last one and say nothing.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import SHOWN, clip, refuse
from palestra.formats.plain_files import FileFaults, decode_text, read_bytes, shown_name, write_bytes
from palestra.text import Text, Words, say

LIMIT = 1e6  # no gaze vector is longer
TINY = 1e-12  # no direction can be told from a shorter one
VECTOR_BYTES, SEQUENCE_BYTES, SPARE_BYTES = 256, 256, 65536  # generous for indented JSON with 17 digits
NUMBER_CHARS = 512
SHAPE = '{"<sequence>": {"<step>": [x, y, z], …}, …}'
DEPTH = 3
# The last quote may be missing: else each quote of an open string would be tried, to the end of the file.
MARKS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)

_Vectors = dict[str, dict[str, tuple[float, float, float]]]


def most_bytes(sequences: int, steps: int) -> int:
    """Of a file with a vector for each step of so many sequences."""
    return sequences * (steps * VECTOR_BYTES + SEQUENCE_BYTES) + SPARE_BYTES


def read_vectors(
    file: str | Path, sequences: Sequence[str], steps: Sequence[str], max_bytes: int | None = None
) -> pl.DataFrame:
    """The vectors in `{"<sequence>": {"<step>": [x, y, z]}}` as sequence, step, x, y, z, in the order asked for.

    A missing, NaN, infinite or zero vector is a gap: the rows without them are the refusal's `usable`. Reading takes
    at most about 30 times `max_bytes` in memory.
    """
    data = read_bytes(file, most_bytes(len(sequences), len(steps)) if max_bytes is None else max_bytes)
    vectors = _read_fast(data, sequences, steps)
    if vectors is None:
        return _Careful(file, sequences, steps).read(decode_text(data, file))
    return _frame(sequences, steps, vectors)


def write_vectors(frame: pl.DataFrame, file: str | Path) -> None:
    """Write sequence, step, x, y, z as `{"<sequence>": {"<step>": [x, y, z]}}`, one sequence to a line."""
    values = frame.select("x", "y", "z").to_numpy()
    if not np.isfinite(values).all():
        raise ValueError("a vector has a component that is not a finite number")
    objects: dict[str, dict[str, list[float]]] = {}
    for sequence, step, vector in zip(frame["sequence"], frame["step"], values.tolist(), strict=True):
        if objects.setdefault(sequence, {}).setdefault(str(step), vector) is not vector:
            raise ValueError(f"two vectors for sequence {sequence!r}, step {step!r}")
    lines = (msgspec.json.encode(name) + b": " + msgspec.json.encode(steps) for name, steps in objects.items())
    write_bytes(file, b"{\n" + b",\n".join(lines) + b"\n}\n")


def _frame(sequences: Sequence[str], steps: Sequence[str], vectors: NDArray[np.float64]) -> pl.DataFrame:
    names = {
        "sequence": pl.Series([name for name in sequences for _ in steps], dtype=pl.String),
        "step": pl.Series(list(steps) * len(sequences), dtype=pl.String),
    }
    return pl.DataFrame(names | {axis: vectors[:, at] for at, axis in enumerate("xyz")})


def _read_fast(data: bytes, sequences: Sequence[str], steps: Sequence[str]) -> NDArray[np.float64] | None:
    """One row per vector asked for, if the file has exactly those and all are good; else None."""
    try:
        found = msgspec.json.decode(data, type=_Vectors)
        rows = [found[sequence][step] for sequence in sequences for step in steps]
    except (ValueError, KeyError, RecursionError):
        return None
    # Without escapes, and with numbers for values, each key has two quotes: more of them means double keys.
    keys = len(found) + sum(map(len, found.values()))
    if b"\\" in data or data.count(b'"') != 2 * keys or keys != len(sequences) * (1 + len(steps)):
        return None
    vectors = np.array(rows, np.float64).reshape(-1, 3)
    size = np.abs(vectors).max(axis=1)
    return vectors if ((size >= TINY) & (size <= LIMIT)).all() else None


class _Careful:
    """Reads every pair of the file and notes what is wrong with it."""

    def __init__(self, file: str | Path, sequences: Sequence[str], steps: Sequence[str]) -> None:
        self.file, self.faults = file, FileFaults(file)
        self.sequences, self.steps = sequences, steps
        self.rows = {name: {step: row * len(steps) + at for at, step in enumerate(steps)}
                     for row, name in enumerate(sequences)}  # fmt: skip
        self.vectors = np.full((len(sequences) * len(steps), 3), np.nan)
        self.met = np.zeros(len(self.vectors), bool)  # rows that the file speaks of, for good or ill

    def read(self, text: str) -> pl.DataFrame:
        most = 4 * (len(self.vectors) + len(self.sequences)) + 10_000
        _check_nesting(text, self.file, most)
        found = _parse(text, self.file)
        if not isinstance(found, tuple):
            refuse(self.faults.name, _words(found), say("an object {shape}", shape=SHAPE))
        for sequence, value in self._known(found, self.rows):
            self._take_sequence(sequence, value)
        self._note_missing()
        good = ~np.isnan(self.vectors).any(axis=1)
        frame = _frame(self.sequences, self.steps, self.vectors).filter(pl.Series(good, dtype=pl.Boolean))
        self.faults.finish(usable=frame)
        return frame

    def _known(self, pairs: Any, known: dict[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
        """The pairs whose keys are known and come for the first time."""
        seen = set()
        for key, value in pairs:
            if key not in known:
                shown = ", ".join(list(known)[:5]) + (", …" if len(known) > 5 else "")
                found = say("a step that is not asked for") if inside else say("a sequence that is not asked for")
                self.faults.add(
                    self._at(inside or key, key if inside else None),
                    found,
                    say("one of {shown}", shown=clip(shown, 80)),
                )
            elif key in seen:
                self.faults.add(
                    self._at(inside or key, key if inside else None), say("the same key again"), say("each key once")
                )
            else:
                seen.add(key)
                yield key, value

    def _take_sequence(self, sequence: str, value: Any) -> None:
        rows = self.rows[sequence]
        if not isinstance(value, tuple):
            self.met[list(rows.values())] = True
            self.faults.add(self._at(sequence), _words(value), say('an object {{"<step>": [x, y, z]}}'))
            return
        for step, vector in self._known(value, rows, sequence):
            self.met[rows[step]] = True
            if _is_good(vector):
                self.vectors[rows[step]] = vector
            else:
                self._note_vector(self._at(sequence, step), vector)

    def _at(self, sequence: str, step: str | None = None) -> Words:
        if step is None:
            return self.faults.at(say("sequence {sequence}", sequence=clip(sequence)))
        return self.faults.at(say("sequence {sequence}, step {step}", sequence=clip(sequence), step=clip(step)))

    def _note_vector(self, where: Text, value: Any) -> None:
        expected = say("three numbers [x, y, z]")
        if not isinstance(value, list):
            self.faults.add(where, _words(value), expected)
        elif len(value) != 3:
            self.faults.add(where, say("{number:,} values", number=len(value)), expected)
        elif wrong := [part for part in value if not isinstance(part, float)]:
            self.faults.add(where, say("{words} among the values", words=_words(wrong[0])), expected)
        elif any(math.isnan(part) for part in value):
            self.faults.gap(where, say("NaN or an infinity"), expected)
        elif max(map(abs, value)) > LIMIT:
            self.faults.add(
                where, clip(value, 90), say("{expected} of at most ±{limit:g}", expected=expected, limit=LIMIT)
            )
        else:
            self.faults.gap(
                where, say("a vector without length"), say("{expected} that point somewhere", expected=expected)
            )

    def _note_missing(self) -> None:
        missing = np.flatnonzero(~self.met)
        expected = say(
            "a vector for each of {number:,} sequences and {number2} steps",
            number=len(self.sequences),
            number2=len(self.steps),
        )
        for row in missing[:SHOWN].tolist():
            sequence, step = self.sequences[row // len(self.steps)], self.steps[row % len(self.steps)]
            self.faults.gap(self._at(sequence, step), say("no vector"), expected)
        if len(missing) > SHOWN:
            self.faults.gap(self.faults.name, say("further vectors missing"), expected, count=len(missing) - SHOWN)


def _check_nesting(text: str, file: str | Path, most: int) -> None:
    """Refuse what would send a parser deep into itself, or fill the memory with empty lists."""
    depth = count = 0
    for mark in MARKS.finditer(text):
        first = text[mark.start()]
        depth += (first in "[{") - (first in "]}")
        count += first in "[{"
        if depth > DEPTH or count > most:
            place = say(
                "{shown_name}: line {value:,}",
                shown_name=shown_name(file),
                value=text.count(chr(10), 0, mark.start()) + 1,
            )
            found = (
                say("nesting deeper than {depth}", depth=DEPTH)
                if depth > DEPTH
                else say("more than {most:,} lists and objects", most=most)
            )
            refuse(place, found, say("an object {shape}", shape=SHAPE))


def _parse(text: str, file: str | Path) -> Any:
    """JSON with objects as tuples of pairs, so that double keys are seen; every number is a float, NaN any infinity."""
    try:
        return json.loads(
            text, object_pairs_hook=tuple, parse_int=_number, parse_float=_number, parse_constant=lambda _: math.nan
        )
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        found = say("a file that is cut short") if cut else say("no valid JSON ({msg})", msg=error.msg)
        refuse(
            say(
                "{shown_name}: line {lineno:,}, column {colno:,}",
                shown_name=shown_name(file),
                lineno=error.lineno,
                colno=error.colno,
            ),
            found,
            say("an object {shape}", shape=SHAPE),
        )
    except RecursionError:
        refuse(shown_name(file), say("deep nesting"), say("an object {shape}", shape=SHAPE))


def _number(text: str) -> float:
    return float(text) if len(text) <= NUMBER_CHARS else math.inf  # long ones are slow to read, and no one's meaning


def _is_good(value: Any) -> bool:
    """Whether it is a vector that points somewhere."""
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, float) for part in value):
        return False
    return TINY <= max(map(abs, value)) <= LIMIT and not any(map(math.isnan, value))


def _words(value: Any) -> Text:
    """What a parsed value is, for a message."""
    match value:
        case tuple():
            return say("an object")
        case list():
            return say("an array")
        case str():
            return say("the text {text}", text=clip(value))
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
    return say("the number {number!r}", number=value)
