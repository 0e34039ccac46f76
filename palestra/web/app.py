"""The server: routes put together, started and stopped in good order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

from litestar import Litestar, Request
from litestar.datastructures import State as AppState
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.static_files import create_static_files_router

from palestra.contest.accounts import rate_limit, tokens
from palestra.contest.log import Event
from palestra.contest.storage import writing
from palestra.web.actions import accounts, desk, teams
from palestra.web.api import READS, TRANSFERS, action_routes
from palestra.web.auth import Gate
from palestra.web.forms import do, require_own_form
from palestra.web.health import OPERATING
from palestra.web.log_tail import channels_of, follow
from palestra.web.match import HALL, MATCHES, opening, slots
from palestra.web.pages import DESK, OUTSIDE, PAGES
from palestra.web.responses import PROBLEMS, answer_error
from palestra.web.site import STATIC, Site
from palestra.web.topics import live, touched

WITH_ACTIONS = (accounts, desk, opening, slots, teams)  # an action is declared when its module is imported
BODY_BYTES = 10 << 20  # of a request; uploads come in pieces of 8 MiB
LOOP_S = 0.1  # how often who waits for the event loop looks whether it still runs
CLOCK_S = 5.0  # how often boards are looked at for what time alone changes: freezes, ends
MINUTE_MS, SWEEP_MS, STALE_UPLOAD_MS = 60_000, 3_600_000, 3 * 86_400_000


def create_app(site: Site) -> Litestar:
    """The whole server of one contest."""
    return house(routed(), site)


class _Msgspec(Litestar):
    """Litestar for records of msgspec alone. It would load pydantic and attrs too, where they happen to be installed,
    which takes a tenth of a start."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]


def routed() -> Litestar:
    """All routes, of no contest yet. They are the same for every contest, and putting them together takes long."""
    routes = [*PAGES, *DESK, *MATCHES, *HALL, *OUTSIDE, *READS, *action_routes(), *TRANSFERS, *OPERATING, do, live]
    for route in routes:
        route.responses = {**PROBLEMS, **(route.responses or {})}
    static = create_static_files_router("/static", [STATIC], cache_control=None, include_in_schema=False)
    return _Msgspec(
        [*routes, static],
        before_request=require_own_form,
        dependencies={"site": Provide(_site, sync_to_thread=False)},
        exception_handlers={Exception: answer_error},
        lifespan=[_running],
        openapi_config=OpenAPIConfig(
            title="Palestra",
            version="1",
            path="/api/schema",
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
            use_handler_docstrings=True,
        ),
        request_max_body_size=BODY_BYTES,
        logging_config=None,
        debug=False,
    )


def house(app: Litestar, site: Site) -> Litestar:
    """The same routes, from now on of this contest."""
    app.state = AppState({"site": site})
    routes = app.asgi_handler.app if isinstance(app.asgi_handler, Gate) else app.asgi_handler
    app.asgi_handler = Gate(routes, site)  # before the routes: middleware does not see what has none
    return app


def _site(request: Request[Any, Any, Any]) -> Site:
    site: Site = request.app.state.site
    return site


@contextlib.asynccontextmanager
async def _running(app: Litestar) -> AsyncIterator[None]:
    site: Site = app.state.site
    channels = channels_of(site.contest.engine)

    def told(events: Sequence[Event]) -> None:
        site.feed.touch(touched(site, events))

    site.contest.listen(told)
    site.contest.hand_over = _onto(asyncio.get_running_loop())
    async with channels or contextlib.nullcontext():  # it must be connected before it is listened to
        work = (site.feed.run(), follow(site, channels), _by_the_clock(site))
        tasks = [asyncio.create_task(one) for one in work]
        try:
            yield
        finally:
            site.contest.hand_over = lambda change: change()
            site.feed.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _onto(loop: asyncio.AbstractEventLoop) -> Callable[[Callable[[], None]], None]:
    """Changes of the state happen on the event loop, so that no page is made while one is half done. A loop that stops
    before it comes to a change makes no more pages: then whoever waits makes the change themselves."""

    def hand_over(change: Callable[[], None]) -> None:
        if not loop.is_running():
            change()
            return
        done: Future[None] = Future()
        try:
            loop.call_soon_threadsafe(_make, change, done)
        except RuntimeError:  # it was closed since
            change()
            return
        while not wait([done], LOOP_S).done:
            if not loop.is_running() and done.cancel():
                change()
                return
        done.result()

    return hand_over


def _make(change: Callable[[], None], done: Future[None]) -> None:
    """Make a change, unless whoever waited for it has made it."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        change()
        done.set_result(None)
    except BaseException as error:
        done.set_exception(error)


async def _by_the_clock(site: Site) -> None:
    """What time alone changes: freezes and ends are shown, what has run out is swept away."""
    swept = seen = site.now
    while True:
        await asyncio.sleep(CLOCK_S)
        now = site.now
        site.feed.touch(turned(seen, now))
        seen = now
        if now - swept > SWEEP_MS:
            swept = now
            await asyncio.to_thread(_sweep, site)


def turned(before: int, now: int) -> tuple[str, ...]:
    """The topics that time alone may have changed. Pages of teams are many, and what they show opens and closes by the
    minute, so they are looked at when a minute begins."""
    pages = ("submission:", "submissions:", "data:") if now // MINUTE_MS != before // MINUTE_MS else ()
    return ("board:", "screen:", "home:", "match:", *pages)


def _sweep(site: Site) -> None:
    now = site.now
    with writing(site.contest.engine) as connection:
        tokens.sweep(connection, now)
        rate_limit.sweep(connection, now)
    site.uploads.sweep(now - STALE_UPLOAD_MS)
    site.contest.files.sweep(now - STALE_UPLOAD_MS)
