"""What the organiser's desk is given, from the state and the queue: what goes on now, and who takes part."""

from collections import Counter
from collections.abc import Iterator

import msgspec
from sqlalchemy import func, select

from palestra import registry
from palestra.contest import Viewer, frozen_since, is_partial
from palestra.contest.decisions import organiser, ours_left
from palestra.contest.log import UNDER_WAY, Copy, State, Submission, Team, chain
from palestra.contest.queue import Order, jobs
from palestra.contest.rules import Phase, edited, parse_sent, track_of
from palestra.contest.storage import jobs as jobs_table
from palestra.contest.storage import reading
from palestra.executors import Machine, differences
from palestra.text import Text, Words, joined, say, say_count
from palestra.web.models import desk as dv
from palestra.web.models import public as v
from palestra.web.site import Site
from palestra.web.views import live
from palestra.web.views.public import link_of, phases_of, rules_versions, state_at
from palestra.web.views.rules import changes, compared, file_text, require_other

ORGANISER = Viewer(role="organiser")
SHOWN_JOBS = {"leased": 20, "failed": 10, "queued": 20}  # of each state
SHOWN_FAULTS = 20
LOOKED_AT = 2_000  # the newest submissions, among which faults are looked for


def name_of(state: State, one: Submission) -> str:
    """The team, or the baseline, that a submission is of."""
    return one.baseline or state.teams[one.team].name


# What goes on now


def overview(site: Site, language: str = "en") -> dv.DeskPage:
    """Also sent live, whenever anything happens, so nothing here grows with the log."""
    state, now = site.state, site.now
    newest = log_head(site)
    found, more = _jobs(site)
    return dv.DeskPage(
        phases=desk_phases(site),
        jobs=tuple(_job(state, one, language) for one in found),
        jobs_more=more,
        workers=tuple(_worker(one, there) for one, there in jobs.workers(site.contest.engine, now)),
        faults=tuple(_faults(state, language)),
        stalled=tuple(_stalled(state, now)),
        requests=_unanswered(state),
        copies=len(state.copies),
        verifications=sum(_is_unjudged(state, one.team, one.phase) for one in list(state.bundles.values())),
        rescorings=sum(one.state == "open" for one in list(state.rescorings.values())),
        log_seq=newest.seq,
        log_hash=newest.hash,
    )


def _unanswered(state: State) -> int:
    asked = [one for team in list(state.teams.values()) for one in list(team.access.values())]
    return sum(not (one.granted or one.refused) for one in asked)


def log_head(site: Site) -> chain.Head:
    with reading(site.contest.engine) as connection:
        return chain.head(connection)


def _is_unjudged(state: State, team: str, phase: str) -> bool:
    return team not in state.compliance.get(phase, {})


def desk_phases(site: Site) -> tuple[dv.DeskPhase, ...]:
    state, now = site.state, site.now
    waiting = Counter(one.phase for one in list(state.submissions.values()) if one.stage in UNDER_WAY)
    return tuple(_phase(site, phase, now, waiting[phase.id]) for phase in phases_of(state, now))


def _phase(site: Site, phase: Phase, now: int, waiting: int) -> dv.DeskPhase:
    state = site.state
    sent = {whose: len(names) for whose, names in list(state.of_team.get(phase.id, {}).items())}
    frozen = frozen_since(state, phase, now) is not None
    releasable = phase.split is None or now >= phase.closes
    return dv.DeskPhase(
        id=phase.id,
        title=phase.title,
        state=state_at(phase.opens, phase.closes, now),
        opens=phase.opens,
        closes=phase.closes,
        freeze=phase.freeze,
        frozen=frozen,
        held_back=releasable and (frozen or is_partial(state, phase)),
        submissions=sum(sent.values()),
        teams=sum(whose in state.teams for whose in sent),
        waiting=waiting,
        live=track_of(phase).live,
        solutions=tuple(one.name for one in registry.solutions(phase.track)),
        slip=site.setup.slips.get(phase.id, ""),
    )


def _jobs(site: Site) -> tuple[list[jobs.Listed], int]:
    """What runs, what failed, what waits; and how many more there are."""
    engine = site.contest.engine
    found = [one for state, limit in SHOWN_JOBS.items() for one in jobs.listed(engine, (state,), limit=limit)]
    with reading(engine) as connection:
        asked = select(func.count()).where(jobs_table.c.state.in_(tuple(SHOWN_JOBS)))
        count = connection.execute(asked).scalar() or 0
    return found, max(count - len(found), 0)


