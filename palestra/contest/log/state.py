"""What is so in a contest after some of its events: accounts, teams, phases, submissions and what became of them.

The records here are changed by reducer.py alone. Whatever a board may be asked for at an earlier time carries the time
from which it holds.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from palestra.contest.log.events import BundleParts, Promoted, Rehearsal
from palestra.contest.match import Match, OnSite
from palestra.contest.rules import Phase, Role, Rules
from palestra.errors import Missing, PalestraError, UnknownName
from palestra.executors import Machine
from palestra.records import Estimate
from palestra.text import Words, say, say_as

Stage = Literal[
    "checking", "queued", "ready", "running", "scored", "refused", "failed", "faulted", "cancelled", "withdrawn",
]  # fmt: skip
UNDER_WAY = ("checking", "queued", "running")


class Account(msgspec.Struct, array_like=True):
    """Someone who can sign in."""

    id: str
    name: str
    role: Role
    email: str = ""
    team: str = ""
    closed: bool = False
    made_at: int = 0
    joined_at: int = 0  # its team


class Access(msgspec.Struct, array_like=True):
    """Whether a team gets a phase's data."""

    requested_at: int
    licence: str
    granted: bool = False
    refused: str = ""  # why


class Out(msgspec.Struct, array_like=True):
    """A disqualification."""

    since: int
    reason: str
    until: int | None = None  # when the team was taken back


class Team(msgspec.Struct, array_like=True):
    id: str
    name: str
    captain: str
    made_at: int
    members: list[str] = []
    invitations: dict[str, int] = {}  # digests that are still open, and when they were made
    declared: str = ""  # digest of the declaration that was accepted
    out: dict[str, list[Out]] = {}  # disqualified, by phase; "" is all of them
    access: dict[str, Access] = {}  # by phase
    declared_at: int = 0  # when the declaration was accepted


class Score(msgspec.Struct, array_like=True):
    """What one attempt earned."""

    at: int  # when it was made
    counts_from: int | None  # null while the re-scoring that it belongs to is not applied
    attempt: int
    metrics: dict[str, Estimate]
    draws: str = ""
    shown: dict[str, Estimate] = {}
    shown_draws: str = ""
    result: str = ""
    report: str = ""
    files: dict[str, str] = {}
    rescoring: str = ""


class Mishap(msgspec.Struct, array_like=True):
    """An attempt that came to nothing."""

    attempt: int
    at: int
    fault: Literal["platform", "contestant"]
    message: Words
    trace: str
    last: bool


class Submission(msgspec.Struct, array_like=True):
    """What a team sent in. Its stage says what became of it: `failed` by the contestant's fault, `faulted` by ours;
    `ready` is a bundle that was rehearsed and waits for the stage."""

    id: str
    team: str
    phase: str
    file: str
    name: str
    bytes: int
    at: int
    by: str
    stage: Stage = "checking"
    stage_at: int = 0
    attempt: int = 0
    message: Words = Words()  # for the contestant
    faults: list[Words] = []
    fault_count: int = 0
    mishaps: list[Mishap] = []
    scores: list[Score] = []  # in the order that they were made
    withdrawn_at: int | None = None
    baseline: str = ""
    rehearsal: Rehearsal | None = None
    parts: BundleParts | None = None

    def score_at(self, as_of: int) -> Score | None:
        """The score that counted at a time: the newest one, whatever came of it later."""
        counted = [one for one in self.scores if one.counts_from is not None and one.counts_from <= as_of]
        newest_first = reversed(counted)  # of those that count from the same moment, the one that was made last
        return max(newest_first, key=lambda one: one.counts_from or 0, default=None)


class Bundle(msgspec.Struct, array_like=True):
    """What a promoted team handed in for verification."""

    id: str
    team: str
    phase: str
    file: str
    name: str
    bytes: int
    at: int
    late: bool
    outcome: Literal["", "reproduced", "differs", "failed"] = ""
    of: str = ""
    message: Words = Words()
    report: str = ""
    rows: int = 0
    different: int = 0
    worst: float = 0.0


class Compliance(msgspec.Struct, array_like=True):
    ok: bool
    reasons: str
    at: int
    by: str


class Rescoring(msgspec.Struct, array_like=True):
    id: str
    phase: str
    submissions: list[str]
    reason: str
    at: int
    by: str
    state: Literal["open", "applied", "cancelled"] = "open"
    failed: dict[str, Words] = {}  # submissions that could not be scored again, and why


class Promotion(msgspec.Struct, array_like=True):
    phase: str
    to: str
    teams: list[Promoted]
    left_out: list[Promoted]
    at: int
    by: str
    reason: str
    since: dict[str, int] = {}  # when each team was promoted: who moved up later has its bundle due later


class Window(msgspec.Struct, array_like=True):
    """When teams of a run may hand in another version."""

    sitting: str  # that follows it
    opens: int
    closes: int


class Taken(msgspec.Struct, array_like=True):
    """Another version of a team's program, and whether it plays."""

    sitting: str  # from which on
    submission: str
    at: int
    message: Words = Words()  # why it does not


class Run(msgspec.Struct, array_like=True):
    id: str
    phase: str
    submissions: list[str]
    pace: str
    at: int
    outcome: Literal["", "done", "stopped", "failed"] = ""
    ended_at: int = 0
    recording: str = ""
    message: Words = Words()
    windows: list[Window] = []
    versions: list[Taken] = []

    def window_at(self, at: int) -> Window | None:
        return next((one for one in self.windows if one.opens <= at < one.closes), None)


