"""The page of an entrant that acted in worlds: how long it thought, what was wrong with what it said."""

from collections import Counter
from itertools import islice

from palestra.live.entrant_history import NOTES, ended, of_all, pace, read_acts, stopped
from palestra.live.scored_run import ScoredRun
from palestra.records import Block, Cell, Table
from palestra.report import column_title, with_unit
from palestra.text import Text, duration, say, say_as


def blocks(played: ScoredRun, entrant: str) -> list[Block]:
    """What a page shows of it."""
    track, run = played.track, played.recording
    acts = read_acts(run, entrant)
    wrong: list[list[Cell]] = [[note, count] for note, count in acts.notes.most_common(NOTES)]
    wrong += [[ended(why), count] for why, count in islice(Counter(acts.deaths).items(), NOTES)]
    totals: list[list[Cell]] = [
        [column_title("cases"), of_all(acts.cases, len(run.head.sittings))],
        [say_as("total", "Actions"), acts.periods],
        [column_title("answers"), len(acts.thought_s)],
        [say("Thinking"), acts.thought],
        [say("The host was late by"), _late(acts.late_s)],
        [say("Pace"), pace(run)],
    ]
    return [
        *(track.display.review(played.data, run, entrant) if track.display.review else []),
        Table(
            say("What went wrong"),
            [say_as("fault", "What"), say_as("column", "Count")],
            wrong,
            "" if wrong else say("Nothing did."),
        ),
        Table(say_as("total", "Totals"), ["", ""], totals, stopped(run)),
    ]


def _late(seconds: float) -> Text:
    if seconds >= 1:
        return with_unit(duration(seconds))
    return say("{milliseconds:.1f} ms at most", milliseconds=1000 * seconds)
