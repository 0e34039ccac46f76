"""Who stands where in a phase, and in the whole contest: pure functions of the state, the rules and an as-of time.

What referees judged is kept as exact fractions, and compared and weighted as such.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.contest import Part, rounding
from palestra.contest.log import Score, State, Submission
from palestra.contest.match import at_the_time
from palestra.contest.rules import Phase, track_of
from palestra.errors import PalestraError
from palestra.records import Estimate, Metric, Result, Track
from palestra.scoring import placed
from palestra.text import say

DrawsOf = Callable[[str], bytes]  # opens the resamples of a metric by their digest
Place = float | Fraction
EARLIER = "earlier"
HISTORY = 60  # scores of a team that its curve shows, the newest
LARGEST = 1_000_000  # denominator of a share that was kept as a float, if it is one of a usual size
EXACT = 12  # decimals of any other: 0.4 × 0.75 + 0.6 × 0.5 is as much as 0.6 × 1, not a little more


class Point(msgspec.Struct, frozen=True):
    """A score in a team's history."""

    at: int
    value: float
    submission: str


class Entry(msgspec.Struct, frozen=True):
    """What a team, or a baseline, has on a board."""

    team: str  # empty for a baseline
    name: str
    submission: str
    at: int  # when that was sent in
    metrics: dict[str, Estimate]
    draws: str
    count: int  # submissions that were scored
    history: tuple[Point, ...]
    match: str = ""  # where referees judged it; then there is no submission
    exact: dict[str, str] = {}  # of what they judged: the metrics as fractions

    @property
    def key(self) -> str:
        """What it is known by among those of its phase."""
        return self.submission or self.team


class Row(msgspec.Struct, frozen=True):
    """A line of a board."""

    rank: int | None  # null for a baseline, which takes nobody's place
    band: int | None
    entry: Entry


def board(state: State, phase_id: str, as_of: int, part: Part, draws_of: DrawsOf, rounded: bool = False) -> list[Row]:
    """A phase's board as it stood at a time."""
    phase = state.phase(phase_id, as_of)
    track = track_of(phase)
    return rows(phase, track, entries(state, phase, as_of, part, rounded), draws_of)


def entries(state: State, phase: Phase, as_of: int, part: Part, rounded: bool = False) -> list[Entry]:
    """What everybody has in a phase."""
    found = (entry_of(state, phase, whose, as_of, part, rounded) for whose in those_in(state, phase))
    return [entry for entry in found if entry]


def those_in(state: State, phase: Phase) -> Iterable[str]:
    """Whoever may have something in a phase: at its table where referees judge it, else what they sent in."""
    return (state.on_site if phase.match else state.of_team).get(phase.id, {})


def entry_of(state: State, phase: Phase, whose: str, as_of: int, part: Part, rounded: bool = False) -> Entry | None:
    """What one team, or one baseline, has in a phase; nothing where it has no score or is disqualified. The best is
    chosen as boards are ranked, ties and all; of equal ones, the first counts. Where numbers are rounded, the best is
    so by those: which of two counts would tell more of them than they do."""
    if state.out(whose, phase.id, as_of):
        return None
    track = track_of(phase)
    if phase.match:
        return _judged(state, phase, track, whose, as_of)
    deciding = _deciding(phase, track)
    points: list[Point] = []
    chosen: tuple[tuple[Place, ...], Submission, Score] | None = None
    for name in state.of_team[phase.id][whose]:
        one = state.submissions[name]
        score = one.score_at(as_of)
        numbers = _numbers(phase, track, score, part, rounded) if score else {}
        if score is None or not numbers or (one.withdrawn_at is not None and one.withdrawn_at <= as_of):
            continue
        points.append(Point(one.at, numbers[track.ranks.name].value, one.id))
        standing = _standing(deciding, numbers, one.at)
        if chosen is None or phase.board == "last" or standing < chosen[0]:
            chosen = (standing, one, score)
    if chosen is None:
        return None
    _, one, score = chosen
    name = one.baseline or state.teams[one.team].name
    draws = "" if rounded else score.shown_draws if part == "shown" else score.draws
    history, numbers = tuple(points[-HISTORY:]), _numbers(phase, track, score, part, rounded)
    return Entry(one.team, name, one.id, one.at, numbers, draws, len(points), history)


