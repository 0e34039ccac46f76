"""Report pages: what a run earned or what a data set holds, as one HTML file that opens anywhere, also offline.

A result's page shows the truth of the trials it pictures: it is for whoever may know the truth.
"""

from __future__ import annotations

import base64
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from palestra.errors import PalestraError, Refused
from palestra.formats.files import write_bytes
from palestra.records import Estimate, Metric, Result, Track

if TYPE_CHECKING:
    from palestra.scoring import Scored

WORST, MEDIAN, SAMPLES = 12, 4, 12  # trials that are pictured
LONG = 40  # rows of a table that a page folds away
HALF_COLUMNS, HALF_PX = 6, 520  # a table and a chart of at most this width share a row with another
PICTURE_WIDTH = 1000  # pixels; wider ones are made smaller, to keep pages light
HIDDEN = frozenset({"truth", "test_GT"})  # folders that a data set's own page never opens
COUNTED = ("points", "blinks")  # units of which there are whole ones
NONE = "–"
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows under column titles; numbers are written as a reader expects."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    total: bool = False  # whether the last row sums up the others
    alone: bool = False  # whether it has a row of the page for itself, however narrow it is


@dataclass(frozen=True)
class Chart:
    """A figure as an `<svg>` element, which is put into the page as it is: only from `palestra.figures`."""

    title: str
    svg: str
    note: str = ""


@dataclass(frozen=True)
class Gallery:
    """Pictures with captions; a caption without bytes stands alone."""

    title: str
    pictures: Sequence[tuple[str, bytes]]  # caption, PNG
    note: str = ""


Block = Table | Chart | Gallery


@dataclass(frozen=True)
class Verdict:
    """What a result's page says first."""

    entrant: str
    valid: bool
    reasons: Sequence[str]
    headline: tuple[str, str, str]  # what ranks: its title, its value, its interval


def write_page(file: Path, title: str, lead: str, blocks: Sequence[Block], verdict: Verdict | None = None) -> None:
    """Write a page whole or not at all. Everything but a chart's SVG is escaped: names come from strangers."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(loader=PackageLoader("palestra", "page"), autoescape=True, undefined=StrictUndefined,
                        trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    pages.globals |= {"shown": as_text, "numeric": _numeric_columns, "data_uri": _data_uri, "width_px": _width_px,
                      "small": _is_small, "long": LONG}  # fmt: skip
    sections = [[_with_own_ids(chart, i) for i, chart in group] for group in _side_by_side(blocks)]
    html = pages.get_template("report.html").render(title=title, lead=lead, sections=sections, verdict=verdict)
    write_bytes(file, html.encode("utf-8"))


def write_result(
    track: Track, scored: Scored, data: Path, file: Path, extra: Sequence[Block] = (), pictures: bool = True
) -> None:
    """The page of one result: numbers, figures, the worst trials, whatever else is given, where it comes from.

    Pictures of trials have the truth drawn into them: contestants get the page without.
    """
    result = scored.result
    estimate = result.metrics.get(track.ranks.name, Estimate(math.nan))
    headline = (metric_title(track.ranks), number(estimate.value, track.ranks.unit), _interval(estimate, track.ranks))
    verdict = Verdict(result.entrant, result.valid, result.invalid_because, headline)
    lead = f"{track.id} · {scored.rows.height:,} trials"
    blocks = [_summary(track, result), *_figures(track, scored), *_breakdowns(track, result),
              *(_galleries(track, scored.rows, data) if pictures else ()), *extra, _provenance(result)]  # fmt: skip
    write_page(file, track.title, lead, blocks, verdict)


def write_data_page(track: Track, data: Path, file: Path) -> None:
    """The page of a data set, for whoever holds it: where that includes the truth, its distribution shows."""
    blocks: list[Block] = list(track.describe(data)) if track.describe else []
    pictures = _sample_pictures(track, data)
    if pictures:
        blocks.append(Gallery("Samples", pictures, "Spread evenly over the data set."))
    write_page(file, f"{track.title}: the data set", f"{track.id} · {data.resolve().name}", blocks)


def number(value: float | None, unit: str = "") -> str:
    """A number as reports write it: 3.078°, 0.9512, 12.500 ms; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    if unit == "deg":
        return f"{value:,.3f}°"
    if unit == "" and abs(value) <= 1:
        return f"{value:.4f}"
    counted = unit in COUNTED and value == round(value)
    return (f"{value:,.0f}" if counted else f"{value:,.3f}") + (f" {unit}" if unit else "")


def as_text(cell: Cell) -> str:
    """A table's cell in words."""
    if cell is None:
        return NONE
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return number(cell) if isinstance(cell, float) else str(cell)


def metric_title(metric: Metric) -> str:
    return metric.title or metric.name


