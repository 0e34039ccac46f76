"""How an entrant acted in its worlds, by the recording: how long it thought, what was wrong with what it said."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.live.recording import Recording
from palestra.metrics.quantiles import at_shares
from palestra.records import Block, Cell, Table, Track
from palestra.text import duration, printable

FEW_NOTES, NOTES = 3, 20
SHARES = (0.5, 0.95, 1.0)


@dataclass(frozen=True)
class Acts:
    """One entrant's run."""

    cases: int
    periods: int
    thought_s: NDArray[np.float64]  # of each answer
    late_s: float  # that the host was late, at most
    notes: Counter[str]
    deaths: list[str]

    @property
    def thought(self) -> str:
        if not len(self.thought_s):
            return "it never answered"
        values = [f"{1000 * value:,.0f} ms" for value in at_shares(self.thought_s, SHARES)]
        return f"p50 {values[0]}, p95 {values[1]}, at most {values[2]}"


def read_acts(run: Recording, entrant: str) -> Acts:
    steps = [moved.step for moved in run.steps(entrant)]
    return Acts(
        cases=sum(1 for _ in run.decisions(entrant)),
        periods=len(steps),
        thought_s=np.array([step.thought_s for step in steps if step.thought_s is not None], np.float64),
        late_s=max((step.late_s for step in steps), default=0.0),
        notes=Counter(step.note for step in steps if step.note),
        deaths=run.end.deaths.get(entrant, []) if run.end else [],
    )


def summary(run: Recording, entrant: str) -> list[str]:
    """A run in a few lines for a terminal."""
    acts = read_acts(run, entrant)
    lines = [f"{printable(entrant)}: {acts.cases} of {len(run.head.sittings)} cases, {acts.periods:,} actions"]
    lines.append(f"  thought {len(acts.thought_s):,} times: {acts.thought}")
    return [*lines, *(f"  {count:,} × {printable(note)}" for note, count in acts.notes.most_common(FEW_NOTES))]


def blocks(track: Track, data: Path, run: Recording, entrant: str) -> list[Block]:
    """What a page shows of it."""
    acts = read_acts(run, entrant)
    wrong: list[list[Cell]] = [[note, count] for note, count in acts.notes.most_common(NOTES)]
    wrong += [[f"the program ended: {why}", count] for why, count in Counter(acts.deaths).most_common(NOTES)]
    totals: list[list[Cell]] = [
        ["Cases", f"{acts.cases} of {len(run.head.sittings)}"],
        ["Actions", f"{acts.periods:,}"],
        ["Answers", f"{len(acts.thought_s):,}"],
        ["Thinking", acts.thought],
        ["The host was late by", duration(acts.late_s) if acts.late_s >= 1 else f"{1000 * acts.late_s:.1f} ms at most"],
        ["Pace", {"real": "the wall clock", "fast": "virtual time"}.get(run.head.pace, run.head.pace)],
    ]
    return [
        *(track.display.review(data, run, entrant) if track.display.review else []),
        Table("What went wrong", ["What", "Count"], wrong, "" if wrong else "Nothing did."),
        Table("Totals", ["", ""], totals, "" if run.end else "The run was stopped before its end."),
    ]
