"""What `palestra contest rehearse` does: who plays what, where it is written down, the standing that it ends in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from palestra import registry
from palestra.contest import Contest
from palestra.contest.match import (
    Entrant,
    Match,
    MatchOpened,
    MatchRules,
    Placed,
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
from palestra.contest.rules import Phase, Rules
from palestra.entrants import Called, Entry, open
from palestra.errors import PalestraError, UnknownName
from palestra.live import READY_S, Clock, FastLine, Line, Play, VirtualClock, WallClock
from palestra.records import Reply, Tick
from palestra.tracks.tabletop import Logged, Paper, Player, Rehearsal, Settings, catalogue, sheet
from palestra.tracks.tabletop import cases_of as cases_in
from palestra.tracks.tabletop import format as on_disk

HEAD, ORGANISER = Who("head", "head"), Who("organiser", "organiser")
NAME = "rehearsal"  # of a match on paper
Tell = Callable[[str], None]


def on_paper(
    rules: Rules, home: Path, phase_id: str, words: list[str], which: Literal["practice", "hidden"], told: Tell
) -> list[Placed]:
    """A whole match in virtual time, written down nowhere; the standing that it ends in."""
    phase = phase_of_match(rules, phase_id)
    settings = _with_cases(_settings(phase), which)
    called = open.called(words)
    chosen = _fitting(match_rules(rules, phase.id), cases_in(home / phase.data, settings))
    paper = settled(rules, phase.id, chosen, [one.name for one in called])
    with ExitStack() as stack:
        playing = players(called, phase.track, settings, False, stack)
        by_team = {player.entry.name: player for player in playing}
        Rehearsal(paper, by_team, {case.id: case for case in chosen}, told).play()
    for team, turn in paper.match.turns.items():
        paper.ask(HEAD, e.ResultsPublished(match=NAME, team=team, cases=tuple(turn.cases)))
    return ranked(tallies(paper.match, paper.now, "published"))


def at_a_match(contest: Contest, home: Path, match_id: str, words: list[str], agreed: bool, told: Tell) -> list[Placed]:
    """At a match of the contest that was opened as a rehearsal, in real time; how things stand when all have played."""
    match = contest.state.match(match_id)
    if not match.opened.rehearsal:
        raise PalestraError(f"{match_id} is no rehearsal: the simulator plays only in matches that were opened as one.")
    phase = contest.state.phase(match.opened.phase)
    cases = cases_of_match(match, home / phase.data, _settings(phase))
    called = [Called(_team(match, one.name), one.what) for one in open.called(words)]
    with ExitStack() as stack:
        playing = players(called, phase.track, _settings(phase), True, stack)
        by_team = {player.entry.name: player for player in playing}
        Rehearsal(Logged(contest, match_id, agreed), by_team, cases, told).play()
    return ranked(tallies(contest.state.match(match_id), contest.now()))


def _settings(phase: Phase) -> Settings:
    found = registry.track(phase.track, phase.settings).settings
    if found is None or not isinstance(found.values, Settings):
        raise PalestraError(f"{phase.track} is not played at the table that is simulated here.")
    return found.values


def _with_cases(settings: Settings, which: Literal["practice", "hidden"]) -> Settings:
    return msgspec.structs.replace(settings, cases=which)


def _team(match: Match, name: str) -> str:
    """By its id or its name."""
    teams = {one.team: one.team for one in match.opened.teams} | {one.name: one.team for one in match.opened.teams}
    if name not in teams:
        raise UnknownName("team of this match (TEAM=ENTRANT)", name, teams)
    return teams[name]


def _fitting(readings: MatchRules, cases: Sequence[on_disk.Case]) -> list[on_disk.Case]:
    """Rules with an exact number of cases have so many of each group."""
    if readings.shape == "about":
        return list(cases)
    groups = dict.fromkeys(case.group for case in cases)
    return [case for group in groups for case in [one for one in cases if one.group == group][: readings.cases]]


def settled(rules: Rules, phase_id: str, cases: Sequence[on_disk.Case], names: Sequence[str]) -> Paper:
    """A match on paper whose referees are neutral and whose order is drawn."""
    readings, known = match_rules(rules, phase_id), catalogue(cases)
    body = MatchOpened(
        match=NAME,
        phase=phase_id,
        rules=readings,
        groups=sheet(cases, known),
        teams=tuple(Entrant(name, name) for name in names),
        head=HEAD.account,
        things=known.things,
        rehearsal=True,
    )
    paper = Paper(body)
    for number in range(1, readings.referees + 1):
        paper.ask(Who(f"referee-{number}", "referee"), e.RefereeDeclared(match=NAME))
    paper.ask(HEAD, e.RefereeDeclared(match=NAME))
    paper.ask(ORGANISER, e.GroupsDrawn(match=NAME, seed=NAME))
    return paper


def cases_of_match(match: Match, data: Path, settings: Settings) -> dict[str, on_disk.Case]:
    """The cases of a match, from the phase's data, hidden or not."""
    found = {case.id: case for which in ("practice", "hidden") for case in cases_in(data, _with_cases(settings, which))}
    missing = [case.id for _, case in cases_of(match.opened.groups) if case.id not in found]
    if missing:
        raise UnknownName(f"case in {data.name}", missing[0], found)
    return found


# Programs


def players(called: Sequence[Called], track_id: str, settings: Settings, real: bool, stack: ExitStack) -> list[Player]:
    """Start the programs, or dial them; each is ready when this is done."""
    solutions = {solution.name: solution for solution in registry.solutions(track_id)}
    order = Play()
    clock: Clock = WallClock() if real else VirtualClock()
    found = []
    for one in called:
        entry = open.open_entry(one, solutions, order.terms([]), stack)
        entry.line.require_ready(READY_S)
        found.append(Player(entry, _line(entry, clock, order.patience_s), clock, settings))
    return found


def _line(entry: Entry, clock: Clock, patience_s: float) -> Line:
    """How a program is spoken to at this pace."""
    ask = entry.ask
    if not isinstance(clock, VirtualClock):
        return entry.line
    if ask is None:
        raise PalestraError(f"{entry.name} cannot be played to in virtual time.")

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
