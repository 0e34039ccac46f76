"""What a certificate is given: the award, and the board as it stood when it was given."""

from collections.abc import Sequence
from typing import NamedTuple

from palestra.contest import Viewer, is_rounded, sees_awards, sight_of_board
from palestra.contest.boards import Row
from palestra.contest.log import chain
from palestra.contest.rules import track_of
from palestra.contest.storage import reading
from palestra.records import Estimate
from palestra.text import say
from palestra.web.models import public as v
from palestra.web.site import Site
from palestra.web.views.public import column_of

FINAL = v.Column(name="final", title=say("Final score"), unit="", better="higher")


class Place(NamedTuple):
    """Where a team stood, and with what."""

    rank: int | None = None
    of: int = 0
    column: v.Column | None = None
    value: Estimate | None = None


def certificate(site: Site, award: int, team: str, viewer: Viewer, address: str) -> v.Certificate | None:
    """Of an award that a team has; nothing where it has it not, or where that may not be known yet."""
    state, now = site.state, site.now
    given, rules = state.awards.get(str(award), {}), state.rules(now)
    if team not in given or not sees_awards(state, rules.awards[award].phase, viewer, now):
        return None
    one = rules.awards[award]
    with reading(site.contest.engine) as connection:
        seq, at, _, _, digest = next(chain.rows(connection, given[team] - 1, given[team]))
    place = _on_board(site, one.phase, team, viewer, at) if one.phase else _in_final(site, team, viewer, at)
    return v.Certificate(
        award=one.title,
        team_name=state.teams[team].name,
        members=tuple(state.accounts[member].name for member in state.teams[team].members),
        phase=rules.phase(one.phase).title if one.phase else rules.name,
        **place._asdict(),
        at=at,
        number=digest,
        seq=seq,
        url=address,
    )


def _on_board(site: Site, phase: str, team: str, viewer: Viewer, at: int) -> Place:
    rows = _board(site, phase, viewer, at)
    row = next((row for row in rows if row.entry.team == team), None)
    rules = site.state.phase(phase, at)
    metric = track_of(rules).ranks
    of = sum(other.rank is not None for other in rows)
    value = row.entry.metrics.get(metric.name) if row else None
    return Place(row.rank if row else None, of, column_of(metric), value)


def _in_final(site: Site, team: str, viewer: Viewer, at: int) -> Place:
    """In the final standing as it was then; nothing where this viewer does not see all of its boards with all digits:
    the standing is made from these."""
    weights = site.state.rules(at).weights
    if not weights or not all(_sees(site, phase, viewer) and not _rounds(site, phase, viewer) for phase in weights):
        return Place()
    rows = site.boards.final_at(at)
    row = next((row for row in rows if row.team == team), None)
    return Place(row.rank, len(rows), FINAL, Estimate(row.score)) if row else Place()


def _sees(site: Site, phase: str, viewer: Viewer) -> bool:
    return sight_of_board(site.state, site.state.phase(phase, site.now), viewer, site.now) is not None


def _rounds(site: Site, phase: str, viewer: Viewer) -> bool:
    """Whether this viewer sees the phase's scores rounded, and ranks that follow from these."""
    return not viewer.is_organiser and is_rounded(site.state, site.state.phase(phase, site.now), site.now)


def _board(site: Site, phase: str, viewer: Viewer, at: int) -> Sequence[Row]:
    """The board that an award was given by, as it stood then: scores and disqualifications that came later change no
    certificate. Empty where this viewer sees none."""
    return site.boards.rows(phase, "whole", at, _rounds(site, phase, viewer)) if _sees(site, phase, viewer) else ()
