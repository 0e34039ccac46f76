"""What the big screen and a live run's page are given."""

from typing import Any

from palestra.contest import NOBODY, Viewer, sees_submission, sight_of_board
from palestra.contest.log import Run, Taken
from palestra.contest.rules import Phase, track_of
from palestra.web.models import live as lv
from palestra.web.site import Site
from palestra.web.stream import Note
from palestra.web.views import public

SHOWN_AFTER_MS = 120_000  # a run's end stays on the screen so long
MOST_TEAMS = 96  # that the screen shows: eight pages of them
NEWEST = 500  # points of a curve that are sent at once


def screen(site: Site, phase: str = "") -> lv.ScreenPage | None:
    """The hall's screen: a run that is under way or has just ended, else the board of the phase that is on, or of the
    one that is asked for; nothing where that may not be seen."""
    run = _current(site)
    return _run_screen(site, run, phase) if run else _board_screen(site, phase)


def _current(site: Site) -> Run | None:
    newest = max(site.state.runs.values(), key=lambda run: run.at, default=None)
    if newest is None or not _shown(site, site.state.phase(newest.phase), NOBODY):
        return None
    return newest if not newest.outcome or site.now - newest.ended_at < SHOWN_AFTER_MS else None


def _shown(site: Site, phase: Phase, viewer: Viewer) -> bool:
    """Whether a run's numbers may be seen: a frozen board freezes its runs too."""
    sight = sight_of_board(site.state, phase, viewer, site.now)
    return sight is not None and sight.as_of is None and not sight.partial


def _run_screen(site: Site, run: Run, asked: str) -> lv.ScreenPage:
    phase = site.state.phase(run.phase)
    metric = track_of(phase).ranks
    notes = site.runs.of(run.id)
    start = next((note.body for note in notes if note.body.get("kind") == "start"), {})
    standing = next((note.body for note in reversed(notes) if note.body.get("kind") == "standing"), {})
    names = [sitting["name"] for sitting in start.get("sittings", [])]
    sitting = str(standing.get("sitting", names[0] if names else ""))
    teams = _teams(site, run, start, standing)[:MOST_TEAMS]
    return lv.ScreenPage(
        mode="run",
        phase=phase.id,
        title=phase.title,
        column=public.column_of(metric),
        teams=tuple(_screen_team(team, rank) for rank, team in enumerate(teams, 1)),
        run=run.id,
        sitting=sitting,
        sittings=len(names),
        sitting_number=names.index(sitting) + 1 if sitting in names else 0,
        point=int(standing.get("number", 0)),
        points=int(standing.get("of", 0)),
        deadline_s=standing.get("deadline_s"),
        ended=bool(run.outcome),
        deadline=public.next_deadline(site.state, site.now),
        live=_address(asked),
    )


def _teams(site: Site, run: Run, start: dict[str, Any], standing: dict[str, Any]) -> list[dict[str, Any]]:
    """Who plays, best first; then those whose program could not. Why not, only they themselves are told. Before a run
    has said anything, who was chosen for it."""
    if not start:
        chosen = [site.state.submissions[name] for name in run.submissions]
        return [{"team": one.team, "name": one.baseline or site.state.teams[one.team].name} for one in chosen]
    absent = [{**team, "gone": True} for team in start.get("absent", [])]
    return [*(standing.get("teams") or start.get("teams") or []), *absent]


def _screen_team(team: dict[str, Any], rank: int) -> lv.ScreenTeam:
    return lv.ScreenTeam(
        team=str(team["team"]),
        name=str(team["name"]),
        rank=rank if team.get("value") is not None else None,
        value=team.get("value"),
        decided=int(team.get("decided", 0)),
        missed=int(team.get("missed", 0)),
        latency_s=_seconds(team.get("latency_ms_p50")),
        slow_s=_seconds(team.get("latency_ms_p95")),
        just_missed=bool(team.get("just_missed", False)),
        gone=bool(team.get("gone")),
    )


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def _address(phase: str) -> str:
    return f"/live?screen={phase or 1}"


def _phase_on(site: Site) -> Phase:
    """The phase that opened last of those whose board everybody may see."""
    phases = public.phases_of(site.state, site.now)
    begun = [one for one in phases if one.opens <= site.now and sight_of_board(site.state, one, NOBODY, site.now)]
    return max(begun, key=lambda one: one.opens) if begun else phases[0]


