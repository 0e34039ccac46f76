"""What the organiser's desk is given. See models/public.py."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.records import Estimate
from palestra.text import Words
from palestra.web.models.live import LivePage
from palestra.web.models.public import Announcement, Column, Download, PhaseLink, PhaseState, RulesVersion
from palestra.web.models.rules import FileLine, RuleChange

TruthState = Literal["none", "ready", "released"]
Outcome = Literal["missing", "waiting", "running", "reproduced", "differs", "failed"]


class DeskPhase(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: Words
    state: PhaseState
    opens: int
    closes: int
    freeze: int | None = None
    frozen: bool = False
    held_back: bool = False  # something is frozen or kept apart and can be released
    submissions: int = 0
    teams: int = 0
    waiting: int = 0  # submissions without a result
    live: bool = False
    solutions: tuple[str, ...] = ()  # of its track, that can be put on the board as baselines
    slip: str = ""  # of its track, seen when the server started: why nothing can be scored


class Job(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    key: str = ""  # by which it can be tried again
    kind: str
    state: str  # queued, leased, failed
    submission: str = ""
    team_name: str = ""
    attempt: int
    worker: str = ""
    queued_at: int
    lease_until: int | None = None
    message: str = ""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kinds: tuple[str, ...]
    executor: str
    seen_at: int
    busy: int = 0
    lost: bool = False


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    submission: str
    team_name: str
    at: int
    fault: Literal["platform", "contestant"]
    message: str
    trace: str = ""  # address
    attempt: int = 1
    last: bool = False


class Stalled(msgspec.Struct, frozen=True):
    """A team of which nothing is taken for now, as so many of its submissions failed on our side."""

    team_name: str
    phase: str
    count: int


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What could take part in a live run."""

    submission: str
    team_name: str
    at: int
    name: str
    changed: tuple[str, ...] = ()  # code that differs where only weights may


class DeskPage(msgspec.Struct, frozen=True, kw_only=True):
    phases: tuple[DeskPhase, ...]
    jobs: tuple[Job, ...] = ()
    jobs_more: int = 0  # that are not listed
    workers: tuple[Worker, ...] = ()
    faults: tuple[FaultRow, ...] = ()
    stalled: tuple[Stalled, ...] = ()
    requests: int = 0  # of access, unanswered
    copies: int = 0
    verifications: int = 0  # open ones
    rescorings: int = 0  # open ones
    log_seq: int = 0
    log_hash: str = ""


class RunsDeskPage(msgspec.Struct, frozen=True, kw_only=True):
    """Starting a live run."""

    phase: DeskPhase
    bundles: tuple[Bundle, ...] = ()
    running: str = ""  # run
    runs: tuple[LivePage, ...] = ()  # earlier ones
    machines: tuple[str, ...] = ()  # that may play it, in words
    differences: tuple[str, ...] = ()  # between them


