"""What can happen in a contest. An event is never edited: a correction is another one, with author and reason.

Each kind is `noun.past`. Fields name things by their ids; what is large (files, reports, tracebacks) lies in the file
store, and an event keeps its digest.

What we say to people stands in English, with its Chinese in a field `_zh` beside it: empty where it is the same, and in
events that were written before there was one.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.contest.match import MatchBody
from palestra.contest.rules import Role
from palestra.executors import Machine
from palestra.records import Estimate
from palestra.text import Words


class _Body(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True):
    pass


# The contest and its rules


class ContestOpened(_Body, frozen=True, tag="contest.opened"):
    rules: str  # encoded, as rules.py writes them
    home: str = ""  # what made it: "palestra 0.2.0"


class RulesAmended(_Body, frozen=True, tag="rules.amended"):
    rules: str
    counts_from: int  # ms; boards before that time follow the rules before
    reason: str


class AnnouncementMade(_Body, frozen=True, tag="announcement.made"):
    announcement: str
    title: Words
    text: Words


class PhaseMoved(_Body, frozen=True, tag="phase.moved"):
    """An organiser opens or closes a phase at another time than the rules said."""

    phase: str
    opens: int
    closes: int
    reason: str


# People and teams


class AccountMade(_Body, frozen=True, tag="account.made"):
    account: str
    name: str  # what one signs in with
    role: Role
    email: str = ""


class RoleChanged(_Body, frozen=True, tag="role.changed"):
    account: str
    role: Role
    reason: str


class AccountClosed(_Body, frozen=True, tag="account.closed"):
    account: str
    reason: str


class PasswordChanged(_Body, frozen=True, tag="password.changed"):
    """Somebody chose a new password; neither it nor anything made from it is here."""

    account: str
    tokens: Literal["ended", "kept"]  # the account's API tokens, as they chose
    by_link: bool = False  # without the password before: with a one-time link


class TeamMade(_Body, frozen=True, tag="team.made"):
    team: str
    name: str
    captain: str  # account
    declared: str = ""  # digest of the declaration of independence that was accepted


class DeclarationAccepted(_Body, frozen=True, tag="declaration.accepted"):
    """A team that is there already accepts a declaration whose text is another one than it accepted before."""

    team: str
    declared: str  # digest of the text


class TeamRenamed(_Body, frozen=True, tag="team.renamed"):
    team: str
    name: str


class MemberInvited(_Body, frozen=True, tag="member.invited"):
    team: str
    invitation: str  # digest of the secret that the invited person brings


class InvitationWithdrawn(_Body, frozen=True, tag="invitation.withdrawn"):
    team: str
    invitation: str


class MemberJoined(_Body, frozen=True, tag="member.joined"):
    team: str
    account: str
    invitation: str


class MemberLeft(_Body, frozen=True, tag="member.left"):
    team: str
    account: str
    reason: str = ""


class CaptainChanged(_Body, frozen=True, tag="captain.changed"):
    team: str
    account: str


class TeamDisqualified(_Body, frozen=True, tag="team.disqualified"):
    team: str
    reason: str
    phase: str = ""  # empty: from all of them


class TeamReinstated(_Body, frozen=True, tag="team.reinstated"):
    team: str
    reason: str
    phase: str = ""


# Data


class AccessRequested(_Body, frozen=True, tag="access.requested"):
    team: str
    phase: str
    licence: str  # digest of the text that was accepted


class AccessGranted(_Body, frozen=True, tag="access.granted"):
    team: str
    phase: str


class AccessRefused(_Body, frozen=True, tag="access.refused"):
    team: str
    phase: str
    reason: str


class DataPacked(_Body, frozen=True, tag="data.packed"):
    """A phase's contestant view, or its truth, lies in the file store."""

    phase: str
    part: Literal["view", "truth", "starter"]
    file: str  # digest
    bytes: int


class TruthReleased(_Body, frozen=True, tag="truth.released"):
    phase: str  # whose truth
    teams: tuple[str, ...]
    reason: str


# Submissions


class SubmissionMade(_Body, frozen=True, tag="submission.made"):
    submission: str
    team: str  # empty for a baseline of the organiser
    phase: str
    file: str  # digest in the file store
    name: str
    bytes: int
    baseline: str = ""  # its name on the board, unranked


class SubmissionRefused(_Body, frozen=True, tag="submission.refused"):
    """Checked, and not taken: the contestant's fault, in words."""

    submission: str
    faults: tuple[str, ...]
    count: int
    faults_zh: tuple[str, ...] = ()  # the same in Chinese, one for each
    trace: str = ""  # digest of what only the organiser reads, where the reader had no words for what it met


