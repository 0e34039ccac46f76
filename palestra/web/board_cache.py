"""Boards written down, and kept until they change: as JSON, and as the parts of pages that are swapped live."""

import hashlib
from typing import TYPE_CHECKING

import msgspec

from palestra.contest import Viewer, sight_of_board
from palestra.errors import Forbidden, Missing
from palestra.web.models import BOARD

if TYPE_CHECKING:
    from palestra.web.site import Site

_json = msgspec.json.Encoder()
MOST = 512  # boards that are kept: phases, sights and languages are few


class Pictured:
    """Written boards. Who is in a team sees its own row marked, so theirs are written for each team."""

    def __init__(self, site: "Site") -> None:
        self._site = site
        self._kept: dict[tuple[object, ...], tuple[str, bytes]] = {}

    def board_json(self, phase: str, viewer: Viewer) -> tuple[str, bytes]:
        """A board as JSON, with a tag that changes when it does."""
        from palestra.web.views import public

        site = self._site
        state, now = site.state, site.now
        rules = state.phase(phase, now)
        sight = sight_of_board(state, rules, viewer, now)
        if sight is None:
            if viewer.account:
                raise Forbidden("You may not see this board.", "您不能查看该排行榜。")
            raise Missing(BOARD.en, BOARD.zh)
        closed = now >= rules.closes, now >= rules.opens
        key = (phase, viewer.team, viewer.is_organiser, sight, site.boards.version(phase), closed, len(state.versions),
               state.promotions[phase].at if phase in state.promotions else 0)  # fmt: skip
        kept = self._kept.get(key)
        if kept is None:
            body = _json.encode(public.board(site, phase, viewer))
            kept = (f'"{hashlib.sha256(body).hexdigest()[:20]}"', body)
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[key] = kept
        return kept
