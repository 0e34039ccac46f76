"""Server-sent events: which topics a page may read, how each is written, which of them an event changes."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import msgspec
from litestar import Request, get
from litestar.response import Stream

from palestra.contest import Viewer
from palestra.contest.boards import judged_by
from palestra.contest.log import Event
from palestra.contest.log import events as e
from palestra.contest.match import MatchBody
from palestra.errors import Missing
from palestra.text import Words, say
from palestra.web.auth import language_of, viewer_from
from palestra.web.match import hall_screen
from palestra.web.match import topics as match_live
from palestra.web.models import LiveNews
from palestra.web.site import Site, render
from palestra.web.stream import Said, Write
from palestra.web.views import desk, public, team
from palestra.web.views import live as show_live

HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
TOPICS: dict[str, Words] = {
    "board": say("board"), "submission": say("submission"), "submissions": say("submissions"), "home": say("home"),
    "desk": say("desk"), "data": say("data"), "screen": say("screen"), "run": say("run"),
    **match_live.TOPICS, **hall_screen.TOPICS,
}  # fmt: skip
NAMES = tuple(TOPICS)
ONLY_ONE = ("home", "desk", "data")  # whatever else is asked of them would be the same, written once more


@get("/live", sync_to_thread=False, media_type="text/event-stream", tags=["live"])
def live(site: Site, request: Request[Any, Any, Any]) -> Stream:
    """What a page shows, whenever it changes. Topics are named in the query: `board=PHASE`, `submission=ID`,
    `submissions=PHASE`, `run=ID`, `home=1`, `data=1`, `screen=1` (or `screen=PHASE`), `desk=1`, `match=ID`, `hall=ID`.
    A browser that comes back says with `Last-Event-ID` how far it came; it is sent what each topic says now, which
    holds all that it missed."""
    viewer, language = viewer_from(request), language_of(request)
    topics: dict[str, Write] = {}
    for name in NAMES:
        for what in request.query_params.getall(name, [])[:4]:
            topics |= _topic(site, viewer, language, name, "1" if name in ONLY_ONE else what)
    if not topics:
        raise Missing(say("Name a topic to read: {names}.", names=", ".join(NAMES)))
    return Stream(_while_same(site, viewer, site.feed.read(topics)), media_type="text/event-stream", headers=HEADERS)


def _while_same(site: Site, viewer: Viewer, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Who left their team, or whose account was closed, is sent nothing more: their browser asks anew."""
    return _until_changed(site, viewer, messages) if viewer.account else messages