class Rehearsal(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a bundle did on data that anybody may see, before a phase that is held on stage."""

    asked: int  # decisions
    answered: int  # in time, with something that can be scored
    latency_ms: float | None = None  # the median
    missed: Words = Words()  # why the first one has no answer


class BundleParts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a bundle is made of, as digests; empty where it has none of that."""

    code: str = ""
    weights: str = ""
    configuration: str = ""
    of: str = ""  # the submission whose code this one is to have
    changed: tuple[str, ...] = ()  # files of code that are others than in that, or gone; the first of them


class SubmissionAccepted(_Body, frozen=True, tag="submission.accepted"):
    """Checked, and queued; a bundle that was rehearsed waits for the stage instead."""

    submission: str
    rehearsal: Rehearsal | None = None
    parts: BundleParts | None = None


class SubmissionWithdrawn(_Body, frozen=True, tag="submission.withdrawn"):
    submission: str
    reason: str


class AttemptStarted(_Body, frozen=True, tag="attempt.started"):
    submission: str
    attempt: int
    worker: str


class AttemptFailed(_Body, frozen=True, tag="attempt.failed"):
    submission: str
    attempt: int
    fault: Literal["platform", "contestant"]
    message: str  # for the contestant
    trace: str = ""  # digest of what only the organiser reads
    last: bool = False  # no further attempt follows by itself
    message_zh: str = ""


class AttemptCancelled(_Body, frozen=True, tag="attempt.cancelled"):
    submission: str
    reason: str


class ResultMade(_Body, frozen=True, tag="result.made"):
    submission: str
    attempt: int
    metrics: dict[str, Estimate]  # on everything
    result: str = ""  # digest of the whole Result
    draws: str = ""  # digest of the ranking metric's resamples, float32; empty where there are too few units
    shown: dict[str, Estimate] = {}  # on the part that the board shows before the end, where there is a split
    shown_draws: str = ""
    report: str = ""  # digest of the page
    files: dict[str, str] = {}  # what else came of it, by name
    rescoring: str = ""  # the set that it belongs to; it counts once that is applied


class ReportMade(_Body, frozen=True, tag="report.made"):
    """The pages of a result, which take longer to make than the result."""

    submission: str
    scores: str  # digest of the scores that they show
    report: str  # for the team
    full: str = ""  # for the organiser, with pictures
    rescoring: str = ""  # the set that the result belongs to


class CopyFound(_Body, frozen=True, tag="copy.found"):
    submission: str
    of: str  # a submission of another team
    share: float  # of the answers that are the same
    exact: bool = False  # the very same file


# Scores again


class RescoringProposed(_Body, frozen=True, tag="rescoring.proposed"):
    rescoring: str
    phase: str
    submissions: tuple[str, ...]
    reason: str


class RescoringFailed(_Body, frozen=True, tag="rescoring.failed"):
    """One of a set could not be scored again; it keeps the score it has."""

    rescoring: str
    submission: str
    message: str
    trace: str = ""
    message_zh: str = ""


class RescoringApplied(_Body, frozen=True, tag="rescoring.applied"):
    rescoring: str


class RescoringCancelled(_Body, frozen=True, tag="rescoring.cancelled"):
    rescoring: str
    reason: str


# Freeze, promotion, verification, awards


class BoardReleased(_Body, frozen=True, tag="board.released"):
    """What was frozen or kept apart (the private split) is shown."""

    phase: str


class BoardFrozen(_Body, frozen=True, tag="board.frozen"):
    """By hand, now; undone by `board.released`."""

    phase: str


class Promoted(msgspec.Struct, frozen=True):
    team: str
    rank: int
    reason: str = ""


class PromotionConfirmed(_Body, frozen=True, tag="promotion.confirmed"):
    phase: str
    to: str
    teams: tuple[Promoted, ...]  # all who go on; a later event replaces an earlier one
    left_out: tuple[Promoted, ...] = ()  # who would have, by rank, and why not
    reason: str = ""


class VerificationMade(_Body, frozen=True, tag="verification.made"):
    """A re-run was compared with what was submitted."""

    submission: str  # the bundle
    of: str  # the submission that counted
    outcome: Literal["reproduced", "differs", "failed"]
    message: str
    report: str = ""  # digest
    rows: int = 0  # compared
    different: int = 0
    worst: float = 0.0  # the largest difference
    message_zh: str = ""


class BundleMade(_Body, frozen=True, tag="bundle.made"):
    """A promoted team handed in code, model and description."""

    submission: str
    team: str
    phase: str
    file: str
    name: str
    bytes: int
    late: bool = False


class ComplianceJudged(_Body, frozen=True, tag="compliance.judged"):
    team: str
    phase: str
    ok: bool
    reasons: str


class AwardGiven(_Body, frozen=True, tag="award.given"):
    award: int  # its place in the rules
    team: str
    reason: str = ""


class AwardTaken(_Body, frozen=True, tag="award.taken"):
    award: int
    team: str
    reason: str


# Live runs


class RunStarted(_Body, frozen=True, tag="run.started"):
    run: str
    phase: str
    submissions: tuple[str, ...]  # the bundles that take part
    pace: str = "real"


class WindowOpened(_Body, frozen=True, tag="window.opened"):
    """Until it closes, teams of a run may hand in another version of their program."""

    run: str
    sitting: str  # that follows it
    closes: int  # ms


class VersionTaken(_Body, frozen=True, tag="version.taken"):
    """From a sitting on, a team of a run plays another bundle that it handed in, or goes on as before."""

    run: str
    sitting: str
    submission: str
    file: str  # its digest
    message: str = ""  # why it does not play; empty: it does
    message_zh: str = ""


class MachineSeen(_Body, frozen=True, tag="machine.seen"):
    """A worker has started that may play runs, and what its machine is like."""

    worker: str
    machine: Machine


class Sealed(msgspec.Struct, frozen=True):
    """The weights in a team's bundle before and after a sitting, as digests."""

    submission: str
    sitting: str
    before: str
    after: str


class RunEnded(_Body, frozen=True, tag="run.ended"):
    run: str
    outcome: Literal["done", "stopped", "failed"]
    recording: str = ""  # digest of the recording
    message: str = ""
    message_zh: str = ""
    starving: bool = False  # nothing kept one program from starving another, and the phase's rules allowed that
    weights: tuple[Sealed, ...] = ()
    machine: Machine | None = None  # that played it


Body = (
    ContestOpened
    | RulesAmended
    | AnnouncementMade
    | PhaseMoved
    | AccountMade
    | RoleChanged
    | AccountClosed
    | PasswordChanged
    | TeamMade
    | DeclarationAccepted
    | TeamRenamed
    | MemberInvited
    | InvitationWithdrawn
    | MemberJoined
    | MemberLeft
    | CaptainChanged
    | TeamDisqualified
    | TeamReinstated
    | AccessRequested
    | AccessGranted
    | AccessRefused
    | DataPacked
    | TruthReleased
    | SubmissionMade
    | SubmissionRefused
    | SubmissionAccepted
    | SubmissionWithdrawn
    | AttemptStarted
    | AttemptFailed
    | AttemptCancelled
    | ResultMade
    | ReportMade
    | CopyFound
    | RescoringProposed
    | RescoringFailed
    | RescoringApplied
    | RescoringCancelled
    | BoardReleased
    | BoardFrozen
    | PromotionConfirmed
    | BundleMade
    | VerificationMade
    | ComplianceJudged
    | AwardGiven
    | AwardTaken
    | RunStarted
    | MachineSeen
    | WindowOpened
    | VersionTaken
    | RunEnded
    | MatchBody
)


def told(body: AttemptFailed | RescoringFailed | VerificationMade | RunEnded | VersionTaken) -> Words:
    """What an event says to people."""
    return _both(body.message, body.message_zh)


def faults_told(body: SubmissionRefused) -> list[Words]:
    chinese = body.faults_zh or ("",) * len(body.faults)
    return [_both(fault, said) for fault, said in zip(body.faults, chinese, strict=True)]


def _both(english: str, chinese: str) -> Words:
    return Words(english, chinese or english)


def chinese_of(text: Words) -> str:
    """What is kept beside the English: nothing where it says the same, as what a person wrote does."""
    return "" if text.zh == text.en else text.zh


class Event(msgspec.Struct, frozen=True):
    """Something that happened, in its place in the log."""

    seq: int  # 1, 2, 3, … without gaps
    at: int  # ms; never before that of the event before
    by: str  # account; "system" for what nobody did; "worker:…"
    body: Body


_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(Body)


def encode(body: Body) -> str:
    return _encode(body).decode()


def decode(text: str | bytes) -> Body:
    body: Body = _decode.decode(text)
    return body


def kind_of(body: Body) -> str:
    return str(type(body).__struct_config__.tag)
