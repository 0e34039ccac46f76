"""The pages that everybody and every team sees."""

from typing import Any

from litestar import MediaType, Request, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from palestra.contest import score_seen, sees_submission
from palestra.contest.accounts import tokens as keys
from palestra.contest.decisions import digest_of
from palestra.report import only
from palestra.web.auth import address_of, caller_of, language_of, local_path, signed_out, viewer_from
from palestra.web.forms import Kept, as_notice, notice_of
from palestra.web.models import live as lv
from palestra.web.models import missing, there
from palestra.web.models import people as pv
from palestra.web.responses import page
from palestra.web.site import Site, in_thread, render
from palestra.web.views import certificate as show_award
from palestra.web.views import live, public, upload_limits
from palestra.web.views import rules as show_rules
from palestra.web.views import team as show_team

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
    return show(request, "home.html", public.home(site, viewer_from(request)))


@get("/boards/{phase:str}", sync_to_thread=False, include_in_schema=False)
def board(site: Site, request: Asked, phase: str) -> Response[str]:
    return show(request, "board.html", there(public.board_page(site, phase, viewer_from(request)), missing.BOARD))


@get("/final", sync_to_thread=False, include_in_schema=False)
def final(site: Site, request: Asked) -> Response[str]:
    return show(request, "final.html", there(public.final(site, viewer_from(request)), missing.FINAL))


@get("/boards/{phase:str}/print", sync_to_thread=False, include_in_schema=False)
def printed(site: Site, request: Asked, phase: str) -> Response[str]:
    view = there(public.final_of_phase(site, phase, viewer_from(request)), missing.BOARD)
    return show(request, "final.html", view)


@get("/rules", sync_to_thread=False, include_in_schema=False)
def rules(site: Site, request: Asked) -> Response[str]:
    return show(request, "rules.html", show_rules.page(site))


@get("/rules/{number:int}", sync_to_thread=False, include_in_schema=False)
def rules_version(site: Site, request: Asked, number: int) -> Response[str]:
    return show(request, "rules.html", show_rules.page(site, number or -1))


@get("/screen", sync_to_thread=False, include_in_schema=False)
def screen(site: Site, request: Asked, phase: str = "") -> Response[str]:
    return show(request, "screen.html", there(live.screen(site, phase), missing.BOARD))


@get("/runs/{run:str}", sync_to_thread=False, include_in_schema=False)
def run(site: Site, request: Asked, run: str) -> Response[str]:
    return show(request, "live.html", _run(site, request, run))


@get("/api/runs/{run:str}", sync_to_thread=False, tags=["live"])
def run_record(site: Site, request: Asked, run: str) -> lv.LivePage:
    """A live run, as far as it has come."""
    return _run(site, request, run)


def _run(site: Site, request: Asked, run: str) -> lv.LivePage:
    return there(live.run_page(site, run, viewer_from(request), language_of(request)), missing.RUN)


@get("/api/runs/{run:str}/points", sync_to_thread=False, tags=["live"])
def points(site: Site, request: Asked, run: str) -> dict[str, Any]:
    """What a live run has said so far, point by point."""
    found = there(live.points(site, run, viewer_from(request)), missing.RUN)
    return {"points": found}


# A team's own pages


def require_account(request: Asked) -> None:
    if not viewer_from(request).account:
        raise signed_out(request)


@get("/phases/{phase:str}", include_in_schema=False)
async def submissions(site: Site, request: Asked, phase: str) -> Response[str]:
    await in_thread(lambda: upload_limits.most_bytes(site.setup.home, site.state.phase(phase, site.now)))
    return show(request, "submissions.html", show_team.submissions(site, phase, viewer_from(request)))


@get("/submissions/{submission:str}", sync_to_thread=False, include_in_schema=False)
def submission(site: Site, request: Asked, submission: str) -> Response[str]:
    view = there(show_team.submission(site, submission, viewer_from(request), language_of(request)), missing.SUBMISSION)
    return show(request, "submission.html", view)


@get("/submissions/{submission:str}/report", sync_to_thread=True, include_in_schema=False)
def report(site: Site, request: Asked, submission: str) -> Response[bytes]:
    """The track's page of a result, as this viewer may see it."""
    viewer, one = viewer_from(request), site.state.submissions.get(submission)
    score = score_seen(site.state, one, viewer, site.now) if one and sees_submission(one, viewer) else None
    score = there(score, missing.REPORT)
    digest = (viewer.is_organiser and score.files.get("organiser-report")) or score.report
    if not digest:  # a page that framed the last report asks just after everything was scored again
        later = render("report_later.html", language_of(request)).encode()
        return Response(later, media_type=MediaType.HTML, headers={"content-security-policy": REPORT_POLICY})
    return report_in(site.contest.files.read(digest), language_of(request))


def report_in(stored: bytes, language: str) -> Response[bytes]:
    """A report, of which both languages are stored, in one of them."""
    found = only(stored.decode(), language).encode()
    return Response(found, media_type=MediaType.HTML, headers={"content-security-policy": REPORT_POLICY})


@get("/data", sync_to_thread=False, include_in_schema=False)
def data(site: Site, request: Asked) -> Response[str]:
    return show(request, "data.html", show_team.data(site, viewer_from(request), address_of(site, request)))


@get("/team", sync_to_thread=False, include_in_schema=False)
def team(site: Site, request: Asked) -> Response[str]:
    require_account(request)
    kept = notice_of(request)
    link = f"{address_of(site, request)}/join/{kept.secret}" if kept and kept.secret else ""
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
        has_tokens=bool(keys.of(site.contest.engine, key.account, "token", site.now)),
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
    address = f"{address_of(site, request)}/certificates/{award}/{team}"
    view = there(show_award.certificate(site, award, team, viewer_from(request), address), missing.AWARD)
    return show(request, "certificate.html", view)


PAGES: list[HTTPRouteHandler] = [
    home, board, final, printed, rules, rules_version, screen, run, run_record, points, submissions, submission, report,
    data, team, join, sign_in, register, link, account, certificate,
]  # fmt: skip