async def _until_changed(site: Site, viewer: Viewer, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async with contextlib.aclosing(messages):  # type: ignore[type-var]  # it is a generator: it notes who leaves
        async for found in messages:
            account = site.state.accounts[viewer.account]
            if account.closed or (account.team, account.role) != (viewer.team, viewer.role):
                return
            yield found


def _topic(site: Site, viewer: Viewer, language: str, name: str, what: str) -> dict[str, Write]:
    """One topic as this viewer sees it. Its name says all that what is written depends on."""
    if name in match_live.TOPICS and (found := match_live.topic_of(site, viewer, language, name, what)):
        return found
    if name in hall_screen.TOPICS and (found := hall_screen.topic_of(site, language, what)):
        return found
    makers: dict[str, Callable[[], object | None]] = {
        "board": lambda: public.board_page(site, what, viewer),
        "submission": lambda: team.submission(site, what, viewer, language),
        "submissions": lambda: team.submissions(site, what, viewer) if viewer.team else None,
        "home": lambda: public.home(site, viewer),
        "data": lambda: team.data(site, viewer, ""),
        "desk": lambda: desk.overview(site, language) if viewer.is_organiser else None,
        "screen": lambda: show_live.screen(site, "" if what == "1" else what),
        "run": lambda: show_live.news(site, what, viewer),
    }
    make = makers.get(name, lambda: None)
    if make() is None:
        raise Missing(say("There is no {kind} {name!r} for you to see.", kind=TOPICS[name], name=what))
    whose = f"{language}:{viewer.team}:{viewer.is_organiser}"
    if name == "run":
        return {
            f"run:{what}:{whose}:point": lambda: _told(site, "point", show_live.news(site, what, viewer)),
            f"run:{what}:{whose}:state": lambda: _told(site, "run", show_live.news(site, what, viewer)),
        }
    return {f"{name}:{what}:{whose}": lambda: _written(site, name, make(), language)}


def _told(site: Site, event: str, news: LiveNews | None) -> Said | None:
    """Of a run: its newest point, or how it stands."""
    view = news and (news.point if event == "point" else {"state": news.state})
    return Said(event, msgspec.json.encode(view).decode(), _ident(site)) if view else None


def _ident(site: Site) -> str:
    return f"{site.state.seq}-{site.runs.newest}"


_TEMPLATES = {
    "board": "board_rows.html",
    "submission": "submission_state.html",
    "submissions": "submissions_live.html",
    "home": "announcements.html",
    "data": "data_phases.html",
    "desk": "desk/now.html",
    "screen": "screen_body.html",
}
_EVENTS = {"home": "announcements"}


def _written(site: Site, name: str, view: object | None, language: str) -> Said | None:
    if view is None:
        return None
    frame = public.frame(site, Viewer(), "", "")
    text = render(_TEMPLATES[name], language, frame=frame, page=view)
    return Said(_EVENTS.get(name, name), text, _ident(site))


def touched(site: Site, events: Iterable[Event]) -> set[str]:
    """The beginnings of the names of topics that these events change."""
    return {prefix for event in events for prefix in _touched(site, event.at, event.body)}


def _touched(site: Site, at: int, body: e.Body) -> Iterator[str]:
    state = site.state
    yield "desk:"
    if isinstance(body, MatchBody):
        yield from match_live.touched_by(body)
        for phase, _ in judged_by(state, at, body):
            yield from (f"board:{phase}:", "screen:")
        return
    match body:
        case e.AnnouncementMade():
            yield "home:"
        case e.AccessRequested() | e.AccessGranted() | e.AccessRefused() | e.DataPacked() | e.TruthReleased():
            yield "data:"
        case e.SubmissionMade() | e.BundleMade():
            yield f"submissions:{body.phase}:"
        case (
            e.SubmissionRefused()
            | e.SubmissionAccepted()
            | e.SubmissionWithdrawn()
            | e.AttemptStarted()
            | e.AttemptFailed()
            | e.AttemptCancelled()
            | e.ResultMade()
            | e.ReportMade()
        ):
            one = state.submissions[body.submission]
            yield f"submission:{one.id}:"
            yield f"submissions:{one.phase}:"
            if isinstance(body, e.AttemptStarted | e.AttemptCancelled):
                yield "submission:"  # those behind it move up
            if isinstance(body, e.ResultMade | e.SubmissionWithdrawn):
                yield f"board:{one.phase}:"
                yield "screen:"
        case e.RunStarted() | e.RunEnded():
            yield "screen:"
            yield f"run:{body.run}:"
            yield "submissions:"  # a form says whether a window is open
        case e.WindowOpened() | e.VersionTaken():
            yield f"run:{body.run}:"
            yield "submissions:"  # a form says whether a window is open
            if isinstance(body, e.VersionTaken):
                yield f"submission:{body.submission}:"
        case (
            e.RulesAmended()
            | e.PhaseMoved()
            | e.TeamDisqualified()
            | e.TeamReinstated()
            | e.TeamRenamed()
            | e.RescoringApplied()
            | e.BoardReleased()
            | e.BoardFrozen()
            | e.PromotionConfirmed()
        ):
            yield from ("board:", "screen:", "submission:", "submissions:", "home:", "data:")
        case _:
            return