def _judged(state: State, phase: Phase, track: Track, team: str, as_of: int) -> Entry | None:
    """What referees made of a team's turn, where it is published."""
    kept = [one for one in state.on_site.get(phase.id, {}).get(team, []) if one.at <= as_of]
    if not kept or not kept[-1].numbers:
        return None
    one = kept[-1]
    points = tuple(Point(old.at, _as_float(old.numbers[track.ranks.name]), "") for old in kept if old.numbers)
    metrics = {name: Estimate(_as_float(number)) for name, number in one.numbers.items()}
    name = state.teams[team].name
    return Entry(team, name, "", one.at, metrics, "", len(points), points[-HISTORY:], one.match, one.numbers)


def _as_float(number: str) -> float:
    return float(Fraction(number))


def _numbers(phase: Phase, track: Track, score: Score, part: Part, rounded: bool) -> dict[str, Estimate]:
    """Empty where a score was made before there was a part of the people to be shown."""
    numbers = score.shown if part == "shown" else score.metrics
    return rounding.told(phase, track, numbers) if rounded else numbers


def rows(phase: Phase, track: Track, found: Sequence[Entry], draws_of: DrawsOf) -> list[Row]:
    """Entries in order, with ranks and bands; baselines stand where their numbers put them, unranked. Rounded numbers
    are ordered as they are shown, so that the order says nothing of their other digits."""
    deciding = _deciding(phase, track)
    standing = {one.key: _standing(deciding, one.metrics, one.at, one.exact) for one in found}
    ranked = sorted((one for one in found if one.team), key=lambda one: (standing[one.key], one.at, one.team))
    standings = [standing[one.key] for one in ranked]
    spots = placed(standings, _resamples(ranked, draws_of), track.ranks)
    numbers = [one.metrics[track.ranks.name] for one in ranked]
    if any(isinstance(one.rounded_to, float) for one in numbers):
        together = rounding.bands(numbers)
        spots = [(rank, band) for (rank, _), band in zip(spots, together, strict=True)]
    lines = [Row(*spot, entry) for spot, entry in zip(spots, ranked, strict=True)]
    lines += [Row(None, None, one) for one in found if not one.team]
    return sorted(lines, key=lambda row: (standing[row.entry.key], row.rank is None, row.entry.at, row.entry.team))


def _deciding(phase: Phase, track: Track) -> list[Metric | None]:
    """The metric that ranks, then those that break ties; null is the time of sending in."""
    known = {metric.name: metric for metric in track.metrics}
    names = phase.ties or track.ties
    return [track.ranks, *(None if name == EARLIER else known[name] for name in names)]


def rankable(phase: Phase, track: Track, result: Result) -> Result:
    """A result with the metrics that are numbers, which those that decide a board must be. Others may have nothing to
    be computed from."""
    numbers = {name: found for name, found in result.metrics.items() if math.isfinite(found.value)}
    for metric in _deciding(phase, track):
        if metric and metric.name not in numbers:
            value = result.metrics[metric.name].value
            raise PalestraError(
                say(
                    "{id}: its metric {name}, by which the board of phase {id2} is ordered, came out as "
                    "{value}, expected a number. Look whether the data of the phase has anything to "
                    "compute it from.",
                    id=track.id,
                    name=metric.name,
                    id2=phase.id,
                    value=value,
                )
            )
    return msgspec.structs.replace(result, metrics=numbers)


