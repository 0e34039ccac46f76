"""The referee's table as a state machine: what someone asks for is logged, or refused in words that say what is
possible instead."""

from collections.abc import Mapping

from palestra.contest.match.available_actions import options
from palestra.contest.match.checks import check
from palestra.contest.match.event_kinds import Who
from palestra.contest.match.events import MatchBody, MatchOpened
from palestra.contest.match.reducer import team_of
from palestra.contest.match.setup import check_opening
from palestra.contest.match.state import Match
from palestra.contest.rules import Role
from palestra.errors import Forbidden, PalestraError
from palestra.text import joined, say


def who_of(match: Match, account: str, role: Role, team: str = "") -> Who:
    """What an account of the contest is at this table."""
    if account == match.opened.head:
        return Who(account, "head")
    if role in ("organiser", "referee"):
        return Who(account, "organiser" if role == "organiser" else "referee")
    return Who(account, "team", team) if team in match.turns else Who(account, "viewer")


def open_match(matches: Mapping[str, Match], role: Role, body: MatchOpened) -> list[MatchBody]:
    """What is to be logged when someone opens a match."""
    if role != "organiser":
        raise Forbidden(say("A match is opened by the organiser."))
    if body.match in matches:
        raise PalestraError(say("There is a match with this name already."))
    check_opening(body)
    return [body]


def decide(match: Match, who: Who, wish: MatchBody, now: int) -> list[MatchBody]:
    """What is to be logged when someone asks for this; nothing where it came before."""
    try:
        return check(match, who, wish, now)
    except Forbidden:
        raise
    except PalestraError as refusal:
        team = team_of(wish)
        found = dict.fromkeys(option.label for option in options(match, who, now, team if team in match.turns else ""))
        possible = joined(found) or say("nothing at this table")
        raise PalestraError(
            say("{refusal} Possible now: {possible}.", refusal=refusal.text, possible=possible)
        ) from None
