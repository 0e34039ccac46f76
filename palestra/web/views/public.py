"""What the pages that everybody sees are given, from the state: the frame, home, boards, the final standing."""

from collections.abc import Iterable, Iterator
from importlib.metadata import version

from palestra.contest import Sight, Viewer, frozen_since, sees, sees_awards, sight_of_board
from palestra.contest.boards import Row, ranking
from palestra.contest.decisions import bundle_due
from palestra.contest.log import State
from palestra.contest.rules import Phase, Rules, track_of
from palestra.records import Estimate, Metric, Track
from palestra.text import Words, words_of
from palestra.web.models import public as v
from palestra.web.site import Site

SHOWN_METRICS = 4  # columns of a board
SHOWN_ROWS = 200  # of a board on a page: five thousand are 7 MB, written and sent again with every score
VERSION = version("palestra")  # read from a file, and every page says it


def state_at(opens: int | None, closes: int | None, now: int) -> v.PhaseState:
    if opens is not None and now < opens:
        return "waiting"
    return "closed" if closes is not None and now >= closes else "open"


def link_of(phase: Phase, now: int) -> v.PhaseLink:
    live = track_of(phase).live
    return v.PhaseLink(id=phase.id, title=phase.title, state=state_at(phase.opens, phase.closes, now), live=live)


def phases_of(state: State, now: int) -> list[Phase]:
    return [state.phase(phase.id, now) for phase in state.rules(now).phases]


def frame(site: Site, viewer: Viewer, csrf: str, path: str, notice: v.Notice | None = None) -> v.Frame:
    """What every page has around it."""
    state, now = site.state, site.now
    rules = state.rules(now)
    return v.Frame(
        name=rules.name,
        organiser=rules.organiser,
        zone=rules.zone,
        now=now,
        path=path,
        csrf=csrf,
        viewer=_viewer(state, viewer) if viewer.account else None,
        phases=tuple(link_of(phase, now) for phase in phases_of(state, now)),
        run=next((run.id for run in state.runs.values() if not run.outcome), ""),
        final=bool(rules.weights) and bool(site.boards.final(viewer)),
        matches=bool(state.matches),
        pack=next((phase.id for phase in rules.phases if phase.match), ""),
        notice=notice,
        version=VERSION,
    )


def _viewer(state: State, viewer: Viewer) -> v.Viewer:
    team = state.teams.get(viewer.team)
    return v.Viewer(
        account=viewer.account,
        name=viewer.name,
        role=viewer.role if viewer.role != "nobody" else "viewer",
        team=viewer.team,
        team_name=team.name if team else "",
        captain=bool(team and team.captain == viewer.account),
    )


# Home


def home(site: Site, viewer: Viewer) -> v.HomePage:
    state, now = site.state, site.now
    rules = state.rules(now)
    news = sorted(state.announcements, key=lambda one: one.at, reverse=True)
    return v.HomePage(
        about=rules.about,
        phases=tuple(_card(state, rules, phase, viewer, now) for phase in phases_of(state, now)),
        deadline=next_deadline(state, now),
        announcements=tuple(v.Announcement(id=one.id, at=one.at, title=one.title, text=one.text) for one in news),
        prizes=tuple(_prizes(state, rules, viewer, now)),
        rules=tuple(rules_versions(state)),
        steps=_steps(state, viewer),
        registration=state_at(rules.registration_opens, rules.registration_closes, now),
        registration_opens=rules.registration_opens,
        registration_closes=rules.registration_closes,
        teams=len(state.teams),
        team_limit=rules.team_limit,
    )


def _card(state: State, rules: Rules, phase: Phase, viewer: Viewer, now: int) -> v.PhaseCard:
    sent = {whose: names for whose, names in state.of_team.get(phase.id, {}).items() if whose in state.teams}
    moves = state.moved.get(phase.id)
    to = phase.promotion.to if phase.promotion else ""
    return v.PhaseCard(
        id=phase.id,
        title=phase.title,
        about=phase.about,
        track=words_of(track_of(phase).title),
        opens=phase.opens,
        closes=phase.closes,
        state=state_at(phase.opens, phase.closes, now),
        entry=phase.entry,
        freeze=phase.freeze,
        frozen=frozen_since(state, phase, now) is not None,
        quota=phase.quota,
        limit_bytes=phase.limit_bytes,
        teams=len(sent),
        submissions=sum(map(len, sent.values())),
        board=sight_of_board(state, phase, viewer, now) is not None,
        promotes=phase.promotion.top if phase.promotion else 0,
        promotes_to=rules.phase(to).title if to else Words(),
        weight=rules.weights.get(phase.id),
        match=phase.match is not None,
        moved=moves[-1].reason if moves else "",
    )


