"""Answers from what referees decided: one row for each team and case, as the table's track scores them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Literal, TypeVar

import msgspec
import polars as pl

State = Literal["unscored", "marked", "agreed", "published"]
Ended = Literal["", "stopped", "time", "match", "abandoned", "unreached", "void"]
_Event = TypeVar("_Event")


class Judged(msgspec.Struct, frozen=True):
    """What a case came to. Sub-goals stay whole numbers: a score is their exact fraction."""

    team: str
    group: str
    case: str
    met: int
    total: int
    time_ms: int  # that its clock ran
    charged_ms: str  # what counts in the total time, exact: "120000", "600000/7"
    attempts: int
    state: State
    ended: Ended = ""  # "match": by the end of the 55 minutes; "unreached": never played; "void": taken away
    deducted: str = "0"  # points taken from this case, exact
    note: str = ""

    @property
    def score(self) -> Fraction:
        return max(Fraction(self.met, self.total) - Fraction(self.deducted), Fraction(0))

    @property
    def full(self) -> bool:
        return self.met == self.total


SCHEMA = {
    "team": pl.String,
    "group": pl.String,
    "trial": pl.String,
    "met": pl.Int64,
    "total": pl.Int64,
    "time_ms": pl.Int64,
    "charged_ms": pl.String,
    "attempts": pl.Int64,
    "state": pl.String,
    "ended": pl.String,
    "deducted": pl.String,
    "note": pl.String,
}


def answers(events: Iterable[_Event], fold: Callable[[Iterable[_Event]], Iterable[Judged]]) -> pl.DataFrame:
    """The answers that referees' events come to; `fold` is the match's rules (`contest.match_outcomes`)."""
    return table(fold(events))


def table(judged: Iterable[Judged]) -> pl.DataFrame:
    """One row for each team and case; a case that nobody played has its row too."""
    rows = [{**msgspec.structs.asdict(one), "trial": one.case} for one in judged]
    return pl.DataFrame([{name: row[name] for name in SCHEMA} for row in rows], schema=SCHEMA)


def of_team(answers: pl.DataFrame, team: str) -> pl.DataFrame:
    """The answers of one team, by trial."""
    return answers.filter(pl.col("team") == team).drop("team")
