"""What each page is given. Ids are text, times are milliseconds since 1970 UTC, numbers are raw: pages write them.

Each page gets a `frame` (what all pages share) and its own struct as `page`. Texts of the organiser are `Words`, in
both languages; what a person or a program wrote is plain text, and is escaped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.contest.rules import Quota
from palestra.records import Estimate
from palestra.text import Words

PhaseState = Literal["waiting", "open", "closed"]
Refusal = Literal[
    "", "signed_out", "no_team", "not_open", "closed", "not_promoted", "no_access", "quota", "fault_quota", "ours",
    "disqualified", "not_declared", "on_stage",
]  # fmt: skip


# Shared by pages


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks at the page."""

    account: str
    name: str
    role: Literal["organiser", "referee", "member", "viewer"]
    team: str = ""
    team_name: str = ""
    captain: bool = False


class PhaseLink(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: Words
    state: PhaseState
    live: bool = False  # whether its track is played live


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What the last thing a person did has come to; shown once, at the top."""

    text: str
    kind: Literal["done", "refused"] = "done"


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What every page has around it."""

    name: Words  # of the contest
    organiser: Words = Words()
    zone: str  # of the contest: "Asia/Shanghai"
    now: int  # by the server's clock
    path: str  # of this page with its query, without `lang`
    csrf: str = ""
    viewer: Viewer | None = None
    phases: tuple[PhaseLink, ...] = ()
    run: str = ""  # the live run that is under way
    final: bool = False  # whether the final standing is public
    matches: bool = False  # whether there is a match at the referees' table
    pack: str = ""  # the first phase that is judged at a table: its technical manual is published
    notice: Notice | None = None
    version: str = ""  # of palestra


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A number that boards show."""

    name: str  # "pe_deg"
    title: Words
    unit: str = ""  # "deg", "ms", "points"; empty for a share
    better: Literal["lower", "higher"] = "lower"


class Download(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    url: str
    bytes: int
    digest: str = ""  # SHA-256
    kind: str = ""  # view, starter, truth, answers, result, recording, …: words.toml has a title for the known ones
    title: Words = Words()  # of a certificate


# Home


class Deadline(msgspec.Struct, frozen=True, kw_only=True):
    """The next thing that ends or begins."""

    what: Literal["registration_opens", "registration_closes", "phase_opens", "phase_closes", "freeze", "bundles_due"]
    at: int
    phase: Words = Words()


class PhaseCard(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: Words
    about: Words = Words()
    track: Words  # its title
    opens: int
    closes: int
    state: PhaseState
    entry: Literal["everyone", "promoted"] = "everyone"
    freeze: int | None = None
    frozen: bool = False
    quota: Quota
    limit_bytes: int
    teams: int = 0  # that have submitted
    submissions: int = 0
    board: bool = True  # whether this viewer may see its board
    promotes: int = 0  # how many go on
    promotes_to: Words = Words()
    weight: float | None = None  # in the final standing
    match: bool = False  # referees judge it at a table, and its technical manual is published
    moved: str = ""  # why it opens or closes at another time than the rules said


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: int
    title: Words
    text: Words


class Prize(msgspec.Struct, frozen=True, kw_only=True):
    title: Words
    count: int
    phase: Words = Words()  # whose board; empty: the final standing
    winners: tuple[str, ...] = ()  # names of teams, once given


class RulesVersion(msgspec.Struct, frozen=True, kw_only=True):
    number: int  # 1, 2, …
    at: int  # announced
    counts_from: int
    reason: str = ""
    url: str = ""


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """How far this viewer has come in taking part."""

    signed_in: bool = False
    in_team: bool = False
    has_data: bool = False
    submitted: bool = False


class HomePage(msgspec.Struct, frozen=True, kw_only=True):
    about: Words = Words()
    phases: tuple[PhaseCard, ...]
    deadline: Deadline | None = None
    announcements: tuple[Announcement, ...] = ()  # newest first
    prizes: tuple[Prize, ...] = ()
    rules: tuple[RulesVersion, ...] = ()  # newest first
    steps: Steps = Steps()
    registration: PhaseState = "open"
    registration_opens: int | None = None
    registration_closes: int | None = None
    teams: int = 0
    team_limit: int = 0  # members


# Board


class BoardRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # of the team, or of the baseline
    team: str = ""  # empty: a baseline of the organiser, unranked
    rank: int | None = None  # null: unranked
    band: int | None = None  # null: too few people to tell
    metrics: tuple[Estimate | None, ...] = ()  # in the order of the board's columns
    submissions: int = 0
    at: int | None = None  # when what counts was handed in
    history: tuple[float, ...] = ()  # the ranking number after each scored submission
    mine: bool = False
    submission: str = ""  # what counts, where this viewer may open it
    promoted: bool = False
    match: str = ""  # where referees judged it


class BoardPage(msgspec.Struct, frozen=True, kw_only=True):
    phase: PhaseLink
    columns: tuple[Column, ...]  # the first one ranks; then the others that are shown, tie-breaks first
    rows: tuple[BoardRow, ...] = ()  # in order; baselines stand where their number puts them
    ties: tuple[str, ...] = ()  # names of columns that part equals, in order; "earlier" may be the last
    mode: Literal["best", "last"] = "best"
    as_of: int  # what the board is a board of
    frozen: bool = False
    split: float | None = None  # the board shows this share of the people
    rounded: bool = False  # scores have not all their digits yet; each metric's `rounded_to` is its step
    history: bool = True  # whether sparklines are shown
    promotes: int = 0  # the line is drawn below this rank
    unit: str = ""  # whom intervals resample: "person"
    closed: bool = False
    judged: bool = False  # by referees, at a table: nothing is sent in, and nothing is an estimate
    further: int = 0  # ranked rows that a page leaves out, below those shown; the API has all of them


# Submissions


class UploadForm(msgspec.Struct, frozen=True, kw_only=True):
    """What is stated before anything is uploaded."""

    phase: str
    purpose: Literal["answers", "bundle"] = "answers"
    suffixes: tuple[str, ...] = ()  # ".csv", ".zip"
    limit_bytes: int  # that is applied: of the rules, or of what a file for this data can be where that is less
    limited_by_data: bool = False
    file_name: str = ""  # as it must be, with the team and the date filled in; empty: any
    allow_missing: bool = False
    live: bool = False  # a program that plays, and no file with answers
    on_stage: bool = False  # it is only rehearsed, and scored in a run on stage
    plays_from: str = ""  # the sitting of a run under way, from which on another version of the team's program plays
    window_closes: int | None = None  # until when that can be handed in
    quota: Quota | None = None  # null: as often as one likes
    left: int = 0
    next_free: int | None = None  # when one more is free, if none is left
    fault_quota: Quota | None = None
    fault_left: int = 0
    refusal: Refusal = ""  # why nothing can be handed in now
    state: PhaseState = "open"
    closes: int | None = None


SubmissionStateName = Literal[
    "received", "checking", "queued", "ready", "running", "scored", "hidden", "refused", "failed", "platform",
    "withdrawn", "cancelled",
]  # fmt: skip


class SubmissionRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    at: int
    name: str
    bytes: int
    state: SubmissionStateName
    purpose: Literal["answers", "bundle"] = "answers"
    attempt: int = 0
    value: Estimate | None = None  # of the ranking metric
    counts: bool = False  # on the board
    charged: bool = True  # costs quota
    by: str = ""


class SubmissionsPage(msgspec.Struct, frozen=True, kw_only=True):
    phase: PhaseLink
    column: Column
    forms: tuple[UploadForm, ...] = ()
    rows: tuple[SubmissionRow, ...] = ()  # newest first


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    started_at: int
    ended_at: int | None = None
    outcome: Literal["running", "done", "platform", "contestant", "cancelled"] = "running"
    message: str = ""
    worker: str = ""  # for organisers
    trace: str = ""  # address, for organisers


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle did on rehearsal data: there is no score in it."""

    asked: int
    answered: int
    latency_ms: float | None = None  # the median
    missed: str = ""  # why the first one has no answer


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle is made of, as digests, and which code in it changed where only weights may."""

    code: str = ""
    weights: str = ""
    configuration: str = ""
    changed: tuple[str, ...] = ()


class SubmissionPage(msgspec.Struct, frozen=True, kw_only=True):
    """All of one submission. The part in submission_state.html is swapped as it changes."""

    id: str
    phase: PhaseLink
    team: str = ""
    team_name: str
    name: str
    bytes: int
    digest: str
    at: int
    state: SubmissionStateName
    purpose: Literal["answers", "bundle"] = "answers"
    checked_at: int | None = None
    ahead: int | None = None  # jobs before it in the queue
    attempt: int = 0
    attempts: tuple[Attempt, ...] = ()
    ended_at: int | None = None
    done: int = 0  # of `total`, while it runs and says so
    total: int = 0
    faults: tuple[str, ...] = ()
    fault_count: int = 0  # all of them
    message: str = ""  # why it failed
    charged: bool = True
    columns: tuple[Column, ...] = ()
    metrics: tuple[Estimate | None, ...] = ()
    split: float | None = None  # the numbers are of this share of the people
    rounded: bool = False  # as on the board; then there are no tables by person and group, and no report
    hidden_until: int | None = None  # while the board is frozen
    counts: bool = False
    rank: int | None = None
    of: int = 0  # teams on the board
    files: tuple[Download, ...] = ()
    report: str = ""  # address of the track's page
    rehearsal: Rehearsal | None = None  # of a bundle that waits for the stage
    parts: Parts | None = None  # of a bundle
    can_withdraw: bool = False
    can_retry: bool = False  # by organisers, after a platform fault


# Data


Access = Literal[
    "open", "none", "requested", "granted", "refused", "not_promoted", "no_team", "signed_out", "organiser"
]


class PhaseData(msgspec.Struct, frozen=True, kw_only=True):
    phase: PhaseLink
    access: Access
    reason: str = ""  # of a refusal
    requested_at: int | None = None
    licence: Words = Words()
    licence_digest: str = ""
    accepted_at: int | None = None
    files: tuple[Download, ...] = ()
    can_request: bool = False  # whether this viewer is the one who may


class DataPage(msgspec.Struct, frozen=True, kw_only=True):
    phases: tuple[PhaseData, ...]
    server: str = ""  # address, for the commands that are shown


# Audit, papers, errors


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    at: int
    by: str  # a person's name, "system", "worker:…"
    kind: str
    body: str  # JSON, made harmless by escaping alone
    hash: str


class AuditPage(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[AuditRow, ...] = ()  # newest first
    kinds: tuple[str, ...] = ()
    kind: str = ""  # chosen
    by: str = ""  # chosen
    people: tuple[str, ...] = ()
    count: int = 0  # of events in all
    verified: bool | None = None  # null: not looked at yet
    verified_at: int | None = None
    verified_from: int = 1  # the first event that was looked at
    fault: str = ""  # what is wrong with the log
    redacted: bool = False  # without who did it and what it was
    newer: str = ""  # addresses
    older: str = ""


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    award: Words
    team_name: str
    members: tuple[str, ...] = ()
    phase: Words = Words()
    rank: int | None = None
    of: int = 0
    column: Column | None = None
    value: Estimate | None = None
    at: int  # when it was given
    number: str  # by which the log proves it: the event's hash
    seq: int = 0
    url: str = ""  # where that can be looked up


class FinalRow(msgspec.Struct, frozen=True, kw_only=True):
    rank: int | None
    team_name: str
    team: str = ""
    parts: tuple[Estimate | None, ...] = ()  # one for each column
    total: float | None = None  # where phases are weighted
    exact: str = ""  # the same as a fraction, where referees judged
    awards: tuple[Words, ...] = ()
    mine: bool = False


class FinalPage(msgspec.Struct, frozen=True, kw_only=True):
    title: Words = Words()  # of the phase; empty: the final standing
    columns: tuple[Column, ...]
    weights: tuple[float, ...] = ()  # of the columns; empty: one phase alone
    rows: tuple[FinalRow, ...] = ()
    as_of: int
    hash: str = ""  # of the log's newest event then
    matches: tuple[tuple[str, Words], ...] = ()  # where results that referees judged are told case by case


class ErrorPage(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    why: Literal["", "form"] = ""  # where the page has better words than those for its status
    message: str = ""  # in words, from a PalestraError; never a traceback
    faults: tuple[str, ...] = ()
    reference: str = ""  # what to tell the organiser
    back: str = "/"
