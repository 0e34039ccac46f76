"""What the pages of a team are given, from the state: its submissions, its data, itself."""

import hashlib
from pathlib import Path

import msgspec
from sqlalchemy import Engine, func, select

from palestra.contest import (
    Viewer,
    is_partial,
    is_rounded,
    is_sealed,
    result_seen,
    score_seen,
    sees_data,
    sees_submission,
    sees_truth,
    takes_part,
)
from palestra.contest.decisions import declaration_digest, licence_digest
from palestra.contest.decisions import submissions as submitting
from palestra.contest.log import UNDER_WAY, Bundle, Score, State, Submission
from palestra.contest.rules import Phase, expected_name, held_on_stage, track_of
from palestra.contest.storage import jobs, reading
from palestra.records import Result, Track
from palestra.web.models import people as pv
from palestra.web.models import public as v
from palestra.web.site import Site
from palestra.web.views import upload_limits
from palestra.web.views.public import column_of, link_of, phases_of, shown_metrics, state_at, winners_of


def ahead_of(engine: Engine, submission: str) -> int | None:
    """How many jobs of its kind are leased before that of this submission; nothing where it does not wait."""
    with reading(engine) as connection:
        mine = select(jobs.c.id, jobs.c.kind).where(jobs.c.key == f"score:{submission}:", jobs.c.state == "queued")
        found = connection.execute(mine).first()
        if found is None:
            return None
        before = select(func.count()).where(jobs.c.state == "queued", jobs.c.kind == found.kind, jobs.c.id < found.id)
        return int(connection.execute(before).scalar_one())


_STAGES: dict[str, v.SubmissionStateName] = {
    "checking": "checking",
    "queued": "queued",
    "ready": "ready",
    "running": "running",
    "scored": "scored",
    "refused": "refused",
    "failed": "failed",
    "faulted": "platform",
    "cancelled": "cancelled",
    "withdrawn": "withdrawn",
}


# Submissions


def submissions(site: Site, phase_id: str, viewer: Viewer) -> v.SubmissionsPage:
    state, now = site.state, site.now
    phase = state.phase(phase_id, now)
    track = track_of(phase)
    mine = submitting.submissions_of(state, phase_id, viewer.team) if viewer.team else []
    bundles = [one for one in state.bundles.values() if one.phase == phase_id and one.team == viewer.team]
    rows = [_row(site, phase, one, viewer) for one in mine] + [_bundle_row(one) for one in bundles]
    return v.SubmissionsPage(
        phase=link_of(phase, now),
        column=column_of(track.ranks),
        forms=tuple(forms(state, phase, track, viewer, site.setup.home, now)),
        rows=tuple(sorted(rows, key=lambda row: row.at, reverse=True)),
    )


def stage_seen(site: Site, one: Submission, viewer: Viewer) -> v.SubmissionStateName:
    """What became of a submission, as this viewer may know it."""
    if one.stage == "scored" and is_sealed(site.state, one, viewer, site.now):
        return "hidden"
    return _STAGES[one.stage]


def _row(site: Site, phase: Phase, one: Submission, viewer: Viewer) -> v.SubmissionRow:
    score = score_seen(site.state, one, viewer, site.now)
    account = site.state.accounts.get(one.by)
    return v.SubmissionRow(
        id=one.id,
        at=one.at,
        name=one.name,
        bytes=one.bytes,
        state=stage_seen(site, one, viewer),
        attempt=one.attempt,
        value=score.metrics.get(track_of(phase).ranks.name) if score else None,
        counts=counting(site, phase.id, viewer) == one.id,
        charged=one.stage not in submitting.FREE,
        by=account.name if account else "",
    )


def _bundle_row(one: Bundle) -> v.SubmissionRow:
    return v.SubmissionRow(
        id=one.id, at=one.at, name=one.name, bytes=one.bytes, state="received", purpose="bundle", charged=False
    )


