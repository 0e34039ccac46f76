"""The pages that everybody and every team sees."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from palestra.contest import keys, log
from palestra.contest.database import reading
from palestra.contest.seeing import score_seen, sees_awards, sees_submission
from palestra.contest.teams import digest_of
from palestra.errors import Missing, SignedOut
from palestra.web import live_views as lv
from palestra.web import people_views as pv
from palestra.web import show_live, show_public, show_team
from palestra.web import views as v
from palestra.web.answering import language_of, page
from palestra.web.forms import Kept, as_notice, local_path, notice_of
from palestra.web.gate import caller_of, viewer_from
from palestra.web.site import Site, in_thread
from palestra.web.translating import shown

Asked = Request[Any, Any, Any]
# A report is a page of its own: no script runs in it, and it reaches nothing.
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"


def show(request: Asked, template: str, view: object, kept: Kept | None = None) -> Response[str]:
    """A page, with what the last form came to."""
    kept = kept or notice_of(request)
    response = page(request, template, view, notice=as_notice(kept))
    if kept:
        response.delete_cookie("palestra_notice")
    return response


@get("/", sync_to_thread=False, include_in_schema=False)
def home(site: Site, request: Asked) -> Response[str]:
    return show(request, "home.html", show_public.home(site, viewer_from(request)))


@get("/boards/{phase:str}", sync_to_thread=False, include_in_schema=False)
def board(site: Site, request: Asked, phase: str) -> Response[str]:
    view = show_public.board(site, phase, viewer_from(request))
    if view is None:
        raise Missing("There is no board to be seen here.", "这里没有可查看的排行榜。")
    return show(request, "board.html", view)


@get("/final", sync_to_thread=False, include_in_schema=False)
def final(site: Site, request: Asked) -> Response[str]:
    view = show_public.final(site, viewer_from(request))
    if view is None:
        raise Missing("There is no final standing to be seen.", "暂无可查看的最终成绩。")
    return show(request, "final.html", view)


@get("/boards/{phase:str}/print", sync_to_thread=False, include_in_schema=False)
def printed(site: Site, request: Asked, phase: str) -> Response[str]:
    view = show_public.final_of_phase(site, phase, viewer_from(request))
    if view is None:
        raise Missing("There is no board to be seen here.", "这里没有可查看的排行榜。")
    return show(request, "final.html", view)


@get("/screen", sync_to_thread=False, include_in_schema=False)
def screen(site: Site, request: Asked, phase: str = "") -> Response[str]:
    view = show_live.screen(site, phase)
    if view is None:
        raise Missing("There is no board to be seen here.", "这里没有可查看的排行榜。")
    return show(request, "screen.html", view)


@get("/runs/{run:str}", sync_to_thread=False, include_in_schema=False)
def run(site: Site, request: Asked, run: str) -> Response[str]:
    view = show_live.run_page(site, run, viewer_from(request))
    if view is None:
        raise Missing("There is no such run to be seen.", "没有可查看的这场评测。")
    return show(request, "live.html", view)


@get("/api/runs/{run:str}", sync_to_thread=False, tags=["live"])
def run_record(site: Site, request: Asked, run: str) -> lv.LivePage:
    """A live run, as far as it has come."""
    view = show_live.run_page(site, run, viewer_from(request))
    if view is None:
        raise Missing("There is no such run to be seen.", "没有可查看的这场评测。")
    return shown(view, language_of(request))


@get("/api/runs/{run:str}/points", sync_to_thread=False, tags=["live"])
def points(site: Site, request: Asked, run: str) -> dict[str, Any]:
    """What a live run has said so far, point by point."""
    found = show_live.points(site, run, viewer_from(request))
    if found is None:
        raise Missing("There is no such run to be seen.", "没有可查看的这场评测。")
    return {"points": found}


# A team's own pages


def require_account(request: Asked) -> None:
    if not viewer_from(request).account:
        raise SignedOut("Sign in first.", "请先登录。")


@get("/phases/{phase:str}", sync_to_thread=False, include_in_schema=False)
def submissions(site: Site, request: Asked, phase: str) -> Response[str]:
    return show(request, "submissions.html", show_team.submissions(site, phase, viewer_from(request)))


@get("/submissions/{submission:str}", sync_to_thread=False, include_in_schema=False)
def submission(site: Site, request: Asked, submission: str) -> Response[str]:
    view = show_team.submission(site, submission, viewer_from(request))
    if view is None:
        raise Missing("There is no such submission.", "没有这个提交。")
    return show(request, "submission.html", view)


@get("/submissions/{submission:str}/report", sync_to_thread=True, include_in_schema=False)
def report(site: Site, request: Asked, submission: str) -> Response[bytes]:
    """The track's page of a result, as this viewer may see it."""
    viewer, one = viewer_from(request), site.state.submissions.get(submission)
    score = score_seen(site.state, one, viewer, site.now) if one and sees_submission(one, viewer) else None
    digest = score.files.get("organiser-report", score.report) if score and viewer.is_organiser else None
    digest = digest or (score.report if score else "")
    if not digest:
        raise Missing("There is no such report.", "没有这份报告。")
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(site.contest.files.read(digest), media_type=MediaType.HTML, headers=headers)


@get("/data", sync_to_thread=False, include_in_schema=False)
def data(site: Site, request: Asked) -> Response[str]:
    server = site.setup.address or str(request.base_url).rstrip("/")
    return show(request, "data.html", show_team.data(site, viewer_from(request), server))


