"""What the desk is given where the organiser decides: promotion, verification, scoring again, awards."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from sqlalchemy import select

from palestra.contest.boards import Row, ranking
from palestra.contest.decisions import bundle_due, rescoring
from palestra.contest.decisions import promotion as promoting
from palestra.contest.log import Bundle, Promotion, Rescoring, Score, State, Submission
from palestra.contest.queue import jobs
from palestra.contest.rules import Phase, Rules, track_of
from palestra.contest.storage import events as events_table
from palestra.contest.storage import jobs as jobs_table
from palestra.contest.storage import reading
from palestra.records import Estimate
from palestra.text import Words
from palestra.web.models import desk as dv
from palestra.web.site import Site
from palestra.web.views.desk import ORGANISER, name_of
from palestra.web.views.public import column_of, link_of, phases_of

MOST_CHANGES = 500  # of a set of new scores, the largest in ranks first

# Promotion


def promotion(
    site: Site, phase_id: str, without: Mapping[str, str] | None = None, language: str = "en"
) -> dv.PromotionPage:
    """Who would go on, with these left out."""
    state, now = site.state, site.now
    phase = state.phase(phase_id, now)
    rows = site.boards.rows(phase_id)
    with site.contest.lock:
        seen = promoting.preview(state, phase_id, rows, without, now)
    assert phase.promotion is not None  # else nobody would have been seen to go on
    held = state.promotions.get(phase_id)
    metric = track_of(phase).ranks
    return dv.PromotionPage(
        phase=link_of(phase, now),
        to=link_of(state.phase(phase.promotion.to, now), now),
        top=phase.promotion.top,
        column=column_of(metric),
        rows=tuple(_promotion_rows(seen, rows, metric.name, held, set(without or {}), language)),
        confirmed_at=held.at if held else None,
        as_of=state.at,
        preview=seen.digest,
        cut_in_band=_cut_in_band(seen, rows),
        truth=_truth(state, phase),
    )


def first_promoting(site: Site) -> str:
    """The phase that promotes, of those that have begun the newest; empty where none does."""
    found = [phase for phase in phases_of(site.state, site.now) if phase.promotion]
    begun = [phase for phase in found if phase.opens <= site.now]
    return begun[-1].id if begun else found[0].id if found else ""


def no_promotion(site: Site, phase_id: str = "") -> dv.NoPromotionPage:
    """What is told where the rules in force promote nobody: from this phase, or at all."""
    state, now = site.state, site.now
    phases = phases_of(state, now)
    wanted = [one for one in state.versions if one.counts_from > now]
    coming = [
        one.counts_from
        for one in wanted
        if any(phase.promotion and phase_id in ("", phase.id) for phase in one.rules.phases)
    ]
    return dv.NoPromotionPage(
        phase=link_of(state.phase(phase_id, now), now) if phase_id else None,
        coming_at=min(coming, default=None),
        promoting=tuple(link_of(phase, now) for phase in phases if phase.promotion),
        example=phases[-1].id,
    )


def _promotion_rows(
    seen: promoting.Preview, rows: Sequence[Row], metric: str, held: Promotion | None, named: set[str], language: str
) -> list[dv.PromotionRow]:
    """Those who go on and those who are left out, then the first few who do not."""
    goes = {one.team for one in seen.teams}
    out = {one.team: seen.why[one.team].in_language(language) for one in seen.left_out}
    had = {one.team for one in held.teams} if held else set()
    ranked = [row for row in rows if row.rank is not None]
    last = max((i for i, row in enumerate(ranked) if row.entry.team in goes | out.keys() | had), default=-1)
    return [
        dv.PromotionRow(
            team=row.entry.team,
            team_name=row.entry.name,
            rank=row.rank or 0,
            value=row.entry.metrics.get(metric),
            band=row.band,
            goes_on=row.entry.team in goes,
            reason=out.get(row.entry.team, ""),
            by_hand=row.entry.team in named,
            was=row.entry.team in had if held else None,
        )
        for row in ranked[: last + 4]
    ]


def _cut_in_band(seen: promoting.Preview, rows: Sequence[Row]) -> bool:
    """Whether the last who goes on and the first who does not cannot be told apart."""
    goes, out = {one.team for one in seen.teams}, {one.team for one in seen.left_out}
    ranked = [row for row in rows if row.rank is not None and row.entry.team not in out]
    inside = [row for row in ranked if row.entry.team in goes]
    outside = [row for row in ranked if row.entry.team not in goes]
    return bool(inside and outside) and inside[-1].band is not None and inside[-1].band == outside[0].band


def _truth(state: State, phase: Phase) -> dv.TruthState:
    held = state.promotions.get(phase.id)
    if held is None or "truth" not in state.packs.get(phase.id, {}):
        return "none"
    due = [one.team for one in held.teams if state.out(one.team, phase.id) is None]
    return "released" if all(team in state.truth.get(phase.id, {}) for team in due) else "ready"


# Verification


def verifications(site: Site) -> dv.VerificationsPage:
    """One row for each team that was promoted from a phase that asks for bundles, or handed one in."""
    state, now = site.state, site.now
    running = {one.key for one in jobs.listed(site.contest.engine, ("leased",), ("verify",))}
    newest = {(one.phase, one.team): one for one in list(state.bundles.values())}
    rows = []
    for phase in phases_of(state, now):
        held = state.promotions.get(phase.id)
        if phase.verification is None or held is None:
            continue
        promoted = [one.team for one in held.teams]
        others = [team for at, team in newest if at == phase.id and team not in promoted]
        for team in (*promoted, *others):
            rows.append(_verification(state, phase, team, newest.get((phase.id, team)), running, now))
    return dv.VerificationsPage(rows=tuple(rows))


def _verification(
    state: State, phase: Phase, team: str, bundle: Bundle | None, running: set[str], now: int
) -> dv.VerificationRow:
    verdict = state.compliance.get(phase.id, {}).get(team)
    row = dv.VerificationRow(
        team=team,
        team_name=state.teams[team].name,
        phase=link_of(phase, now),
        due=bundle_due(state, phase, team),
        compliance=verdict.ok if verdict else None,
        compliance_reasons=verdict.reasons if verdict else "",
    )
    if bundle is None:
        return row
    waiting: dv.Outcome = "running" if f"verify:{bundle.id}" in running else "waiting"
    return msgspec.structs.replace(
        row,
        submission=bundle.id,
        at=bundle.at,
        late=bundle.late,
        name=bundle.name,
        outcome=bundle.outcome or waiting,
        different=bundle.different,
        rows=bundle.rows,
        worst=bundle.worst,
    )


def verification(site: Site, bundle_id: str, language: str = "en") -> dv.VerificationPage | None:
    state, now = site.state, site.now
    bundle = state.bundles.get(bundle_id)
    phase = state.phase(bundle.phase, now) if bundle else None
    if bundle is None or phase is None or phase.verification is None or phase.id not in state.promotions:
        return None
    rows = site.boards.rows(phase.id)
    of = bundle.of or next((row.entry.submission for row in rows if row.entry.team == bundle.team), "")
    job = _job_state(site, f"verify:{bundle.id}")
    running = {f"verify:{bundle.id}"} if job == "leased" else set()
    return dv.VerificationPage(
        verification=_verification(state, phase, bundle.team, bundle, running, now),
        of=of,
        of_at=state.submissions[of].at if of else bundle.at,
        tolerance=phase.verification.tolerance,
        message=bundle.message.in_language(language),
        report=f"/desk/reports/{bundle.report}" if bundle.report else "",
        next_team=_next_team(site, phase, bundle.team, rows),
        can_retry=job in ("failed", "cancelled"),
    )


def _job_state(site: Site, key: str) -> str:
    with reading(site.contest.engine) as connection:
        found = connection.execute(select(jobs_table.c.state).where(jobs_table.c.key == key)).scalar()
    return found or ""


def _next_team(site: Site, phase: Phase, team: str, rows: Sequence[Row]) -> str:
    """Who goes on if this team does not."""
    if phase.promotion is None:
        return ""
    with site.contest.lock:
        added = promoting.preview(site.state, phase.id, rows, {team: "does not go on"}, site.now).added
    return site.state.teams[added[0]].name if added else ""


# Scoring again


def rescorings(site: Site) -> dv.RescoringsPage:
    state, now = site.state, site.now
    found = sorted(state.rescorings.values(), key=lambda one: one.at, reverse=True)
    return dv.RescoringsPage(
        rows=tuple(_rescoring(state, one, now) for one in found),
        phases=tuple(link_of(phase, now) for phase in phases_of(state, now)),
        teams=tuple((team.id, team.name) for team in list(state.teams.values())),
    )


def _rescoring(state: State, one: Rescoring, now: int) -> dv.RescoringRow:
    done = sum(name in one.failed or _new_score(state, one, name) is not None for name in one.submissions)
    account = state.accounts.get(one.by)
    open_one: Literal["ready", "running"] = "ready" if done == len(one.submissions) else "running"
    return dv.RescoringRow(
        id=one.id,
        phase=link_of(state.phase(one.phase, now), now),
        at=one.at,
        by=account.name if account else one.by,
        reason=one.reason,
        state=open_one if one.state == "open" else one.state,
        done=done,
        count=len(one.submissions),
    )


def _new_score(state: State, one: Rescoring, submission: str) -> Score | None:
    """What a submission got in this set."""
    found = [score for score in list(state.submissions[submission].scores) if score.rescoring == one.id]
    return found[-1] if found else None


def rescoring_page(site: Site, rescoring_id: str, language: str = "en") -> dv.RescoringPage | None:
    """A set of new scores: which change, and what they do to the board."""
    state, now = site.state, site.now
    one = state.rescorings.get(rescoring_id)
    if one is None:
        return None
    metric = track_of(state.phase(one.phase, now)).ranks
    ranks = _ranks(site, one)
    changes = [_change(state, one, name, metric.name, ranks, language) for name in one.submissions]
    shown = [change for change in changes if _is_news(change)]
    shown.sort(key=lambda change: -abs((change.rank_before or 0) - (change.rank_after or 0)))
    return dv.RescoringPage(
        rescoring=_rescoring(state, one, now),
        column=column_of(metric),
        changes=tuple(shown[:MOST_CHANGES]),
        new_first=_new_first(state, ranks),
    )


Ranks = dict[str, tuple[int | None, int | None]]  # by team: before and after


def _ranks(site: Site, one: Rescoring) -> Ranks:
    """Of teams whose place is another one: with an open set as it would be, with an applied one as it was."""
    if one.state == "open":
        with site.contest.lock:
            found = rescoring.outlook(site.state, one.id, "whole", site.contest.files.read)
        return {change.team: (change.rank_before, change.rank_after) for change in found.changes if change.team}
    applied_at = _applied_at(site.state, one)
    if one.state == "cancelled" or applied_at is None:
        return {}
    before = {row.entry.team: row.rank for row in site.boards.rows(one.phase, "whole", applied_at - 1)}
    after = {row.entry.team: row.rank for row in site.boards.rows(one.phase, "whole", applied_at)}
    return {team: (before.get(team), rank) for team, rank in after.items() if team}


def _applied_at(state: State, one: Rescoring) -> int | None:
    scores = (_new_score(state, one, name) for name in one.submissions)
    return next((score.counts_from for score in scores if score), None)


def _change(state: State, one: Rescoring, name: str, metric: str, ranks: Ranks, language: str) -> dv.RankChange:
    submission, score = state.submissions[name], _new_score(state, one, name)
    before, after = ranks.get(submission.team, (None, None))
    return dv.RankChange(
        team_name=name_of(state, submission),
        submission=name,
        before=_value_before(submission, one, metric),
        after=score.metrics.get(metric) if score else None,
        rank_before=before,
        rank_after=after,
        failed=one.failed.get(name, Words()).in_language(language) if score is None else "",
    )


def _value_before(submission: Submission, one: Rescoring, metric: str) -> Estimate | None:
    """What counted when the set was proposed."""
    score = submission.score_at(one.at)
    return score.metrics.get(metric) if score else None


def _is_news(change: dv.RankChange) -> bool:
    moved = change.rank_before != change.rank_after
    return bool(change.failed) or moved or (change.after is not None and change.after != change.before)


def _new_first(state: State, ranks: Ranks) -> str:
    """The team that would lead, where it is another one."""
    return next((state.teams[team].name for team, (was, now) in ranks.items() if now == 1 and was != 1), "")


# Awards


def awards(site: Site) -> dv.AwardsPage:
    """Each award: who has it, who would get it as the boards stand."""
    state, now = site.state, site.now
    rules = state.rules(now)
    boards = {award.phase: site.boards.rows(award.phase) for award in rules.awards if award.phase}
    final = site.boards.final(ORGANISER)
    proposed = promoting.proposed_awards(rules, boards, final, promoting.failed_teams(state))
    places = {phase: _places(rows) for phase, rows in boards.items()} | {"": _final_places(final)}
    given = {number: dict(state.awards.get(str(number), {})) for number in range(len(rules.awards))}
    times = _times(site, [seq for teams in given.values() for seq in teams.values()])
    rows = [
        _award(site, rules, number, team, places[award.phase].get(team), times.get(given[number].get(team, 0)))
        for number, award in enumerate(rules.awards)
        for team in dict.fromkeys([*given[number], *proposed[number]]) or [""]
    ]
    return dv.AwardsPage(rows=tuple(rows), teams=tuple((team.id, team.name) for team in list(state.teams.values())))


def _places(rows: Sequence[Row]) -> dict[str, int | None]:
    return {row.entry.team: row.rank for row in rows}


def _final_places(rows: Sequence[ranking.FinalRow]) -> dict[str, int | None]:
    return {row.team: row.rank for row in rows}


def _place_then(site: Site, phase: str, team: str, at: int) -> int | None:
    """Where a team stood when an award was given: what counts for it, whatever became of the board since."""
    then = _places(site.boards.rows(phase, "whole", at)) if phase else _final_places(site.boards.final_at(at))
    return then.get(team)


def _award(site: Site, rules: Rules, number: int, team: str, rank: int | None, given_at: int | None) -> dv.AwardRow:
    award, state = rules.awards[number], site.state
    return dv.AwardRow(
        award=number,
        title=award.title,
        phase=rules.phase(award.phase).title if award.phase else Words(),
        team=team,
        team_name=state.teams[team].name if team else "",
        rank=_place_then(site, award.phase, team, given_at) if given_at else rank,
        rank_now=rank,
        given_at=given_at,
        proposed=bool(team) and given_at is None,
        certificate=f"/certificates/{number}/{team}" if given_at else "",
    )


def _times(site: Site, seqs: Sequence[int]) -> dict[int, int]:
    """When events were."""
    asked = select(events_table.c.seq, events_table.c.at).where(events_table.c.seq.in_(seqs))
    with reading(site.contest.engine) as connection:
        return {row.seq: row.at for row in connection.execute(asked)}