def counting(site: Site, phase_id: str, viewer: Viewer) -> str:
    """The submission that stands on the board for the viewer's team, as they see it."""
    seen = site.boards.seen(phase_id, viewer)
    rows = seen[1] if seen else []
    return next((row.entry.submission for row in rows if viewer.team and row.entry.team == viewer.team), "")


def forms(state: State, phase: Phase, track: Track, viewer: Viewer, home: Path, now: int) -> list[v.UploadForm]:
    """What a team can hand in, and what is said before it does."""
    found = [_answers_form(state, phase, track, viewer, home, now)]
    promotion = state.promotions.get(phase.id)
    if phase.verification and promotion and any(one.team == viewer.team for one in promotion.teams):
        zone = state.rules(now).zone
        name = expected_name(phase.verification.name, state.team(viewer.team).name, now, zone)
        found.append(
            v.UploadForm(
                phase=phase.id,
                purpose="bundle",
                suffixes=(".zip",),
                limit_bytes=phase.verification.limit_bytes,
                file_name=name,
                closes=submitting.bundle_due(state, phase, viewer.team),
            )
        )
    return found


def _answers_form(state: State, phase: Phase, track: Track, viewer: Viewer, home: Path, now: int) -> v.UploadForm:
    team, most = state.teams.get(viewer.team), upload_limits.most_bytes(home, phase)
    left = submitting.allowance(state, phase, viewer.team, now)
    _, ours_next_at = submitting.ours_left(state, phase, viewer.team, now)
    name = expected_name(phase.file_name, team.name, now, state.rules(now).zone) if phase.file_name and team else ""
    run = submitting.run_of(state, phase, viewer.team)
    window = run.window_at(now) if run else None
    return v.UploadForm(
        phase=phase.id,
        suffixes=submitting.kinds(track),
        limit_bytes=phase.limit_bytes if most is None else min(phase.limit_bytes, most),
        limited_by_data=most is not None and most < phase.limit_bytes,
        file_name=name,
        allow_missing=phase.allow_missing,
        live=track.live,
        on_stage=held_on_stage(phase),
        plays_from=window.sitting if window else "",
        window_closes=window.closes if window else None,
        quota=phase.quota,
        left=max(left.count - left.used, 0),
        next_free=left.next_at or ours_next_at,
        fault_quota=phase.fault_quota,
        fault_left=max(left.fault_count - left.faults_used, 0),
        refusal=_refusal(state, phase, viewer, left, now) or ("ours" if ours_next_at is not None else ""),
        state=state_at(phase.opens, phase.closes, now),
        closes=phase.closes,
    )


def _refusal(state: State, phase: Phase, viewer: Viewer, left: submitting.Allowance, now: int) -> v.Refusal:
    """Why nothing can be handed in now."""
    reasons: list[tuple[bool, v.Refusal]] = [
        (not viewer.account, "signed_out"),
        (not viewer.team, "no_team"),
        (state.out(viewer.team, phase.id, now) is not None, "disqualified"),
        (not takes_part(state, phase, viewer.team), "not_promoted"),
        (now < phase.opens, "not_open"),
        (now >= phase.closes, "closed"),
        (submitting.is_frozen(state, phase, viewer.team, now), "on_stage"),
        (left.next_at is not None, "quota"),
        (left.faults_next_at is not None, "fault_quota"),
    ]
    return next((name for holds, name in reasons if holds), "")


def _rehearsal(one: Submission, language: str) -> v.Rehearsal | None:
    told = one.rehearsal
    if told is None:
        return None
    missed = told.missed.in_language(language)
    return v.Rehearsal(asked=told.asked, answered=told.answered, latency_ms=told.latency_ms, missed=missed)


def _parts(one: Submission) -> v.Parts | None:
    told = one.parts
    if told is None:
        return None
    return v.Parts(code=told.code, weights=told.weights, configuration=told.configuration, changed=told.changed)


