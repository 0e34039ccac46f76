"""Report pages: what a run earned or what a data set holds, as one HTML file that opens anywhere, also offline.

Pages are made in English and Chinese at once (bilingual.py); what is written is one of them, or both in one file,
for a server to choose from. A result's page shows the truth of the trials it pictures: it is for whoever may know it.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import polars as pl

from palestra.formats import write_bytes
from palestra.records import Block, Cell, Chart, Estimate, Gallery, Metric, Result, Table, Track
from palestra.report.bilingual import marked, marked_figure, only
from palestra.report.images import words_drawn_in
from palestra.report.labels import (
    BETTER,
    as_text,
    capital,
    column_title,
    error_axis,
    in_words,
    interval,
    label,
    measured,
    metric_title,
    sandbox_label,
    track_title,
    unit_name,
    value_label,
)
from palestra.text import NONE, Text, Words, joined, say, say_as, say_count, sentences, words_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from palestra.scoring import Scored

LONG = 40  # rows of a table that a page folds away
HALF_COLUMNS, HALF_PX = 6, 520  # a table and a chart of at most this width share a row with another
NUMBER = re.compile(r"[-−+]?\d[\d.,°%\s–−-]*(?: [a-z]{1,6}(?: – [-−]?\d[\d.,]* [a-z]{1,6})?)?")  # 7 s, 7 s – 9 s
Languages = Literal["en", "zh", "both"]


@dataclass(frozen=True)
class Verdict:
    """What a result's page says first."""

    entrant: str
    valid: bool
    reasons: Sequence[Text]
    headline: tuple[Text, Text, Text]  # what ranks: its title, its value, its interval


@dataclass(frozen=True)
class Page:
    """All that stands on a page. What is no Words is shown as it is in either language."""

    title: Text
    lead: Text
    blocks: Sequence[Block]
    verdict: Verdict | None = None


def write_page(page: Page, file: Path, language: Languages = "en") -> None:
    """Write a page whole or not at all. Everything but a chart's SVG is escaped: names come from strangers."""
    html = _rendered(page)
    write_bytes(file, (html if language == "both" else only(html, language)).encode("utf-8"))


def _rendered(page: Page) -> str:
    """The page in both languages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def told(cell: Cell) -> Markup:
        return marked(in_words(cell))

    def rows(count: int) -> Markup:
        return marked(say_count("{count} row", "{count} rows", count))

    pages = Environment(loader=PackageLoader("palestra", "report"), autoescape=True, undefined=StrictUndefined,
                        trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    pages.globals |= {"told": told, "shown": as_text, "numeric": _numeric_columns, "data_uri": _data_uri,
                      "width_px": _width_px, "small": _is_small, "long": LONG, "rows": rows,
                      "interval": say("95 % interval"), "valid": say("✓ Valid"),
                      "invalid": say("✗ Not valid")}  # fmt: skip
    sections = [[(i, _with_words(block, i)) for i, block in group] for group in _side_by_side(page.blocks)]
    title = words_of(page.title)
    window = " · ".join(
        dict.fromkeys((title.in_language("en"), title.in_language("zh")))
    )  # which is in no element that could be hidden
    return pages.get_template("report.html").render(page=page, window=window, sections=sections)


def write_result(track: Track, scored: Scored, data: Path, file: Path, language: Languages = "en") -> None:
    with pictures_for(language):
        page = result_page(track, scored, data)
    write_page(page, file, language)


def pictures_for(language: Languages) -> AbstractContextManager[None]:
    """Draws words into pictures as a page's reader reads them; a page in both languages has them in English."""
    return words_drawn_in("zh" if language == "zh" else "en")


def result_page(
    track: Track, scored: Scored, data: Path, extra: Sequence[Block] = (), pictures: bool = True,
    figures: Sequence[Block] | None = None,
) -> Page:  # fmt: skip
    """The page of one result: numbers, figures, the worst trials, whatever else is given, where it comes from.

    Pictures of trials have the truth drawn into them: contestants get the page without. Figures take longest, and who
    has drawn them already gives them.
    """
    from palestra.report.galleries import galleries

    result = scored.result
    estimate = result.metrics.get(track.ranks.name, Estimate(math.nan))
    spread = interval(estimate.low, estimate.high, track.ranks.unit)
    headline = (metric_title(track.ranks), measured(estimate.value, track.ranks.unit), spread)
    verdict = Verdict(result.entrant, result.valid, result.reasons, headline)
    lead = say_count("{track} · {count} trial", "{track} · {count} trials", scored.rows.height, track=track.id)
    drawn = figures_of(track, scored) if figures is None else figures
    blocks = [_summary(track, result), *drawn, *_breakdowns(track, result),
              *(galleries(track, scored.rows, data) if pictures else ()), *extra, _provenance(result)]  # fmt: skip
    return Page(track_title(track), lead, blocks, verdict)


def write_data_page(track: Track, data: Path, file: Path, language: Languages = "en") -> None:
    """The page of a data set, for whoever holds it: where that includes the truth, its distribution shows."""
    from palestra.report.galleries import samples

    with pictures_for(language):
        blocks: list[Block] = list(track.dataset.describe(data)) if track.dataset.describe else []
        if pictures := samples(track, data):
            blocks.append(Gallery(say("Samples"), pictures, say("Spread evenly over the data set.")))
    title = say("{track}: the data set", track=track_title(track))
    write_page(Page(title, f"{track.id} · {data.resolve().name}", blocks), file, language)


