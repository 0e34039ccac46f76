"""A contest's leaderboards, for the terminal."""

from typing import Any

import typer

from palestra import console
from palestra.contest import NOBODY, Contest, Viewer
from palestra.contest.boards import Boards, Row
from palestra.contest.rules import track_of
from palestra.errors import PalestraError
from palestra.scoring import Place as Spot
from palestra.text import say

ORGANISER = Viewer(role="organiser")
JUDGED = "judged once"  # in the place of an interval: referees decide each case once, so nothing is resampled


def print_board(contest: Contest, phase_id: str, public: bool, json: bool) -> None:
    """A phase's board, as the organiser or as the public sees it."""
    phase_id = phase_id or contest.state.rules().phases[0].id
    seen = Boards(contest).seen(phase_id, NOBODY if public else ORGANISER)
    if seen is None:
        raise PalestraError(say("The public does not see this board."))
    _, rows = seen
    if json:
        console.show_json([as_record(row) for row in rows])
        return
    phase = contest.state.phase(phase_id)
    track = track_of(phase)
    ranked = [Spot(row.rank, row.band, row.entry.name, row.entry.metrics) for row in rows if row.rank is not None]
    console.show_board(track, ranked, False, *([JUDGED] if phase.match else []))
    for row in rows:
        if row.rank is None:
            value = row.entry.metrics[track.ranks.name].value
            typer.echo(f"  baseline {row.entry.name}: {track.ranks.name} {value:.4f}")


def as_record(row: Row) -> dict[str, Any]:
    entry = row.entry
    return {
        "rank": row.rank,
        "band": row.band,
        "team": entry.team,
        "name": entry.name,
        "submission": entry.submission,
        "at": entry.at,
        "metrics": entry.metrics,
        **({"match": entry.match, "exact": entry.exact} if entry.match else {}),
    }


# Sets of scores made again
