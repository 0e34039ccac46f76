"""The page of a benchmark: solutions side by side under one protocol, then the best of them in detail."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from palestra.evaluation.result_table import compared, in_order
from palestra.evaluation.run import Bench
from palestra.records import Block, Cell, Estimate, Metric, Protocol, Table, Track
from palestra.report import Languages, Page, error_name, metric_title, result_page, write_page
from palestra.scoring import Scored
from palestra.text import Words, number


def write_bench(bench: Bench, found: Sequence[Scored], file: Path, language: Languages = "en") -> None:
    """One page that opens anywhere, with the best solution's figures and frames."""
    ordered = in_order(bench.track, found)
    page = result_page(bench.track, ordered[0], bench.data)
    blocks = [*_beside(bench.track, ordered), *page.blocks, _protocol(bench.protocol)]
    count = len(found)
    lead = Words(
        f"{bench.protocol.name} · {count} solution{'s' * (count > 1)}", f"{bench.protocol.name} · {count} 个方案"
    )
    write_page(Page(page.title, lead, blocks, page.verdict, bench.track), file, language)


def _beside(track: Track, ordered: Sequence[Scored]) -> list[Block]:
    """All solutions in one table and one figure, where there is more than one."""
    from palestra.report import figures

    if len(ordered) < 2:
        return []
    columns = ["Solution", *map(metric_title, track.metrics), "95 % interval", "Behind the first"]
    rows: list[list[Cell]] = []
    for one, difference in zip(ordered, [None, *compared(track, ordered)], strict=True):
        metrics = one.result.metrics
        behind = "" if difference is None else f"{number(difference.by.value, track.ranks.unit)}"
        spread = "" if difference is None else _interval(difference.by, track.ranks)
        rows.append([
            Words.same(one.result.entrant),
            *(number(metrics[metric.name].value, metric.unit) for metric in track.metrics),
            _interval(metrics[track.ranks.name], track.ranks),
            Words.same(f"{behind} ({spread})" if spread else behind),
        ])  # fmt: skip
    note = "The same people are drawn for both, so that differences are paired."
    curves = {one.result.entrant: one.rows[track.display.error].drop_nulls().to_numpy() for one in ordered}
    return [
        Table("Solutions", columns, rows, note, alone=True),
        figures.cumulative(curves, error_name(track) + " (°)" * (track.ranks.unit == "deg"), "Cumulative error"),
    ]


def _interval(estimate: Estimate, metric: Metric) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{number(estimate.low, metric.unit)} – {number(estimate.high, metric.unit)}"


def _protocol(protocol: Protocol) -> Table:
    """What was learnt from and tested, as it is declared."""
    rows: list[list[Cell]] = [
        [Words.same(one.name), Words.same(_told(one.learns)), one.train, Words.same(_told(one.tests)), one.test]
        for one in protocol.experiments
    ]
    return Table("Experiments", ["Experiment", "Learns from", "Part", "Tested on", "Part tested"], rows)


def _told(attributes: Mapping[str, tuple[str, ...]]) -> str:
    return "; ".join(f"{name} {', '.join(values)}" for name, values in attributes.items()) or "–"
