"""Pages as answers to requests."""

from typing import Any
from urllib.parse import urlencode

from litestar import MediaType, Request, Response

from palestra.text import LANGUAGES
from palestra.web.auth import LANGUAGE, Caller, caller_of, language_of
from palestra.web.models import ErrorPage
from palestra.web.site import Site, render
from palestra.web.views import frame


def page(request: Request[Any, Any, Any], template: str, view: object, status: int = 200, **more: Any) -> Response[str]:
    """A page for whoever asked."""
    site: Site = request.app.state.site
    caller: Caller = caller_of(request)
    language = language_of(request)
    path = request.url.path + (f"?{query}" if (query := _query(request)) else "")
    if isinstance(view, ErrorPage) and request.method != "GET":  # a form's address is nowhere to come back to
        path = view.back
    around = frame(site, caller.reader, caller.csrf, path, more.pop("notice", None))
    if "refusal" in request.scope["state"]:  # the server asks itself, for a form that it shows again
        more["refusal"] = request.scope["state"]["refusal"]
    html = render(template, language, frame=around, page=view, **more)
    response = Response(html, media_type=MediaType.HTML, status_code=status)
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(LANGUAGE, language, max_age=365 * 86_400, samesite="lax", secure=site.setup.secure)
    return response


def _query(request: Request[Any, Any, Any]) -> str:
    return urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "lang"])
