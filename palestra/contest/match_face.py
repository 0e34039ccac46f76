"""What a big clock shows: everything that a page needs to run it by itself between two messages of the server."""

from __future__ import annotations

import msgspec

from palestra.contest.match.fold import at_time
from palestra.contest.match.rules import TOTAL_MS
from palestra.contest.match.state import Match
from palestra.contest.match.turn import case_left_ms, current, is_over, left_ms


class Face(msgspec.Struct, frozen=True):
    """A page shows `case_left_ms - (its now - now)` while the case runs; its drift is its own now less `now`."""

    now: int  # the server's
    team: str
    over: bool
    held: str  # why the clock stands
    ran_ms: int  # of the 55 minutes
    left_ms: int
    case: str  # at the table
    running: bool
    attempt: int
    case_ran_ms: int
    case_left_ms: int


def face(match: Match, team: str, now: int) -> Face:
    turn = at_time(match, team, now)
    case = None if is_over(match.opened, turn, now) else current(match.opened, turn)
    return Face(
        now=now,
        team=team,
        over=is_over(match.opened, turn, now),
        held=turn.held,
        ran_ms=min(turn.clock.elapsed(now), TOTAL_MS),
        left_ms=left_ms(turn, now),
        case=case.id if case else "",
        running=bool(case and case.running and not turn.held),
        attempt=len(case.attempts) if case else 0,
        case_ran_ms=case.ran_ms(now) if case else 0,
        case_left_ms=case_left_ms(match.opened, turn, case, now) if case and turn.begun_at is not None else 0,
    )
