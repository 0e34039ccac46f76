"""What pages of a match are sent as it changes: `match=ID` as a record, `bench=ID` and `side=ID` as parts of a page.

`ID/TEAM` asks for one team; else it is the one at the table."""

from collections.abc import Iterator

import msgspec

from palestra.contest import Viewer
from palestra.contest.match import MatchBody
from palestra.text import say
from palestra.web.match.messages import who_is
from palestra.web.match.models import TablePage
from palestra.web.match.turn_view import match_view
from palestra.web.site import Site, render
from palestra.web.stream import Said, Write
from palestra.web.views import frame

TOPICS = {"match": say("match"), "bench": say("bench"), "side": say("side")}
TEMPLATES = {"bench": "match/head_body.html", "side": "match/team_body.html"}
PARTS = {"bench": ("head", "organiser"), "side": ("team",)}


def topic_of(site: Site, viewer: Viewer, language: str, name: str, what: str) -> dict[str, Write] | None:
    """One topic as this viewer sees it; nothing where there is none for them. Its name says all that it depends on."""
    match_id, _, team = what.partition("/")
    match = site.state.matches.get(match_id)
    if match is None or who_is(match, viewer).part not in PARTS.get(name, (who_is(match, viewer).part,)):
        return None
    whose = viewer.account or "nobody"
    key = f"match:{match_id}:{name}:{team}:{whose}:{language if name in TEMPLATES else ''}"
    return {key: lambda: _said(site, viewer, language, name, (match_id, team))}


def _said(site: Site, viewer: Viewer, language: str, name: str, what: tuple[str, str]) -> Said:
    view = match_view(site, what[0], viewer, what[1])
    ident = f"{site.state.seq}-{site.runs.newest}"
    if name not in TEMPLATES:
        return Said(name, in_lines(msgspec.json.encode(view).decode()), ident)
    around = frame(site, Viewer(), "", "")
    return Said(name, render(TEMPLATES[name], language, frame=around, page=TablePage(view=view, asked=what[1])), ident)


def in_lines(record: str) -> str:
    """JSON with a line for each record in a list: most of a match stays as it was, and such lines are not sent again.
    What it is parted at cannot be within a text, where a quotation mark has a backslash before it."""
    return record.replace('},{"', '},\n{"')


def touched_by(body: MatchBody) -> Iterator[str]:
    """Topics that an event of a match changes: all whose names begin with `match:ID:`."""
    yield f"match:{body.match}:"