def next_deadline(state: State, now: int) -> v.Deadline | None:
    """What begins or ends next."""
    rules = state.rules(now)
    found = [
        v.Deadline(what="registration_opens", at=rules.registration_opens or 0),
        v.Deadline(what="registration_closes", at=rules.registration_closes or 0),
    ]
    for phase in phases_of(state, now):
        found.append(v.Deadline(what="phase_opens", at=phase.opens, phase=phase.title))
        found.append(v.Deadline(what="phase_closes", at=phase.closes, phase=phase.title))
        found.append(v.Deadline(what="freeze", at=phase.freeze or 0, phase=phase.title))
        if phase.verification and phase.id in state.promotions:
            found.append(v.Deadline(what="bundles_due", at=bundle_due(state, phase), phase=phase.title))
    coming = [one for one in found if one.at > now]
    return min(coming, key=lambda one: one.at) if coming else None


def _prizes(state: State, rules: Rules, viewer: Viewer, now: int) -> list[v.Prize]:
    return [
        v.Prize(
            title=award.title,
            count=award.count,
            phase=rules.phase(award.phase).title if award.phase else Words(),
            winners=tuple(state.teams[team].name for team in winners_of(state, rules, number, viewer, now)),
        )
        for number, award in enumerate(rules.awards)
    ]


def rules_versions(state: State) -> list[v.RulesVersion]:
    """Newest first."""
    return [
        v.RulesVersion(
            number=number, at=one.announced_at, counts_from=one.counts_from, reason=one.reason, url=f"/rules/{number}"
        )
        for number, one in reversed(list(enumerate(state.versions, 1)))
    ]


def _steps(state: State, viewer: Viewer) -> v.Steps:
    team = state.teams.get(viewer.team)
    return v.Steps(
        signed_in=bool(viewer.account),
        in_team=team is not None,
        has_data=bool(team and any(access.granted for access in team.access.values())),
        submitted=any(viewer.team in sent for sent in state.of_team.values()) if viewer.team else False,
    )


# Boards


def column_of(metric: Metric) -> v.Column:
    title = words_of(metric.title or metric.name)
    return v.Column(name=metric.name, title=title, unit=metric.unit, better=metric.better)


def shown_metrics(phase: Phase, track: Track, rounded: bool) -> list[Metric]:
    """What ranks, then what breaks ties; then the track's others, as far as there is room and they are told."""
    known = {metric.name: metric for metric in track.metrics}
    ties = [known[name] for name in phase.ties or track.ties if name in known]
    others = () if rounded else track.metrics
    return list(dict.fromkeys([track.ranks, *ties, *others]))[:SHOWN_METRICS]


def board(site: Site, phase_id: str, viewer: Viewer, most: int | None = None) -> v.BoardPage | None:
    """A board as someone sees it; nothing where they may not. Of a long one `most` rows, and their own team's."""
    seen = site.boards.seen(phase_id, viewer)
    if seen is None:
        return None
    state, now = site.state, site.now
    phase = state.phase(phase_id, now)
    track = track_of(phase)
    sight, rows = seen
    metrics = shown_metrics(phase, track, sight.rounded)
    history = sees(phase.history_for, viewer)
    shown = rows if most is None else [*rows[:most], *(row for row in rows[most:] if _is_mine(row, viewer))]
    return v.BoardPage(
        phase=link_of(phase, now),
        columns=tuple(map(column_of, metrics)),
        rows=tuple(_row(state, phase, row, metrics, viewer, history) for row in shown),
        further=sum(row.rank is not None for row in rows) - sum(row.rank is not None for row in shown),
        ties=tuple(phase.ties or track.ties),
        mode=phase.board,
        as_of=_as_of(state, sight),
        frozen=sight.frozen_at is not None,
        split=phase.split if sight.partial else None,
        rounded=sight.rounded,
        history=history,
        promotes=phase.promotion.top if phase.promotion else 0,
        unit=track.units[0],
        closed=now >= phase.closes,
        judged=phase.match is not None,
    )


