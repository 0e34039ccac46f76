"""Which kinds of events a match has: how each is taken, who may do it, whether it can wait or be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from palestra.contest.match import events as e
from palestra.contest.match import marks, penalties, setup
from palestra.contest.match import turn as flow
from palestra.contest.match.events import Entry, MatchOpened

Part = Literal["organiser", "head", "referee", "team", "simulator", "viewer"]
_Step = Callable[[MatchOpened, Any, Entry, Any], None]
_TABLE: tuple[Part, ...] = ("referee", "head", "simulator")
_ALL: tuple[Part, ...] = ("organiser", *_TABLE)


class Who(msgspec.Struct, frozen=True):
    """Whoever asks."""

    account: str
    part: Part
    team: str = ""


class Kind(msgspec.Struct, frozen=True):
    """How one kind of event is taken."""

    step: _Step
    parts: tuple[Part, ...]
    may_wait: bool = False  # a page without a connection may send it later
    undone: bool = True  # can be undone by who did it


SETUP: dict[type, Kind] = {
    e.RefereeDeclared: Kind(setup.declared, ("referee", "head")),
    e.TeamsOrdered: Kind(setup.ordered, ("organiser", "head")),
    e.SlotsPlanned: Kind(setup.planned, ("organiser", "head")),
    e.GroupsDrawn: Kind(setup.drawn, ("organiser", "head"), undone=False),
}
TURN: dict[type, Kind] = {
    e.ImageTaken: Kind(flow.image_taken, _ALL),
    e.ImageFrozen: Kind(flow.image_frozen, _ALL),
    e.TurnBegun: Kind(flow.begun, _TABLE),
    e.RefereeReplaced: Kind(flow.replaced, ("head",)),
    e.ClockHeld: Kind(flow.held, ("head",), may_wait=True),
    e.ClockReleased: Kind(flow.released, ("head",), may_wait=True),
    e.TurnClosed: Kind(flow.closed, _TABLE),
    e.ConductNoted: Kind(flow.conduct_noted, _TABLE, may_wait=True),
    e.LogTaken: Kind(flow.log_taken, _ALL),
    e.SceneChecked: Kind(flow.scene_checked, _TABLE, may_wait=True),
    e.SystemConfirmed: Kind(flow.confirmed, ("team", *_TABLE), may_wait=True),
    e.InstructionEntered: Kind(flow.instructed, _TABLE, may_wait=True),
    e.SignalGiven: Kind(flow.signalled, ("team", *_TABLE), may_wait=True),
    e.WeightsHashed: Kind(flow.weights_hashed, _ALL),
    e.CaseStarted: Kind(flow.started, _TABLE, may_wait=True),
    e.CaseStopped: Kind(flow.stopped, _TABLE, may_wait=True),
    e.CaseRetried: Kind(flow.retried, _TABLE, may_wait=True),
    e.ProgramRestarted: Kind(flow.restarted, _TABLE, may_wait=True),
    e.CaseAbandoned: Kind(flow.abandoned, _TABLE, may_wait=True),
    e.GoalMarked: Kind(marks.marked, ("referee", "simulator"), may_wait=True),
    e.MarksSigned: Kind(marks.signed, ("referee", "simulator"), may_wait=True),
    e.CaseRuled: Kind(marks.ruled, ("head",)),
    e.TimeCorrected: Kind(marks.time_corrected, ("head",)),
    e.ResultsPublished: Kind(marks.published, ("head",), undone=False),
    e.AppealMade: Kind(marks.appealed, ("team", "head")),
    e.AppealDecided: Kind(marks.decided, ("head",), undone=False),
    e.PenaltyProposed: Kind(penalties.proposed, ("referee", "head")),
    e.PenaltyConfirmed: Kind(penalties.confirmed, ("referee", "head"), undone=False),
    e.PenaltyWithdrawn: Kind(penalties.withdrawn, ("referee", "head"), undone=False),
}
KINDS = {**SETUP, **TURN}
UNDO = Kind(lambda *_: None, (*_ALL, "team"), may_wait=True)
# A reason is always needed here; elsewhere a step asks for it where something is said for the second time.
REASONED = (
    *(e.RefereeReplaced, e.ClockHeld, e.ProgramRestarted, e.CaseRuled, e.TimeCorrected, e.AppealMade),
    *(e.AppealDecided, e.PenaltyProposed, e.PenaltyWithdrawn),
)