def _board_screen(site: Site, asked: str) -> lv.ScreenPage | None:
    state, now = site.state, site.now
    phase = state.phase(asked, now) if asked else _phase_on(site)
    board = public.board_page(site, phase.id, NOBODY)
    if board is None and asked:
        return None
    metric = track_of(phase).ranks
    rows = [row for row in (board.rows if board else ()) if row.rank is not None][:MOST_TEAMS]
    return lv.ScreenPage(
        mode="board",
        phase=phase.id,
        title=phase.title,
        column=public.column_of(metric),
        teams=tuple(
            lv.ScreenTeam(
                team=row.team,
                name=row.name,
                rank=row.rank,
                band=row.band,
                value=row.metrics[0].value if row.metrics[0] else None,
                low=row.metrics[0].low if row.metrics[0] else None,
                high=row.metrics[0].high if row.metrics[0] else None,
                rounded_to=(row.metrics[0].rounded_to or None) if row.metrics[0] else None,
            )
            for row in rows
        ),
        frozen=bool(board and board.frozen),
        as_of=board.as_of if board else None,
        deadline=public.next_deadline(state, now),
        live=_address(asked),
    )


# A run's page


def run_page(site: Site, run_id: str, viewer: Viewer, language: str = "en") -> lv.LivePage | None:
    run = site.state.runs.get(run_id)
    if run is None or not _shown(site, site.state.phase(run.phase), viewer):
        return None
    phase = site.state.phase(run.phase)
    notes = site.runs.of(run_id)
    start = next((note.body for note in notes if note.body.get("kind") == "start"), {})
    standing = next((note.body for note in reversed(notes) if note.body.get("kind") == "standing"), {})
    window = None if run.outcome else run.window_at(site.now)
    return lv.LivePage(
        window=window.sitting if window else "",
        window_closes=window.closes if window else None,
        versions=tuple(_version(site, taken, viewer, language) for taken in run.versions),
        run=run.id,
        title=phase.title,
        phase=phase.id,
        column=public.column_of(track_of(phase).ranks),
        teams=tuple(_live_team(team) for team in _teams(site, run, start, standing)),
        state=_state(site, run),
        message=run.message.in_language(language),
        started_at=run.at,
        ended_at=run.ended_at or None,
        pace=run.pace,
        points=sum(int(sitting["decisions"]) for sitting in start.get("sittings", [])),
        deadline_s=standing.get("deadline_s"),
        history=f"/api/runs/{run.id}/points",
        live=f"/live?run={run.id}",
    )


def _version(site: Site, taken: Taken, viewer: Viewer, language: str) -> lv.LiveVersion:
    one = site.state.submissions[taken.submission]
    why = taken.message.in_language(language)
    return lv.LiveVersion(
        team=one.team,
        name=site.state.teams[one.team].name,
        sitting=taken.sitting,
        digest=one.file,
        taken=not why,
        message=why if sees_submission(one, viewer) else "",
    )


def _state(site: Site, run: Run) -> lv.RunState:
    return run.outcome or ("running" if site.runs.of(run.id) else "waiting")


def _live_team(team: dict[str, Any]) -> lv.LiveTeam:
    return lv.LiveTeam(
        team=str(team["team"]),
        name=str(team["name"]),
        value=team.get("value"),
        missed=int(team.get("missed", 0)),
        decided=int(team.get("decided", 0)),
        latency_s=_seconds(team.get("latency_ms")),
        gone=bool(team.get("gone")),
    )


def points(site: Site, run_id: str, viewer: Viewer) -> list[lv.LivePoint] | None:
    """The points of a run so far; nothing where it may not be seen."""
    run = site.state.runs.get(run_id)
    if run is None or not _shown(site, site.state.phase(run.phase), viewer):
        return None
    standings = [note for note in site.runs.of(run_id) if note.body.get("kind") == "standing"]
    return [_point(note) for note in standings[-NEWEST:]]


def news(site: Site, run_id: str, viewer: Viewer) -> lv.LiveNews | None:
    """How a run goes on; nothing where it may not be seen."""
    found = points(site, run_id, viewer)
    if found is None:
        return None
    return lv.LiveNews(state=_state(site, site.state.runs[run_id]), point=found[-1] if found else None)


def _point(note: Note) -> lv.LivePoint:
    body = note.body
    return lv.LivePoint(
        run=note.run,
        number=max((int(team["decided"]) for team in body.get("teams", [])), default=0),
        at_s=float(body.get("at_s", 0.0)),
        sitting=str(body.get("sitting", "")),
        point=int(body.get("number", 0)),
        points=int(body.get("of", 0)),
        deadline_s=body.get("deadline_s"),
        teams=tuple(_live_team(team) for team in body.get("teams", [])),
    )
