"""What commands print. Results go to standard output, words about the work to standard error."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from palestra.errors import Refused
from palestra.metrics.bootstrap import MIN_UNITS
from palestra.records import Estimate, Metric, Result, Track
from palestra.text import printable

if TYPE_CHECKING:
    from palestra.scoring import Place

DIGITS = 3
WIDE = 200  # columns where nobody's terminal is the limit
FEW = f"fewer than {MIN_UNITS}"  # people, or what else is resampled: in the place of an interval


def say(text: str) -> None:
    typer.echo(text, err=True)


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def show_json(value: Any) -> None:
    typer.echo(as_json(value))


@contextmanager
def progress(what: str, total: int, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, on a terminal; nothing where nobody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


def show_rows(rows: Sequence[dict[str, Any]], json: bool) -> None:
    """A list of records as JSON or as a table."""
    if json:
        show_json(rows)
    elif rows:
        _table(list(rows[0]), [[_plain(value) for value in row.values()] for row in rows])
    else:
        typer.echo("none")


def show_refusal(refusal: Refused, file: Path, json: bool) -> None:
    if json:
        found = [{"where": one.where, "found": one.found, "expected": one.expected} for one in refusal.faults]
        show_json({"ok": False, "faults": found, "count": refusal.count})
        return
    plural = "fault" if refusal.count == 1 else "faults"
    typer.echo(f"{file} is refused: {refusal.count} {plural}.", err=True)
    typer.echo(str(refusal), err=True)
    if refusal.usable is not None:
        typer.echo("Every fault is a gap: `palestra score --allow-missing` would charge them instead.", err=True)


def show_result(track: Track, result: Result, json: bool) -> None:
    if json:
        show_json(result)
        return
    state = "valid" if result.valid else f"INVALID: {'; '.join(result.invalid_because)}"
    typer.echo(f"{track.title} ({track.id}), {printable(result.entrant)}: {state}")
    rows = [
        [
            ("▸ " if metric is track.ranks else "  ") + metric.name,
            *estimate(result.metrics[metric.name], metric),
            str(metric.title),
        ]
        for metric in track.metrics
    ]
    _table(["metric", "value", f"95 % over {_plural(result.unit)}", ""], rows)
    for name, table in result.by.items():
        if name != result.unit and 1 < len(table) <= 12:
            _table([name, "trials", *(m.name for m in track.metrics)], [_cells(row, track.metrics) for row in table], 3)


def show_board(track: Track, places: "Sequence[Place]", json: bool, no_interval: str = FEW) -> None:
    """Places in order. What has no interval says why it has none."""
    if json:
        show_json(places)
        return
    typer.echo(f"{track.title} ({track.id}): {track.ranks.name}, {track.ranks.better} is better")
    shown = [metric for metric in track.metrics[1:] if all(metric.name in place.metrics for place in places)]
    rows = [
        [
            str(place.rank),
            "–" if place.band is None else chr(ord("A") + min(place.band - 1, 25)),
            place.entrant,
            *estimate(place.metrics[track.ranks.name], track.ranks, no_interval),
            *(_number(place.metrics[metric.name].value, metric) for metric in shown),
        ]
        for place in places
    ]
    _table(["rank", "band", "entrant", track.ranks.name, "95 %", *(metric.name for metric in shown)], rows, 5)


def estimate(found: Estimate, metric: Metric, no_interval: str = FEW) -> tuple[str, str]:
    """A value and its interval as text."""
    if found.low is None or found.high is None:
        return _number(found.value, metric), no_interval
    return _number(found.value, metric), f"{_number(found.low, metric)} – {_number(found.high, metric)}"


def _cells(row: dict[str, Any], metrics: Sequence[Metric]) -> list[str]:
    by_name = {metric.name: metric for metric in metrics}
    return [_number(value, by_name[name]) if name in by_name else _plain(value) for name, value in row.items()]


def _number(value: float, metric: Metric) -> str:
    if value != value:
        return "–"  # there was nothing to compute it from
    whole = metric.unit not in ("", "deg") and value == round(value)
    return f"{value:.0f}" if whole else f"{value:.{DIGITS}f}"


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _plural(unit: str) -> str:
    return {"person": "people"}.get(unit, f"{unit}s")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], needed: int = 1000) -> None:
    """A table. Columns after the first `needed` are left out, from the right, where the terminal is too narrow."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    widths = [max(map(cell_len, column)) + 3 for column in zip(header, *rows, strict=True)]
    while len(widths) > needed and sum(widths) > console.width:
        widths.pop()
    table = Table(*header[: len(widths)], box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        # Text: what strangers wrote is no mark-up; and nothing that steers a terminal.
        table.add_row(*(Text(printable(cell)) for cell in row[: len(widths)]))
    console.print(table)
    if len(widths) < len(header):
        console.print(f"{len(header) - len(widths)} more columns: widen the terminal, or use --json.\n", style="dim")
