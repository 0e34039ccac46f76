"""What is told of a score while it could still be used to ask after the hidden answers: the numbers that rank, rounded.

Whatever is shown here follows from the rounded number alone. An interval or an order made from all digits would say
something beyond it, and whoever may submit again could add that up.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from palestra.contest.rules import Phase
from palestra.records import Estimate, Metric, Provenance, Result, Track

LEADING = (1, 2, 5, 10)  # a step is one of these times a power of ten
# The least step where the interval is narrower, which answers can be made to bring about: of an error, a part of it;
# of a share, a fixed one. The second of each is for results that have no interval, because few people took part.
OF_ERROR, OF_SHARE = (0.05, 0.1), (0.02, 0.05)


def told(phase: Phase, track: Track, numbers: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The metric that ranks and those that part equals, rounded; the others say more of the answers than a board
    needs."""
    names = dict.fromkeys([track.ranks.name, *(phase.ties or track.ties)])
    known = {metric.name: metric for metric in track.metrics}
    return {
        name: rounded(numbers[name], step(phase, track, known[name], numbers[name]), known[name])
        for name in names
        if name in known and name in numbers
    }


def step(phase: Phase, track: Track, metric: Metric, estimate: Estimate) -> float:
    """What a number is rounded to: no finer than half its interval is wide, or as the rules say."""
    if not isinstance(phase.scores, str) and metric.unit == track.ranks.unit:
        return phase.scores
    known = estimate.low is not None and estimate.high is not None
    half = (estimate.high - estimate.low) / 2 if estimate.low is not None and estimate.high is not None else 0.0
    share = (OF_SHARE if is_share(metric) else OF_ERROR)[0 if known else 1]
    return next_step(max(half, share if is_share(metric) else share * abs(estimate.value)))


def is_share(metric: Metric) -> bool:
    return metric.unit == ""


def next_step(least: float) -> float:
    """The first of 1, 2, 5, 10, 20, … and of 0.5, 0.2, 0.1, … that is no less; 0 for 0."""
    if least <= 0:
        return 0.0
    power = math.floor(math.log10(least))
    return next(found for leading in LEADING if (found := _scaled(leading, power)) >= least * (1 - 1e-9))


def _scaled(leading: int, power: int) -> float:
    return float(f"{leading}e{power}")  # 0.2, and not 2 × 0.1


def rounded(estimate: Estimate, to: float, metric: Metric) -> Estimate:
    """A number to its step, and an interval of one step to both sides: as wide at least as the one that it stands for,
    and not made from it."""
    if not to:
        return Estimate(estimate.value, rounded_to=to)
    value = _to_step(estimate.value, to)
    if estimate.low is None:
        return Estimate(value, rounded_to=to)
    low, high = _to_step(value - to, to), _to_step(value + to, to)
    low = max(low, 0.0) if value >= 0 else low
    return Estimate(value, low, min(high, 1.0) if is_share(metric) and value <= 1 else high, rounded_to=to)


def _to_step(value: float, to: float) -> float:
    return float(f"{round(value / to) * to:.12g}")


def bands(ranked: Sequence[Estimate]) -> list[int | None]:
    """Bands of rounded numbers, best first: a band is its first team and all whose interval touches its."""
    found: list[int | None] = []
    reach: tuple[float, float] | None = None  # the interval of the band's first team
    for one in ranked:
        if one.low is None or one.high is None:
            return [None] * len(ranked)
        if reach is None or one.low > reach[1] or one.high < reach[0]:
            reach = (one.low, one.high)
            found.append(max((band for band in found if band), default=0) + 1)
        else:
            found.append(found[-1])
    return found


def result(phase: Phase, track: Track, found: Result) -> Result:
    """A result as a team may keep it: without its tables, and without the digest by which hidden answers that were
    guessed could be known to be right."""
    hidden: Provenance = msgspec.structs.replace(found.provenance, data="")
    return msgspec.structs.replace(found, metrics=told(phase, track, found.metrics), by={}, provenance=hidden)
