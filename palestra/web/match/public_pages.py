"""What the public sees of matches: the hall's screen, the results, and the published pack."""

from litestar import MediaType, Response, get
from litestar.handlers import HTTPRouteHandler

from palestra.contest.manual import pack, source_of
from palestra.web.auth import language_of, viewer_from
from palestra.web.match import hall_screen
from palestra.web.match.results import results
from palestra.web.pages import Asked, show
from palestra.web.site import Site
from palestra.web.views import page_of


@get("/matches/{match:str}/screen", sync_to_thread=False, include_in_schema=False)
def hall(site: Site, request: Asked, match: str) -> Response[str]:
    return show(request, "match/screen.html", hall_screen.hall(site, match))


@get("/matches/{match:str}/results", sync_to_thread=False, include_in_schema=False)
def match_results(site: Site, request: Asked, match: str, first: str = "", second: str = "") -> Response[str]:
    return show(request, "match/results.html", results(site, match, viewer_from(request), (first, second)))


@get("/pack", sync_to_thread=True, include_in_schema=False)
def published(site: Site, request: Asked, phase: str = "") -> Response[str]:
    """The technical manual, of the rules that are in force."""
    found = pack(source_of(site.state, site.setup.home, site.now, phase))
    return Response(page_of(found, language_of(request)), media_type=MediaType.HTML)


HALL: list[HTTPRouteHandler] = [hall, match_results, published]
