"""What `palestra contest rehearse` does: who plays what, where it is written down, the standing that it ends in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from palestra import registry
from palestra.contest import Attempt, Contest, Logged, Paper, Player, Rehearsal
from palestra.contest.match import (
    CaseSet,
    Entrant,
    Match,
    MatchOpened,
    Placed,
    Sheet,
    SimulatedCase,
    Who,
    cases_of,
    match_rules,
    phase_of_match,
    ranked,
    shown,
    tallies,
    why,
)
from palestra.contest.match import events as e
from palestra.contest.rules import Phase, Rules, track_of
from palestra.entrants import Called, Entry, open
from palestra.errors import PalestraError, UnknownName
from palestra.live import READY_S, Clock, FastLine, Line, Play, VirtualClock, WallClock
from palestra.records import RefereedMatch, Reply, Tick
from palestra.text import say

HEAD, ORGANISER = Who("head", "head"), Who("organiser", "organiser")
NAME = "rehearsal"  # of a match on paper
Tell = Callable[[str], None]


def on_paper(rules: Rules, home: Path, phase_id: str, words: list[str], which: CaseSet, told: Tell) -> list[Placed]:
    """A whole match in virtual time, written down nowhere; the standing that it ends in."""
    phase = phase_of_match(rules, phase_id)
    challenge, simulate = _simulator(phase, home / phase.data)
    called = open.called(words)
    paper = settled(rules, phase.id, challenge.sheet(home / phase.data, which), [one.name for one in called])
    with ExitStack() as stack:
        Rehearsal(paper, players(called, phase.track, False, stack), simulate, told).play()
    for team, turn in paper.match.turns.items():
        paper.ask(HEAD, e.ResultsPublished(match=NAME, team=team, cases=tuple(turn.cases)))
    return ranked(tallies(paper.match, paper.now, "published"))


def at_a_match(contest: Contest, home: Path, match_id: str, words: list[str], agreed: bool, told: Tell) -> list[Placed]:
    """At a match of the contest that was opened as a rehearsal, in real time; how things stand when all have played."""
    match = contest.state.match(match_id)
    if not match.opened.rehearsal:
        raise PalestraError(
            say(
                "{match_id} is no rehearsal: the simulator plays only in matches that were opened as one.",
                match_id=match_id,
            )
        )
    phase = contest.state.phase(match.opened.phase)
    challenge, simulate = _simulator(phase, home / phase.data)
    _require_cases(match, challenge, home / phase.data)
    called = [Called(_team(match, one.name), one.what) for one in open.called(words)]
    with ExitStack() as stack:
        playing = players(called, phase.track, True, stack)
        Rehearsal(Logged(contest, match_id, agreed), playing, simulate, told).play()
    return ranked(tallies(contest.state.match(match_id), contest.now()))


def _simulator(phase: Phase, data: Path) -> tuple[RefereedMatch, Callable[[Attempt], SimulatedCase]]:
    """What the phase's track has for the table, and its simulator of the phase's cases."""
    found = track_of(phase).match
    if found is None or found.rehearse is None:
        raise PalestraError(say("{track} is not played at the table that is simulated here.", track=phase.track))
    return found, partial(found.rehearse, data)


def _require_cases(match: Match, challenge: RefereedMatch, data: Path) -> None:
    """See that the cases of a match are in the phase's data, hidden or not."""
    wanted = [case.id for _, case in cases_of(match.opened.groups)]
    known = _names(challenge.sheet(data, "practice"))
    if not set(wanted) <= set(known):
        known += _names(challenge.sheet(data, "hidden"))
    if missing := [name for name in wanted if name not in known]:
        raise UnknownName(say("case in {data}", data=data.name), missing[0], known)


def _names(sheet: Sheet) -> list[str]:
    return [case.id for _, case in cases_of(sheet.groups)]


def _team(match: Match, name: str) -> str:
    """By its id or its name."""
    teams = {one.team: one.team for one in match.opened.teams} | {one.name: one.team for one in match.opened.teams}
    if name not in teams:
        raise UnknownName(say("team of this match (TEAM=ENTRANT)"), name, teams)
    return teams[name]


def settled(rules: Rules, phase_id: str, sheet: Sheet, names: Sequence[str]) -> Paper:
    """A match on paper whose referees are neutral and whose order is drawn."""
    readings = match_rules(rules, phase_id)
    played = sheet.first(readings.cases if readings.shape == "exact" else None)
    body = MatchOpened(
        match=NAME,
        phase=phase_id,
        rules=readings,
        groups=played.groups,
        teams=tuple(Entrant(name, name) for name in names),
        head=HEAD.account,
        things=played.things,
        rehearsal=True,
    )
    paper = Paper(body)
    for number in range(1, readings.referees + 1):
        paper.ask(Who(f"referee-{number}", "referee"), e.RefereeDeclared(match=NAME))
    paper.ask(HEAD, e.RefereeDeclared(match=NAME))
    paper.ask(ORGANISER, e.GroupsDrawn(match=NAME, seed=NAME))
    return paper


# Programs


def players(called: Sequence[Called], track_id: str, real: bool, stack: ExitStack) -> dict[str, Player]:
    """Start the programs, or dial them; each is ready when this is done. By team."""
    solutions = {solution.name: solution for solution in registry.solutions(track_id)}
    order = Play()
    clock: Clock = WallClock() if real else VirtualClock()
    found = {}
    for one in called:
        entry = open.open_entry(one, solutions, order.terms([]), stack)
        entry.line.require_ready(READY_S)
        found[entry.name] = Player(entry, _line(entry, clock, order.patience_s), clock)
    return found


def _line(entry: Entry, clock: Clock, patience_s: float) -> Line:
    """How a program is spoken to at this pace."""
    ask = entry.ask
    if not isinstance(clock, VirtualClock):
        return entry.line
    if ask is None:
        raise PalestraError(say("{name} cannot be played to in virtual time.", name=entry.name))

    def asked(tick: Tick) -> tuple[list[Reply], float]:
        return ask(tick, patience_s)

    return FastLine(entry.name, asked, clock, entry.line.dead)


# The standing


def as_record(placed: Placed) -> dict[str, Any]:
    one = placed.tally
    return {
        "rank": placed.rank,
        "team": one.name,
        "score": str(one.score),
        "time_s": one.time_s,
        "full": one.full,
        "variance": str(one.variance),
        "cases": one.cases,
        "published": one.published,
    }


def lines(standing: Sequence[Placed]) -> list[str]:
    """The standing for a terminal, and why each is before the next."""
    rows = []
    for placed in standing:
        one = placed.tally
        score, rank = f"{float(one.score * 10):.2f} of 10", placed.rank or "–"
        rows.append(f"{rank:>3}  {one.name}: {score} in {shown(one.time_s * 1000)}, {one.full} of {one.cases} in full")
    return [*rows, *(why(first.tally, second.tally).en for first, second in pairwise(standing))]