def submission(site: Site, submission_id: str, viewer: Viewer, language: str = "en") -> v.SubmissionPage | None:
    """All of one submission; nothing where this viewer may not see it."""
    state, now = site.state, site.now
    one = state.submissions.get(submission_id)
    if one is None or not sees_submission(one, viewer):
        return None
    phase = state.phase(one.phase, now)
    track = track_of(phase)
    rounded = is_rounded(state, phase, now) and not viewer.is_organiser
    metrics = shown_metrics(phase, track, rounded)
    score = score_seen(state, one, viewer, now)
    stage = stage_seen(site, one, viewer)
    counts = counting(site, phase.id, viewer) == one.id
    seen = site.boards.seen(phase.id, viewer)
    ranks = {row.entry.submission: row.rank for row in (seen[1] if seen else [])}
    return v.SubmissionPage(
        id=one.id,
        phase=link_of(phase, now),
        team=one.team,
        team_name=one.baseline or state.teams[one.team].name,
        name=one.name,
        bytes=one.bytes,
        digest=one.file,
        at=one.at,
        state=stage,
        ahead=ahead_of(site.contest.engine, one.id) if stage == "queued" else None,
        attempt=one.attempt,
        attempts=tuple(_attempts(one, viewer, language)),
        ended_at=one.stage_at if one.stage not in UNDER_WAY else None,
        faults=tuple(fault.in_language(language) for fault in one.faults),
        fault_count=one.fault_count,
        message=one.message.in_language(language),
        charged=one.stage not in submitting.FREE,
        columns=tuple(map(column_of, metrics)) if score else (),
        metrics=tuple(score.metrics.get(metric.name) for metric in metrics) if score else (),
        split=phase.split if score and is_partial(state, phase) and not viewer.is_organiser else None,
        rounded=rounded and score is not None,
        counts=counts,
        rank=ranks.get(one.id),
        of=sum(rank is not None for rank in ranks.values()),
        files=tuple(_downloads(site, one, viewer)),
        report=f"/submissions/{one.id}/report" if score and score.report else "",
        rehearsal=_rehearsal(one, language),
        parts=_parts(one),
        can_withdraw=one.stage == "scored" and not viewer.is_organiser,
        can_retry=one.stage in ("faulted", "cancelled") and viewer.is_organiser,
    )


def _attempts(one: Submission, viewer: Viewer, language: str) -> list[v.Attempt]:
    """Attempts that came to nothing; a traceback is for the organiser."""
    return [
        v.Attempt(
            number=mishap.attempt,
            started_at=mishap.at,
            ended_at=mishap.at,
            outcome=mishap.fault,
            message=mishap.message.in_language(language),
            trace=f"/desk/traces/{mishap.trace}" if mishap.trace and viewer.is_organiser else "",
        )
        for mishap in one.mishaps
    ]


def _downloads(site: Site, one: Submission, viewer: Viewer) -> list[v.Download]:
    """What a team may take home of its submission."""
    found = [v.Download(name=one.name, url=f"/api/submissions/{one.id}/file", bytes=one.bytes, digest=one.file,
                        kind="answers")]  # fmt: skip
    score = score_seen(site.state, one, viewer, site.now)
    if score and score.result:
        digest, size = score.result, site.contest.files.size(score.result)
        if written := result_written(site, one, score, viewer):
            digest, size = hashlib.sha256(written).hexdigest(), len(written)
        url = f"/api/submissions/{one.id}/result"
        found.append(v.Download(name="result.json", url=url, bytes=size, digest=digest, kind="result"))
    return found


def result_written(site: Site, one: Submission, score: Score, viewer: Viewer) -> bytes | None:
    """The result as this viewer may have it; nothing where that is the one that is kept."""
    phase = site.state.phase(one.phase, site.now)
    if viewer.is_organiser or not is_rounded(site.state, phase, site.now):
        return None
    kept = msgspec.json.decode(site.contest.files.read(score.result), type=Result)
    return msgspec.json.encode(result_seen(site.state, one, viewer, site.now, kept))


# Data


def data(site: Site, viewer: Viewer, server: str) -> v.DataPage:
    state, now = site.state, site.now
    return v.DataPage(phases=tuple(phase_data(site, phase, viewer) for phase in phases_of(state, now)), server=server)


