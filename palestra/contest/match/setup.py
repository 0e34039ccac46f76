"""What is settled before all turns: neutral referees, the order of teams and of groups, slots for debugging."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match.cases import check_sheet
from palestra.contest.match.draw import check_slots, group_orders, shuffled
from palestra.contest.match.events import Entry, MatchBody, MatchOpened
from palestra.contest.match.rules import check_shape
from palestra.contest.match.state import Match, Setup, copy_of, unknown
from palestra.contest.match.turn import is_over, settle
from palestra.errors import PalestraError
from palestra.text import joined, say


def check_opening(body: MatchOpened) -> None:
    """Whether a match can be played as it is described."""
    check_sheet(body.groups, body.things)
    check_shape(body.rules, body.groups)
    teams = [one.team for one in body.teams]
    if not teams or len(set(teams)) != len(teams):
        raise PalestraError(say("A match has one team or more, each once."))
    if not body.head:
        raise PalestraError(say("A match has a head referee."))


# Steps


def declared(opened: MatchOpened, setup: Setup, entry: Entry, body: e.RefereeDeclared) -> None:
    _are_teams(opened, body.conflicts)
    setup.declared[entry.by] = body.conflicts


def ordered(opened: MatchOpened, setup: Setup, entry: Entry, body: e.TeamsOrdered) -> None:
    _are_teams(opened, body.teams)
    if sorted(body.teams) != sorted(one.team for one in opened.teams):
        raise PalestraError(say("The running order names every team once."))
    if setup.order and not body.reason:
        raise PalestraError(say("There is a running order already. To change it, say why."))
    setup.order = body.teams


def planned(opened: MatchOpened, setup: Setup, entry: Entry, body: e.SlotsPlanned) -> None:
    _are_teams(opened, [slot.team for slot in body.slots])
    if setup.slots and not body.reason:
        raise PalestraError(say("Debugging slots are planned already. To change them, say why."))
    names = {one.team: one.name for one in opened.teams}
    check_slots(body.slots, names, excused=bool(body.reason))
    setup.slots = body.slots


def drawn(opened: MatchOpened, setup: Setup, entry: Entry, body: e.GroupsDrawn) -> None:
    if setup.groups and not body.reason:
        raise PalestraError(say("The order of groups is drawn. To draw again, say why."))
    setup.groups, setup.seed = dict(body.orders), body.seed


def _are_teams(opened: MatchOpened, teams: Sequence[str]) -> None:
    known = [one.team for one in opened.teams]
    for team in teams:
        if team not in known:
            raise unknown(say("team"), team, known)


# What decide adds to a wish, from the set-up


def completed(match: Match, body: MatchBody, now: int) -> MatchBody:
    """Fill in what is drawn or known; refuse what other turns or the set-up do not allow."""
    match body:
        case e.GroupsDrawn():
            return _draw(match, body)
        case e.TeamsOrdered():
            none_has_begun(match)
            teams = [one.team for one in match.opened.teams]
            return msgspec.structs.replace(body, teams=shuffled(teams, body.seed)) if body.seed else body
        case e.TurnBegun():
            return _begin(match, body, now)
        case e.RefereeReplaced():
            _may_referee(match, body.substitute, body.team)
    return body


def _draw(match: Match, body: e.GroupsDrawn) -> e.GroupsDrawn:
    none_has_begun(match)
    mode = match.opened.rules.draw
    if mode != "fixed" and not body.seed.strip():
        raise PalestraError(say("A draw needs a seed: any words or numbers, made in public."))
    groups = [group.id for group in match.opened.groups]
    teams = [one.team for one in match.opened.teams]
    return msgspec.structs.replace(body, orders=group_orders(mode, body.seed, groups, teams))


def none_has_begun(match: Match) -> None:
    if any(turn.begun_at is not None for turn in match.turns.values()):
        raise PalestraError(say("A team has played: the set-up stays as it is."))


def _begin(match: Match, body: e.TurnBegun, now: int) -> e.TurnBegun:
    if match.opened.head not in match.setup.declared:
        raise PalestraError(say("The head referee has not declared to be neutral yet."))
    _check_referees(match, body)
    if body.team not in match.setup.groups:
        raise PalestraError(say("The order of groups has not been drawn yet."))
    for team, turn in match.turns.items():
        if team != body.team and _at_table(match, team, now):
            name = match.name_of(turn.team)
            raise PalestraError(say("{name} is at the table: its turn ends first.", name=name))
    _check_order(match, body)
    return msgspec.structs.replace(body, order=match.setup.groups[body.team])


def _check_referees(match: Match, body: e.TurnBegun) -> None:
    least = match.opened.rules.referees
    if len(set(body.referees)) < max(least, len(body.referees)):
        found = joined(body.referees) or say("none")
        raise PalestraError(
            say("A turn has {least} referees or more, each once; found {found}.", least=least, found=found)
        )
    for referee in body.referees:
        _may_referee(match, referee, body.team)


def _may_referee(match: Match, referee: str, team: str) -> None:
    if referee == match.opened.head:
        raise PalestraError(say("The head referee rules where the others differ, and has no seat of their own."))
    if referee not in match.setup.declared:
        raise PalestraError(say("{referee} has not declared to be neutral yet.", referee=referee))
    if team in match.setup.declared[referee]:
        raise PalestraError(
            say("{referee} has declared a conflict with {name_of}.", referee=referee, name_of=match.name_of(team))
        )


def _at_table(match: Match, team: str, now: int) -> bool:
    turn = copy_of(match.turns[team])
    settle(turn, now)
    return turn.begun_at is not None and not is_over(match.opened, turn, now)


def _check_order(match: Match, body: e.TurnBegun) -> None:
    waiting = [team for team in match.setup.order if match.turns[team].begun_at is None]
    if waiting and waiting[0] != body.team and not body.reason:
        name = match.name_of(waiting[0])
        raise PalestraError(say("{name} is next in the running order. To let another team play, say why.", name=name))
