"""What a match looks like to someone: builds views of the state, and nothing in them that is not theirs to know."""

from fractions import Fraction

from palestra.contest import Viewer, sees_bench, sees_turn
from palestra.contest.match import (
    TOTAL_MS,
    Appeal,
    Match,
    Note,
    Penalty,
    Thing,
    Turn,
    Who,
    at_table,
    at_time,
    deducted,
    outcomes_of,
    tally,
)
from palestra.contest.match import turn as flow
from palestra.contest.rules import track_of
from palestra.web.match import models as v
from palestra.web.match.case_view import Eyes, case_view, name_in
from palestra.web.match.messages import who_is
from palestra.web.match.slots import next_round, slots_of
from palestra.web.match.steps import LABELS_BY_KIND, steps_of
from palestra.web.site import Site


def match_view(site: Site, match_id: str, viewer: Viewer, team: str = "", now: int = 0) -> v.MatchView:
    """`now`: of the moment that is told with it; what is sent live has none."""
    match, at = site.state.match(match_id), site.now
    who = who_is(match, viewer)
    opened, inside = match.opened, sees_bench(who)
    shown = team if team in match.turns else who.team if who.part == "team" else team_shown(match, at, who)
    if who.part == "team" and shown != who.team:
        shown = who.team
    people = {one: name_in(site.state, one) for one in _people(match)}
    return v.MatchView(
        match=opened.match,
        phase=opened.phase,
        title=site.state.phase(opened.phase, at).title,
        rules=opened.rules,
        part=who.part,
        account=who.account,
        people=people if inside else {},
        head=people[opened.head],
        rehearsal=opened.rehearsal,
        declared=tuple(match.setup.declared) if inside else (),
        setup=_setup(match) if inside else None,
        groups={group.id: group.title for group in opened.groups},
        teams=tuple(_team_link(match, name, at, inside) for name in _in_order(match)),
        slots=slots_of(match),
        turn=turn_view(site, match, who, shown, at) if shown else None,
        things=tuple(_thing(one) for one in opened.things) if inside else (),
        steps=steps_of(site.state, match, who, at, shown) if who.part != "viewer" else (),
        seq=match.seq,
        now=now,
    )


def _setup(match: Match) -> v.SetupView:
    declared, head = match.setup.declared, match.opened.head
    return v.SetupView(
        head=head in declared,
        referees=sum(one != head for one in declared),
        needed=match.opened.rules.referees,
        ordered=bool(match.setup.order),
        drawn=bool(match.setup.groups),
        seed=match.setup.seed,
    )


def _people(match: Match) -> set[str]:
    seats = {one for turn in match.turns.values() for seat in turn.seats for one in seat}
    return {match.opened.head, *match.setup.declared, *seats}


def _in_order(match: Match) -> list[str]:
    return list(match.setup.order or match.turns)


def team_shown(match: Match, now: int, who: Who | None = None) -> str:
    """The team at the table; else the last one that has something left to sign, or for who publishes to be published;
    else the next; else the last."""
    if found := at_table(match, now):
        return found
    begun = [turn for turn in match.turns.values() if turn.begun_at is not None]
    last = max(begun, key=lambda turn: turn.begun_at or 0).team if begun else ""
    left = ("unscored", "marked", *(["agreed"] if who and who.part in ("head", "organiser") else []))
    if last and any(row.state in left for row in outcomes_of(match, last, now)):
        return last
    waiting = [team for team in _in_order(match) if match.turns[team].begun_at is None]
    return waiting[0] if waiting else last


def _team_link(match: Match, team: str, now: int, inside: bool) -> v.TeamLink:
    return v.TeamLink(
        team=team,
        name=match.name_of(team),
        state=turn_state(match, team, now),
        order=match.setup.groups.get(team, ()),
        appeals=sum(one.upheld is None for one in match.turns[team].appeals.values()) if inside else 0,
    )


def turn_state(match: Match, team: str, now: int) -> v.TurnState:
    turn = at_time(match, team, now)
    if turn.begun_at is None:
        waiting = [one for one in _in_order(match) if match.turns[one].begun_at is None]
        return "next" if waiting[0] == team else "waiting"
    if not flow.is_over(match.opened, turn, now):
        return "playing"
    return "published" if all(case.published_at is not None for case in turn.cases.values()) else "over"


def _thing(one: Thing) -> v.ThingView:
    return v.ThingView(one.number, one.name, one.size_mm, one.material, one.colour)