def _summary(track: Track, result: Result) -> Table:
    metrics = [metric for metric in track.metrics if metric.name in result.metrics]
    published = {
        name: found for name, found in track.display.published.items() if any(m.name in found for m in metrics)
    }
    rows: list[list[Cell]] = []
    for metric in metrics:
        estimate = result.metrics[metric.name]
        others = [found.get(metric.name) for found in published.values()]
        beside = ["" if value is None else measured(value, metric.unit) for value in others]
        rows.append([metric_title(metric), measured(estimate.value, metric.unit),
                     interval(estimate.low, estimate.high, metric.unit), unit_name(metric), say(BETTER[metric.better]),
                     *beside])  # fmt: skip
    columns = [say("Metric"), say("Value"), say("95 % interval"), say_as("label", "Unit"), say_as("label", "Better")]
    columns += [joined((label(name, track.display.labels), " †"), "") for name in published]
    return Table(say("Summary"), columns, rows, _summary_note(track, result, metrics, bool(published)), alone=True)


def _summary_note(track: Track, result: Result, metrics: Sequence[Metric], published: bool) -> Words:
    few = any(result.metrics[metric.name].low is None for metric in metrics)
    unit = label(result.unit, track.display.labels)
    return sentences(
        say("Too few of the unit “{unit}” took part for an interval.", unit=unit) if few else "",
        say("† Published on the original data; this data set is another one, so compare with care.")
        if published
        else "",
    )


def figures_of(track: Track, scored: Scored) -> list[Block]:
    """What a result's page has drawn."""
    return list(_figures(track, scored))


def _figures(track: Track, scored: Scored) -> Iterator[Block]:
    from palestra.report import figures
    from palestra.report.galleries import answered_of

    rows, result = scored.rows, scored.result
    if track.display.charts and rows.height:
        yield from track.display.charts(rows)
    if track.display.caption is None and track.display.error in rows.columns and _is_graded(rows[track.display.error]):
        axis = error_axis(track)
        yield figures.cumulative({result.entrant: rows[track.display.error].to_numpy()}, axis)
        if track.display.direction and set(track.display.direction) <= set(rows.columns):
            # What a missing answer is charged says nothing of a direction and would drown the rest.
            yaw, pitch, error = (
                answered_of(rows)[name].to_numpy() for name in (*track.display.direction, track.display.error)
            )
            yield figures.direction_map(yaw, pitch, error, say("mean {error}", error=axis))
    if result.by.get(result.unit) and track.ranks.name in result.metrics:
        overall = result.metrics[track.ranks.name].value
        yield figures.per_unit(result.by[result.unit], track.ranks, overall, track.display.labels)


def _is_graded(errors: pl.Series) -> bool:
    """Whether errors differ by more than being there or not: a curve of right and wrong says nothing."""
    return not errors.is_empty() and (errors.dtype.is_float() or bool((errors.cast(pl.Float64) > 1).any()))


def _breakdowns(track: Track, result: Result) -> Iterator[Table]:
    """One table per group, each ended by the numbers over all trials."""
    for name, rows in result.by.items():
        if not rows or (name == result.unit and all(row.get("trials") == 1 for row in rows)):
            continue  # units of one trial each are what the trials' own table says
        metrics = [metric for metric in track.metrics if metric.name in rows[0] and metric.name in result.metrics]
        labels = track.display.labels
        cells: list[list[Cell]] = [
            [
                _group(row[name], name == result.unit, labels),
                row.get("trials"),
                *(measured(row[metric.name], metric.unit) for metric in metrics),
            ]
            for row in rows
        ]
        overall = [result.metrics[metric.name].value for metric in metrics]
        # Where the whole is the mean of the groups, as for the steps of gaze prediction, papers call it the average.
        means = [sum(row[metric.name] for row in rows) / len(rows) for metric in metrics]
        averaged = all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in zip(means, overall, strict=True))
        trials = sum(row.get("trials") or 0 for row in rows)
        whole = capital(label("average" if averaged and len(rows) > 1 else "all"))
        in_all = [measured(value, metric.unit) for value, metric in zip(overall, metrics, strict=True)]
        cells.append([whole, trials, *in_all])
        columns = [column_title(name, labels), say_as("label", "Trials"), *map(metric_title, metrics)]
        yield Table(say("By {column}", column=label(name, labels)), columns, cells, total=True)


def _group(value: Cell, of_units: bool, labels: Mapping[str, Text]) -> Cell:
    """What a group is called. Units are people, sequences and their like: their names are nobody's words."""
    return as_text(value) if of_units or not isinstance(value, str | bool) else value_label(value, labels)


def _provenance(result: Result) -> Table:
    about = msgspec.to_builtins(result.provenance)
    settings = about.pop("settings")
    sandbox = about["sandbox"]
    told: dict[str, Cell] = {name: str(value) for name, value in about.items()}
    told["sandbox"] = None if sandbox is None else sandbox_label(sandbox)
    rows: list[list[Cell]] = [[column_title(name), value] for name, value in told.items()]
    rows += [[say("Setting {name}", name=name), str(value)] for name, value in settings.items()]
    return Table(say("Where this result comes from"), ["", ""], rows, alone=True)


def _numeric_columns(table: Table) -> list[bool]:
    """Which columns hold numbers, and so are set to the right."""
    written = [[as_text(cell) for cell in row] for row in table.rows]
    columns = [[row[i] for row in written if row[i] not in ("", NONE)] for i in range(len(table.columns))]
    return [all(NUMBER.fullmatch(text) for text in column) for column in columns]


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


def _with_words(block: Block, i: int) -> Block:
    """A chart in both languages, with ids that no other chart on the page has: matplotlib numbers them alike."""
    if not isinstance(block, Chart):
        return block
    own = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>c{i}-", block.svg)
    own = re.sub(r'^(<svg[^>]*?) width="[^"]*"', r"\1", own, count=1)
    return replace(block, svg=marked_figure(own, block.words))
