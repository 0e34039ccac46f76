"""The page of a verification: what came of it in words, where answers differ, and by how much. It shows no truth."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from palestra.contest.workers.compare import Comparison
from palestra.errors import clean
from palestra.records import Block, Cell, Table, Track
from palestra.report import Page, column_title, label, write_page
from palestra.text import Text, joined, message, say, say_as

PRINTED = 40  # lines at the end of what the program printed
OUTCOMES = {
    "reproduced": message("Reproduced", "verification"),
    "differs": message("Differs", "verification"),
    "failed": message("Failed", "verification"),
}
TITLES = {
    "reproduced": message("Verification: reproduced"),
    "differs": message("Verification: differs"),
    "failed": message("Verification: failed"),
}


def write(
    file: Path, track: Track, about: Sequence[tuple[Text, Text]], outcome: str, words: Text, blocks: Sequence[Block]
) -> None:
    """`about` is whose bundle it is, and of what; it heads the page."""
    title = say_as("verification", "Outcome")
    rows: list[list[Cell]] = [[title, say(OUTCOMES[outcome])], [say("In words"), words]]
    rows += [[name, value] for name, value in about]
    lead = joined((track.id, *(value for _, value in about[:1])), " · ")
    table = Table(title, ["", ""], rows, alone=True)
    write_page(Page(say(TITLES[outcome]), lead, [table, *blocks]), file, "both")


def blocks(
    track: Track, trials: pl.DataFrame, found: Comparison, rows: pl.DataFrame, tolerance: float
) -> Iterator[Block]:
    """What a comparison found."""
    yield Table(say("Answers compared"), ["", ""], [
        [say("Answers compared"), found.rows], [say_as("answers", "Different"), found.different],
        [say("of them answered in one run alone"), found.lone], [say("Largest difference"), _small(found.worst)],
        [say("Tolerance"), _small(tolerance)],
    ])  # fmt: skip
    apart = rows["apart"].drop_nulls()
    if (apart > 0).any():
        from palestra.report import cumulative

        curve: dict[Text, Any] = {say("all answers"): apart.to_numpy()}
        yield cumulative(curve, say_as("axis", "difference"), say("How far answers lie apart"))
    if found.different:
        yield from _where(track, trials, rows)
        yield _first(found)


def _where(track: Track, trials: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Table]:
    unit = next((name for name in (*track.units, *track.display.groups) if name in trials.columns), None)
    if unit is None:
        return
    joined = rows.join(trials.select("trial", pl.col(unit).alias(" unit")), on="trial", how="left")
    table = joined.group_by(" unit", maintain_order=True).agg(
        pl.len(), (~pl.col("same")).sum().alias("different"), pl.col("apart").max()
    )
    labels = track.display.labels
    columns = [column_title(unit, labels), column_title("answers"), say_as("answers", "Different"),
               say("Largest difference")]  # fmt: skip
    cells = [[*row[:3], _small(row[3])] for row in table.rows()]
    yield Table(say("By {column}", column=label(unit, labels)), columns, cells)


def _first(found: Comparison) -> Table:
    names = list(dict.fromkeys(name for one in found.first for name in (*one.submitted, *one.again)))
    columns = [column_title("trial"), *(title for name in names for title in _both(column_title(name)))]
    cells: list[list[Cell]] = [
        [
            one.trial,
            *(_cell(part.get(name)) for name in names for part in (one.submitted, one.again)),
            _small(one.apart),
        ]
        for one in found.first
    ]
    shown, total = len(found.first), found.different
    note = say("The first {shown} of {total:,}.", shown=shown, total=total) if total > shown else ""
    return Table(say("Answers that differ"), [*columns, say_as("column", "Difference")], cells, note, alone=True)


def _both(column: Text) -> tuple[Text, Text]:
    return say("{column}, submitted", column=column), say("{column}, re-run", column=column)


def _small(value: float | None) -> str | None:
    """A difference, which may be far below what reports write out."""
    return None if value is None else f"{value:.4g}"


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, int | float | bool):
        return value
    return value if isinstance(value, str) else clean(str(value))


def printed(output: str) -> list[Block]:
    """The end of what the program printed, where it printed anything."""
    lines = [[clean(line)] for line in output.splitlines()[-PRINTED:] if line.strip()]
    return [Table(say("What the program printed last"), [""], lines, alone=True)] if lines else []