def turn_view(site: Site, match: Match, who: Who, team: str, now: int) -> v.TurnView:
    turn = at_time(match, team, now)
    opened, inside, mine = match.opened, sees_bench(who), sees_turn(who, team)
    case = None if turn.begun_at is None or flow.is_over(opened, turn, now) else flow.current(opened, turn)
    eyes = Eyes(site.state, match, turn, who, now, {row.case: row for row in outcomes_of(match, team, now)})
    published = sum(one.published_at is not None for one in turn.cases.values())
    return v.TurnView(
        team=team,
        name=match.name_of(team),
        state=turn_state(match, team, now),
        begun_at=turn.begun_at,
        dial=v.Dial(turn.clock.ran_ms, turn.clock.since),
        total_ms=TOTAL_MS,
        held=turn.held,
        over=flow.is_over(opened, turn, now),
        frozen=turn.frozen if mine else "",
        referees=tuple(v.Seat(account=one if inside else "", name=name_in(site.state, one)) for one in turn.referees()),
        seated=who.account in turn.referees(),
        current=case.id if case else "",
        cases=tuple(case_view(eyes, one, number) for number, one in enumerate(turn.cases.values(), 1)),
        restarts_left=max(opened.rules.restarts - len(turn.restarts), 0),
        penalties=tuple(_penalty(eyes, one) for one in turn.penalties.values() if inside or (mine and one.counts)),
        conduct=tuple(_note(eyes, one) for one in turn.conduct) if inside else (),
        appeals=tuple(_appeal(eyes, one) for one in turn.appeals.values()) if mine else (),
        flags=tuple(flow.flags(opened, turn)) if inside else (),
        strays=tuple(match.turn_logs[team].strays.values()) if inside else (),
        score=_score(match, turn, eyes) if turn.cases and published == len(turn.cases) else "",
        published=published,
    )  # fmt: skip


def _score(match: Match, turn: Turn, eyes: Eyes) -> str:
    found = tally(match.opened.rules, turn.team, "", list(eyes.rows.values()), deducted(turn, ""))
    return exact(found.score)


def exact(score: Fraction) -> str:
    """Of 10, as people read it; the fraction is beside it where that was rounded."""
    return f"{float(score * 10):.2f}"


def _penalty(eyes: Eyes, one: Penalty) -> v.PenaltyView:
    return v.PenaltyView(
        id=one.id,
        what=one.what,
        case=one.case,
        points=one.points,
        rule=one.rule,
        reason=one.reason,
        proposed_by=eyes.name(one.proposed_by),
        confirmed_by=eyes.name(one.confirmed_by),
        withdrawn=one.withdrawn,
    )


def _note(eyes: Eyes, one: Note) -> v.NoteView:
    return v.NoteView(one.at, eyes.name(one.by), one.text, one.about)


def _appeal(eyes: Eyes, one: Appeal) -> v.AppealView:
    return v.AppealView(
        id=one.id,
        case=one.case,
        at=one.at,
        by=eyes.name(one.by),
        reason=one.reason,
        upheld=one.upheld,
        answer=one.answer,
    )


# Lists and pages


def matches_page(site: Site, viewer: Viewer) -> v.MatchesPage:
    state, now = site.state, site.now
    phases = state.rules(now).phases if viewer.is_organiser else ()
    judges = [one for one in state.accounts.values() if one.role == "referee" and not one.closed]
    return v.MatchesPage(
        matches=tuple(_link(site, match, viewer) for match in reversed(list(state.matches.values()))),
        phases=tuple((one.id, one.title) for one in phases if track_of(one).match),
        packs=tuple((one.id, one.title) for one in state.rules(now).phases if one.match),
        referees=tuple((one.id, one.name) for one in judges) if viewer.is_organiser else (),
    )


def _link(site: Site, match: Match, viewer: Viewer) -> v.MatchLink:
    return v.MatchLink(
        match=match.opened.match,
        phase=site.state.phase(match.opened.phase, site.now).title,
        opened_at=match.opened_at,
        rehearsal=match.opened.rehearsal,
        preset=match.opened.rules.preset,
        teams=len(match.turns),
        played=sum(turn.begun_at is not None for turn in match.turns.values()),
        head=name_in(site.state, match.opened.head),
        part=who_is(match, viewer).part,
        slots=slots_of(match),
        round=_round(site, match) if viewer.is_organiser else None,
    )


def _round(site: Site, match: Match) -> v.Round:
    state, now = site.state, site.now
    return next_round(match, state.phase(match.opened.phase, now), state.rules(now).zone)


def table_page(site: Site, match_id: str, viewer: Viewer, team: str, topic: str) -> v.TablePage:
    """`topic`: what its page reads live."""
    what = f"{match_id}/{team}" if team else match_id
    view = match_view(site, match_id, viewer, team, site.now)
    return v.TablePage(view=view, asked=team, live=f"/live?{topic}={what}", labels=LABELS_BY_KIND)
