"""What the big screen and a live run's page are given. See models/public.py."""

from __future__ import annotations

from math import ceil
from typing import Literal

import msgspec

from palestra.text import Words
from palestra.web.models.public import Column, Deadline

MOST_ROWS = 12  # of teams on the screen at once: with more, names are too small to be read from 10 m
RunState = Literal["waiting", "running", "done", "stopped", "failed"]


class ScreenTeam(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    name: str
    rank: int | None = None
    band: int | None = None  # teams of one band cannot be told apart; null: not known
    value: float | None = None
    low: float | None = None
    high: float | None = None
    rounded_to: float | None = None  # the step that value, low and high are rounded to
    decided: int = 0
    missed: int = 0
    latency_s: float | None = None  # median of the newest answers
    slow_s: float | None = None  # their 95th percentile
    just_missed: bool = False  # the newest deadline
    gone: bool = False  # its program could not take part


class ScreenPage(msgspec.Struct, frozen=True, kw_only=True):
    """The hall's big screen: a run that is under way, or else a board."""

    mode: Literal["run", "board"]
    phase: str
    title: Words  # of the phase
    column: Column
    teams: tuple[ScreenTeam, ...] = ()  # in order
    run: str = ""
    sitting: str = ""  # the tester
    sittings: int = 0
    sitting_number: int = 0
    point: int = 0
    points: int = 0
    deadline_s: float | None = None
    ended: bool = False  # the run has just come to its end
    frozen: bool = False
    as_of: int | None = None
    deadline: Deadline | None = None
    live: str = "/live?screen=1"  # where updates come from

    @property
    def pages(self) -> int:
        """More teams than fit are shown on pages, one after the other."""
        return max(ceil(len(self.teams) / MOST_ROWS), 1)

    @property
    def rows(self) -> int:
        """Of one page: all are about as long."""
        return ceil(len(self.teams) / self.pages)


class LiveTeam(msgspec.Struct, frozen=True, kw_only=True):
    """One team in a LivePoint, and in a run's page."""

    team: str
    name: str = ""
    value: float | None = None
    missed: int = 0
    decided: int = 0
    latency_s: float | None = None  # of its newest answer; null where it missed
    gone: bool = False


class LivePoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says after each point, as JSON in the event `point`."""

    run: str
    number: int  # counts through the whole run, from 1
    at_s: float  # since the run's start
    sitting: str
    point: int  # in the sitting
    points: int
    deadline_s: float | None = None
    teams: tuple[LiveTeam, ...]


class LiveNews(msgspec.Struct, frozen=True, kw_only=True):
    """How a run goes on, as its page is sent it."""

    state: RunState
    point: LivePoint | None = None  # the newest one


class LiveVersion(msgspec.Struct, frozen=True, kw_only=True):
    """Another version of a team's program, handed in while the run was under way."""

    team: str
    name: str
    sitting: str  # from which on
    digest: str
    taken: bool = True
    message: str = ""  # why not; for the team and the organiser


class LivePage(msgspec.Struct, frozen=True, kw_only=True):
    run: str
    title: Words  # of the phase
    phase: str
    column: Column
    teams: tuple[LiveTeam, ...]
    state: RunState
    message: str = ""
    started_at: int
    ended_at: int | None = None
    pace: str = "real"
    points: int = 0  # of the whole run
    deadline_s: float | None = None
    history: str = ""  # address that answers {"points": [LivePoint, …]}
    live: str = ""  # address of the event stream
    window: str = ""  # the sitting before which versions can be handed in now
    window_closes: int | None = None
    versions: tuple[LiveVersion, ...] = ()
