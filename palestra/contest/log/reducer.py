"""From events to the state of a contest: a small function for each kind of event; nothing else changes a state."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

from palestra import records
from palestra.contest.log import events as e
from palestra.contest.log import state as state_module
from palestra.contest.log.events import Event
from palestra.contest.log.state import (
    Access,
    Account,
    Announcement,
    Bundle,
    Compliance,
    Copy,
    Mishap,
    Out,
    Promotion,
    Rescoring,
    Run,
    Score,
    Stage,
    State,
    Submission,
    Taken,
    Team,
    Times,
    Version,
    Window,
)
from palestra.contest.match import Entry, MatchBody, note_result, take_in, team_of
from palestra.contest.rules import model as rulebook
from palestra.executors import machine
from palestra.scoring import judged
from palestra.text import Words


def _version() -> str:
    """Of what makes a state from events: snapshots of another version are thrown away, unasked."""
    sources = (Path(module.__file__ or "") for module in (e, rulebook, state_module, records, judged, machine))
    matches = sorted((Path(__file__).parents[1] / "match").glob("*.py"))
    code = b"".join(file.read_bytes() for file in (Path(__file__), *sources, *matches))
    return hashlib.sha256(code).hexdigest()


VERSION = _version()


def fold(events: Iterable[Event], state: State | None = None) -> State:
    """The state after these events."""
    state = State() if state is None else state
    for event in events:
        apply(state, event)
    return state


def apply(state: State, event: Event) -> None:
    """Change a state by one event."""
    _HOW[type(event.body)](state, event, event.body)
    state.seq, state.at = event.seq, event.at


def _opened(state: State, event: Event, body: e.ContestOpened) -> None:
    state.versions.append(Version(rulebook.decode(body.rules), event.at, event.at, ""))


def _amended(state: State, event: Event, body: e.RulesAmended) -> None:
    state.versions.append(Version(rulebook.decode(body.rules), body.counts_from, event.at, body.reason))
    state.versions.sort(key=lambda version: version.counts_from)


def _announced(state: State, event: Event, body: e.AnnouncementMade) -> None:
    state.announcements.append(Announcement(body.announcement, body.title, body.text, event.at))


def _moved(state: State, event: Event, body: e.PhaseMoved) -> None:
    state.moved.setdefault(body.phase, []).append(Times(event.at, body.opens, body.closes, body.reason))


def _account(state: State, event: Event, body: e.AccountMade) -> None:
    state.accounts[body.account] = Account(body.account, body.name, body.role, body.email, made_at=event.at)
    state.names[body.name.lower()] = body.account


def _role(state: State, event: Event, body: e.RoleChanged) -> None:
    state.accounts[body.account].role = body.role


def _closed(state: State, event: Event, body: e.AccountClosed) -> None:
    state.accounts[body.account].closed = True


def _no_change(state: State, event: Event, body: e.PasswordChanged) -> None:
    """Passwords are no part of the state: the log keeps that it happened."""


def _team(state: State, event: Event, body: e.TeamMade) -> None:
    state.teams[body.team] = Team(
        body.team, body.name, body.captain, event.at, members=[body.captain], declared=body.declared,
        declared_at=event.at,
    )  # fmt: skip
    _put_in(state, event, body.captain, body.team)


def _put_in(state: State, event: Event, account: str, team: str) -> None:
    state.accounts[account].team, state.accounts[account].joined_at = team, event.at


def _declared(state: State, event: Event, body: e.DeclarationAccepted) -> None:
    state.teams[body.team].declared, state.teams[body.team].declared_at = body.declared, event.at


def _renamed(state: State, event: Event, body: e.TeamRenamed) -> None:
    state.teams[body.team].name = body.name


def _invited(state: State, event: Event, body: e.MemberInvited) -> None:
    state.teams[body.team].invitations[body.invitation] = event.at


def _uninvited(state: State, event: Event, body: e.InvitationWithdrawn) -> None:
    state.teams[body.team].invitations.pop(body.invitation)


def _joined(state: State, event: Event, body: e.MemberJoined) -> None:
    team = state.teams[body.team]
    team.members.append(body.account)
    team.invitations.pop(body.invitation)
    _put_in(state, event, body.account, body.team)


def _left(state: State, event: Event, body: e.MemberLeft) -> None:
    state.teams[body.team].members.remove(body.account)
    state.accounts[body.account].team = ""


def _captain(state: State, event: Event, body: e.CaptainChanged) -> None:
    state.teams[body.team].captain = body.account


def _disqualified(state: State, event: Event, body: e.TeamDisqualified) -> None:
    state.teams[body.team].out.setdefault(body.phase, []).append(Out(event.at, body.reason))


def _reinstated(state: State, event: Event, body: e.TeamReinstated) -> None:
    for out in state.teams[body.team].out.get(body.phase, []):
        if out.until is None:
            out.until = event.at


def _requested(state: State, event: Event, body: e.AccessRequested) -> None:
    state.teams[body.team].access[body.phase] = Access(event.at, body.licence)


def _granted(state: State, event: Event, body: e.AccessGranted) -> None:
    access = state.teams[body.team].access[body.phase]
    access.granted, access.refused = True, ""


def _access_refused(state: State, event: Event, body: e.AccessRefused) -> None:
    access = state.teams[body.team].access[body.phase]
    access.granted, access.refused = False, body.reason


def _packed(state: State, event: Event, body: e.DataPacked) -> None:
    state.packs.setdefault(body.phase, {})[body.part] = (body.file, body.bytes)


def _truth(state: State, event: Event, body: e.TruthReleased) -> None:
    state.truth.setdefault(body.phase, {}).update(dict.fromkeys(body.teams, event.at))


def _submitted(state: State, event: Event, body: e.SubmissionMade) -> None:
    one = Submission(
        body.submission, body.team, body.phase, body.file, body.name, body.bytes, event.at, event.by,
        stage_at=event.at, baseline=body.baseline,
    )  # fmt: skip
    state.submissions[one.id] = one
    whose = body.team or f"baseline:{body.baseline}"
    state.of_team.setdefault(body.phase, {}).setdefault(whose, []).append(one.id)


def _to(state: State, event: Event, submission: str, stage: Stage) -> Submission:
    one = state.submissions[submission]
    one.stage, one.stage_at = stage, event.at
    return one


def _refused(state: State, event: Event, body: e.SubmissionRefused) -> None:
    one = _to(state, event, body.submission, "refused")
    one.faults, one.fault_count = e.faults_told(body), body.count
    if body.trace:
        one.mishaps.append(Mishap(one.attempt, event.at, "contestant", one.faults[0], body.trace, True))


def _accepted(state: State, event: Event, body: e.SubmissionAccepted) -> None:
    one = _to(state, event, body.submission, "ready" if body.rehearsal else "queued")
    one.rehearsal, one.parts = body.rehearsal, body.parts


def _withdrawn(state: State, event: Event, body: e.SubmissionWithdrawn) -> None:
    one = _to(state, event, body.submission, "withdrawn")
    one.withdrawn_at, one.message = event.at, Words.same(body.reason)


def _started(state: State, event: Event, body: e.AttemptStarted) -> None:
    one = state.submissions[body.submission]
    one.attempt = body.attempt
    if one.stage != "checking" and not one.scores:  # what is scored stays so while it is scored again
        _to(state, event, body.submission, "running")


def _failed(state: State, event: Event, body: e.AttemptFailed) -> None:
    one = state.submissions[body.submission]
    one.message, one.attempt = e.told(body), body.attempt
    one.mishaps.append(Mishap(body.attempt, event.at, body.fault, e.told(body), body.trace, body.last))
    if not one.scores:
        ended: Stage = "failed" if body.fault == "contestant" else "faulted"
        waiting: Stage = "checking" if one.stage == "checking" else "queued"
        _to(state, event, body.submission, ended if body.last else waiting)


def _cancelled(state: State, event: Event, body: e.AttemptCancelled) -> None:
    _to(state, event, body.submission, "cancelled").message = Words.same(body.reason)


def _result(state: State, event: Event, body: e.ResultMade) -> None:
    one = state.submissions[body.submission]
    if not body.rescoring and one.withdrawn_at is None:
        _to(state, event, body.submission, "scored").message = Words()
        one.attempt = body.attempt
    counts_from = None if body.rescoring else event.at
    one.scores.append(
        Score(
            event.at, counts_from, body.attempt, body.metrics, body.draws, body.shown, body.shown_draws, body.result,
            body.report, dict(body.files), body.rescoring,
        )
    )  # fmt: skip


def _report(state: State, event: Event, body: e.ReportMade) -> None:
    """The same scores may be of two results, whose reports are not the same, as rules change what is shown."""
    same = [one for one in state.submissions[body.submission].scores if one.files.get("scores") == body.scores]
    for score in [one for one in same if one.rescoring == body.rescoring] or same:
        score.report = body.report
        score.files["organiser-report"] = body.full


def _copy(state: State, event: Event, body: e.CopyFound) -> None:
    state.copies.append(Copy(body.submission, body.of, body.share, body.exact, event.at))


def _rescoring(state: State, event: Event, body: e.RescoringProposed) -> None:
    state.rescorings[body.rescoring] = Rescoring(
        body.rescoring, body.phase, list(body.submissions), body.reason, event.at, event.by
    )


def _rescoring_failed(state: State, event: Event, body: e.RescoringFailed) -> None:
    state.rescorings[body.rescoring].failed[body.submission] = e.told(body)


def _rescoring_applied(state: State, event: Event, body: e.RescoringApplied) -> None:
    rescoring = state.rescorings[body.rescoring]
    rescoring.state = "applied"
    for name in rescoring.submissions:
        for score in state.submissions[name].scores:
            if score.rescoring == body.rescoring:
                score.counts_from = event.at


def _rescoring_cancelled(state: State, event: Event, body: e.RescoringCancelled) -> None:
    state.rescorings[body.rescoring].state = "cancelled"


def _released(state: State, event: Event, body: e.BoardReleased) -> None:
    state.released[body.phase] = event.at
    state.frozen.pop(body.phase, None)


def _frozen(state: State, event: Event, body: e.BoardFrozen) -> None:
    state.frozen[body.phase] = event.at  # what was released before stays so: the board stands still, it hides nothing


def _promoted(state: State, event: Event, body: e.PromotionConfirmed) -> None:
    before = state.promotions.get(body.phase)
    since = {one.team: before.since.get(one.team, event.at) if before else event.at for one in body.teams}
    state.promotions[body.phase] = Promotion(
        body.phase, body.to, list(body.teams), list(body.left_out), event.at, event.by, body.reason, since
    )


def _bundle(state: State, event: Event, body: e.BundleMade) -> None:
    state.bundles[body.submission] = Bundle(
        body.submission, body.team, body.phase, body.file, body.name, body.bytes, event.at, body.late
    )


def _verified(state: State, event: Event, body: e.VerificationMade) -> None:
    bundle = state.bundles[body.submission]
    bundle.outcome, bundle.of, bundle.message, bundle.report = body.outcome, body.of, e.told(body), body.report
    bundle.rows, bundle.different, bundle.worst = body.rows, body.different, body.worst


def _compliance(state: State, event: Event, body: e.ComplianceJudged) -> None:
    verdict = Compliance(body.ok, body.reasons, event.at, event.by)
    state.compliance.setdefault(body.phase, {})[body.team] = verdict


def _award(state: State, event: Event, body: e.AwardGiven) -> None:
    state.awards.setdefault(str(body.award), {})[body.team] = event.seq


def _award_taken(state: State, event: Event, body: e.AwardTaken) -> None:
    state.awards.get(str(body.award), {}).pop(body.team, None)


def _run(state: State, event: Event, body: e.RunStarted) -> None:
    state.runs[body.run] = Run(body.run, body.phase, list(body.submissions), body.pace, event.at)


def _run_ended(state: State, event: Event, body: e.RunEnded) -> None:
    run = state.runs[body.run]
    run.outcome, run.ended_at, run.recording, run.message = body.outcome, event.at, body.recording, e.told(body)


def _machine(state: State, event: Event, body: e.MachineSeen) -> None:
    state.machines[body.worker] = body.machine


def _window(state: State, event: Event, body: e.WindowOpened) -> None:
    state.runs[body.run].windows.append(Window(body.sitting, event.at, body.closes))


def _version_taken(state: State, event: Event, body: e.VersionTaken) -> None:
    state.runs[body.run].versions.append(Taken(body.sitting, body.submission, event.at, e.told(body)))


def _match(state: State, event: Event, body: MatchBody) -> None:
    take_in(state.matches, Entry(event.seq, event.at, event.by, body))
    if team := team_of(body):
        note_result(state.on_site, state.matches[body.match], team, event.at)


_HOW: dict[type, Callable[[State, Event, Any], None]] = {
    e.ContestOpened: _opened,
    e.RulesAmended: _amended,
    e.AnnouncementMade: _announced,
    e.PhaseMoved: _moved,
    e.AccountMade: _account,
    e.RoleChanged: _role,
    e.AccountClosed: _closed,
    e.PasswordChanged: _no_change,
    e.TeamMade: _team,
    e.DeclarationAccepted: _declared,
    e.TeamRenamed: _renamed,
    e.MemberInvited: _invited,
    e.InvitationWithdrawn: _uninvited,
    e.MemberJoined: _joined,
    e.MemberLeft: _left,
    e.CaptainChanged: _captain,
    e.TeamDisqualified: _disqualified,
    e.TeamReinstated: _reinstated,
    e.AccessRequested: _requested,
    e.AccessGranted: _granted,
    e.AccessRefused: _access_refused,
    e.DataPacked: _packed,
    e.TruthReleased: _truth,
    e.SubmissionMade: _submitted,
    e.SubmissionRefused: _refused,
    e.SubmissionAccepted: _accepted,
    e.SubmissionWithdrawn: _withdrawn,
    e.AttemptStarted: _started,
    e.AttemptFailed: _failed,
    e.AttemptCancelled: _cancelled,
    e.ResultMade: _result,
    e.ReportMade: _report,
    e.CopyFound: _copy,
    e.RescoringProposed: _rescoring,
    e.RescoringFailed: _rescoring_failed,
    e.RescoringApplied: _rescoring_applied,
    e.RescoringCancelled: _rescoring_cancelled,
    e.BoardReleased: _released,
    e.BoardFrozen: _frozen,
    e.PromotionConfirmed: _promoted,
    e.BundleMade: _bundle,
    e.VerificationMade: _verified,
    e.ComplianceJudged: _compliance,
    e.AwardGiven: _award,
    e.AwardTaken: _award_taken,
    e.RunStarted: _run,
    e.MachineSeen: _machine,
    e.WindowOpened: _window,
    e.VersionTaken: _version_taken,
    e.RunEnded: _run_ended,
    **dict.fromkeys(get_args(MatchBody), _match),
}
