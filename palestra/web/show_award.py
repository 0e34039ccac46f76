"""What a certificate is given: the award, and the board as it stood when it was given."""

from collections.abc import Sequence

from palestra.contest import log
from palestra.contest.database import reading
from palestra.contest.seeing import Viewer, sees_awards, sight_of_board
from palestra.contest.standing import Row, track_of
from palestra.web import views as v
from palestra.web.show_public import column_of
from palestra.web.site import Site


def certificate(site: Site, award: int, team: str, viewer: Viewer, address: str) -> v.Certificate | None:
    """Of an award that a team has; nothing where it has it not, or where that may not be known yet."""
    state, now = site.state, site.now
    given, rules = state.awards.get(str(award), {}), state.rules(now)
    if team not in given or not sees_awards(state, rules.awards[award].phase, viewer, now):
        return None
    one = rules.awards[award]
    with reading(site.contest.engine) as connection:
        seq, at, _, _, digest = next(log.rows(connection, given[team] - 1, given[team]))
    rows = _board(site, one.phase, viewer, at)
    row = next((row for row in rows if row.entry.team == team), None)
    metric = track_of(state.phase(one.phase, at)).ranks if one.phase else None
    return v.Certificate(
        award=one.title,
        team_name=state.teams[team].name,
        members=tuple(state.accounts[member].name for member in state.teams[team].members),
        phase=rules.phase(one.phase).title if one.phase else rules.name,
        rank=row.rank if row else None,
        of=sum(other.rank is not None for other in rows),
        column=column_of(metric) if metric else None,
        value=row.entry.metrics.get(metric.name) if row and metric else None,
        at=at,
        number=digest,
        seq=seq,
        url=address,
    )


def _board(site: Site, phase: str, viewer: Viewer, at: int) -> Sequence[Row]:
    """The board that an award was given by, as it stood then: scores and disqualifications that came later change no
    certificate. Empty where the award is for no single board, or this viewer sees none."""
    if not phase or sight_of_board(site.state, site.state.phase(phase, site.now), viewer, site.now) is None:
        return ()
    return site.boards.rows(phase, "whole", at)
