"""A form that has run out comes back as one that holds, with what was typed. Who is no longer signed in is asked to
sign in first, and comes back to the page that the form was on."""

from typing import Any
from urllib.parse import quote

from litestar import Request, Response

from palestra.errors import SignedOut
from palestra.text import say
from palestra.web.actions import ACTIONS
from palestra.web.auth import FormRunOut, caller_of, came_from, is_program, local_path, require_csrf
from palestra.web.forms.refusal import back_on, fields_of, refused
from palestra.web.site import Sent


async def require_own_form(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Before each request: what the gate demands of it. Only who was on a page of ours gets their form back: what
    another site has filled in is shown to nobody as their own."""
    try:
        return await require_csrf(request)
    except FormRunOut:
        if is_program(request) or not came_from(request.app.state.site, request):
            raise
    sent = fields_of(await request.form())
    if caller_of(request).viewer.account or _is_for_strangers(request.url.path):
        return await refused(request, sent, _anew())
    return await _sign_in_first(request, sent)


def _is_for_strangers(path: str) -> bool:
    action = ACTIONS.get(path.removeprefix("/do/"))
    return action is not None and action.needs is None and not action.desk


def _anew() -> FormRunOut:
    return FormRunOut(
        say("This form had run out, so nothing was done. Here it is anew: look it over, and send it once more.")
    )


async def _sign_in_first(request: Request[Any, Any, Any], sent: Sent) -> Response[str]:
    """The page to sign in on, which leads back."""
    error = SignedOut(
        say(
            "You are no longer signed in, so nothing was done. Sign in: you come back to the page "
            "that you were on, where you can send the form again."
        )
    )
    where = local_path(next(iter([*sent.get("page", ()), *sent.get("next", ())]), "/"))
    return await back_on(request, f"/sign-in?next={quote(where, safe='')}", "/do/sign-in", {}, error)
