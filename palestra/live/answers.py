"""Answers from the decisions of a live run: one row for each, with how long it took and what was wrong with it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from palestra.entrants import LONGEST_TEXT
from palestra.errors import PalestraError, clip, text_of
from palestra.live.stream import Decision
from palestra.records import Track
from palestra.scoring import ABOUT
from palestra.text import Text, say, words_of


@dataclass(frozen=True)
class Heard:
    """A closed decision with what its answer says. Each answer is interpreted once, and this is handed on."""

    decision: Decision
    said: Mapping[str, Any] | None  # in the track's columns; None where there is no usable answer
    note: Text  # empty, or why there is none
    sitting: int = 0


def hear(track: Track, decision: Decision, sitting: int = 0) -> Heard:
    """Interpret a decision's answer."""
    if track.hear is None:
        raise PalestraError(say("{id} is not played live.", id=track.id))
    if decision.note or decision.answered_s is None:
        return Heard(decision, None, decision.note, sitting)
    try:
        return Heard(decision, _sound(track.hear(decision.answer)), "", sitting)
    except ValueError as error:
        return Heard(decision, None, text_of(error), sitting)


def _sound(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a track heard, unless there is a number in it that cannot be scored, or a text that is too long, however it
    came."""
    for name, value in said.items():
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise ValueError(
                say(
                    "returned a text of {letters:,} letters, expected {most:,} at most",
                    letters=len(value),
                    most=LONGEST_TEXT,
                )
            )
        if not _is_finite(value):
            raise ValueError(say("returned {name} = {value}, expected finite numbers", name=name, value=clip(value)))
    return said


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return all(map(_is_finite, value)) if isinstance(value, list | tuple) else True


def answers_of(track: Track, trials: pl.DataFrame, heard: Iterable[Heard]) -> pl.DataFrame:
    """The answers of one entrant as a table, in the order of the trials."""
    rows = [
        {"trial": one.decision.trial, **(one.said or {}), "latency_s": one.decision.latency_s, **note_columns(one.note)}
        for one in heard
    ]
    table = pl.DataFrame(rows, schema=schema_of(track, trials))
    return trials.select("trial").join(table, on="trial", how="inner", maintain_order="left")


def note_columns(note: Text) -> dict[str, str]:
    """A note as tables keep it."""
    told = words_of(note)
    return {"note": told.en, "note_zh": told.zh}


def schema_of(track: Track, trials: pl.DataFrame) -> dict[str, Any]:
    """The columns of a live track's answers: those of its template, and what is told beside them."""
    if track.blank is None:
        raise PalestraError(say("{id} does not say what columns its answers have.", id=track.id))
    return {**track.blank(trials.head(1)).schema, **ABOUT}