class Announcement(msgspec.Struct, array_like=True):
    id: str
    title: Words
    text: Words
    at: int


class Version(msgspec.Struct, array_like=True):
    """The rules from some time on."""

    rules: Rules
    counts_from: int
    announced_at: int
    reason: str


class Times(msgspec.Struct, array_like=True):
    """When a phase is open, if it was moved."""

    at: int
    opens: int
    closes: int
    reason: str


class Copy(msgspec.Struct, array_like=True):
    submission: str
    of: str
    share: float
    exact: bool
    at: int


_open_submission = msgspec.msgpack.Decoder(Submission).decode


class Shelf(dict[str, Submission]):
    """Submissions by their ids. Those from a snapshot are opened when somebody asks for them: of a long contest most
    never are, and a server starts at once."""

    def __getitem__(self, key: str) -> Submission:
        found = super().__getitem__(key)
        if isinstance(found, msgspec.Raw):
            found = _open_submission(found)
            self[key] = found
        return found

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - that would be this very function

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]


class State(msgspec.Struct):
    """Everything that the events up to `seq` say."""

    seq: int = 0
    at: int = 0
    hash: str = ""
    versions: list[Version] = []
    moved: dict[str, list[Times]] = {}
    accounts: dict[str, Account] = {}
    names: dict[str, str] = {}  # account by what one signs in with, in lower case
    teams: dict[str, Team] = {}
    submissions: dict[str, Submission] = {}
    of_team: dict[str, dict[str, list[str]]] = {}  # submissions by phase and team, baselines by "baseline:NAME"
    bundles: dict[str, Bundle] = {}
    compliance: dict[str, dict[str, Compliance]] = {}  # by phase and team
    rescorings: dict[str, Rescoring] = {}
    promotions: dict[str, Promotion] = {}  # by the phase that they come from
    truth: dict[str, dict[str, int]] = {}  # teams that a phase's truth was released to, and when
    packs: dict[str, dict[str, tuple[str, int]]] = {}  # by phase and part: digest and bytes
    frozen: dict[str, int] = {}  # phases frozen by hand, since when
    released: dict[str, int] = {}  # phases whose board is shown in full, since when
    awards: dict[str, dict[str, int]] = {}  # by place in the rules: teams, and the event that gave it to each
    announcements: list[Announcement] = []
    copies: list[Copy] = []
    runs: dict[str, Run] = {}
    machines: dict[str, Machine] = {}  # by the worker that told of it
    matches: dict[str, Match] = {}  # at the referees' table
    on_site: dict[str, dict[str, list[OnSite]]] = {}  # what is published of them, by phase and team

    def rules(self, at: int | None = None) -> Rules:
        """The rules in force."""
        at = self.at if at is None else at
        if not self.versions:
            raise PalestraError(say("This contest has not been opened yet: run `palestra contest init`."))
        held = [version.rules for version in self.versions if version.counts_from <= at]
        return held[-1] if held else self.versions[0].rules

    def phase(self, phase_id: str, at: int | None = None) -> Phase:
        """A phase as it is in force, with the times that it was moved to."""
        at = self.at if at is None else at
        phase = self.rules(at).phase(phase_id)
        if phase_id not in self.moved:
            return phase
        since = self._timed_at(phase_id, at)
        moves = [times for times in self.moved[phase_id] if since <= times.at <= at]
        return msgspec.structs.replace(phase, opens=moves[-1].opens, closes=moves[-1].closes) if moves else phase

    def _timed_at(self, phase_id: str, at: int) -> int:
        """Since when the rules say these times of a phase: an amendment of something else does not undo a move."""
        since, times = 0, (0, 0)
        for version in self.versions:
            for phase in version.rules.phases:
                if version.counts_from <= at and phase.id == phase_id and (phase.opens, phase.closes) != times:
                    since, times = version.counts_from, (phase.opens, phase.closes)
        return since

    def team(self, team_id: str) -> Team:
        if not team_id:
            raise PalestraError(say("You are in no team. Make one, or join one by its invitation."))
        if team_id not in self.teams:
            raise UnknownName(say_as("kind", "team"), team_id, list(self.teams)[:1000])
        return self.teams[team_id]

    def submission(self, submission_id: str) -> Submission:
        if submission_id not in self.submissions:
            raise PalestraError(say("There is no submission {submission!r}.", submission=submission_id))
        return self.submissions[submission_id]

    def match(self, match_id: str) -> Match:
        if match_id not in self.matches:
            raise Missing(say("There is no such match."))
        return self.matches[match_id]

    def is_promoted(self, team_id: str, to: str) -> bool:
        return any(
            promotion.to == to and any(one.team == team_id for one in promotion.teams)
            for promotion in self.promotions.values()
        )

    def out(self, team_id: str, phase_id: str, at: int | None = None) -> Out | None:
        """Whether a team is disqualified from a phase."""
        at = self.at if at is None else at
        team = self.teams.get(team_id)
        found = [one for key in ("", phase_id) for one in team.out.get(key, [])] if team else []
        return next((one for one in found if one.since <= at and (one.until is None or one.until > at)), None)


class _Kept(State):
    """A state as a snapshot has it, its submissions unopened."""

    submissions: dict[str, msgspec.Raw] = {}  # type: ignore[assignment]


def unpacked(packed: bytes | memoryview | msgspec.Raw) -> State:
    """A state from a snapshot."""
    kept = msgspec.msgpack.decode(packed, type=_Kept)
    fields = {name: getattr(kept, name) for name in State.__struct_fields__}
    return State(**{**fields, "submissions": Shelf(kept.submissions)})  # type: ignore[arg-type]
