"""Boards as JSON, kept until they change."""

import hashlib

import msgspec

from palestra.contest import Viewer, sight_of_board
from palestra.errors import Forbidden, Missing
from palestra.text import say
from palestra.web.models import BOARD
from palestra.web.site import Site
from palestra.web.views import public

_json = msgspec.json.Encoder()
MOST = 512  # boards that are kept: phases, sights and languages are few


def board_json(site: Site, phase: str, viewer: Viewer) -> tuple[str, bytes]:
    """A board as JSON, with a tag that changes when it does. Who is in a team sees its own row marked, so theirs are
    written for each team."""
    state, now = site.state, site.now
    rules = state.phase(phase, now)
    sight = sight_of_board(state, rules, viewer, now)
    if sight is None:
        if viewer.account:
            raise Forbidden(say("You may not see this board."))
        raise Missing(BOARD)
    closed = now >= rules.closes, now >= rules.opens
    key = (phase, viewer.team, viewer.is_organiser, sight, site.boards.version(phase), closed, len(state.versions),
           state.promotions[phase].at if phase in state.promotions else 0)  # fmt: skip
    kept = site.boards_sent.get(key)
    if kept is None:
        body = _json.encode(public.board(site, phase, viewer))
        kept = (f'"{hashlib.sha256(body).hexdigest()[:20]}"', body)
        if len(site.boards_sent) >= MOST:
            site.boards_sent.clear()
        site.boards_sent[key] = kept
    return kept