def _standing(
    deciding: Sequence[Metric | None], numbers: dict[str, Estimate], at: int, exact: dict[str, str] | None = None
) -> tuple[Place, ...]:
    """What puts an entry in its place: lower comes first."""
    signs = {"lower": 1, "higher": -1}
    fractions = {name: Fraction(number) for name, number in (exact or {}).items()}
    return tuple(
        float(at) if metric is None else signs[metric.better] * fractions.get(metric.name, numbers[metric.name].value)
        for metric in deciding
    )


def _resamples(ranked: Sequence[Entry], draws_of: DrawsOf) -> list[NDArray[np.float32]]:
    """All or none: a band compares everybody with its first team."""
    none = [np.empty(0, np.float32) for _ in ranked]
    if not all(entry.draws for entry in ranked):
        return none
    found = [np.frombuffer(draws_of(entry.draws), np.float32) for entry in ranked]
    return found if len({len(draws) for draws in found}) == 1 else none


class FinalRow(msgspec.Struct, frozen=True):
    """A team in the final standing, over all weighted phases."""

    rank: int
    team: str
    name: str
    score: float
    parts: dict[str, float]  # by phase
    exact: str = ""  # the score as a fraction
    shares: dict[str, str] = {}  # the parts as fractions


def final(state: State, as_of: int, boards: dict[str, list[Row]]) -> list[FinalRow]:
    """The final standing: each phase's metric, weighted. Only metrics that are shares in [0, 1] can be weighted; a
    tie falls to the rank in the last phase. Who was disqualified by referees is not in it."""
    rules = state.rules(as_of)
    weights = {phase: Fraction(str(weight)) for phase, weight in rules.weights.items()}  # as written: 0.6 is 3/5
    values = {phase: {row.entry.team: row for row in boards[phase] if row.rank} for phase in weights}
    last = list(weights)[-1] if weights else ""
    teams = {team for rows in values.values() for team in rows} - _sent_off(state, weights, as_of)
    found = []
    for team in teams:
        shares = {phase: _share(state, phase, values[phase].get(team)) for phase in weights}
        score = sum((weights[phase] * share for phase, share in shares.items()), start=Fraction(0))
        row = values[last].get(team)
        found.append((-score, (row.rank if row else None) or len(teams) + 1, team, shares))
    found.sort(key=lambda one: one[:3])
    lines: list[FinalRow] = []
    for i, (minus, place, team, shares) in enumerate(found):
        tied = i > 0 and found[i - 1][:2] == (minus, place)
        rank = lines[-1].rank if tied else i + 1
        lines.append(_final_row(rank, team, state.teams[team].name, -minus, shares))
    return lines


def _final_row(rank: int, team: str, name: str, score: Fraction, shares: dict[str, Fraction]) -> FinalRow:
    parts = {phase: float(share) for phase, share in shares.items()}
    texts = {phase: str(share) for phase, share in shares.items()}
    return FinalRow(rank, team, name, float(score), parts, str(score), texts)


def _sent_off(state: State, phases: Iterable[str], as_of: int) -> set[str]:
    """Teams that referees have disqualified."""
    kept = ((team, at_the_time(one, as_of)) for phase in phases for team, one in state.on_site.get(phase, {}).items())
    return {team for team, result in kept if result and result.out}


def _share(state: State, phase_id: str, row: Row | None) -> Fraction:
    if row is None:
        return Fraction(0)
    name = track_of(state.phase(phase_id)).ranks.name
    return Fraction(row.entry.exact[name]) if row.entry.exact else exact(row.entry.metrics[name].value)


def exact(share: float) -> Fraction:
    """A share that was kept as a float: the only fraction near it with a denominator of a usual size, if there is one;
    else what is left of it when the last digits, in which sums differ, are gone."""
    near = Fraction(share).limit_denominator(LARGEST)
    return near if abs(near - Fraction(share)) < Fraction(1, 10**EXACT) else Fraction(str(round(share, EXACT)))
