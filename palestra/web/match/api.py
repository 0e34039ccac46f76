"""A match for programs and for the scripts of its pages: what is so, what is wanted, the server's time."""

from typing import Any

import msgspec
from litestar import Request, Response, get, post
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.openapi.spec import Operation, RequestBody
from litestar.openapi.spec.media_type import OpenAPIMediaType
from litestar.openapi.spec.schema import Schema

from palestra.contest import sees_bench, sees_turn
from palestra.contest.match import MatchBody, cases_of
from palestra.contest.rules import track_of
from palestra.errors import Forbidden, Missing, PalestraError
from palestra.text import say
from palestra.web.auth import caller_of, signed_out, viewer_from
from palestra.web.match import models as v
from palestra.web.match.messages import PHOTO_BYTES, Heard, act_on, keep_photo, kind_of_picture, photos_of, who_is
from palestra.web.match.turn_view import match_view, matches_page
from palestra.web.site import Site, in_thread

Asked = Request[Any, Any, Any]
KEPT = {"cache-control": "private, max-age=31536000, immutable"}
_decode = msgspec.json.Decoder(MatchBody).decode


class Now(msgspec.Struct, frozen=True):
    now: int  # ms, by the server's clock


class Photo(msgspec.Struct, frozen=True):
    photo: str  # its digest, for `scene.checked`


def at_the_table(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A guard: only who may say something at a table: referees, organisers, teams."""
    viewer = caller_of(connection).viewer
    if not viewer.account:
        raise signed_out(connection)
    scopes = ("team",) if viewer.role == "member" else ("judge", "organise") if viewer.role != "viewer" else ()
    if not any(map(viewer.may, scopes)):
        raise Forbidden(say("This is not for you to do at this table."))


@get("/api/matches", sync_to_thread=False, tags=["matches"])
def matches(site: Site, request: Asked) -> v.MatchesPage:
    """All matches at the referees' table."""
    return matches_page(site, viewer_from(request))


@get("/api/matches/{match:str}", sync_to_thread=False, tags=["matches"])
def match(site: Site, request: Asked, match: str, team: str = "") -> v.MatchView:
    """A match as you may see it, with what you can do now; of a team, or of the one at the table."""
    return match_view(site, match, viewer_from(request), team, site.now)


@get("/api/matches/{match:str}/clock", sync_to_thread=False, tags=["matches"])
def clock(site: Site, match: str) -> Now:
    """The server's time: pages compare theirs with it."""
    site.state.match(match)
    return Now(site.now)


class Said(Operation):
    """The body is described by hand: it is one of many kinds, told apart by `kind`."""

    def __post_init__(self) -> None:
        about = Schema(type="object", description="An event of a match, with its `kind`.")  # type: ignore[arg-type]
        self.request_body = RequestBody({"application/json": OpenAPIMediaType(schema=about)}, required=True)


@post("/api/matches/{match:str}/events", status_code=200, guards=[at_the_table], tags=["matches"], operation_class=Said)
async def events(site: Site, request: Asked, match: str) -> Heard:
    """Say that something happens at the table. A message with the same key counts once, however often it arrives."""
    body = await request.body()
    try:
        wish: MatchBody = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PalestraError(say("This is no event of a match: {error}.", error=str(error)[:200])) from None
    return await act_on(site, caller_of(request).viewer, match, wish)


class Sent(Operation):
    def __post_init__(self) -> None:
        picture = OpenAPIMediaType(schema=Schema(type="string", format="binary"))  # type: ignore[arg-type]
        self.request_body = RequestBody({"image/jpeg": picture}, required=True)


@post("/api/matches/{match:str}/photos", status_code=200, guards=[at_the_table], tags=["matches"], operation_class=Sent)
async def send_photo(site: Site, request: Asked, match: str) -> Photo:
    """The photo of a scene, before it is signed off."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > PHOTO_BYTES:
            raise PalestraError(say("A photo has at most {value} MiB.", value=PHOTO_BYTES >> 20))
    return Photo(await keep_photo(site, caller_of(request).viewer, match, bytes(data)))


@get("/api/matches/{match:str}/photos/{photo:str}", tags=["matches"], media_type="image/jpeg")
async def photo(site: Site, request: Asked, match: str, photo: str) -> Response[bytes]:
    """The photo of a scene, for referees and for the team that played it."""
    found = site.state.match(match)
    who, teams = who_is(found, viewer_from(request)), photos_of(found).get(photo, set())
    if not any(sees_turn(who, team) for team in teams) or not site.contest.files.has(photo):
        raise Missing(say("There is no such photo."))
    data = await in_thread(lambda: site.contest.files.read(photo, PHOTO_BYTES))
    return Response(data, media_type=kind_of_picture(data), headers=KEPT)


@get("/api/matches/{match:str}/layouts/{layout:str}", tags=["matches"], media_type="image/svg+xml")
async def layout(site: Site, request: Asked, match: str, layout: str) -> Response[str]:
    """The reference layout of a case as a drawing to scale, for referees."""
    found = site.state.match(match)
    known = {case.layout for _, case in cases_of(found.opened.groups)}
    if not sees_bench(who_is(found, viewer_from(request))) or layout not in known:
        raise Missing(say("There is no such layout."))
    challenge = track_of(site.state.phase(found.opened.phase, site.now)).match
    if not challenge or not challenge.drawing or len(layout) != 64 or not site.contest.files.has(layout):
        raise Missing(say("There is no drawing of this layout: it was recorded elsewhere."))
    data = await in_thread(lambda: site.contest.files.read(layout))
    return Response(challenge.drawing(data), media_type="image/svg+xml", headers=KEPT)


MATCH_API: list[HTTPRouteHandler] = [matches, match, clock, events, send_photo, photo, layout]
