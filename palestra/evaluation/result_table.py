"""What `palestra bench` prints: protocols, and what solutions came to under one."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import typer

from palestra import console
from palestra.errors import PalestraError
from palestra.evaluation.protocols import folds
from palestra.metrics.bootstrap import MIN_UNITS, interval
from palestra.records import Estimate, Protocol, Track
from palestra.scoring import RESAMPLES, Scored, draw, whole


class Difference(msgspec.Struct, frozen=True):
    """How much worse one solution is than another, on the same people."""

    better: str
    worse: str
    metric: str
    by: Estimate


def show_protocols(protocols: Sequence[Protocol], pieces: Sequence[Mapping[str, str]] | None, json: bool) -> None:
    """Protocols as they are declared; with a data set's pieces, how much of it each trains and tests on."""
    if json:
        console.show_json([{**msgspec.to_builtins(one), **_sizes(one, pieces)} for one in protocols])
        return
    rows = [{"protocol": one.name, "title": one.title, **_sizes(one, pieces)} for one in protocols]
    console.show_rows(rows, json=False)


def show_bench(track: Track, protocol: Protocol, found: Sequence[Scored], json: bool) -> None:
    """One Result; or several, best first, with how much better the best is than each of the others."""
    if len(found) == 1:
        if not json:
            typer.echo(protocol.title)
        console.show_result(track, found[0].result, json)
        return
    ordered = in_order(track, found)
    differences = compared(track, ordered)
    if json:
        console.show_json({"results": [one.result for one in ordered], "differences": differences})
        return
    typer.echo(protocol.title)
    names = [metric for metric in track.metrics if metric.name in ordered[0].result.metrics]
    rows = []
    for one, difference in zip(ordered, [None, *differences], strict=True):
        cells = {"solution": one.result.entrant}
        for metric in names:
            value, spread = console.estimate(one.result.metrics[metric.name], metric)
            cells[metric.name] = value
            if metric is track.ranks:
                cells["95 %"] = spread
                cells["behind the first"] = "" if difference is None else " ".join(_spread(track, difference))
        rows.append(cells)
    console.show_rows(rows, json=False)


def in_order(track: Track, found: Sequence[Scored]) -> list[Scored]:
    """The best first."""
    return sorted(found, key=lambda one: _sign(track) * one.result.metrics[track.ranks.name].value)


def compared(track: Track, ordered: Sequence[Scored]) -> list[Difference]:
    """How far each is behind the first: the same people are drawn for both, so differences are paired."""
    metric, first = track.ranks, ordered[0]
    draws = draw(first.rows, first.result.unit, RESAMPLES, seed=0)
    told = []
    for other in ordered[1:]:
        rows = first.rows.select("trial").join(other.rows, on="trial", how="left", maintain_order="left")
        apart = _sign(track) * (metric.reduce(rows, whole(rows)) - metric.reduce(first.rows, whole(first.rows)))
        spread = _sign(track) * (metric.reduce(rows, draws) - metric.reduce(first.rows, draws))
        few = draws.weights.shape[1] < MIN_UNITS or bool(np.isnan(spread).any())
        low, high = (None, None) if few else interval(spread)
        by = Estimate(float(apart[0]), low, high)
        told.append(Difference(first.result.entrant, other.result.entrant, metric.name, by))
    return told


def _sign(track: Track) -> int:
    return 1 if track.ranks.better == "lower" else -1


def _spread(track: Track, difference: Difference) -> tuple[str, str]:
    value, spread = console.estimate(difference.by, track.ranks)
    return f"+{value}", f"({spread})"


def _sizes(protocol: Protocol, pieces: Sequence[Mapping[str, str]] | None) -> dict[str, Any]:
    if pieces is None:
        return {}
    try:
        asked = folds(protocol, pieces)
    except PalestraError:  # this data has nothing for it
        return {"trainings": 0, "tests": 0}
    return {"trainings": len(asked), "tests": sum(len(fold.tests) for fold in asked)}
