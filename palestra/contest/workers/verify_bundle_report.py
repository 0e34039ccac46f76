"""The page of a verification: what came of it in words, where answers differ, and by how much. It shows no truth."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from palestra.contest.workers.compare import Comparison
from palestra.errors import clean
from palestra.records import Block, Cell, Table, Text, Track
from palestra.report import Page, as_text, column_title, write_page
from palestra.text import Words

PRINTED = 40  # lines at the end of what the program printed
OUTCOMES = {"reproduced": "Reproduced", "differs": "Differs", "failed": "Failed"}


def write(
    file: Path, track: Track, about: Sequence[tuple[str, Text]], outcome: str, message: str, blocks: Sequence[Block]
) -> None:
    """`about` is whose bundle it is, and of what; it heads the page."""
    rows: list[list[Cell]] = [["Outcome", OUTCOMES[outcome]], ["In words", message]]
    rows += [[name, value] for name, value in about]
    lead = Words.same(f"{track.id} · {' · '.join(as_text(value) for _, value in about[:1])}")
    table = Table("Outcome", ["", ""], rows, alone=True)
    write_page(Page(f"Verification: {OUTCOMES[outcome].lower()}", lead, [table, *blocks], track=track), file, "both")


def blocks(
    track: Track, trials: pl.DataFrame, found: Comparison, rows: pl.DataFrame, tolerance: float
) -> Iterator[Block]:
    """What a comparison found."""
    yield Table("Answers compared", ["", ""], [
        ["Answers compared", found.rows], ["Different", found.different],
        ["of them answered in one run alone", found.lone], ["Largest difference", _small(found.worst)],
        ["Tolerance", _small(tolerance)],
    ])  # fmt: skip
    apart = rows["apart"].drop_nulls()
    if (apart > 0).any():
        from palestra.report import cumulative

        yield cumulative({"all answers": apart.to_numpy()}, "difference", "How far answers lie apart")
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
    yield Table(f"By {column_title(unit).lower()}", [column_title(unit), "Answers", "Different", "Largest difference"],
                [[*row[:3], _small(row[3])] for row in table.rows()])  # fmt: skip


def _first(found: Comparison) -> Table:
    names = list(dict.fromkeys(name for one in found.first for name in (*one.submitted, *one.again)))
    columns = ["Trial", *(f"{column_title(name)}, {which}" for name in names for which in ("submitted", "re-run"))]
    cells: list[list[Cell]] = [
        [
            Words.same(one.trial),
            *(_cell(part.get(name)) for name in names for part in (one.submitted, one.again)),
            _small(one.apart),
        ]
        for one in found.first
    ]
    note = f"The first {len(found.first)} of {found.different:,}." if found.different > len(found.first) else ""
    return Table("Answers that differ", [*columns, "Difference"], cells, note, alone=True)


def _small(value: float | None) -> str | None:
    """A difference, which may be far below what reports write out."""
    return None if value is None else f"{value:.4g}"


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, int | float | bool):
        return value
    return Words.same(value if isinstance(value, str) else clean(str(value)))


def printed(output: str) -> list[Block]:
    """The end of what the program printed, where it printed anything."""
    lines = [[Words.same(clean(line))] for line in output.splitlines()[-PRINTED:] if line.strip()]
    return [Table("What the program printed last", [""], lines, alone=True)] if lines else []