def board_page(site: Site, phase_id: str, viewer: Viewer) -> v.BoardPage | None:
    """A board as a page shows it: of a long one, its beginning."""
    return board(site, phase_id, viewer, SHOWN_ROWS)


def _is_mine(row: Row, viewer: Viewer) -> bool:
    return bool(row.entry.team) and row.entry.team == viewer.team


def _as_of(state: State, sight: Sight) -> int:
    return sight.frozen_at or state.at


def _row(state: State, phase: Phase, row: Row, metrics: list[Metric], viewer: Viewer, history: bool) -> v.BoardRow:
    entry = row.entry
    mine = _is_mine(row, viewer)
    promotion = state.promotions.get(phase.id)
    return v.BoardRow(
        name=entry.name,
        team=entry.team,
        rank=row.rank,
        band=row.band,
        metrics=tuple(entry.metrics.get(metric.name) for metric in metrics),
        submissions=entry.count,
        at=entry.at,
        history=tuple(point.value for point in entry.history) if history or mine else (),
        mine=mine,
        submission=entry.submission if mine or viewer.is_organiser else "",
        promoted=bool(promotion and any(one.team == entry.team for one in promotion.teams)),
        match=entry.match,
    )


def final(site: Site, viewer: Viewer) -> v.FinalPage | None:
    """The final standing over all weighted phases; nothing where there is none to be seen."""
    state, now = site.state, site.now
    rules = state.rules(now)
    rows = site.boards.final(viewer)
    if not rows:
        return None
    metrics = [track_of(state.phase(phase, now)).ranks for phase in rules.weights]
    columns = tuple(
        v.Column(name=phase, title=rules.phase(phase).title, unit=metric.unit, better=metric.better)
        for phase, metric in zip(rules.weights, metrics, strict=True)
    )
    return v.FinalPage(
        columns=columns,
        weights=tuple(rules.weights.values()),
        rows=tuple(_final_row(state, rules, row, viewer, now) for row in rows),
        as_of=state.at,
        hash=state.hash,
        matches=tuple(matches_of(state, rules.weights, now)),
    )


def matches_of(state: State, phases: Iterable[str], now: int) -> Iterator[tuple[str, Words]]:
    """Matches from which these phases have results, with the titles of the phases."""
    for phase_id in phases:
        kept = state.on_site.get(phase_id, {}).values()
        for match in dict.fromkeys(one[-1].match for one in kept if one[-1].numbers):
            yield match, state.phase(phase_id, now).title


def _final_row(state: State, rules: Rules, row: ranking.FinalRow, viewer: Viewer, now: int) -> v.FinalRow:
    return v.FinalRow(
        rank=row.rank,
        team_name=row.name,
        team=row.team,
        parts=tuple(Estimate(row.parts[phase]) for phase in rules.weights),
        total=row.score,
        exact=row.exact if any(rules.phase(phase).match for phase in rules.weights) else "",
        awards=awards_of(state, rules, row.team, viewer, now),
        mine=row.team == viewer.team,
    )


def winners_of(state: State, rules: Rules, number: int, viewer: Viewer, now: int) -> list[str]:
    """The teams that got an award, where it may be known."""
    told = sees_awards(state, rules.awards[number].phase, viewer, now)
    return list(state.awards.get(str(number), {})) if told else []


def awards_of(state: State, rules: Rules, team: str, viewer: Viewer, now: int) -> tuple[Words, ...]:
    given = [number for number in range(len(rules.awards)) if team in winners_of(state, rules, number, viewer, now)]
    return tuple(rules.awards[number].title for number in given)


def final_of_phase(site: Site, phase_id: str, viewer: Viewer) -> v.FinalPage | None:
    """A phase's board as a printable table."""
    page = board(site, phase_id, viewer)
    if page is None:
        return None
    state, now = site.state, site.now
    rules = state.rules(now)
    rows = tuple(
        v.FinalRow(
            rank=row.rank,
            team_name=row.name,
            team=row.team,
            parts=row.metrics,
            awards=awards_of(state, rules, row.team, viewer, now),
            mine=row.mine,
        )
        for row in page.rows
    )
    return v.FinalPage(
        title=page.phase.title,
        columns=page.columns,
        rows=rows,
        as_of=page.as_of,
        hash=state.hash,
        matches=tuple(matches_of(state, [phase_id], now)),
    )