def _job(state: State, one: jobs.Listed, language: str) -> dv.Job:
    order = msgspec.json.decode(one.body, type=Order)
    submission, bundle = state.submissions.get(order.submission), state.bundles.get(order.submission)
    team = name_of(state, submission) if submission else state.teams[bundle.team].name if bundle else ""
    return dv.Job(
        id=one.id,
        key=one.key,
        kind=one.kind,
        state=one.state,
        submission=order.submission if submission else "",
        team_name=team,
        attempt=one.attempt,
        worker=one.worker,
        queued_at=one.queued_at,
        lease_until=one.lease_until or None,
        message=one.message.in_language(language),
    )


def _worker(one: jobs.Seen, there: bool) -> dv.Worker:
    return dv.Worker(
        id=one.id,
        kinds=tuple(filter(None, one.kinds.split(","))),
        executor=one.executor,
        seen_at=one.seen_at,
        busy=one.busy,
        lost=not there,
    )


def _stalled(state: State, now: int) -> Iterator[dv.Stalled]:
    """Teams of which nothing is taken, as too many of their submissions failed on our side."""
    newest = list(state.submissions.values())[-LOOKED_AT:]
    for phase, team in sorted({(one.phase, one.team) for one in newest if one.stage == "faulted" and one.team}):
        count, next_at = ours_left(state, state.phase(phase, now), team, now)
        if next_at is not None:
            yield dv.Stalled(state.teams[team].name, phase, count)


def _faults(state: State, language: str) -> list[dv.FaultRow]:
    """The newest attempts that came to nothing."""
    newest = list(state.submissions.values())[-LOOKED_AT:]
    rows = [
        dv.FaultRow(
            submission=one.id,
            team_name=name_of(state, one),
            at=mishap.at,
            fault=mishap.fault,
            message=mishap.message.in_language(language),
            trace=f"/desk/traces/{mishap.trace}" if mishap.trace else "",
            attempt=mishap.attempt,
            last=mishap.last,
        )
        for one in newest
        for mishap in list(one.mishaps)
    ]
    return sorted(rows, key=lambda row: row.at, reverse=True)[:SHOWN_FAULTS]


# Live runs


def runs(site: Site, phase_id: str, language: str = "en") -> dv.RunsDeskPage:
    state, now = site.state, site.now
    machines = _machines(site)
    phase = state.phase(phase_id, now)
    earlier = [run for run in list(state.runs.values()) if run.phase == phase_id]
    pages = [live.run_page(site, run.id, ORGANISER) for run in sorted(earlier, key=lambda run: -run.at)]
    return dv.RunsDeskPage(
        phase=_phase(site, phase, now, 0),
        bundles=tuple(_bundles(state, phase)),
        running=next((run.id for run in list(state.runs.values()) if not run.outcome), ""),
        runs=tuple(page for page in pages if page),
        machines=tuple(_machine_told(one).in_language(language) for one in machines),
        differences=tuple(told.in_language(language) for told in differences(machines)),
    )


def _machines(site: Site) -> list[Machine]:
    """Those of workers that are there and may play a run; each once."""
    known, workers = site.state.machines, jobs.workers(site.contest.engine, site.now)
    told = [known[one.id] for one, there in workers if there and "run" in one.kinds.split(",") and one.id in known]
    return [one for i, one in enumerate(told) if one not in told[:i]]


def _machine_told(one: Machine) -> Words:
    cards = [say("graphics card {card}", card=card) for card in one.gpus]
    cores = say_count("{count} core", "{count} cores", one.cores)
    parts: list[Text] = [one.cpu, cores, say("{memory} GiB of memory", memory=one.memory_gib), *cards]
    return say("{name}: {parts}; kernel {kernel}", name=one.name, parts=joined(parts), kernel=one.kernel)


def _bundles(state: State, phase: Phase) -> list[dv.Bundle]:
    """Each team's newest bundle that can run."""
    found = [
        dv.Bundle(
            submission=one.id,
            team_name=name_of(state, one),
            at=one.at,
            name=one.name,
            changed=one.parts.changed if one.parts else (),
        )
        for one in organiser.playable(state, phase.id)
    ]
    return sorted(found, key=lambda bundle: bundle.team_name)


# Teams and accounts


def access(site: Site) -> dv.AccessPage:
    """Unanswered requests first, the longest waiting at the top; then the answered ones, the newest first."""
    state, now = site.state, site.now
    phases = {phase.id: link_of(phase, now) for phase in phases_of(state, now)}
    rows = [
        _access_row(state, team, phases[phase], phase)
        for team in list(state.teams.values())
        for phase in list(team.access)
        if phase in phases
    ]
    return dv.AccessPage(rows=tuple(sorted(rows, key=_waiting_first)))


def _waiting_first(row: dv.AccessRow) -> tuple[bool, int]:
    waits = row.state == "requested"
    return not waits, row.at if waits else -row.at


