"""The pages of a match: the referee's, the head referee's, the team's; and where one is opened."""

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from palestra.errors import Forbidden, Missing
from palestra.text import say
from palestra.web.auth import viewer_from
from palestra.web.match.api import MATCH_API
from palestra.web.match.messages import who_is
from palestra.web.match.turn_view import matches_page, table_page
from palestra.web.pages import FOR_ORGANISERS, Asked, show
from palestra.web.site import Site

PLACES = {"referee": "referee", "head": "head", "organiser": "head", "team": "team"}


@get("/desk/matches", sync_to_thread=False, **FOR_ORGANISERS)
def desk(site: Site, request: Asked) -> Response[str]:
    return show(request, "match/desk.html", matches_page(site, viewer_from(request)))


@get("/matches", sync_to_thread=False, include_in_schema=False)
def matches(site: Site, request: Asked) -> Response[str]:
    return show(request, "match/list.html", matches_page(site, viewer_from(request)))


@get("/matches/{match:str}", sync_to_thread=False, include_in_schema=False)
def match(site: Site, request: Asked, match: str) -> Redirect:
    """To where the viewer belongs; spectators see the hall's screen."""
    part = who_is(site.state.match(match), viewer_from(request)).part
    return Redirect(f"/matches/{match}/{PLACES.get(part, 'screen')}")


@get("/matches/{match:str}/referee", sync_to_thread=False, include_in_schema=False)
def referee(site: Site, request: Asked, match: str, team: str = "") -> Response[str]:
    _only(site, request, match, "referee")
    return show(request, "match/referee.html", table_page(site, match, viewer_from(request), team, "match"))


@get("/matches/{match:str}/head", sync_to_thread=False, include_in_schema=False)
def head(site: Site, request: Asked, match: str, team: str = "") -> Response[str]:
    _only(site, request, match, "head", "organiser")
    return show(request, "match/head.html", table_page(site, match, viewer_from(request), team, "bench"))


@get("/matches/{match:str}/team", sync_to_thread=False, include_in_schema=False)
def team(site: Site, request: Asked, match: str) -> Response[str]:
    _only(site, request, match, "team")
    return show(request, "match/team.html", table_page(site, match, viewer_from(request), "", "side"))


def _only(site: Site, request: Asked, match: str, *parts: str) -> None:
    found = site.state.matches.get(match)
    if found is None:
        raise Missing(say("There is no such match."))
    if who_is(found, viewer_from(request)).part not in parts:
        raise Forbidden(say("This page is for others at this table."))


MATCHES: list[HTTPRouteHandler] = [desk, matches, match, referee, head, team, *MATCH_API]
