"""What can happen at the referee's table. Its kinds of events are in the contest's log, beside those of log/events.py.

A page asks for something by sending the event that it wants; `match.decide` completes it or refuses it in words.
`key` is the page's own number for a message, so that it counts once however often it arrives. `said_at` is when it was
said, in the server's time as the page knows it; it counts at that time if the log has it later. `queued` says that the
page could not reach the server then: such a message is always kept, and has effect where it fits.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.contest.match.cases import Entrant, Group, Thing
from palestra.contest.match.rules import MatchRules


class _Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    match: str
    key: str = ""
    said_at: int = 0  # ms; 0: when it arrived
    queued: bool = False


class _OfTeam(_Body, frozen=True, kw_only=True):
    team: str


class _OfCase(_OfTeam, frozen=True, kw_only=True):
    case: str


# Before the first team plays


class MatchOpened(_Body, frozen=True, kw_only=True, tag="match.opened"):
    phase: str
    rules: MatchRules
    groups: tuple[Group, ...]
    teams: tuple[Entrant, ...]
    head: str  # account of the head referee
    things: tuple[Thing, ...] = ()  # the numbered catalogue
    rehearsal: bool = False  # the simulator plays in place of the robot


class RefereeDeclared(_Body, frozen=True, kw_only=True, tag="referee.declared"):
    """Whoever signs it is neutral, and neither takes part in a team nor helps one."""

    conflicts: tuple[str, ...] = ()  # teams that they may not referee


class TeamsOrdered(_Body, frozen=True, kw_only=True, tag="teams.ordered"):
    teams: tuple[str, ...] = ()  # first to last; filled by the draw where there is a seed
    seed: str = ""
    reason: str = ""


class Slot(msgspec.Struct, frozen=True):
    team: str
    opens: int
    closes: int


class SlotsPlanned(_Body, frozen=True, kw_only=True, tag="slots.planned"):
    """All of them, as they are from now on."""

    slots: tuple[Slot, ...]
    reason: str = ""  # why other ones than before, or why not the same for all


class GroupsDrawn(_Body, frozen=True, kw_only=True, tag="groups.drawn"):
    seed: str = ""  # told beforehand, or made in public; needless where the order is fixed
    orders: dict[str, tuple[str, ...]] = {}  # of groups, by team; filled by the draw
    reason: str = ""  # of a second draw


# A team, before and around its turn


class ImageTaken(_OfTeam, frozen=True, kw_only=True, tag="image.taken"):
    image: str  # digest
    name: str = ""
    by_way_of: Literal["upload", "registry", "usb"] = "upload"
    core: str = ""  # digests of its parts: core code may not differ from online, weights and configuration may
    weights: str = ""
    configuration: str = ""


class ImageFrozen(_OfTeam, frozen=True, kw_only=True, tag="image.frozen"):
    image: str
    reason: str = ""  # why another one than before


class TurnBegun(_OfTeam, frozen=True, kw_only=True, tag="turn.begun"):
    """The 55 minutes run."""

    referees: tuple[str, ...]
    order: tuple[str, ...] = ()  # of groups, as drawn; filled in
    reason: str = ""  # why out of order


class RefereeReplaced(_OfTeam, frozen=True, kw_only=True, tag="referee.replaced"):
    referee: str
    substitute: str
    reason: str


class ClockHeld(_OfTeam, frozen=True, kw_only=True, tag="clock.held"):
    """For what is not the team's doing: equipment, safety, the hall."""

    reason: str


class ClockReleased(_OfTeam, frozen=True, kw_only=True, tag="clock.released"):
    pass


class TurnClosed(_OfTeam, frozen=True, kw_only=True, tag="turn.closed"):
    reason: str = ""


class ConductNoted(_OfTeam, frozen=True, kw_only=True, tag="conduct.noted"):
    text: str
    case: str = ""


class LogTaken(_OfTeam, frozen=True, kw_only=True, tag="log.taken"):
    """A log may not be altered: its digest is kept from when it was taken."""

    what: Literal["team", "robot"]
    digest: str
    case: str = ""
    bytes: int = 0


# A case


class SceneChecked(_OfCase, frozen=True, kw_only=True, tag="scene.checked"):
    """Signed off: these objects stand as the reference layout has them, as the photo shows."""

    things: tuple[int, ...]
    layout: str
    photo: str  # digest


class SystemConfirmed(_OfCase, frozen=True, kw_only=True, tag="system.confirmed"):
    pass