def _access_row(state: State, team: Team, phase: v.PhaseLink, phase_id: str) -> dv.AccessRow:
    one = team.access[phase_id]
    return dv.AccessRow(
        team=team.id,
        team_name=team.name,
        phase=phase,
        at=one.requested_at,
        members=len(team.members),
        captain=state.accounts[team.captain].name,
        state="granted" if one.granted else "refused" if one.refused else "requested",
        reason=one.refused,
    )


def teams(site: Site) -> dv.TeamsPage:
    state, now = site.state, site.now
    sent = Counter(one.team for one in list(state.submissions.values()))
    return dv.TeamsPage(
        rows=tuple(_team(state, team, sent[team.id], now) for team in list(state.teams.values())),
        phases=tuple(link_of(phase, now) for phase in phases_of(state, now)),
    )


def _team(state: State, team: Team, sent: int, now: int) -> dv.DeskTeam:
    outs = [(phase, out) for phase, found in team.out.items() for out in found if out.until is None]
    phase, out = outs[0] if outs else ("", None)
    return dv.DeskTeam(
        team=team.id,
        name=team.name,
        captain=state.accounts[team.captain].name,
        members=len(team.members),
        submissions=sent,
        made_at=team.made_at,
        disqualified=out.reason if out else "",
        disqualified_phase=state.phase(phase, now).title if phase else Words(),
        disqualified_from=phase,
    )


def accounts(site: Site, new_link: str = "") -> dv.AccountsPage:
    state = site.state
    teams = {team.id: team.name for team in list(state.teams.values())}
    rows = [
        dv.AccountRow(
            account=one.id,
            name=one.name,
            role=one.role,
            email=one.email,
            team_name=teams.get(one.team, ""),
            made_at=one.made_at,
            closed=one.closed,
        )
        for one in list(state.accounts.values())
    ]
    return dv.AccountsPage(rows=tuple(rows), new_link=new_link)


def copies(site: Site) -> dv.CopiesPage:
    """Newest first."""
    state, now = site.state, site.now
    return dv.CopiesPage(rows=tuple(_copy(state, one, now) for one in reversed(list(state.copies))))


def _copy(state: State, one: Copy, now: int) -> dv.CopyRow:
    later, earlier = state.submissions[one.submission], state.submissions[one.of]
    return dv.CopyRow(
        at=one.at,
        phase=link_of(state.phase(later.phase, now), now),
        submission=later.id,
        team_name=name_of(state, later),
        of=earlier.id,
        of_team_name=name_of(state, earlier),
        share=one.share,
        exact=one.exact,
        first_at=min(later.at, earlier.at),
    )


# What everybody reads


def announcements(site: Site) -> dv.AnnouncementsPage:
    news = sorted(site.state.announcements, key=lambda one: one.at, reverse=True)
    rows = (v.Announcement(id=one.id, at=one.at, title=one.title, text=one.text) for one in news)
    return dv.AnnouncementsPage(rows=tuple(rows))


def amendments(site: Site) -> dv.AmendmentsPage:
    """The rules, and the file to change them by: it begins as what was announced last."""
    state = site.state
    return dv.AmendmentsPage(
        rules=tuple(rules_versions(state)),
        notice_ms=state.rules(site.now).notice_ms,
        text=file_text(site),
    )


def amended(site: Site, text: str, counts_from: int, reason: str) -> dv.AmendmentsPage:
    """What a contest file that was given would change. It is refused here for what it would be refused for later."""
    before, after = site.state.versions[-1].rules, parse_sent(text, "contest.toml", site.setup.file)
    require_other(before, after)
    with site.contest.lock:
        organiser.amend(site.state, site.now, after, counts_from, reason)
    page = amendments(site)
    return msgspec.structs.replace(
        page,
        text=text,
        counts_from=counts_from,
        reason=reason,
        changes=tuple(changes(before, after)),
        lines=tuple(compared(page.text, edited(page.text, after))),
    )


def exports(site: Site) -> dv.ExportsPage:
    state, now = site.state, site.now
    files = [_export(f"{name}.{ending}", ending) for name in table_names(state, now) for ending in ("csv", "parquet")]
    return dv.ExportsPage(
        files=(*files, _export("events.csv", "csv")),
        phases=tuple(link_of(phase, now) for phase in phases_of(state, now)),
    )


def table_names(state: State, now: int) -> list[str]:
    """The tables that tabular.tables makes for the organiser."""
    rules = state.rules(now)
    final = ["final"] if rules.weights else []
    judged = [f"cases-{phase.id}" for phase in rules.phases if phase.match]
    return [*(f"board-{phase.id}" for phase in rules.phases), *judged, *final, "awards", "teams", "submissions"]


def _export(name: str, kind: str) -> v.Download:
    return v.Download(name=name, url=f"/desk/exports/{name}", bytes=0, kind=kind)
