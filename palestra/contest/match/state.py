"""What is so at the referee's table after some of its events. Changed by the steps of this room alone.

Whatever can be known from these records and the time (a clock, a time-out, a case's state) is not kept in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from palestra.contest.match.cases import Case, Group, cases_of
from palestra.contest.match.clock import Clock
from palestra.contest.match.events import Entry, MatchOpened, Slot
from palestra.errors import PalestraError, clip
from palestra.text import Words, joined, say

Ended = Literal["", "stopped", "time", "match", "abandoned"]  # "match": the 55 minutes ended within the case


def unknown(what: Words, name: str, known: Iterable[str]) -> PalestraError:
    """A name that this match does not have."""
    names = joined(known) or say("none")
    return PalestraError(
        say("There is no {what} {name} here. Known: {names}.", what=what, name=clip(name), names=names)
    )


class Note(msgspec.Struct, array_like=True):
    """Something that was written down."""

    at: int
    by: str
    text: str
    about: str = ""  # case


class Scene(msgspec.Struct, array_like=True):
    at: int
    by: str
    things: tuple[int, ...]
    layout: str
    photo: str
    attempt: int  # before which it was checked


class Attempt(msgspec.Struct, array_like=True):
    began_at: int
    why: str = ""  # of the retry that it is


class Held(msgspec.Struct, array_like=True):
    """How one referee has one sub-goal."""

    on: bool
    at: int
    first_at: int | None = None  # when it was first on


class Signature(msgspec.Struct, array_like=True):
    referee: str
    attempt: int
    met: tuple[str, ...]
    at: int
    reason: str = ""


class Ruling(msgspec.Struct, array_like=True):
    met: tuple[str, ...]
    at: int
    by: str
    reason: str


class Digest(msgspec.Struct, array_like=True):
    at: int
    by: str
    digest: str
    what: str
    case: str = ""


class Appeal(msgspec.Struct, array_like=True):
    id: str
    case: str
    at: int
    by: str
    reason: str
    upheld: bool | None = None
    answer: str = ""
    decided_at: int = 0


class CaseState(msgspec.Struct, array_like=True):
    """A case in one team's turn."""

    id: str
    group: str
    scenes: list[Scene] = []
    confirmed_at: int | None = None
    instruction: str = ""
    signalled_at: int | None = None
    clock: Clock = msgspec.field(default_factory=Clock)
    budget_ms: int = 0  # what it may run, set when it starts: its limit, its group's rest or the match's
    budget_of: Ended = ""  # what ends with it: "time" or "match"
    started_at: int | None = None
    ended: Ended = ""
    ended_at: int = 0
    ended_by: str = ""
    attempts: list[Attempt] = []
    marks: dict[str, dict[int, dict[str, Held]]] = {}  # by referee, attempt and sub-goal
    signatures: list[Signature] = []
    rulings: dict[int, Ruling] = {}  # by attempt
    corrected_ms: int | None = None
    corrections: list[Note] = []  # of what had been written or published
    published_at: int | None = None

    @property
    def running(self) -> bool:
        return self.started_at is not None and not self.ended

    def ran_ms(self, now: int) -> int:
        if self.corrected_ms is not None:
            return self.corrected_ms
        return min(self.clock.elapsed(now), self.budget_ms)


class Image(msgspec.Struct, array_like=True):
    image: str
    name: str
    by_way_of: str
    core: str
    weights: str
    configuration: str
    at: int


class Penalty(msgspec.Struct, array_like=True):
    id: str
    what: Literal["points", "result", "team"]
    case: str
    points: str
    rule: str
    reason: str
    at: int
    proposed_by: str
    confirmed_by: str = ""
    withdrawn: str = ""  # why

    @property
    def open(self) -> bool:
        return not self.confirmed_by and not self.withdrawn

    @property
    def counts(self) -> bool:
        return bool(self.confirmed_by) and not self.withdrawn


class Restart(msgspec.Struct, array_like=True):
    case: str
    at: int
    approved_by: str
    reason: str


class Turn(msgspec.Struct, array_like=True):
    """One team at the table, and what comes before and after."""

    team: str
    images: list[Image] = []
    frozen: str = ""  # image
    begun_at: int | None = None
    closed_at: int | None = None
    clock: Clock = msgspec.field(default_factory=Clock)
    held: str = ""  # why the clock stands
    seats: list[list[str]] = []  # referees; of each seat who had it, the last one has it now
    cases: dict[str, CaseState] = {}  # in the order that they are played
    restarts: list[Restart] = []
    penalties: dict[str, Penalty] = {}
    conduct: list[Note] = []
    weights: list[Digest] = []
    logs: list[Digest] = []
    appeals: dict[str, Appeal] = {}

    def referees(self) -> list[str]:
        return [seat[-1] for seat in self.seats]


class OnSite(msgspec.Struct, array_like=True):
    """A team's result at a table, from a moment on."""

    at: int
    match: str
    numbers: dict[str, str] = {}  # the track's metrics as exact fractions: "17/25"; empty: none is published
    out: str = ""  # why the team is disqualified

    @property
    def says(self) -> tuple[dict[str, str], str] | None:
        return (self.numbers, self.out) if self.numbers or self.out else None


class Setup(msgspec.Struct, array_like=True):
    """What is settled before all turns."""

    declared: dict[str, tuple[str, ...]] = {}  # referees, and the teams that they may not referee
    order: tuple[str, ...] = ()  # of teams
    slots: tuple[Slot, ...] = ()
    groups: dict[str, tuple[str, ...]] = {}  # their order, by team
    seed: str = ""


class Log(msgspec.Struct, array_like=True):
    """The events of a turn, or of the set-up, in the order that they count."""

    entries: list[Entry] = []
    strays: dict[int, Words] = {}  # those without effect, by number in the log, and why


class Match(msgspec.Struct):
    """A match: what it was opened with, its set-up and its turns."""

    opened: MatchOpened
    opened_at: int
    setup: Setup = msgspec.field(default_factory=Setup)
    setup_log: Log = msgspec.field(default_factory=Log)
    turns: dict[str, Turn] = {}
    turn_logs: dict[str, Log] = {}
    keys: dict[str, int] = {}  # of messages that came, by author, and their numbers in the log
    seq: int = 0  # of the last event

    def turn(self, team: str) -> Turn:
        if team not in self.turns:
            raise unknown(say("team"), team, self.turns)
        return self.turns[team]

    def name_of(self, team: str) -> str:
        return next((one.name for one in self.opened.teams if one.team == team), team)


def case_of(opened: MatchOpened, case_id: str) -> tuple[Group, Case]:
    for group, case in cases_of(opened.groups):
        if case.id == case_id:
            return group, case
    raise unknown(say("case"), case_id, [case.id for _, case in cases_of(opened.groups)])


def copy_of(turn: Turn) -> Turn:
    """To look at another time, or to try something."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(turn), type=Turn)
