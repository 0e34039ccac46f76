"""How errors are told: in words to people, as JSON to programs; what only the organiser may read goes to the log."""

import logging
import secrets
import traceback
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, InternalServerException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError

from palestra.contest.storage import DamagedDatabase, UnknownUpload, WrongOffset, is_full, why_not
from palestra.errors import Forbidden, Missing, PalestraError, Refused, SignedOut, TooOften, UnknownName
from palestra.text import Text, in_language, joined, message, say
from palestra.web.auth import NO_PAGES, FormRunOut, came_from, is_program, language_of
from palestra.web.models import ErrorPage, Problem
from palestra.web.responses.html import page
from palestra.web.site import NotWell
from palestra.web.text import validation_told

log = logging.getLogger("palestra.web")
LONGEST = 1_000  # letters of what is wrong with a request


# What any route of the API may answer besides what it is for.
PROBLEMS = {
    status: ResponseSpec(Problem, generate_examples=False, description=about)
    for status, about in {
        400: "The request is not what was expected.",
        401: "Sign in first, or come with a token.",
        403: "Not for whoever asks.",
        404: "There is no such thing, or not for whoever asks.",
        409: "Not now: the error says why.",
        413: "Too much at once.",
        422: "Refused; each fault says what was found and what was expected.",
        429: "Too often. Wait as long as the error says.",
        503: "The database does not answer, or cannot be written; the error says why. Try again soon.",
        507: "The server's disk is full. Nothing that was acknowledged is lost; try again later.",
    }.items()
}


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The answer to a request that came to nothing."""
    problem = problem_of(error, language_of(request))
    if problem.status >= 500:
        problem = msgspec.structs.replace(problem, reference=secrets.token_hex(4))
        log.error("%s %s: %s", request.method, request.url.path, problem.reference, exc_info=error)
    if is_program(request):
        return Response(problem, status_code=problem.status, media_type=MediaType.JSON)
    view = ErrorPage(
        status=problem.status,
        why="form" if isinstance(error, FormRunOut) else "",
        message=_told(error, problem),
        faults=tuple(problem.faults),
        reference=problem.reference,
        back=_back(request),
    )
    try:
        return page(request, "error.html", view, problem.status)
    except Exception:  # a page about an error must not need what has failed
        log.exception("the error page failed")
        return Response(problem.error, status_code=problem.status, media_type=MediaType.TEXT)


def _back(request: Request[Any, Any, Any]) -> str:
    """The page that a form was sent from. Who asks for a page is not led back to it."""
    where = came_from(request.app.state.site, request) if request.method != "GET" else ""
    return "/" if not where or where.startswith(NO_PAGES) else where


def _told(error: Exception, problem: Problem) -> str:
    """What an error's page says in the error's own words; nothing where the page's, in its language, say as much."""
    own = isinstance(error, PalestraError | ValidationException) and not isinstance(error, FormRunOut)
    return problem.error if own else ""


def problem_of(error: Exception, language: str = "en") -> Problem:
    """What is answered to whoever caused an error, in their language."""
    status, said = _status(error), in_language(_said(error), language)
    match error:
        case WrongOffset():
            return Problem(status, said, received=error.received)
        case Refused():
            faults = [fault.text.in_language(language) for fault in error.faults]
            return Problem(status, faults[0] if faults else said, faults)
        case _:
            return Problem(status, said)


def _status(error: Exception) -> int:
    match error:
        case Refused():
            return 422
        case SignedOut():
            return 401
        case TooOften():
            return 429
        case Forbidden():
            return 403
        case Missing() | UnknownUpload() | UnknownName():
            return 404
        case NotWell() | DamagedDatabase():
            return 503
        case PalestraError():
            return 409
        case ValidationException():
            return 400
        case InternalServerException() if error.detail == GONE:
            return 400  # nobody reads it, and nothing of ours has failed
        case RecursionError() | UnicodeDecodeError() if _is_of_the_body(error):
            return 400
        case DBAPIError() if not isinstance(error, IntegrityError | ProgrammingError | DataError):
            return 503
        case OSError() if is_full(error):
            return 507
        case HTTPException():
            return error.status_code
        case _:
            return 500


def _said(error: Exception) -> Text:
    match error:
        case PalestraError():
            return error.text
        case ValidationException():
            return _invalid(error)
        case RecursionError() | UnicodeDecodeError() if _is_of_the_body(error):
            return say(UNEXPECTED)
        case DBAPIError() if not isinstance(error, IntegrityError | ProgrammingError | DataError):
            return why_not(error)
        case OSError() if is_full(error):
            return why_not(error)
        case HTTPException():
            return say(_PLAIN[error.detail]) if error.detail in _PLAIN else error.detail
        case _:
            return say(OUR_FAULT)


UNEXPECTED = message("The request is not what was expected.")
OUR_FAULT = message("Something failed on our side. The organiser can find out by the number below.")
_PLAIN = {  # errors that are no PalestraError: what Litestar says where nobody says more
    "Bad Request": message("Bad Request"),
    "Unauthorized": message("Unauthorized"),
    "Forbidden": message("Forbidden"),
    "Not Found": message("Not Found"),
    "Method Not Allowed": message("Method Not Allowed"),
    "Request Entity Too Large": message("Request Entity Too Large"),
    "Too Many Requests": message("Too Many Requests"),
    "Internal Server Error": message("Internal Server Error"),
    "Service Unavailable": message("Service Unavailable"),
}


GONE = "client disconnected prematurely"  # Litestar's words: it has no class of its own for that


def _is_of_the_body(error: Exception) -> bool:
    """Whether what was sent could not be read: JSON a thousand levels deep, or halves of letters."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(name.startswith("litestar.serialization") for name in frames)


def _invalid(error: ValidationException) -> Text:
    """Which field is wrong, and how."""
    found = [one for one in (error.extra or []) if isinstance(one, dict)]
    parts = [joined([one.get("key", ""), validation_told(str(one.get("message", "")))], ": ") for one in found]
    return joined(parts, "; ").cut(LONGEST) if parts else say(UNEXPECTED)
