"""Answers from the decisions of a live run: one row for each, with how long it took and what was wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from palestra.errors import PalestraError
from palestra.live.stream import Decision
from palestra.records import Track
from palestra.scoring import ABOUT


@dataclass(frozen=True)
class Heard:
    """A closed decision with what its answer says. Each answer is interpreted once, and this is handed on."""

    decision: Decision
    said: Mapping[str, Any] | None  # in the track's columns; None where there is no usable answer
    note: str  # empty, or why there is none
    sitting: int = 0


def hear(track: Track, decision: Decision, sitting: int = 0) -> Heard:
    """Interpret a decision's answer."""
    if track.hear is None:
        raise PalestraError(f"{track.id} is not played live.")
    if decision.note or decision.answered_s is None:
        return Heard(decision, None, decision.note, sitting)
    try:
        return Heard(decision, track.hear(decision.answer), "", sitting)
    except ValueError as error:
        return Heard(decision, None, str(error), sitting)


def answers_of(track: Track, trials: pl.DataFrame, heard: Iterable[Heard]) -> pl.DataFrame:
    """The answers of one entrant as a table, in the order of the trials."""
    rows = [
        {"trial": one.decision.trial, **(one.said or {}), "latency_s": one.decision.latency_s, "note": one.note}
        for one in heard
    ]
    table = pl.DataFrame(rows, schema=schema_of(track, trials))
    return trials.select("trial").join(table, on="trial", how="inner", maintain_order="left")


def schema_of(track: Track, trials: pl.DataFrame) -> dict[str, Any]:
    """The columns of a live track's answers: those of its template, and what is told beside them."""
    if track.blank is None:
        raise PalestraError(f"{track.id} does not say what columns its answers have.")
    return {**track.blank(trials.head(1)).schema, **ABOUT}
