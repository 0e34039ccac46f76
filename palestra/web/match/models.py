"""What the pages of a match are given, and what programs get at /api/matches. See models/public.py.

A clock is told as a function: it has run `ran_ms`, and since `since` (by the server's clock) it runs on, or it stands.
So a page can show it between two messages, and a server that was away shows the same.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from palestra.contest.match import MatchRules, Part, Standing
from palestra.text import Words

TurnState = Literal["waiting", "next", "playing", "over", "published"]


class Dial(msgspec.Struct, frozen=True):
    ran_ms: int = 0
    since: int | None = None  # null while it stands


class Choice(msgspec.Struct, frozen=True):
    value: str
    label: Words


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the viewer can do now."""

    kind: str
    label: Words
    cost: Words
    wish: dict[str, Any]  # the event to send, once what is needed is filled in
    needs: tuple[str, ...] = ()  # fields that a person fills in
    choices: dict[str, tuple[Choice, ...]] = {}  # of them, what there is to choose from

    @property
    def json(self) -> str:
        """As a button carries it."""
        return msgspec.json.encode(self).decode()


class GoalView(msgspec.Struct, frozen=True):
    id: str
    text: Words
    criterion: Words = Words()


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """A referee, and how far they are with an attempt."""

    account: str
    name: str
    marked: int = 0  # sub-goals that are on
    signed: bool = False
    met: tuple[str, ...] | None = None  # null where the viewer may not know: referees mark on their own
    reason: str = ""  # why they signed again


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    why: str = ""  # of the retry that it is
    counts: bool = False
    seats: tuple[Seat, ...] = ()
    differ: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # names of those who have yet to sign
    ruled: tuple[str, ...] | None = None
    ruling: str = ""  # its reason
    mine: tuple[str, ...] = ()  # what the viewer has switched on
    signed: bool = False  # by the viewer


class SceneView(msgspec.Struct, frozen=True):
    at: int
    by: str  # name
    photo: str
    attempt: int


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    number: int  # in the order that they are played
    group: str
    group_title: Words
    group_number: int
    known: bool = True  # whether the viewer may know what it asks for
    instruction: Words = Words()
    goals: tuple[GoalView, ...] = ()
    things: tuple[int, ...] = ()
    layout: str = ""
    scenes: tuple[SceneView, ...] = ()
    confirmed: bool = False
    entered: str = ""  # the instruction as the referee entered it
    signalled: bool = False
    started_at: int | None = None
    running: bool = False
    ended: str = ""
    dial: Dial = Dial()
    ran_ms: int = 0  # that counts, of a case that has ended
    budget_ms: int = 0
    budget_of: str = ""  # what ends with it: "time" or "match"
    attempts: tuple[AttemptView, ...] = ()
    retries_left: int = 0
    met: tuple[str, ...] = ()  # what counts, or what all referees have marked so far
    total: int = 0
    standing: Standing = "unscored"
    score: str = ""  # exact, once it is agreed
    published_at: int | None = None
    appeal_until: int | None = None
    reasons: tuple[str, ...] = ()  # of rulings and corrections


class PenaltyView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    what: str
    case: str
    points: str
    rule: str
    reason: str
    proposed_by: str
    confirmed_by: str = ""
    withdrawn: str = ""


class NoteView(msgspec.Struct, frozen=True):
    at: int
    by: str
    text: str
    about: str = ""


class AppealView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    case: str
    at: int
    by: str
    reason: str
    upheld: bool | None = None
    answer: str = ""


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    name: str
    state: TurnState
    begun_at: int | None = None
    dial: Dial = Dial()
    total_ms: int
    held: str = ""
    over: bool = False
    frozen: str = ""  # image
    referees: tuple[Seat, ...] = ()
    seated: bool = False  # whether the viewer is one of them
    current: str = ""  # the case at the table
    cases: tuple[CaseView, ...] = ()
    restarts_left: int = 0
    penalties: tuple[PenaltyView, ...] = ()
    conduct: tuple[NoteView, ...] = ()
    appeals: tuple[AppealView, ...] = ()
    flags: tuple[Words, ...] = ()
    strays: tuple[Words, ...] = ()  # what was said too late to have an effect, and why
    score: str = ""  # of the published cases, where all are
    published: int = 0  # cases


class SlotView(msgspec.Struct, frozen=True):
    """A team has the table, for debugging."""

    team: str
    name: str
    opens: int
    closes: int


class TeamLink(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    name: str
    state: TurnState
    order: tuple[str, ...] = ()  # of groups
    appeals: int = 0  # that wait for a decision; for those at the table


class ThingView(msgspec.Struct, frozen=True):
    number: int
    name: Words
    size_mm: tuple[int, ...] = ()
    material: str = ""
    colour: str = ""


class SetupView(msgspec.Struct, frozen=True, kw_only=True):
    """How far the match is prepared."""

    head: bool  # the head referee has declared to be neutral
    referees: int  # others who have
    needed: int
    ordered: bool
    drawn: bool
    seed: str = ""  # of the draw of groups


class MatchView(msgspec.Struct, frozen=True, kw_only=True):
    """A match as someone may see it."""

    match: str
    phase: str
    title: Words
    rules: MatchRules
    part: Part
    account: str = ""
    people: dict[str, str] = {}  # names of referees by their accounts
    head: str  # name
    rehearsal: bool = False
    declared: tuple[str, ...] = ()  # accounts
    setup: SetupView | None = None  # for those at the table
    groups: dict[str, Words] = {}  # titles
    teams: tuple[TeamLink, ...] = ()
    slots: tuple[SlotView, ...] = ()  # for debugging
    turn: TurnView | None = None
    things: tuple[ThingView, ...] = ()
    steps: tuple[Step, ...] = ()
    seq: int = 0
    now: int = 0  # of the server; 0 in what is sent live, where it would be a change by itself


class Round(msgspec.Struct, frozen=True):
    """A debugging slot for each team, one after the other."""

    opens: int
    minutes: int
    gap_minutes: int
    again: bool  # there are slots already


class MatchLink(msgspec.Struct, frozen=True, kw_only=True):
    match: str
    phase: Words
    opened_at: int
    rehearsal: bool
    preset: str
    teams: int
    played: int
    head: str
    part: Part
    slots: tuple[SlotView, ...] = ()  # for debugging
    round: Round | None = None  # the next one that could be planned, for the organiser


class MatchesPage(msgspec.Struct, frozen=True, kw_only=True):
    matches: tuple[MatchLink, ...] = ()
    phases: tuple[tuple[str, Words], ...] = ()  # that a match can be opened for
    packs: tuple[tuple[str, Words], ...] = ()  # phases whose pack is published
    referees: tuple[tuple[str, str], ...] = ()  # accounts and names


class TablePage(msgspec.Struct, frozen=True, kw_only=True):
    """One of the pages of a match."""

    view: MatchView
    asked: str = ""  # the team that was asked for; empty: whoever is at the table
    live: str = ""
    labels: dict[str, Words] = {}  # what each kind of event is called

    @property
    def records(self) -> dict[str, str]:
        """What the page's scripts read."""
        return {name: msgspec.json.encode(getattr(self, name)).decode() for name in ("view", "labels")}
