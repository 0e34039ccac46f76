"""The API: what can be read, and every action. What pages show and what programs get are the same records."""

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter

from palestra.contest.rules import Rules, written
from palestra.errors import Missing
from palestra.text import say
from palestra.web.actions import ACTIONS, Action, Done, perform, require_plain
from palestra.web.auth import SESSION, address_of, caller_of, language_of, needs, organisers_only, viewer_from
from palestra.web.models import Contest, Me, missing, there
from palestra.web.models import public as v
from palestra.web.site import Site, in_thread
from palestra.web.text import as_public
from palestra.web.views import board_cache, public, team, upload_limits

Id = str
_BOARD = {  # it is kept as it was written, so its type does not say what it is
    200: ResponseSpec(v.BoardPage, generate_examples=False, description="The board."),
    304: ResponseSpec(None, generate_examples=False, description="It is as the tag says that you have."),
}
SESSION_S = 30 * 86_400


@get("/api/contest", sync_to_thread=False, tags=["contest"])
def contest(site: Site, request: Request[Any, Any, Any]) -> Contest:
    """The contest: its phases, times, quotas, announcements."""
    return Contest(site.state.rules(site.now).id, site.now, public.home(site, viewer_from(request)))


@get("/api/rules/{number:int}", sync_to_thread=False, tags=["contest"])
def rules(site: Site, number: int) -> Rules:
    """A version of the rules."""
    return _version(site, number)


@get("/api/rules/{number:int}/contest.toml", sync_to_thread=False, tags=["contest"], media_type=MediaType.TEXT)
def contest_file(site: Site, number: int) -> str:
    """A version of the rules as a contest file, without where the organiser's data lies."""
    return written(_version(site, number))


def _version(site: Site, number: int) -> Rules:
    if not 1 <= number <= len(site.state.versions):
        raise Missing(say("There is no such version of the rules."))
    return as_public(site.state.versions[number - 1].rules)


@get("/api/me", sync_to_thread=False, guards=[needs("read")], tags=["accounts"])
def me(request: Request[Any, Any, Any]) -> Me:
    """Who you are."""
    viewer = viewer_from(request)
    scopes = None if viewer.scopes is None else sorted(viewer.scopes)
    return Me(viewer.account, viewer.name, viewer.role, viewer.team, scopes)


@get("/api/boards/{phase:str}", sync_to_thread=False, tags=["boards"], media_type=MediaType.JSON, responses=_BOARD)
def board(site: Site, request: Request[Any, Any, Any], phase: Id) -> Response[bytes]:
    """A phase's board, as you may see it now."""
    viewer = viewer_from(request)
    tag, body = board_cache.board_json(site, phase, viewer)
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers={"etag": tag})
    return Response(body, media_type=MediaType.JSON, headers={"etag": tag, "cache-control": "no-cache"})


@get("/api/final", sync_to_thread=False, tags=["boards"])
def final(site: Site, request: Request[Any, Any, Any]) -> v.FinalPage:
    """The final standing over all weighted phases."""
    return there(public.final(site, viewer_from(request)), missing.FINAL)


@get("/api/phases/{phase:str}/submissions", guards=[needs("read")], tags=["submissions"])
async def submissions(site: Site, request: Request[Any, Any, Any], phase: Id) -> v.SubmissionsPage:
    """Your team's submissions to a phase, and what it may still hand in."""
    await in_thread(lambda: upload_limits.most_bytes(site.setup.home, site.state.phase(phase, site.now)))
    return team.submissions(site, phase, viewer_from(request))


@get("/api/submissions/{submission:str}", sync_to_thread=False, guards=[needs("read")], tags=["submissions"])
def submission(site: Site, request: Request[Any, Any, Any], submission: Id) -> v.SubmissionPage:
    """One of your team's submissions: what became of it."""
    found = team.submission(site, submission, viewer_from(request), language_of(request))
    return there(found, missing.SUBMISSION)


@get("/api/data", sync_to_thread=False, guards=[needs("read")], tags=["data"])
def data(site: Site, request: Request[Any, Any, Any]) -> v.DataPage:
    """What data there is, and what of it your team gets."""
    return team.data(site, viewer_from(request), address_of(site, request))


@get("/api/log", guards=[organisers_only], sync_to_thread=True, tags=["log"])
def log(
    site: Site, after: int = Parameter(default=0, ge=0, le=1 << 53), count: int = Parameter(default=100, ge=1, le=1000)
) -> list[dict[str, Any]]:
    """The log, event by event."""
    from palestra.contest.log import chain as contest_log
    from palestra.contest.storage import reading

    with reading(site.contest.engine) as connection:
        rows = contest_log.rows(connection, after, after + count)
        return [
            {"seq": seq, "at": at, "by": by, "body": msgspec.json.decode(body), "hash": digest}
            for seq, at, by, body, digest in rows
        ]


def action_routes() -> list[HTTPRouteHandler]:
    """`POST /api/actions/NAME` for every action."""
    return [_route(one) for one in ACTIONS.values()]


def _route(one: Action) -> HTTPRouteHandler:
    async def act(site: Site, request: Request[Any, Any, Any], data: Any) -> Response[Done]:
        require_plain(data)
        given = request.headers.get("idempotency-key", "")
        return with_session(site, await perform(site, caller_of(request), one, data, given))

    act.__annotations__["data"] = one.takes
    act.__doc__ = one.about
    guards = [organisers_only] if one.desk else [needs(one.needs)] if one.needs else []
    name = one.name.replace("-", "_")
    return post(f"/api/actions/{one.name}", guards=guards, tags=["actions"], operation_id=name, status_code=200)(act)


def with_session(site: Site, done: Done) -> Response[Done]:
    """The answer to an action; who has signed in gets a cookie, and its secret is in no body."""
    response = Response(msgspec.structs.replace(done, session=""), status_code=200)
    keep_session(site, done, response)
    return response


def keep_session(site: Site, done: Done, response: Response[Any]) -> None:
    secure = site.setup.secure
    if done.session:
        response.set_cookie(
            SESSION, done.session, max_age=SESSION_S, httponly=True, samesite="lax", secure=secure, path="/"
        )
    if done.signed_out:
        response.delete_cookie(SESSION, path="/")


READS: list[HTTPRouteHandler] = [contest, rules, contest_file, me, board, final, submissions, submission, data, log]
