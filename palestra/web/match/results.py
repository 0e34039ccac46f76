"""The results of a match, every number of them with where it comes from. Of published results alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from palestra.contest import Viewer
from palestra.contest.boards import exact
from palestra.contest.log import State
from palestra.contest.match import (
    Match,
    Placed,
    Tally,
    Turn,
    case_of,
    cases_of,
    deducted,
    outcomes_of,
    ranked,
    tallies,
    weights_of,
    why,
    with_online,
)
from palestra.contest.match import shown as clock_text
from palestra.contest.rules import track_of
from palestra.scoring import Judged
from palestra.text import Words
from palestra.web.site import Site


class Note(msgspec.Struct, frozen=True):
    kind: str  # "deduction", "void", "ruled", "corrected"
    text: str


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    group: Words
    met: int
    total: int
    deducted: str
    score: str
    ran: str
    charged: str
    attempts: int
    ended: str
    notes: tuple[Note, ...] = ()


class TeamResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a team's numbers come about."""

    team: str
    name: str
    rank: int | None
    out: str
    cases: tuple[CaseResult, ...]
    sum: str
    mean: str
    by_groups: bool
    minus: str
    score: str  # exact
    of_ten: str
    time: str
    charged: str  # exact, in seconds
    full: int
    variance: str
    variance_shown: str
    online: str = ""
    online_of_ten: str = ""
    final: str = ""
    final_of_ten: str = ""


class ResultsPage(msgspec.Struct, frozen=True, kw_only=True):
    match: str
    title: Words
    rehearsal: bool
    has_final: bool
    waits: bool = False  # for the board of another weighted phase to be shown in full
    online: str = ""  # shares of both scores, in %
    onsite: str = ""
    teams: tuple[TeamResult, ...] = ()
    reasons: tuple[Words, ...] = ()  # why each is before the next
    pair: tuple[str, str] = ("", "")  # two teams that somebody asked about
    between: Words = Words()  # why one of them is before the other
    of: int = 0  # teams of the match
    asked: tuple[tuple[str, Words], ...] = ()  # what the cases asked for, once nobody is to play them


def results(site: Site, match_id: str, viewer: Viewer, pair: tuple[str, str] = ("", "")) -> ResultsPage:
    match, now = site.state.match(match_id), site.now
    found = published(site.state, match, now)
    online = online_scores(site, match, viewer)
    if online is not None:
        found = with_online(match.opened.rules, found, online)
    standing = ranked(found)
    shares = [f"{float(100 * share):g} %" for share in weights_of(match.opened.rules)]
    return ResultsPage(
        match=match_id,
        title=site.state.phase(match.opened.phase, now).title,
        rehearsal=match.opened.rehearsal,
        has_final=online is not None,
        waits=online is None and _is_weighted(site, match),
        online=shares[0],
        onsite=shares[1],
        teams=tuple(_team(match, placed, now) for placed in standing),
        reasons=tuple(why(first.tally, second.tally) for first, second in pairwise(standing)),
        pair=pair,
        between=_between(standing, *pair),
        of=len(match.turns),
        asked=tuple(_asked(match)) if len(standing) == len(match.turns) else (),
    )


def _between(standing: Sequence[Placed], first: str, second: str) -> Words:
    """Why one of two teams is before the other; nothing where there are no such two."""
    known = {placed.tally.team: placed.tally for placed in standing}
    return why(known[first], known[second]) if first != second and {first, second} <= known.keys() else Words()


def published(state: State, match: Match, now: int) -> list[Tally]:
    """What the public is told. Whom the organiser has disqualified is out here as well as whom referees have."""
    found = tallies(match, now, "published")
    return [_with_out(state, match, one, now) for one in found]


def _with_out(state: State, match: Match, one: Tally, now: int) -> Tally:
    out = state.out(one.team, match.opened.phase, now)
    return msgspec.structs.replace(one, out=one.out or out.reason) if out else one


def _is_weighted(site: Site, match: Match) -> bool:
    """Whether there is a final standing that the match is a part of."""
    weights = site.state.rules(site.now).weights
    return not match.opened.rehearsal and match.opened.phase in weights and len(weights) > 1


def _asked(match: Match) -> Iterator[tuple[str, Words]]:
    return ((case.id, case.instruction) for _, case in cases_of(match.opened.groups))


