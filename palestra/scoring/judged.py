"""Answers from what referees decided: one row for each team and case, as the table's track scores them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

if TYPE_CHECKING:
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


COLUMNS = {
    "team": str, "group": str, "trial": str, "met": int, "total": int, "time_ms": int, "charged_ms": str,
    "attempts": int, "state": str, "ended": str, "deducted": str, "note": str,
}  # fmt: skip


def answers(events: Iterable[_Event], fold: Callable[[Iterable[_Event]], Iterable[Judged]]) -> pl.DataFrame:
    """The answers that referees' events come to; `fold` is the match's rules (`contest.match_outcomes`)."""
    return table(fold(events))


def table(judged: Iterable[Judged]) -> pl.DataFrame:
    """One row for each team and case; a case that nobody played has its row too."""
    import polars as pl  # a log is folded without it

    rows = [{**msgspec.structs.asdict(one), "trial": one.case} for one in judged]
    schema = {name: pl.String if kind is str else pl.Int64 for name, kind in COLUMNS.items()}
    return pl.DataFrame([{name: row[name] for name in COLUMNS} for row in rows], schema=schema)


def of_team(answers: pl.DataFrame, team: str) -> pl.DataFrame:
    """The answers of one team, by trial."""
    return answers.filter(answers["team"] == team).drop("team")
