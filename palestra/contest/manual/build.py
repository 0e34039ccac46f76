"""The published pack: all that teams are told before a match, made from the contest file and the practice cases.

What hidden cases ask for is in it only once every team has played them and all of it is published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from palestra.contest.log import State, Version
from palestra.contest.manual.blocks import Amendment, Block, Grid, Heading, Pack, Prose, Section
from palestra.contest.manual.protocol import protocol, scoring
from palestra.contest.manual.timetable_section import times
from palestra.contest.match import Match, cases_of, match_rules, phase_of_match
from palestra.contest.rules import Phase, Rules, encode, told, track_of
from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.text import Words, say, say_as


class Source(msgspec.Struct, frozen=True):
    """What a pack is made from."""

    rules: Rules
    home: Path  # the folder of the contest file
    phase: str = ""  # empty: the first that is played at a table
    number: int = 0  # of the rules' version; 0: they were not announced
    versions: tuple[Version, ...] = ()  # that were announced
    match: Match | None = None  # of this phase, once it is opened


def source_of(state: State, home: Path, now: int, phase: str = "") -> Source:
    """From a contest that is open; a rehearsal changes nothing in what is published."""
    rules = state.rules(now)
    found = phase_of_match(rules, phase).id
    number = max(number for number, one in enumerate(state.versions, 1) if one.rules == rules)
    moved = msgspec.structs.replace(rules, phases=tuple(state.phase(one.id, now) for one in rules.phases))
    matches = [one for one in state.matches.values() if one.opened.phase == found and not one.opened.rehearsal]
    return Source(moved, home, found, number, tuple(state.versions), matches[-1] if matches else None)


def pack(source: Source) -> Pack:
    rules, phase = source.rules, phase_of_match(source.rules, source.phase)
    readings = match_rules(rules, phase.id)
    sections = [
        _overview(rules, phase),
        protocol(readings),
        scoring(readings, has_final=phase.id in rules.weights),
        *_of_the_challenge(source, phase),
        times(rules, phase, source.match),
        *_played(source.match),
    ]
    return Pack(
        contest=rules.name,
        phase=phase.title,
        organiser=rules.organiser,
        zone=rules.zone,
        number=source.number,
        digest=hashlib.sha256(encode(rules).encode()).hexdigest(),
        amendments=tuple(_amendments(source.versions)),
        sections=tuple(sections),
        id=phase.id,
    )


def data_of(source: Source, phase: Phase) -> Path:
    """The folder with the practice cases: the phase's own, or that of an earlier phase of the same track."""
    same = [phase, *(one for one in source.rules.phases if one.track == phase.track and one.id != phase.id)]
    for one in same:
        folder = source.home / one.data
        if one.data and folder.is_dir() and make.unfinished(folder) is None:
            return folder
    raise PalestraError(
        say(
            "There are no practice cases: {folder} of phase {phase} is not there. `palestra contest init` makes data "
            "that phases lack.",
            folder=phase.data or say("the data folder"),
            phase=phase.id,
        )
    )


def _of_the_challenge(source: Source, phase: Phase) -> Sequence[Section]:
    """What the phase's track says of its cases and its equipment."""
    match = track_of(phase).match
    return match.manual(data_of(source, phase)) if match and match.manual else ()


def _amendments(versions: Sequence[Version]) -> list[Amendment]:
    return [
        Amendment(number, one.announced_at, one.counts_from, one.reason)
        for number, one in reversed(list(enumerate(versions, 1)))
    ]


def _overview(rules: Rules, phase: Phase) -> Section:
    rows = (
        (say("contest"), rules.name),
        (say("phase"), phase.title),
        (say("organiser"), rules.organiser),
        (say("opens"), told(phase.opens, rules.zone)),
        (say("closes"), told(phase.closes, rules.zone)),
        (say("notice of amendments"), _notice(rules)),
    )
    blocks: list[Block] = [Prose(one) for one in (rules.about, phase.about) if one != Words()]
    return Section("overview", say_as("manual", "Overview"), (*blocks, Grid((), rows)))


def _notice(rules: Rules) -> Words:
    hours = rules.notice_ms // 3_600_000
    return say("{hours} h before they count", hours=hours) if hours else say("none")


def _played(match: Match | None) -> list[Section]:
    """What hidden cases asked for, when nobody is to play them any more."""
    if match is None or not all(
        turn.cases and all(case.published_at is not None for case in turn.cases.values())
        for turn in match.turns.values()
    ):
        return []
    head = (say("sub-goal"), say("met when"))
    blocks: list[Block] = []
    for group, case in cases_of(match.opened.groups):
        title = Words(f"{case.id} · {group.title.en}", f"{case.id} · {group.title.zh}")
        rows = tuple((goal.text, goal.criterion) for goal in case.goals)
        blocks += [Heading(title), Prose(case.instruction), Grid(head, rows)]
    return [Section("played", say("Cases that were played"), tuple(blocks))]