def online_scores(site: Site, match: Match, viewer: Viewer) -> dict[str, Fraction] | None:
    """Each team's score in the other weighted phases, as an exact fraction; nothing where there are none, where one of
    their boards is not to be seen in full, or in a rehearsal."""
    weights = {phase: Fraction(str(share)) for phase, share in site.state.rules(site.now).weights.items()}
    if match.opened.rehearsal or weights.pop(match.opened.phase, None) is None or not weights:
        return None
    totals: dict[str, Fraction] = {}
    for phase_id, weight in weights.items():
        seen = site.boards.seen(phase_id, viewer)
        if seen is None or seen[0].as_of is not None or seen[0].partial:
            return None
        metric = track_of(site.state.phase(phase_id, site.now)).ranks.name
        for row in seen[1]:
            if row.entry.team:
                score = min(max(exact(row.entry.metrics[metric].value), Fraction(0)), Fraction(1))
                totals[row.entry.team] = totals.get(row.entry.team, Fraction(0)) + weight * score
    return {team: total / sum(weights.values()) for team, total in totals.items()}


def _team(match: Match, placed: Placed, now: int) -> TeamResult:
    one, rows = placed.tally, outcomes_of(match, placed.tally.team, now)
    turn = match.turn(one.team)
    minus = deducted(turn, "")
    return TeamResult(
        team=one.team,
        name=one.name,
        rank=placed.rank,
        out=one.out,
        cases=tuple(_case(match, turn, row) for row in rows),
        sum=str(sum((row.score for row in rows), start=Fraction(0))),
        mean=str(_mean(match, rows)),
        by_groups=match.opened.rules.mean == "groups",
        minus=str(minus) if minus else "",
        score=str(one.score),
        of_ten=_of_ten(one.score),
        time=clock_text(one.time_s * 1000),
        charged=_seconds(sum((Fraction(row.charged_ms) for row in rows), start=Fraction(0))),
        full=one.full,
        variance=str(one.variance),
        variance_shown=f"{float(one.variance):.4f}",
        **_final(one),
    )


def _final(one: Tally) -> dict[str, str]:
    if one.final is None or one.online is None:
        return {}
    return {
        "online": str(one.online),
        "online_of_ten": _of_ten(one.online),
        "final": str(one.final),
        "final_of_ten": _of_ten(one.final),
    }


def _of_ten(score: Fraction) -> str:
    return f"{float(10 * score):.2f}"


def _mean(match: Match, rows: Sequence[Judged]) -> Fraction:
    if match.opened.rules.mean == "cases":
        return sum((row.score for row in rows), start=Fraction(0)) / len(rows)
    groups = [[row.score for row in rows if row.group == group.id] for group in match.opened.groups]
    return sum((sum(scores, start=Fraction(0)) / len(scores) for scores in groups), start=Fraction(0)) / len(groups)


def _case(match: Match, turn: Turn, row: Judged) -> CaseResult:
    group, _ = case_of(match.opened, row.case)
    return CaseResult(
        id=row.case,
        group=group.title,
        met=row.met,
        total=row.total,
        deducted=row.deducted if Fraction(row.deducted) else "",
        score=str(row.score),
        ran=_milliseconds(row.time_ms),
        charged=_seconds(Fraction(row.charged_ms)),
        attempts=row.attempts,
        ended=row.ended,
        notes=tuple(_notes(turn, row)),
    )


def _notes(turn: Turn, row: Judged) -> Iterator[Note]:
    """What people decided on it, in their own words."""
    for one in turn.penalties.values():
        if one.counts and one.case == row.case:
            yield Note("void" if one.what == "result" else "deduction", f"{one.rule}: {one.reason}")
    case = turn.cases[row.case]
    corrected = [note.text for note in case.corrections]
    for ruling in case.rulings.values():
        if ruling.reason not in corrected:
            yield Note("ruled", ruling.reason)
    for text in dict.fromkeys(corrected):
        yield Note("corrected", text)


def _milliseconds(ms: int) -> str:
    return f"{clock_text(ms)}.{ms % 1000:03}"


def _seconds(ms: Fraction) -> str:
    """Whole milliseconds as a clock; a part of a limit as the fraction that it is."""
    return _milliseconds(int(ms)) if ms.denominator == 1 else f"{ms / 1000} s"
