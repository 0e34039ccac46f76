"""What may happen at the table: a wish is completed and given back as events to log, or refused in words."""

from __future__ import annotations

from typing import Any

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.event_kinds import KINDS, REASONED, SETUP, TURN, UNDO, Who
from palestra.contest.match.events import Entry, MatchBody, MatchOpened
from palestra.contest.match.reducer import message, names_of, put, refold, step, team_of
from palestra.contest.match.setup import completed, none_has_begun
from palestra.contest.match.state import Log, Match, Setup, Turn, copy_of
from palestra.contest.rules import require_reason
from palestra.errors import Forbidden, PalestraError, clean
from palestra.text import Words, say

LONGEST = 2_000  # letters of one field


def check(match: Match, who: Who, wish: MatchBody, now: int) -> list[MatchBody]:
    """What is to be logged when someone asks for this; nothing where it came before. Refuses in words."""
    if message(who.account, wish) in match.keys:
        return []
    _check_part(match, who, wish)
    _check_length(wish)
    body = _tidy(wish)
    if team := team_of(body):
        match.turn(team)
    if not isinstance(body, e.EventUndone):
        body = completed(match, body, now)
    elif not team:
        none_has_begun(match)
    _check_published(match, body)
    entry = Entry(match.seq + 1, now, who.account, body)
    for seq, why in _would_stray(match, entry).items():
        if body.queued and KINDS.get(type(body), UNDO).may_wait:
            break  # it was said when nobody could answer: it is kept, and has effect once what it needs has come
        raise PalestraError(_refusal(entry, seq, why))
    return [body]


def _check_part(match: Match, who: Who, wish: MatchBody) -> None:
    if isinstance(wish, MatchOpened):
        raise PalestraError(say("This match is open already."))
    if who.part not in KINDS.get(type(wish), UNDO).parts:
        raise Forbidden(say("This is not for you to do at this table."))
    if who.part == "team" and who.team != team_of(wish):
        raise Forbidden(say("This is for another team."))
    if who.part == "simulator" and not match.opened.rehearsal:
        raise Forbidden(say("The simulator plays in rehearsals alone."))
    for_whom = wish.referee if isinstance(wish, e.GoalMarked | e.MarksSigned) else ""
    if for_whom not in ("", who.account) and who.part != "simulator":
        raise Forbidden(say("Referees mark for themselves alone."))


def _check_length(wish: MatchBody) -> None:
    """A log is read by people; what is long belongs in a file, whose digest is kept."""
    for name in wish.__struct_fields__:
        value = getattr(wish, name)
        longest = max(map(len, value), default=0) if _are_texts(value) else len(value) if isinstance(value, str) else 0
        if longest > LONGEST:
            raise PalestraError(
                say(
                    "{name} has {longest} letters; expected at most {longest2}.",
                    name=name,
                    longest=longest,
                    longest2=LONGEST,
                )
            )


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, str) for one in value)


def _tidy(wish: MatchBody) -> MatchBody:
    """What people wrote in one printable line each, and a reason where one is needed."""
    written = {name: getattr(wish, name) for name in ("reason", "rule") if hasattr(wish, name)}
    if isinstance(wish, e.ConductNoted):
        written["text"] = wish.text
    for name, text in written.items():
        needed = text or name == "text" or (name == "reason" and isinstance(wish, REASONED))
        written[name] = require_reason(text) if needed and name != "rule" else clean(text)
    return msgspec.structs.replace(wish, **written) if written else wish


def _check_published(match: Match, body: MatchBody) -> None:
    """What is published is not changed by what arrives late, but by the head referee, with a reason."""
    target: Any = body
    if isinstance(body, e.EventUndone):
        entries = (match.turn_logs[body.team] if body.team else match.setup_log).entries
        target = next((one.body for one in entries if body.undoes in names_of(one)), None)
    case = match.turns[team_of(body)].cases.get(getattr(target, "case", "")) if team_of(body) else None
    corrects = isinstance(body, e.EventUndone) and isinstance(target, e.CaseRuled | e.TimeCorrected)
    if case is None or case.published_at is None or not (corrects or KINDS.get(type(target), UNDO).may_wait):
        return
    if isinstance(target, e.ConductNoted):
        return
    raise PalestraError(say("Case {id} is published: the head referee corrects it, with a reason.", id=case.id))


def _would_stray(match: Match, entry: Entry) -> dict[int, Words]:
    """Which events would have no effect if this one were there, and had one before."""
    team = team_of(entry.body)
    log = match.turn_logs[team] if team else match.setup_log
    if team and not isinstance(entry.body, e.EventUndone) and (not log.entries or log.entries[-1].place < entry.place):
        stray = step(match.opened, copy_of(match.turns[team]), entry, TURN)
        return {entry.seq: stray} if stray else {}
    trial = Log(list(log.entries))
    put(trial, entry)
    strays = (
        refold(match.opened, Turn(team), trial.entries, TURN)[1]
        if team
        else refold(match.opened, Setup(), trial.entries, SETUP)[1]
    )
    return {seq: why for seq, why in strays.items() if seq not in log.strays}


def _refusal(entry: Entry, seq: int, why: Words) -> Words:
    if seq == entry.seq:
        return why
    return say(
        "Something that was logged since would no longer fit: {why} Undo that first, or let the head referee "
        "correct it.",
        why=why,
    )