def column_title(name: str) -> str:
    """A column's name as a heading: eye_colour → Eye colour."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _summary(track: Track, result: Result) -> Table:
    metrics = [metric for metric in track.metrics if metric.name in result.metrics]
    published = {name: found for name, found in track.published.items() if any(m.name in found for m in metrics)}
    units = {"deg": "degrees", "": "share"}
    rows: list[list[Cell]] = []
    for metric in metrics:
        estimate = result.metrics[metric.name]
        others = [found.get(metric.name) for found in published.values()]
        beside = ["" if value is None else number(value, metric.unit) for value in others]
        rows.append([metric_title(metric), number(estimate.value, metric.unit), _interval(estimate, metric),
                     units.get(metric.unit, metric.unit), metric.better, *beside])  # fmt: skip
    notes = []
    if any(result.metrics[metric.name].low is None for metric in metrics):
        notes.append(f"Too few of the unit “{result.unit}” took part for an interval.")
    if published:
        notes.append("† Published on the original data; this data set is another one, so compare with care.")
    columns = ["Metric", "Value", "95 % interval", "Unit", "Better", *(f"{name} †" for name in published)]
    return Table("Summary", columns, rows, " ".join(notes), alone=True)


def _interval(estimate: Estimate, metric: Metric) -> str:
    if estimate.low is None or estimate.high is None:
        return NONE
    return f"{number(estimate.low, metric.unit)} – {number(estimate.high, metric.unit)}"


def _figures(track: Track, scored: Scored) -> Iterator[Block]:
    from palestra import figures

    rows, result = scored.rows, scored.result
    if track.charts and rows.height:
        yield from track.charts(rows)
    if track.error in rows.columns and _is_graded(rows[track.error]):
        axis = _error_name(track) + (" (°)" if _error_unit(track) else "")
        yield figures.cumulative({result.entrant: rows[track.error].to_numpy()}, axis)
        if track.direction and set(track.direction) <= set(rows.columns):
            # What a missing answer is charged says nothing of a direction and would drown the rest.
            yaw, pitch, error = (_answered(rows)[name].to_numpy() for name in (*track.direction, track.error))
            yield figures.direction_map(yaw, pitch, error, f"mean {axis}")
    if result.by.get(result.unit) and track.ranks.name in result.metrics:
        overall = result.metrics[track.ranks.name].value
        yield figures.per_unit(result.by[result.unit], track.ranks, overall)


def _is_graded(errors: pl.Series) -> bool:
    """Whether errors differ by more than being there or not: a curve of right and wrong says nothing."""
    return not errors.is_empty() and (errors.dtype.is_float() or bool((errors.cast(pl.Float64) > 1).any()))


def _breakdowns(track: Track, result: Result) -> Iterator[Table]:
    """One table per group, each ended by the numbers over all trials."""
    for name, rows in result.by.items():
        if not rows:
            continue
        metrics = [metric for metric in track.metrics if metric.name in rows[0] and metric.name in result.metrics]
        cells: list[list[Cell]] = [
            [as_text(row[name]), row.get("trials"), *(number(row[m.name], m.unit) for m in metrics)] for row in rows
        ]
        overall = [result.metrics[metric.name].value for metric in metrics]
        # Where the whole is the mean of the groups, as for the steps of gaze prediction, papers call it the average.
        means = [sum(row[metric.name] for row in rows) / len(rows) for metric in metrics]
        averaged = all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in zip(means, overall, strict=True))
        trials = sum(row.get("trials") or 0 for row in rows)
        last: list[Cell] = ["Average" if averaged and len(rows) > 1 else "All", trials]
        cells.append([*last, *(number(value, m.unit) for value, m in zip(overall, metrics, strict=True))])
        columns = [column_title(name), "Trials", *map(metric_title, metrics)]
        yield Table(f"By {column_title(name).lower()}", columns, cells, total=True)


def _galleries(track: Track, rows: pl.DataFrame, data: Path) -> Iterator[Gallery]:
    """The worst and the median trials. Those without an answer have nothing to picture and are counted instead."""
    if track.picture is None or track.error not in rows.columns:
        return
    answered = _answered(rows).sort(track.error, descending=True)
    gaps = rows.height - answered.height
    note = f"{gaps:,} more trial{'s' * (gaps != 1)} had no answer; they are charged as the rules say." if gaps else ""
    worst = answered.head(WORST)
    pictures = [_pictured(track, data, row) for row in worst.iter_rows(named=True)]
    if pictures or gaps:
        yield Gallery("Worst trials", pictures or [("no answer", b"")], note)
    if answered.height > WORST:
        middle = answered.slice(max(answered.height // 2 - MEDIAN // 2, WORST), MEDIAN)
        yield Gallery("Median trials", [_pictured(track, data, row) for row in middle.iter_rows(named=True)])


def _answered(rows: pl.DataFrame) -> pl.DataFrame:
    """The trials that have an answer."""
    return rows.filter("answered") if "answered" in rows.columns else rows


def _pictured(track: Track, data: Path, row: Mapping[str, Any]) -> tuple[str, bytes]:
    caption = f"{row['trial']} · {_error_name(track)} {number(row[track.error], _error_unit(track))}"
    try:
        return caption, _picture(track, data, row)
    except (KeyError, TypeError, ValueError, OSError, PalestraError):
        return f"{caption} · no picture", b""  # a page with a gap is better than none


def _picture(track: Track, data: Path, row: Mapping[str, Any]) -> bytes:
    from palestra.pictures import at_most, png

    if track.picture is None:
        raise KeyError("picture")
    return png(at_most(track.picture(data, row), PICTURE_WIDTH))


def _sample_pictures(track: Track, data: Path) -> list[tuple[str, bytes]]:
    """Trials as their track pictures them; where that needs the truth, picture files that contestants get anyway."""
    from palestra.pictures import at_most, png, read_image

    try:
        trials = track.trials(data)
    except Refused:  # what is sent live, a contestant does not have
        return []
    chosen = trials.gather_every(max(trials.height // SAMPLES, 1)).head(SAMPLES)
    try:
        return [(str(row["trial"]), _picture(track, data, row)) for row in chosen.iter_rows(named=True)]
    except (KeyError, TypeError):
        files = _spread_files(data, SAMPLES, HIDDEN | set(track.hidden))
        root = os.path.commonpath([data, *files[:1]] if len(files) < 2 else files)  # what all names share says nothing
        names = [str(file.relative_to(root).with_suffix("")) for file in files]
        images = (at_most(read_image(file), PICTURE_WIDTH // 2) for file in files)
        return [(name, png(image)) for name, image in zip(names, images, strict=True)]


def _spread_files(folder: Path, count: int, without: frozenset[str] = HIDDEN) -> list[Path]:
    """PNG files from all over a folder. Only folders on the way are listed: a data set may have a million files."""
    found = sorted(folder.iterdir())
    folders = [path for path in found if path.is_dir() and path.name not in without]
    files = [path for path in found if path.suffix == ".png"]
    if not folders:
        return _spread(files, count)
    chosen = _spread(folders, count)
    shares = [count * (i + 1) // len(chosen) - count * i // len(chosen) for i in range(len(chosen))]
    parts = {path: _spread_files(path, share) for path, share in zip(chosen, shares, strict=True)}
    if any(parts.values()) and not all(parts.values()):  # a folder of labels must not use up its share
        return _spread_files(folder, count, without | {path.name for path, part in parts.items() if not part})
    return [file for part in parts.values() for file in part]


def _spread(things: list[Path], count: int) -> list[Path]:
    count = min(count, len(things))
    return [things[(2 * i + 1) * len(things) // (2 * count)] for i in range(count)]


def _provenance(result: Result) -> Table:
    about = msgspec.to_builtins(result.provenance)
    about |= {f"setting {name}": value for name, value in about.pop("settings").items()}
    rows = [[column_title(name), value if isinstance(value, str) else NONE if value is None else str(value)]
            for name, value in about.items()]  # fmt: skip
    return Table("Where this result comes from", ["", ""], rows, alone=True)


def _error_name(track: Track) -> str:
    return column_title(track.error.removesuffix("_deg")).lower()


def _error_unit(track: Track) -> str:
    return "deg" if track.error.endswith("_deg") else ""


def _numeric_columns(table: Table) -> list[bool]:
    """Which columns hold numbers, and so are set to the right."""
    written = [[as_text(cell) for cell in row] for row in table.rows]
    columns = [[row[i] for row in written if row[i] not in ("", NONE)] for i in range(len(table.columns))]
    return [all(re.fullmatch(r"[-−+]?\d[\d.,°%\s–−-]*", text) for text in column) for column in columns]


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _side_by_side(blocks: Sequence[Block]) -> Iterator[list[tuple[int, Block]]]:
    """Blocks in order; narrow neighbours together, two in a row where the page is wide enough."""
    group: list[tuple[int, Block]] = []
    for i, block in enumerate(blocks):
        if group and (_is_wide(block) or _is_wide(group[-1][1])):
            yield group
            group = []
        group.append((i, block))
    if group:
        yield group


def _is_wide(block: Block) -> bool:
    if isinstance(block, Table):
        return block.alone or len(block.columns) > HALF_COLUMNS or len(block.rows) > LONG
    return not isinstance(block, Chart) or _width_px(block) > HALF_PX


def _width_px(chart: Chart) -> float:
    """How wide a chart is meant to be: all are shown at their own size, so that their words are of one size."""
    size = re.search(r'viewBox="\S+ \S+ (\S+) \S+"', chart.svg)
    return float(size[1]) * 4 / 3 if size else HALF_PX  # points to CSS pixels


def _is_small(gallery: Gallery) -> bool:
    """Whether its pictures are single ones, of which more than two fit beside each other."""
    sizes = [struct.unpack(">II", data[16:24]) for _, data in gallery.pictures if data]  # from the PNG header
    return all(width < 2 * height for width, height in sizes)


def _with_own_ids(block: Block, i: int) -> Block:
    """A chart whose ids no other chart on the page has: matplotlib numbers them alike in every figure."""
    if not isinstance(block, Chart):
        return block
    own = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>c{i}-", block.svg)
    return Chart(block.title, re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", own, count=1), block.note)
