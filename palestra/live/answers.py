"""Answers from the decisions of a live run: one row for each, with how long it took and what was wrong with it."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from palestra.errors import PalestraError
from palestra.live.stream import Decision
from palestra.records import Track
from palestra.scoring import ABOUT


def heard(track: Track, decision: Decision) -> tuple[Mapping[str, Any] | None, str]:
    """What a decision's answer says, in the track's columns; or why it says nothing."""
    if track.hear is None:
        raise PalestraError(f"{track.id} is not played live.")
    if decision.note or decision.answered_s is None:
        return None, decision.note
    try:
        return track.hear(decision.answer), ""
    except ValueError as error:
        return None, str(error)


def answers_of(track: Track, trials: pl.DataFrame, decisions: Iterable[Decision]) -> pl.DataFrame:
    """The answers of one entrant as a table, in the order of the trials."""
    rows = []
    for decision in decisions:
        said, note = heard(track, decision)
        rows.append({"trial": decision.trial, **(said or {}), "latency_s": decision.latency_s, "note": note})
    table = pl.DataFrame(rows, schema=schema_of(track, trials))
    return trials.select("trial").join(table, on="trial", how="inner", maintain_order="left")


def schema_of(track: Track, trials: pl.DataFrame) -> dict[str, Any]:
    """The columns of a live track's answers: those of its template, and what is told beside them."""
    if track.blank is None:
        raise PalestraError(f"{track.id} does not say what columns its answers have.")
    return {**track.blank(trials.head(1)).schema, **ABOUT}
