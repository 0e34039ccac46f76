"""A violation can cost points, a result or the team: with rule and reason, proposed by one referee, confirmed by
another, and nothing by itself."""

from __future__ import annotations

from fractions import Fraction

from palestra.contest.match import events as e
from palestra.contest.match.events import Entry, MatchOpened
from palestra.contest.match.state import Penalty, Turn, case_of, unknown
from palestra.errors import PalestraError, clip
from palestra.text import say


def proposed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.PenaltyProposed) -> None:
    if body.penalty in turn.penalties:
        raise PalestraError(say("This penalty was proposed already."))
    if body.case:
        case_of(opened, body.case)
    if not body.rule.strip():
        raise PalestraError(say("Name the rule that was broken."))
    if body.what == "result" and not body.case:
        raise PalestraError(say("Name the case whose result is taken away."))
    if body.what == "points":
        points_of(body.points)
    turn.penalties[body.penalty] = Penalty(
        body.penalty, body.what, body.case, body.points, body.rule, body.reason, entry.when, entry.by
    )


def points_of(text: str) -> Fraction:
    """Of a full score of 1, exact."""
    try:
        points = Fraction(text) if len(text) <= 20 and "e" not in text.lower() else Fraction(0)
    except (ValueError, ZeroDivisionError):
        points = Fraction(0)
    if not 0 < points <= 1:
        raise PalestraError(say("{text} is no deduction; expected a part of 1, such as 1/10 or 0.05.", text=clip(text)))
    return points


def confirmed(opened: MatchOpened, turn: Turn, entry: Entry, body: e.PenaltyConfirmed) -> None:
    penalty = _penalty(turn, body.penalty)
    if not penalty.open:
        raise PalestraError(say("This penalty is not open."))
    if penalty.proposed_by == entry.by:
        raise PalestraError(say("A penalty takes two referees: another one than who proposed it confirms it."))
    if penalty.what == "team" and opened.head not in (entry.by, penalty.proposed_by):
        raise PalestraError(say("A team is disqualified by the head referee and another one."))
    penalty.confirmed_by = entry.by


def withdrawn(opened: MatchOpened, turn: Turn, entry: Entry, body: e.PenaltyWithdrawn) -> None:
    penalty = _penalty(turn, body.penalty)
    if penalty.withdrawn:
        raise PalestraError(say("This penalty was withdrawn already."))
    allowed = (opened.head,) if penalty.confirmed_by else (opened.head, penalty.proposed_by)
    if entry.by not in allowed:
        raise PalestraError(
            say("A penalty is withdrawn by the head referee; before it is confirmed, also by who proposed it.")
        )
    penalty.withdrawn = body.reason


def _penalty(turn: Turn, name: str) -> Penalty:
    if name not in turn.penalties:
        raise unknown(say("penalty of this team"), name, turn.penalties)
    return turn.penalties[name]


def disqualified(turn: Turn) -> Penalty | None:
    return next((one for one in turn.penalties.values() if one.counts and one.what == "team"), None)


def voided(turn: Turn, case: str) -> Penalty | None:
    found = (one for one in turn.penalties.values() if one.counts and one.what == "result" and one.case == case)
    return next(found, None)


def deducted(turn: Turn, case: str) -> Fraction:
    """From a case, or with "" from the whole."""
    return sum((points_of(one.points) for one in turn.penalties.values() if _takes_from(one, case)), start=Fraction(0))


def _takes_from(penalty: Penalty, case: str) -> bool:
    return penalty.counts and penalty.what == "points" and penalty.case == case
