"""The rules of a contest, as its organiser wrote them in contest.toml. Times are milliseconds since 1970, UTC."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra import registry
from palestra.errors import UnknownName
from palestra.records import Track
from palestra.text import Words, say

Audience = Literal["everyone", "teams", "organisers"]


class Quota(msgspec.Struct, frozen=True):
    """How often something may be done: in each calendar day or week of the contest's zone, in any stretch of time that
    is so long, or in all."""

    count: int
    per: Literal["day", "week", "window", "phase"]
    window_ms: int = 0  # of a sliding window


class Promotion(msgspec.Struct, frozen=True):
    """Who goes on to a later phase."""

    to: str  # phase
    top: int


class Verification(msgspec.Struct, frozen=True):
    """The bundle that promoted teams hand in, so that their result can be had again."""

    working_days: int  # after promotion was confirmed
    name: str = "{team}_Test.zip"
    limit_bytes: int = 200_000_000
    tolerance: float = 0.0  # by how much an answer may differ from the submitted one


class MatchPlan(msgspec.Struct, frozen=True):
    """How a phase is played at a table before referees; see contest/match/rules.py for what each reading means."""

    preset: Literal["seed", "english", "literal"] = "seed"
    draw: Literal["team", "all", "fixed"] | None = None  # of the order of groups; null: as the preset has it
    counts: Literal["last", "best"] = "last"  # which attempt
    mean: Literal["cases", "groups"] = "cases"  # what a team's score is the mean of
    retries: int = 2  # of a case
    restarts: int = 1  # of a hung program, for a team
    referees: int = 2  # who mark independently, at least
    appeal_ms: int = 1_800_000  # how long after publication a team may appeal
    slot_ms: int = 1_200_000  # of debugging at the table, once for each team
    gap_ms: int = 300_000  # between two teams at the table


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a contest that has its own track, data, time and board."""

    id: str
    title: Words
    about: Words = Words()
    track: str
    settings: dict[str, str] = {}  # the track's readings of its rules, where they differ from the default
    data: str = ""  # a folder beside contest.toml
    opens: int
    closes: int
    entry: Literal["everyone", "promoted"] = "everyone"  # who may take part
    quota: Quota = Quota(5, "day")
    fault_quota: Quota = Quota(20, "day")  # of submissions that fail by their own fault; they cost nothing else
    limit_bytes: int = 200_000_000  # of one submission
    file_name: str = ""  # with {team} and {date}; empty: any name will do
    allow_missing: bool = False  # charge gaps as the track says, instead of refusing the file
    board: Literal["best", "last"] = "best"
    board_for: Audience = "everyone"  # who sees the board
    history_for: Audience = "everyone"  # who sees how each team's score went
    freeze: int | None = None  # from then on the public sees the board as it stood
    freeze_own: Literal["hidden", "shown"] = "hidden"  # what a team sees of its own results while frozen
    scores: Literal["rounded", "exact"] | float = "rounded"  # how teams see them in the phase; a number: to that step
    split: float | None = None  # share of the people that the board shows before the phase's end is revealed
    ties: tuple[str, ...] = ()  # metrics that part equal teams, then "earlier"; empty: as the track says
    pace: Literal["real", "fast"] = "fast"  # of a live track
    timing: Literal["track", "lockstep"] = "track"  # deadlines as the track sets them, or everybody is waited for
    allow_starving: bool = False  # play several bundles in real time though nothing keeps one from starving another
    held: Literal["", "online", "on-stage"] = ""  # of programs: where the hidden data is played; see held_on_stage
    changes: Literal["everything", "weights"] = "everything"  # of a program since the team was promoted with it
    rehearsal: str = ""  # a folder beside contest.toml with what bundles are tried on; empty: synthetic data
    licence: Words = Words()  # what a team accepts before it gets the data
    access: Literal["open", "requested"] = "requested"  # whether the organiser grants each team's request
    promotion: Promotion | None = None
    verification: Verification | None = None
    match: MatchPlan | None = None  # referees judge it at a table


class Award(msgspec.Struct, frozen=True):
    """What the first ones of a board get: 1 first prize, then 3 second prizes, …"""

    phase: str  # whose board; empty: the final standing over all weighted phases
    title: Words
    count: int


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """All of a contest's rules, in one version."""

    id: str
    name: Words
    about: Words = Words()
    organiser: Words = Words()
    zone: str  # "Asia/Shanghai"
    registration_opens: int | None = None  # null: from the start
    registration_closes: int | None = None  # null: until the end
    team_limit: int = 10  # members of a team
    declaration: Words = Words()  # of independence, which a captain accepts; empty: none is asked
    holidays: tuple[str, ...] = ()  # days, as 2022-10-03, that are no working days
    working_weekends: tuple[str, ...] = ()  # Saturdays and Sundays that are
    notice_ms: int = 0  # how long before it counts an amendment must be announced
    phases: tuple[Phase, ...]
    weights: dict[str, float] = {}  # of phases in the final standing; empty: there is none
    awards: tuple[Award, ...] = ()

    def phase(self, phase_id: str) -> Phase:
        for phase in self.phases:
            if phase.id == phase_id:
                return phase
        raise UnknownName(say("phase of this contest"), phase_id, [phase.id for phase in self.phases])


def encode(rules: Rules) -> str:
    """Rules as the log keeps them."""
    return msgspec.json.encode(rules, order="deterministic").decode()


def decode(text: str) -> Rules:
    return msgspec.json.decode(text, type=Rules)


def track_of(phase: Phase) -> Track:
    return registry.track(phase.track, phase.settings)


def held_on_stage(phase: Phase) -> bool:
    """Whether bundles are only rehearsed when they are handed in, and the hidden data is played in a stage run alone: a
    match always, and where the rules do not say, whatever promoted teams enter with programs."""
    if phase.match:
        return True
    return (
        track_of(phase).live and (phase.held or ("on-stage" if phase.entry == "promoted" else "online")) == "on-stage"
    )


Role = Literal["organiser", "referee", "member", "viewer"]
