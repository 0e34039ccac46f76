"""The page of a benchmark: solutions side by side under one protocol, then the best of them in detail."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palestra.evaluation.result_table import Difference, compared, in_order
from palestra.evaluation.run import Bench
from palestra.records import Block, Cell, Estimate, Metric, Protocol, Table, Track
from palestra.report import (
    Languages,
    Page,
    error_axis,
    interval,
    measured,
    metric_title,
    pictures_for,
    result_page,
    write_page,
)
from palestra.scoring import Scored
from palestra.text import NONE, Text, message, say, say_as, say_count

HALVES = {
    "all": message("all", "half"),
    "first": message("first half", "half"),
    "second": message("second half", "half"),
}


def write_bench(bench: Bench, found: Sequence[Scored], file: Path, language: Languages = "en") -> None:
    """One page that opens anywhere, with the best solution's figures and frames."""
    ordered = in_order(bench.track, found)
    with pictures_for(language):
        page = result_page(bench.track, ordered[0], bench.data)
    blocks = [*_beside(bench.track, ordered), *page.blocks, _protocol(bench.protocol)]
    lead = say_count("{name} · {count} solution", "{name} · {count} solutions", len(found), name=bench.protocol.name)
    write_page(Page(page.title, lead, blocks, page.verdict), file, language)


def _beside(track: Track, ordered: Sequence[Scored]) -> list[Block]:
    """All solutions in one table and one figure, where there is more than one."""
    from palestra.report import figures

    if len(ordered) < 2:
        return []
    columns = [say("Solution"), *map(metric_title, track.metrics), say("95 % interval"), say("Behind the first")]
    rows: list[list[Cell]] = []
    for one, difference in zip(ordered, [None, *compared(track, ordered)], strict=True):
        metrics = one.result.metrics
        rows.append([
            one.result.entrant,
            *(measured(metrics[metric.name].value, metric.unit) for metric in track.metrics),
            _spread(metrics[track.ranks.name], track.ranks),
            _behind(difference, track.ranks) if difference else "",
        ])  # fmt: skip
    note = say("The same people are drawn for both, so that differences are paired.")
    curves: dict[Text, Any] = {
        one.result.entrant: one.rows[track.display.error].drop_nulls().to_numpy() for one in ordered
    }
    return [
        Table(say("Solutions"), columns, rows, note, alone=True),
        figures.cumulative(curves, error_axis(track)),
    ]


def _spread(estimate: Estimate, metric: Metric) -> Text:
    return "" if estimate.low is None else interval(estimate.low, estimate.high, metric.unit)


def _behind(difference: Difference, metric: Metric) -> Text:
    by, spread = measured(difference.by.value, metric.unit), _spread(difference.by, metric)
    return say("{by} ({spread})", by=by, spread=spread) if spread else by


def _protocol(protocol: Protocol) -> Table:
    """What was learnt from and tested, as it is declared."""
    rows: list[list[Cell]] = [
        [one.name, _told(one.learns), say(HALVES[one.train]), _told(one.tests), say(HALVES[one.test])]
        for one in protocol.experiments
    ]
    columns = [say("Experiment"), say("Learns from"), say_as("experiment", "Part"), say("Tested on"),
               say("Part tested")]  # fmt: skip
    return Table(say("Experiments"), columns, rows)


def _told(attributes: Mapping[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{name} {', '.join(values)}" for name, values in attributes.items()) or NONE
