"""The organiser's desk, and the log for everybody."""

import hashlib
from collections.abc import Iterator
from typing import Any

from litestar import MediaType, Response, get, post, route
from litestar.handlers import HTTPRouteHandler
from litestar.params import Parameter
from litestar.response import Redirect, Stream

from palestra.contest.log import chain
from palestra.contest.storage import reading
from palestra.errors import Missing, PalestraError
from palestra.text import say
from palestra.web.actions import Amend
from palestra.web.api import READING
from palestra.web.auth import address_of, language_of, organisers_only, viewer_from
from palestra.web.forms import fields_of, notice_of, refused
from palestra.web.forms import read as read_form
from palestra.web.models import missing, there
from palestra.web.pages.public import REPORT_POLICY, Asked, report_in, show
from palestra.web.site import Site, in_thread
from palestra.web.views import ORGANISER, desk, judging
from palestra.web.views import audit as show_audit

FOR_ORGANISERS: dict[str, Any] = {"guards": [organisers_only], "include_in_schema": False}
CSV = "text/csv; charset=utf-8"
PARTS = {"csv": CSV, "parquet": "application/vnd.apache.parquet"}


@get("/desk", sync_to_thread=True, **FOR_ORGANISERS)
def overview(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/overview.html", desk.overview(site, language_of(request)))


@get("/desk/access", sync_to_thread=True, **FOR_ORGANISERS)
def access(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/access.html", desk.access(site))


@get("/desk/runs/{phase:str}", sync_to_thread=True, **FOR_ORGANISERS)
def runs(site: Site, request: Asked, phase: str) -> Response[str]:
    return show(request, "desk/runs.html", desk.runs(site, phase, language_of(request)))


@get("/desk/teams", sync_to_thread=True, **FOR_ORGANISERS)
def teams(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/teams.html", desk.teams(site))


@get("/desk/accounts", sync_to_thread=True, **FOR_ORGANISERS)
def accounts(site: Site, request: Asked) -> Response[str]:
    kept = notice_of(request)
    link = f"{address_of(site, request)}/link/{kept.secret}" if kept and kept.secret else ""
    return show(request, "desk/accounts.html", desk.accounts(site, link), kept)


@get("/desk/copies", sync_to_thread=True, **FOR_ORGANISERS)
def copies(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/copies.html", desk.copies(site))


@get("/desk/announcements", sync_to_thread=True, **FOR_ORGANISERS)
def announcements(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/announcements.html", desk.announcements(site))


@get("/desk/rules", **FOR_ORGANISERS)
async def amendments(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/rules.html", await in_thread(lambda: desk.amendments(site)))


@post("/desk/rules", status_code=200, **FOR_ORGANISERS)
async def preview_amendment(site: Site, request: Asked) -> Response[str]:
    """Show what other rules would change. Nothing is done: a contest file is too long for an address."""
    form = await request.form()
    try:
        given = read_form(form, Amend, site.state.rules(site.now).zone)
        assert isinstance(given, Amend)
        view = await in_thread(lambda: desk.amended(site, given.text, given.counts_from, given.reason))
    except PalestraError as error:
        return await refused(request, fields_of(form), error)
    return show(request, "desk/rules.html", view)


# Where the organiser decides


@get("/desk/promotion", sync_to_thread=True, **FOR_ORGANISERS)
def promoting_phase(site: Site, request: Asked) -> Response[Any]:
    phase = judging.first_promoting(site)
    if not phase:
        return show(request, "desk/promotion_none.html", judging.no_promotion(site))
    return Redirect(f"/desk/promotion/{phase}")


@get("/desk/promotion/{phase:str}", **FOR_ORGANISERS)
async def promotion(site: Site, request: Asked, phase: str) -> Response[str]:
    """Teams that are left out are named in the address, `without.TEAM=reason`: so a preview can be looked at first."""
    if site.state.phase(phase, site.now).promotion is None:
        return show(request, "desk/promotion_none.html", judging.no_promotion(site, phase))
    given = list(request.query_params.multi_items())
    without = {name[8:]: value for name, value in given if name.startswith("without.") and value}
    try:
        view = await in_thread(lambda: judging.promotion(site, phase, without, language_of(request)))
    except PalestraError as error:
        if not without:
            raise
        return await refused(request, fields_of([*given, ("page", request.url.path)]), error)
    return show(request, "desk/promotion.html", view)


@get("/desk/verifications", sync_to_thread=True, **FOR_ORGANISERS)
def verifications(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/verifications.html", judging.verifications(site))


@get("/desk/verifications/{bundle:str}", sync_to_thread=True, **FOR_ORGANISERS)
def verification(site: Site, request: Asked, bundle: str) -> Response[str]:
    view = there(judging.verification(site, bundle, language_of(request)), missing.BUNDLE)
    return show(request, "desk/verification.html", view)


@get("/desk/rescorings", sync_to_thread=True, **FOR_ORGANISERS)
def rescorings(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/rescorings.html", judging.rescorings(site))


@get("/desk/rescorings/{rescoring:str}", sync_to_thread=True, **FOR_ORGANISERS)
def rescoring(site: Site, request: Asked, rescoring: str) -> Response[str]:
    view = there(judging.rescoring_page(site, rescoring, language_of(request)), missing.RESCORING)
    return show(request, "desk/rescoring.html", view)


@get("/desk/awards", sync_to_thread=True, **FOR_ORGANISERS)
def awards(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/awards.html", judging.awards(site))


# Files


@get("/desk/traces/{digest:str}", sync_to_thread=True, **FOR_ORGANISERS)
def trace(site: Site, digest: str) -> Response[bytes]:
    """What a program said when it failed."""
    state = site.state
    known = {mishap.trace for one in list(state.submissions.values()) for mishap in list(one.mishaps)}
    if not digest or digest not in known:
        raise Missing(say("There is no such traceback."))
    return Response(site.contest.files.read(digest), media_type=MediaType.TEXT)


@get("/desk/reports/{digest:str}", sync_to_thread=True, **FOR_ORGANISERS)
def report(site: Site, request: Asked, digest: str) -> Response[bytes]:
    """What a verification found: a page where it came to an end, else what failed, as text."""
    known = {one.report for one in list(site.state.bundles.values()) if one.report}
    found = site.contest.files.read(there(digest if digest in known else None, missing.REPORT))
    if not found[:20].lstrip().lower().startswith((b"<!doctype", b"<html")):
        return Response(found, media_type=MediaType.TEXT, headers={"content-security-policy": REPORT_POLICY})
    return report_in(found, language_of(request))


@get("/desk/exports", sync_to_thread=True, **FOR_ORGANISERS)
def exports(site: Site, request: Asked) -> Response[str]:
    return show(request, "desk/exports.html", desk.exports(site))


@route("/desk/exports/{name:str}", http_method=READING, **FOR_ORGANISERS)
async def export(site: Site, request: Asked, name: str) -> Response[Any]:
    """A table, as the organiser sees it now. How long the log is as a table is known when it has been written."""
    if name == "events.csv":
        rows = events_csv(site) if request.method != "HEAD" else iter(())
        return Stream(rows, media_type=CSV, headers=_attached(name))
    table, _, ending = name.rpartition(".")
    if ending not in PARTS or table not in desk.table_names(site.state, site.now):
        raise Missing(say("There is no such table."))
    data = await in_thread(lambda: _table(site, table, ending))
    digest = hashlib.sha256(data).hexdigest()
    tags = {"etag": f'"{digest}"', "digest": f"sha-256={digest}"}
    return Response(data, media_type=PARTS[ending], headers={**_attached(name), **tags})


def _table(site: Site, table: str, ending: str) -> bytes:
    from palestra.contest.archive import tables  # polars takes its time to come

    with site.contest.lock:  # while what it needs is taken; ranking and files come after
        make = tables.taken(site.state, ORGANISER, site.now, table)
    found = make(site.contest.files.read)
    return tables.as_csv(found, bom=True) if ending == "csv" else tables.as_parquet(found)


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def events_csv(site: Site) -> Iterator[bytes]:
    """The whole log, some thousand events at a time: however long it is, little of it is in memory."""
    from palestra.contest.archive import tables

    zone = site.state.rules(site.now).zone
    for after in range(0, site.state.seq, tables.AT_ONCE):
        with reading(site.contest.engine) as connection:
            table = tables.events(chain.rows(connection, after, after + tables.AT_ONCE), zone)
        parts = tables.csv_parts(table, bom=True)
        head = next(parts)
        yield from (part for part in ((b"" if after else head), *parts) if part)


# The log


@get("/audit", sync_to_thread=True, include_in_schema=False)
def audit(
    site: Site,
    request: Asked,
    kind: str = "",
    by: str = "",
    before: int | None = Parameter(default=None, ge=0, le=1 << 53),
    after: int | None = Parameter(default=None, ge=0, le=1 << 53),
) -> Response[str]:
    asked = show_audit.Asked(kind, by, before, after)
    return show(request, "audit.html", show_audit.audit(site, viewer_from(request), asked))


DESK: list[HTTPRouteHandler] = [
    overview, access, runs, teams, accounts, copies, announcements, amendments, preview_amendment, promoting_phase,
    promotion, verifications, verification, rescorings, rescoring, awards, trace, report, exports, export, audit,
]  # fmt: skip