def phase_data(site: Site, phase: Phase, viewer: Viewer) -> v.PhaseData:
    state, now = site.state, site.now
    team = state.teams.get(viewer.team)
    access = team.access.get(phase.id) if team else None
    return v.PhaseData(
        phase=link_of(phase, now),
        access=_access(state, phase, viewer),
        reason=access.refused if access else "",
        requested_at=access.requested_at if access else None,
        licence=phase.licence,
        licence_digest=licence_digest(phase),
        accepted_at=access.requested_at if access and (phase.licence.en or phase.licence.zh) else None,
        files=tuple(_data_files(site, phase, viewer)),
        can_request=bool(team) and takes_part(state, phase, viewer.team) and not (access and access.granted),
    )


def _access(state: State, phase: Phase, viewer: Viewer) -> v.Access:
    if viewer.is_organiser:
        return "organiser"
    if not viewer.account:
        return "signed_out"
    team = state.teams.get(viewer.team)
    if team is None:
        return "no_team"
    if not takes_part(state, phase, team.id):
        return "not_promoted"
    access = team.access.get(phase.id)
    if access is None:
        return "none"
    return "granted" if access.granted else "refused" if access.refused else "requested"


def _data_files(site: Site, phase: Phase, viewer: Viewer) -> list[v.Download]:
    packs, state, now = site.state.packs.get(phase.id, {}), site.state, site.now
    may = {"view": sees_data(state, phase, viewer, now), "truth": sees_truth(state, phase, viewer), "starter": True}
    return [
        v.Download(
            name=f"{phase.id}-{part}.zip", url=f"/api/data/{phase.id}/{part}", bytes=size, digest=digest, kind=part
        )
        for part, (digest, size) in sorted(packs.items())
        if may[part]
    ]


# The team


def team(site: Site, viewer: Viewer, new_invitation: str = "") -> pv.TeamPage:
    state, now = site.state, site.now
    rules = state.rules(now)
    window = {
        "registration": state_at(rules.registration_opens, rules.registration_closes, now),
        "registration_opens": rules.registration_opens,
        "registration_closes": rules.registration_closes,
    }
    one = state.teams.get(viewer.team)
    if one is None:
        digest = declaration_digest(rules.declaration)
        return pv.TeamPage(
            limit=rules.team_limit,
            declaration=rules.declaration,
            declaration_digest=digest,
            **window,  # type: ignore[arg-type]
        )
    out = next((out for outs in one.out.values() for out in outs if out.until is None), None)
    return pv.TeamPage(
        team=one.id,
        name=one.name,
        captain=one.captain == viewer.account,
        members=tuple(_member(state, one.captain, account, viewer) for account in one.members),
        limit=rules.team_limit,
        invitations=tuple(
            pv.Invitation(id=digest, made_at=at, expires_at=rules.registration_closes or at)
            for digest, at in one.invitations.items()
        ),
        new_invitation=new_invitation,
        declaration=rules.declaration,
        declaration_digest=declaration_digest(rules.declaration),
        declared_at=one.declared_at if one.declared else None,
        to_declare=one.declared != declaration_digest(rules.declaration),
        disqualified=out.reason if out else "",
        awards=tuple(_certificates(state, one.id, viewer, now)),
        **window,  # type: ignore[arg-type]
    )


def _member(state: State, captain: str, account: str, viewer: Viewer) -> pv.Member:
    one = state.accounts[account]
    return pv.Member(
        account=account,
        name=one.name,
        captain=account == captain,
        me=account == viewer.account,
        joined_at=one.joined_at,
    )


def _certificates(state: State, team_id: str, viewer: Viewer, now: int) -> list[v.Download]:
    rules = state.rules(now)
    return [
        v.Download(name=f"{number}", title=award.title, url=f"/certificates/{number}/{team_id}", bytes=0)
        for number, award in enumerate(rules.awards)
        if team_id in winners_of(state, rules, number, viewer, now)
    ]
