"""The page of an entrant that acted in worlds: how long it thought, what was wrong with what it said."""

from collections import Counter

from palestra.live.entrant_history import read_acts
from palestra.live.scored_run import ScoredRun
from palestra.records import Block, Cell, Table
from palestra.text import duration

NOTES = 20


def blocks(played: ScoredRun, entrant: str) -> list[Block]:
    """What a page shows of it."""
    track, run = played.track, played.recording
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
        *(track.display.review(played.data, run, entrant) if track.display.review else []),
        Table("What went wrong", ["What", "Count"], wrong, "" if wrong else "Nothing did."),
        Table("Totals", ["", ""], totals, "" if run.end else "The run was stopped before its end."),
    ]