class InstructionEntered(_OfCase, frozen=True, kw_only=True, tag="instruction.entered"):
    text: str


class SignalGiven(_OfCase, frozen=True, kw_only=True, tag="signal.given"):
    pass


class WeightsHashed(_OfCase, frozen=True, kw_only=True, tag="weights.hashed"):
    when: Literal["before", "after"]
    digest: str


class CaseStarted(_OfCase, frozen=True, kw_only=True, tag="case.started"):
    pass


class CaseStopped(_OfCase, frozen=True, kw_only=True, tag="case.stopped"):
    pass


class CaseRetried(_OfCase, frozen=True, kw_only=True, tag="case.retried"):
    why: Literal["drop", "hang", "pose"]


class ProgramRestarted(_OfCase, frozen=True, kw_only=True, tag="program.restarted"):
    approved_by: str  # referee
    reason: str


class CaseAbandoned(_OfCase, frozen=True, kw_only=True, tag="case.abandoned"):
    pass


# Marks, and what becomes of them


class GoalMarked(_OfCase, frozen=True, kw_only=True, tag="goal.marked"):
    attempt: int
    goal: str
    on: bool
    referee: str = ""  # whose mark; empty: the author's. The simulator marks for others in a rehearsal


class MarksSigned(_OfCase, frozen=True, kw_only=True, tag="marks.signed"):
    """A referee's whole word on an attempt: what holds at its end."""

    attempt: int
    met: tuple[str, ...]
    referee: str = ""
    reason: str = ""  # why another word than before


class CaseRuled(_OfCase, frozen=True, kw_only=True, tag="case.ruled"):
    attempt: int
    met: tuple[str, ...]
    reason: str


class TimeCorrected(_OfCase, frozen=True, kw_only=True, tag="time.corrected"):
    ran_ms: int
    reason: str


class ResultsPublished(_OfTeam, frozen=True, kw_only=True, tag="results.published"):
    cases: tuple[str, ...]


class AppealMade(_OfCase, frozen=True, kw_only=True, tag="appeal.made"):
    appeal: str
    reason: str


class AppealDecided(_OfTeam, frozen=True, kw_only=True, tag="appeal.decided"):
    appeal: str
    upheld: bool
    reason: str


# Penalties: nothing is automatic, and it takes two


class PenaltyProposed(_OfTeam, frozen=True, kw_only=True, tag="penalty.proposed"):
    penalty: str
    what: Literal["points", "result", "team"]  # some points, the result of a case, or the team
    rule: str
    reason: str
    case: str = ""  # empty: of the whole turn
    points: str = ""  # as a part of 1: "1/10"


class PenaltyConfirmed(_OfTeam, frozen=True, kw_only=True, tag="penalty.confirmed"):
    penalty: str


class PenaltyWithdrawn(_OfTeam, frozen=True, kw_only=True, tag="penalty.withdrawn"):
    penalty: str
    reason: str


class EventUndone(_Body, frozen=True, kw_only=True, tag="match.undone"):
    """The last event of one's own, in a team's turn or before all turns, is as if it had not been."""

    undoes: str  # its key, or "#" and its number in the log
    team: str = ""
    reason: str = ""


MatchBody = (
    MatchOpened
    | RefereeDeclared
    | TeamsOrdered
    | SlotsPlanned
    | GroupsDrawn
    | ImageTaken
    | ImageFrozen
    | TurnBegun
    | RefereeReplaced
    | ClockHeld
    | ClockReleased
    | TurnClosed
    | ConductNoted
    | LogTaken
    | SceneChecked
    | SystemConfirmed
    | InstructionEntered
    | SignalGiven
    | WeightsHashed
    | CaseStarted
    | CaseStopped
    | CaseRetried
    | ProgramRestarted
    | CaseAbandoned
    | GoalMarked
    | MarksSigned
    | CaseRuled
    | TimeCorrected
    | ResultsPublished
    | AppealMade
    | AppealDecided
    | PenaltyProposed
    | PenaltyConfirmed
    | PenaltyWithdrawn
    | EventUndone
)


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An event of a match, in its place in the log."""

    seq: int
    at: int
    by: str
    body: MatchBody

    @property
    def when(self) -> int:
        """When it counts: when it was said, and never later than the log had it."""
        return min(self.body.said_at or self.at, self.at)

    @property
    def place(self) -> tuple[int, bool, int, str, int]:
        """Where it stands among others: by when it was said, then by the page's own count, then as it was logged."""
        key = self.body.key
        return self.when, not key, len(key), key, self.seq
