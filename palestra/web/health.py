"""For those who run the server: is it well, and how is it doing."""

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, get, route
from litestar.handlers import HTTPRouteHandler
from sqlalchemy.exc import DBAPIError

from palestra.contest.log import chain
from palestra.contest.queue import jobs
from palestra.contest.storage import reading, why_not
from palestra.web.auth import needs
from palestra.web.site import NotWell, Site


class Health(msgspec.Struct, frozen=True):
    """That the server is well, and how far it has read the log."""

    ok: bool
    seq: int
    behind: int  # events that are written and not taken in yet


# Balancers ask with HEAD.
@route("/health", http_method=["GET", "HEAD"], sync_to_thread=True, tags=["operating"])
def health(site: Site) -> Health:
    """Whether the server answers, reaches its database and can write; 503, and why, where it cannot."""
    try:
        with reading(site.contest.engine) as connection:
            last = chain.last_seq(connection)
    except DBAPIError as error:
        raise NotWell(why_not(error)) from None
    if why := site.writes.why_not(site.contest, site.folders):
        raise NotWell(why)
    return Health(True, site.state.seq, max(last - site.state.seq, 0))


@get("/metrics", sync_to_thread=True, guards=[needs("metrics")], media_type=MediaType.TEXT, tags=["operating"])
def metrics(site: Site, request: Request[Any, Any, Any]) -> Response[str]:
    """Numbers for Prometheus. It comes with a token that has the scope `metrics`."""
    return Response(written(site), media_type="text/plain; version=0.0.4; charset=utf-8")


def written(site: Site) -> str:
    """Gauges in Prometheus' text format."""
    state, now = site.state, site.now
    lines = [
        *_gauge("palestra_log_events", "Events in the log.", {"": state.seq}),
        *_gauge("palestra_teams", "Teams.", {"": len(state.teams)}),
        *_gauge("palestra_submissions", "Submissions by what became of them.", _stages(site)),
        *_gauge("palestra_live_readers", "Topics that browsers read.", {"": site.feed.readers}),
    ]
    queued = jobs.counts(site.contest.engine)
    told = {f'kind="{kind}",state="{stage}"': n for kind, stages in queued.items() for stage, n in stages.items()}
    lines += _gauge("palestra_jobs", "Jobs by kind and state.", told)
    alive = sum(there for _, there in jobs.workers(site.contest.engine, now))
    lines += _gauge("palestra_workers", "Workers that gave a sign of life of late.", {"": alive})
    return "\n".join(lines) + "\n"


def _stages(site: Site) -> dict[str, int]:
    counts: dict[str, int] = {}
    with site.contest.lock:
        for one in site.state.submissions.values():
            key = f'stage="{one.stage}"'
            counts[key] = counts.get(key, 0) + 1
    return counts


def _gauge(name: str, about: str, values: dict[str, int]) -> list[str]:
    shown = [f"{name}{{{labels}}} {value}" if labels else f"{name} {value}" for labels, value in values.items()]
    return [f"# HELP {name} {about}", f"# TYPE {name} gauge", *shown]


OPERATING: list[HTTPRouteHandler] = [health, metrics]
