"""From events to a match.

What a turn has come to depends on the set of its events and on when they were said, never on the order in which they
arrived: an event that comes late is put in its place and what follows it is gone through again.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from palestra.contest.match import events as e
from palestra.contest.match import turn as flow
from palestra.contest.match.event_kinds import KINDS, SETUP, TURN, Kind
from palestra.contest.match.events import Entry, MatchBody, MatchOpened
from palestra.contest.match.state import Log, Match, Setup, Turn, copy_of
from palestra.errors import PalestraError
from palestra.text import Words, say, words_of

_S = TypeVar("_S", Turn, Setup)


def opened(body: MatchOpened, at: int) -> Match:
    """A match at its beginning."""
    teams = [one.team for one in body.teams]
    return Match(body, at, turns={team: Turn(team) for team in teams}, turn_logs={team: Log() for team in teams})


def take_in(matches: dict[str, Match], entry: Entry) -> None:
    """An event of any match, as a contest's log has them among others."""
    if isinstance(entry.body, MatchOpened):
        matches[entry.body.match] = opened(entry.body, entry.at)
    else:
        apply(matches[entry.body.match], entry)


def apply(match: Match, entry: Entry) -> None:
    """Take in an event. One whose key came before changes nothing."""
    match.seq = max(match.seq, entry.seq)
    if (name := message(entry.by, entry.body)) in match.keys:
        return
    if name:
        match.keys[name] = entry.seq
    team = team_of(entry.body)
    if team:
        put(match.turn_logs[team], entry)
        match.turns[team] = _after(match, team, entry)
    else:
        put(match.setup_log, entry)
        match.setup, match.setup_log.strays = refold(match.opened, Setup(), match.setup_log.entries, SETUP)


def fold(entries: Iterable[Entry]) -> Match:
    """The match that these events make; the first one opens it."""
    found: Match | None = None
    for entry in entries:
        if found is not None:
            apply(found, entry)
        elif isinstance(entry.body, MatchOpened):
            found = opened(entry.body, entry.at)
    if found is None:
        raise PalestraError(say("No match was opened."))
    return found


def message(by: str, body: MatchBody) -> str:
    """What a message is known by: its key among those of its author."""
    return f"{by}/{body.key}" if body.key else ""


def team_of(body: MatchBody) -> str:
    """Whose turn an event belongs to; nobody's for the set-up."""
    return str(getattr(body, "team", ""))


def put(log: Log, entry: Entry) -> None:
    bisect.insort(log.entries, entry, key=lambda one: one.place)


def _after(match: Match, team: str, entry: Entry) -> Turn:
    """A turn after an event: one step where it comes last, else all of them again."""
    log = match.turn_logs[team]
    if log.entries[-1] is not entry or isinstance(entry.body, e.EventUndone):
        turn, log.strays = refold(match.opened, Turn(team), log.entries, TURN)
        return turn
    turn = match.turns[team]
    if stray := step(match.opened, turn, entry, TURN):
        log.strays[entry.seq] = stray
    return turn


def refold(
    opened: MatchOpened, start: _S, entries: Sequence[Entry], kinds: dict[type, Kind]
) -> tuple[_S, dict[int, Words]]:
    gone, strays = undone(entries)
    for entry in entries:
        if entry.seq not in gone and (stray := step(opened, start, entry, kinds)):
            strays[entry.seq] = stray
    return start, strays


def step(opened: MatchOpened, state: Any, entry: Entry, kinds: dict[type, Kind]) -> Words | None:
    """Do one step; what did not fit has no effect, and is kept with the reason for people to look at."""
    if isinstance(entry.body, e.EventUndone):
        return None
    if isinstance(state, Turn):
        flow.settle(state, entry.when)
    try:
        kinds[type(entry.body)].step(opened, state, entry, entry.body)
    except PalestraError as refusal:
        return words_of(refusal.text)
    return None


def undone(entries: Sequence[Entry]) -> tuple[set[int], dict[int, Words]]:
    """Numbers of the events that are undone; and undoings that undo nothing, with why."""
    done: dict[str, list[Entry]] = {}
    gone: set[int] = set()
    strays: dict[int, Words] = {}
    for entry in entries:
        mine = done.setdefault(entry.by, [])
        if not isinstance(entry.body, e.EventUndone):
            mine.append(entry)
        elif mine and entry.body.undoes in names_of(mine[-1]) and KINDS[type(mine[-1].body)].undone:
            gone.add(mine.pop().seq)
        else:
            strays[entry.seq] = say(
                "Only the last event of one's own can be undone, and not a draw, a publication or a decision."
            )
    return gone, strays


def names_of(entry: Entry) -> tuple[str, ...]:
    return (f"#{entry.seq}", entry.body.key) if entry.body.key else (f"#{entry.seq}",)


def last_of(match: Match, account: str, team: str = "") -> Entry | None:
    """What someone did last, in a team's turn or in the set-up, and could undo."""
    log = match.turn_logs[team] if team else match.setup_log
    gone, _ = undone(log.entries)
    mine = [one for one in log.entries if one.by == account and one.seq not in gone]
    mine = [one for one in mine if not isinstance(one.body, e.EventUndone)]
    return mine[-1] if mine and KINDS[type(mine[-1].body)].undone else None


def at_time(match: Match, team: str, now: int) -> Turn:
    """A turn as it is now, with what the clock alone has ended."""
    turn = copy_of(match.turn(team))
    flow.settle(turn, now)
    return turn