class AccessRow(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    team_name: str
    phase: PhaseLink
    at: int
    members: int = 0
    captain: str = ""
    state: Literal["requested", "granted", "refused"] = "requested"
    reason: str = ""


class AccessPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[AccessRow, ...] = ()  # unanswered ones first


class PromotionRow(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    team_name: str
    rank: int
    value: Estimate | None = None
    band: int | None = None
    goes_on: bool = True
    reason: str = ""  # why, where it is not the rank alone
    by_hand: bool = False  # left out by the organiser, not by a verdict
    was: bool | None = None  # in the promotion that counts now; null: there is none


class PromotionPage(msgspec.Struct, frozen=True, kw_only=True):
    phase: PhaseLink
    to: PhaseLink
    top: int
    column: Column
    rows: tuple[PromotionRow, ...] = ()
    confirmed_at: int | None = None
    as_of: int
    preview: str = ""  # digest of what is shown: it is confirmed as it was seen, or not at all
    cut_in_band: bool = False  # the last who goes on and the first who does not cannot be told apart
    truth: TruthState = "none"  # of the phase before, for those who go on


class NoPromotionPage(msgspec.Struct, frozen=True, kw_only=True):
    """Why nobody can be promoted, and how that is changed."""

    phase: PhaseLink | None = None  # which was asked for; null: none at all promotes
    coming_at: int | None = None  # from when on announced rules promote
    promoting: tuple[PhaseLink, ...] = ()  # the others that do
    example: str  # a phase that teams could go on to


class VerificationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One promoted team's bundle and what came of it."""

    team: str
    team_name: str
    phase: PhaseLink
    due: int
    submission: str = ""  # the bundle; empty: not handed in
    at: int | None = None
    late: bool = False
    name: str = ""
    outcome: Outcome = "missing"
    different: int = 0
    rows: int = 0
    worst: float = 0.0
    compliance: bool | None = None
    compliance_reasons: str = ""


class VerificationsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[VerificationRow, ...] = ()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    where: str  # the row
    submitted: str
    again: str
    by: float


class VerificationPage(msgspec.Struct, frozen=True, kw_only=True):
    verification: VerificationRow
    of: str  # the submission that counted
    of_at: int
    tolerance: float = 0.0
    message: str = ""
    differences: tuple[Difference, ...] = ()  # the largest first
    report: str = ""  # address
    next_team: str = ""  # who gets the place if this one fails
    can_retry: bool = False  # it ended without a comparison


class RankChange(msgspec.Struct, frozen=True, kw_only=True):
    team_name: str
    submission: str
    before: Estimate | None = None
    after: Estimate | None = None  # null: not scored again yet
    rank_before: int | None = None
    rank_after: int | None = None
    failed: str = ""  # why it could not be scored again


class RescoringRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    phase: PhaseLink
    at: int
    by: str
    reason: str
    state: Literal["running", "ready", "applied", "cancelled"]
    done: int
    count: int


class RescoringsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[RescoringRow, ...] = ()
    phases: tuple[PhaseLink, ...] = ()
    teams: tuple[tuple[str, str], ...] = ()  # id and name, to choose from


class RescoringPage(msgspec.Struct, frozen=True, kw_only=True):
    rescoring: RescoringRow
    column: Column
    changes: tuple[RankChange, ...] = ()
    new_first: str = ""  # the team that would lead, where it is another one


class AwardRow(msgspec.Struct, frozen=True, kw_only=True):
    award: int  # its place in the rules
    title: Words
    phase: Words = Words()
    team: str = ""
    team_name: str = ""
    rank: int | None = None  # when the award was given; of one that is not given yet, now
    rank_now: int | None = None
    given_at: int | None = None
    proposed: bool = False  # by the board, not given yet
    certificate: str = ""  # address


class AwardsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[AwardRow, ...] = ()
    teams: tuple[tuple[str, str], ...] = ()


class AnnouncementsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[Announcement, ...] = ()


class AmendmentsPage(msgspec.Struct, frozen=True, kw_only=True):
    rules: tuple[RulesVersion, ...] = ()
    notice_ms: int = 0
    text: str = ""  # of the contest file: of the rules that were announced last, or what was given
    counts_from: int | None = None
    reason: str = ""
    changes: tuple[RuleChange, ...] = ()  # what the file that was given would change
    lines: tuple[FileLine, ...] = ()  # the same, line by line; empty: none was given


class DeskTeam(msgspec.Struct, frozen=True, kw_only=True):
    team: str
    name: str
    captain: str = ""
    members: int = 0
    submissions: int = 0
    made_at: int
    disqualified: str = ""  # why
    disqualified_phase: Words = Words()  # empty: all of them
    disqualified_from: str = ""  # the same, by its id


class TeamsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[DeskTeam, ...] = ()
    phases: tuple[PhaseLink, ...] = ()


class CopyRow(msgspec.Struct, frozen=True, kw_only=True):
    at: int
    phase: PhaseLink
    submission: str
    team_name: str
    of: str
    of_team_name: str
    share: float
    exact: bool = False
    first_at: int | None = None  # when the earlier of the two was handed in


class CopiesPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[CopyRow, ...] = ()


class AccountRow(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    name: str
    role: Literal["organiser", "referee", "member", "viewer"]
    email: str = ""
    team_name: str = ""
    made_at: int
    closed: bool = False


class AccountsPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[AccountRow, ...] = ()
    new_link: str = ""  # shown once


class ExportsPage(msgspec.Struct, frozen=True, kw_only=True):
    files: tuple[Download, ...] = ()  # kinds: csv, parquet, archive; bytes 0 where made on demand
    phases: tuple[PhaseLink, ...] = ()