@get("/team", sync_to_thread=False, include_in_schema=False)
def team(site: Site, request: Asked) -> Response[str]:
    require_account(request)
    kept = notice_of(request)
    server = site.setup.address or str(request.base_url).rstrip("/")
    link = f"{server}/join/{kept.secret}" if kept and kept.secret else ""
    return show(request, "team.html", show_team.team(site, viewer_from(request), link), kept)


@get("/join/{secret:str}", sync_to_thread=False, include_in_schema=False)
def join(site: Site, request: Asked, secret: str) -> Response[str]:
    state, viewer = site.state, viewer_from(request)
    found = next((one for one in state.teams.values() if digest_of(secret) in one.invitations), None)
    limit = state.rules(site.now).team_limit
    if found is None:
        return show(request, "join.html", pv.JoinPage(secret="", team_name="", members=0, limit=limit, refusal="used"))
    refusal = "signed_out" if not viewer.account else "in_team" if viewer.team else ""
    view = pv.JoinPage(
        secret=secret,
        team_name=found.name,
        members=len(found.members),
        limit=limit,
        refusal=refusal,  # type: ignore[arg-type]
    )
    return show(request, "join.html", view)


# Accounts


@get("/sign-in", sync_to_thread=False, include_in_schema=False)
def sign_in(site: Site, request: Asked) -> Response[Any]:
    target = local_path(request.query_params.get("next", "/"))
    if viewer_from(request).account:
        return Redirect(target)
    outside = site.setup.oidc.issuer if site.setup.oidc else ""
    return show(request, "sign_in.html", pv.SignInPage(next=target, outside=outside))


@get("/register", sync_to_thread=False, include_in_schema=False)
def register(request: Asked) -> Response[str]:
    return show(request, "register.html", pv.RegisterPage(next=local_path(request.query_params.get("next", "/"))))


@get("/link/{secret:str}", sync_to_thread=True, include_in_schema=False)
def link(site: Site, request: Asked, secret: str) -> Response[str]:
    key = keys.find(site.contest.engine, "link", secret, site.now)
    if key is None or key.scopes not in (("found",), ("reset",)):
        return show(request, "link.html", pv.LinkPage(secret="", purpose="password", spent=True))
    account = site.state.accounts.get(key.account)
    view = pv.LinkPage(
        secret=secret,
        purpose="account" if key.scopes == ("found",) else "password",
        role="organiser" if key.scopes == ("found",) else account.role if account else "",
        name=account.name if account else "",
        expires_at=key.expires_at,
    )
    return show(request, "link.html", view)


@get("/account", include_in_schema=False)
async def account(site: Site, request: Asked) -> Response[str]:
    require_account(request)
    viewer, now, engine = viewer_from(request), site.now, site.contest.engine
    one = site.state.accounts[viewer.account]
    tokens = await in_thread(lambda: keys.of(engine, viewer.account, "token", now))
    sessions = await in_thread(lambda: keys.of(engine, viewer.account, "session", now))
    secret = caller_of(request).secret
    current = await in_thread(lambda: keys.find(engine, "session", secret, now))
    kept = notice_of(request)
    view = pv.AccountPage(
        name=one.name,
        email=one.email,
        role=one.role,
        tokens=tuple(map(_token, tokens)),
        new_token=kept.secret if kept else "",
        scopes=tuple(sorted(keys.POWERS[one.role])),
        sessions=tuple(_session(key, current) for key in sessions),
    )
    return show(request, "account.html", view, kept)


def _session(key: keys.Key, current: keys.Key | None) -> pv.Session:
    this = current is not None and key.id == current.id
    return pv.Session(id=key.id, label=key.label, made_at=key.made_at, used_at=key.used_at or None, current=this)


def _token(key: keys.Key) -> pv.Token:
    return pv.Token(
        id=key.id,
        label=key.label,
        scopes=key.scopes,
        made_at=key.made_at,
        expires_at=key.expires_at,
        used_at=key.used_at or None,
    )


@get("/certificates/{award:int}/{team:str}", sync_to_thread=True, include_in_schema=False)
def certificate(site: Site, request: Asked, award: int, team: str) -> Response[str]:
    """For everybody, once the board that it was given by is shown in full."""
    state = site.state
    given = state.awards.get(str(award), {})
    rules = state.rules(site.now)
    if team not in given or not sees_awards(state, rules.awards[award].phase, viewer_from(request), site.now):
        raise Missing("There is no such award.", "没有这个奖项。")
    one = rules.awards[award]
    rows = show_public.board(site, one.phase, viewer_from(request)) if one.phase else None
    row = next((row for row in rows.rows if row.team == team), None) if rows else None
    with reading(site.contest.engine) as connection:
        seq, at, _, _, digest = next(log.rows(connection, given[team] - 1, given[team]))
    view = v.Certificate(
        award=one.title,
        team_name=state.teams[team].name,
        members=tuple(state.accounts[member].name for member in state.teams[team].members),
        phase=rules.phase(one.phase).title if one.phase else rules.name,
        rank=row.rank if row else None,
        of=sum(other.rank is not None for other in rows.rows) if rows else 0,
        column=rows.columns[0] if rows else None,
        value=row.metrics[0] if row else None,
        at=at,
        number=digest,
        seq=seq,
        url=f"{site.setup.address or str(request.base_url).rstrip('/')}/certificates/{award}/{team}",
    )
    return show(request, "certificate.html", view)


PAGES: list[HTTPRouteHandler] = [
    home, board, final, printed, screen, run, run_record, points, submissions, submission, report, data, team, join,
    sign_in, register, link, account, certificate,
]  # fmt: skip
