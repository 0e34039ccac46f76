"""What a match makes of a phase: each team's result, once the head referee has published all of its cases.

The numbers are those of the phase's track, as exact fractions. A ruling, a penalty or a correction that comes after
publication makes the next result; the earlier ones stay, each with the time from which it held.
"""

from __future__ import annotations

from fractions import Fraction

from palestra.contest.match.on_site_ranking import Tally, tally
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.penalties import deducted, disqualified
from palestra.contest.match.state import Match, OnSite

Results = dict[str, dict[str, list[OnSite]]]  # by phase and team, in the order that they were made


def note_result(results: Results, match: Match, team: str, at: int) -> None:
    """After an event of a team's turn: keep what it has come to, where that is not what it was."""
    if match.opened.rehearsal:
        return
    found, kept = result_of(match, team, at), results.get(match.opened.phase, {}).get(team, [])
    before = kept[-1] if kept else None
    if found is None:
        if before is None or before.match != match.opened.match or not before.says:
            return
        found = OnSite(at, match.opened.match)  # what it stood on has no effect any more
    if before is None or (before.match, before.says) != (found.match, found.says):
        results.setdefault(match.opened.phase, {}).setdefault(team, []).append(found)


def result_of(match: Match, team: str, at: int) -> OnSite | None:
    """A team's result, if all its cases are published or it is disqualified; else it has none."""
    turn = match.turns[team]
    if penalty := disqualified(turn):
        return OnSite(at, match.opened.match, out=f"{penalty.rule}: {penalty.reason}")
    if not turn.cases or any(case.published_at is None for case in turn.cases.values()):
        return None
    rules, rows = match.opened.rules, outcomes_of(match, team, at)
    found = tally(rules, team, match.name_of(team), rows, deducted(turn, ""))
    return OnSite(at, match.opened.match, numbers_of(found))


def numbers_of(found: Tally) -> dict[str, str]:
    """By the names of the track's metrics."""
    exact = {
        "score": found.score,
        "full": Fraction(found.full, found.cases),
        "total_s": found.time_s,
        "variance": found.variance,
    }
    return {name: str(number) for name, number in exact.items()}


def at_the_time(kept: list[OnSite], as_of: int) -> OnSite | None:
    """The result that held at a time: the newest one by then."""
    return next((one for one in reversed(kept) if one.at <= as_of), None)
