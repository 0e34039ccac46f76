"""What a team's turn comes to, computed another way than the exact one: from the events of the match to a table of
cases, as every other result has one, and from there by the metrics of its track."""

from __future__ import annotations

import polars as pl

from palestra.contest.match.events import Entry
from palestra.contest.match.outcomes import judged
from palestra.contest.match.penalties import deducted
from palestra.contest.match.state import Match
from palestra.errors import PalestraError
from palestra.records import Track
from palestra.scoring import answers, of_team, score
from palestra.text import say


def numbers_again(track: Track, match: Match, team: str, at: int) -> dict[str, float]:
    """By the names of the track's metrics."""
    if track.match is None:
        raise PalestraError(say("{track} says nothing of what referees decide.", track=track.id))
    rows = track.match.judged(of_team(answers(entries_of(match), lambda entries: judged(entries, at)), team))
    whole = score.whole(rows)
    numbers = {metric.name: float(metric.reduce(rows, whole)[0]) for metric in track.metrics}
    if match.opened.rules.mean == "groups":
        means = rows.group_by("group").agg(pl.col("score").mean())
        numbers[track.ranks.name] = float(means["score"].to_numpy().mean())
    minus = float(deducted(match.turns[team], ""))
    return {**numbers, track.ranks.name: max(numbers[track.ranks.name] - minus, 0.0)}


def entries_of(match: Match) -> list[Entry]:
    """Its events in the order of the log."""
    logs = [match.setup_log, *match.turn_logs.values()]
    said = sorted((entry for log in logs for entry in log.entries), key=lambda entry: entry.seq)
    return [Entry(0, match.opened_at, "", match.opened), *said]
