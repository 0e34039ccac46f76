"""Who stands where while a run is under way, from the decisions closed so far. It needs the truth: for organisers."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.live.answers import Heard, note_columns, schema_of
from palestra.metrics.quantiles import at_shares
from palestra.records import Track
from palestra.scoring import Sheet, score
from palestra.text import Text

LATENCIES = 2000  # of the newest answers that percentiles are taken of


@dataclass
class Standing:
    """One entrant, so far."""

    name: str
    decided: int = 0
    missed: int = 0  # of them: no answer in time, or none that is one
    value: float | None = None  # of the metric that ranks; null before anything was scored
    last_note: Text = ""
    newest_s: deque[float] = field(default_factory=lambda: deque(maxlen=LATENCIES))  # latencies of answers

    @property
    def latencies_s(self) -> NDArray[np.float64]:
        """How long the newest answers took, in the order that they came."""
        return np.fromiter(self.newest_s, np.float64, len(self.newest_s))

    def latency_s(self, share: float) -> float | None:
        return float(at_shares(self.latencies_s, [share])[0]) if self.newest_s else None


@dataclass(frozen=True)
class _Asked:
    """A decision that has truth and is not scored yet."""

    entrant: str
    at: int  # its row of the truth
    answer: Mapping[str, Any] | None  # null where there is none


class Standings:
    """Counts decisions as they are closed, and scores them when it is asked."""

    def __init__(self, track: Track, sheet: Sheet, names: list[str]) -> None:
        self._track = track
        self._new: list[_Asked] = []
        self._rows: dict[str, pl.DataFrame] = {}
        self.all = {name: Standing(name) for name in names}
        self.deadline_s: float | None = None  # of the newest decision
        self._use(sheet)

    def _use(self, sheet: Sheet) -> None:
        self._sheet = sheet
        self._row_of = {trial: row for row, trial in enumerate(sheet.truth["trial"])}
        self._schema = schema_of(self._track, sheet.trials)
        self._unanswered = sheet.truth  # nobody is there yet, where it is empty
        if not sheet.truth.is_empty():
            self._unanswered = score.score_trials(self._track, sheet, pl.DataFrame(schema=self._schema))

    def learn(self, sheet: Sheet, decided: Iterable[Heard]) -> None:
        """Score everything that was decided by a sheet that has more: the truth of who was captured meanwhile."""
        self._use(sheet)
        self._new, self._rows = [], {}
        for heard in decided:
            self._ask(heard)

    def decided(self, heard: Heard) -> None:
        decision, said = heard.decision, heard.said
        standing = self.all[decision.entrant]
        standing.decided += 1
        if said is None:
            standing.missed += 1
            standing.last_note = heard.note
        elif decision.latency_s is not None:
            standing.newest_s.append(decision.latency_s)
        self.deadline_s = decision.deadline_s
        self._ask(heard)

    def _ask(self, heard: Heard) -> None:
        decision, said = heard.decision, heard.said
        if decision.trial in self._row_of:
            about = {"trial": decision.trial, "latency_s": decision.latency_s, **note_columns(heard.note)}
            answer = None if said is None else {**said, **about}
            self._new.append(_Asked(decision.entrant, self._row_of[decision.trial], answer))

    def update(self) -> list[Standing]:
        """All entrants, best first."""
        new, self._new = self._new, []
        if new:
            self._score(new)
        sign = 1 if self._track.ranks.better == "lower" else -1
        return sorted(self.all.values(), key=lambda one: (one.value is None, sign * (one.value or 0.0), one.missed))

    def _score(self, new: list[_Asked]) -> None:
        """Only what is new is scored; the number is of all rows."""
        answered, gaps = [one for one in new if one.answer is not None], [one for one in new if one.answer is None]
        parts = [(self._answered(answered), answered)] if answered else []
        parts += [(self._unanswered[[one.at for one in gaps]], gaps)] if gaps else []
        for rows, asked in parts:
            for name, places in _places(asked).items():
                before = self._rows.get(name)
                self._rows[name] = rows[places] if before is None else _stacked(before, rows[places])
        for name in {one.entrant for one in new}:
            everything = self._rows[name]
            value = float(self._track.ranks.reduce(everything, score.whole(everything))[0])
            self.all[name].value = value if math.isfinite(value) else None

    def _answered(self, asked: list[_Asked]) -> pl.DataFrame:
        """The scores of these answers, one below the other. Those of all entrants at once: a table of many rows takes
        hardly longer than one of a single row, and this is done between two ticks."""
        at, sheet = [one.at for one in asked], self._sheet
        answers = pl.DataFrame([one.answer for one in asked], schema=self._schema)
        part = Sheet(answers.select("trial"), sheet.truth[at], pl.Series(range(len(at))), "")
        return score.score_trials(self._track, part, answers)


def _places(asked: list[_Asked]) -> dict[str, list[int]]:
    """Which of them are whose."""
    places: dict[str, list[int]] = {}
    for place, one in enumerate(asked):
        places.setdefault(one.entrant, []).append(place)
    return places


def _stacked(above: pl.DataFrame, below: pl.DataFrame) -> pl.DataFrame:
    if above.schema == below.schema:
        return above.vstack(below)  # many times faster, and the usual case
    return pl.concat([above, below], how="diagonal_relaxed")
