"""Forms: every action as a page sends it, then back to a page that says what came of it."""

import base64
import re
import types
import typing
from datetime import datetime
from typing import Any

import msgspec
from litestar import MediaType, Request, Response, post
from litestar.datastructures import FormMultiDict
from litestar.response import Redirect

from palestra.contest.rules import Unfit, opening
from palestra.errors import Missing, PalestraError, clip, refuse
from palestra.text import said, say
from palestra.web.actions import ACTIONS, Done, perform, require_plain
from palestra.web.api import keep_session
from palestra.web.auth import caller_of, language_of, local_path, needs, organisers_only
from palestra.web.forms.refusal import fields_of, refused
from palestra.web.models import Notice
from palestra.web.site import Site
from palestra.web.text import validation_told

NOTICE = "palestra_notice"
NOTICE_S = 60  # that a notice waits for the page that shows it
LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is told on the next page."""

    text: str = ""
    kind: typing.Literal["done", "refused"] = "done"
    secret: str = ""  # shown once


@post("/do/{name:str}", include_in_schema=False)
async def do(site: Site, request: Request[Any, Any, Any], name: str) -> Response[Any]:
    """Do what a form asks for."""
    action = ACTIONS.get(name)
    if action is None:
        raise Missing(say("There is no such form."))
    if action.desk:
        organisers_only(request, request.route_handler)
    elif action.needs:
        needs(action.needs)(request, request.route_handler)
    form = await request.form()
    try:
        data = read(form, action.takes, site.state.rules(site.now).zone)
        require_plain(data)
        done = await perform(site, caller_of(request), action, data, str(form.get("once", "")))
    except PalestraError as error:
        return await refused(request, fields_of(form), error)
    kept = Kept(said(language_of(request), "Done."), secret=done.secret)
    return _onward(site, done, kept, done.go or _next(form))


def _onward(site: Site, done: Done, kept: Kept, target: str) -> Response[Any]:
    response = Redirect(target, status_code=303, media_type=MediaType.TEXT)
    keep_session(site, done, response)
    if not done.session and not done.signed_out:
        text = base64.urlsafe_b64encode(msgspec.json.encode(kept)).decode()
        response.set_cookie(NOTICE, text, max_age=NOTICE_S, httponly=True, samesite="lax", secure=site.setup.secure)
    return response


def _next(form: FormMultiDict) -> str:
    """Where to go on."""
    return local_path(str(form.get("next", "/")))


def notice_of(request: Request[Any, Any, Any]) -> Kept | None:
    """What the last form came to."""
    try:
        text = request.cookies.get(NOTICE, "")
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=Kept) if text else None
    except (ValueError, RecursionError, msgspec.MsgspecError):  # somebody else's cookie
        return None


def as_notice(kept: Kept | None) -> Notice | None:
    return Notice(text=kept.text, kind=kept.kind) if kept and kept.text else None


# From a form's fields to what an action takes


def read(form: FormMultiDict, kind: type[msgspec.Struct], zone: str) -> msgspec.Struct:
    """The fields of a form as an action takes them."""
    hints = typing.get_type_hints(kind)
    values = {name: _value(form, name, hint, zone) for name, hint in hints.items()}
    try:
        return msgspec.convert({k: v for k, v in values.items() if v is not None}, kind, strict=False)
    except msgspec.ValidationError as error:
        refuse(say("the form"), validation_told(str(error)), say("every field filled in as its label says"))


def _value(form: FormMultiDict, name: str, hint: Any, zone: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is list:
        return [str(value) for value in form.getall(name, []) if str(value)]
    if origin is dict:
        return {key[len(name) + 1 :]: str(form[key]) for key in form if key.startswith(f"{name}.") and str(form[key])}
    if hint is bool:
        return name in form and str(form[name]).lower() not in ("", "no", "false", "0")
    if name not in form:
        return None
    text = str(form[name])
    if hint is int and LOCAL.fullmatch(text):
        return _moment(text, zone)
    return None if text == "" and isinstance(hint, types.UnionType) else text


def _moment(text: str, zone: str) -> int:
    """A time as a browser's field has it, in the contest's zone."""
    try:
        return opening(datetime.fromisoformat(text), zone)
    except (ValueError, Unfit) as error:
        refuse(say("the time"), clip(text), error.expected if isinstance(error, Unfit) else str(error))
