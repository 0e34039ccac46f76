"""Two lists of moments, some of them the same: which offset and drift brings most of one onto the other.

Either list may miss some and have others that are nobody's. Every pair votes for an offset, under every drift that
clocks have; the pairs that agree are then fitted by a line, those that are off left out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.sync.alignment import Alignment, drift_notes, require_overlap
from palestra.studio.sync.events import FEWEST, Events
from palestra.text import say

Floats = NDArray[np.float64]
MOST_DRIFT_PPM = 1000.0
BIN_S = 0.02
NEAR_S = 5.0  # around --near
SHORTEST_S = 10.0
RIVAL_S = 0.2  # another offset is another one from here on
LEAST_SHARE, SURE = 0.3, 0.99
TOLERANCE_S = 0.06


class Vote(NamedTuple):
    """An offset under a drift, and the pairs that agree with it."""

    pairs: int
    offset_s: float
    drift: float


def align_events(a: Events, b: Events, near_s: float | None) -> Alignment:
    """Bring B's events onto A's."""
    best, rival = _votes(a, b, near_s)
    pairs = _pairs(a, b, best.offset_s, 1 + best.drift, TOLERANCE_S)
    line = np.array([1 + best.drift, best.offset_s])
    for _ in range(6):
        if len(pairs) < FEWEST:
            break
        off = a.at_s[pairs[:, 0]] - np.polyval(line, b.at_s[pairs[:, 1]])
        kept = pairs[np.abs(off - np.median(off)) <= 3 * max(_spread(off), 1e-4)]
        if len(kept) < FEWEST:
            break
        line = np.polyfit(b.at_s[kept[:, 1]], a.at_s[kept[:, 0]], 1)
        pairs = _pairs(a, b, float(line[1]), float(line[0]), TOLERANCE_S)
    _require_matches(a, b, len(pairs), line)
    off = a.at_s[pairs[:, 0]] - np.polyval(line, b.at_s[pairs[:, 1]])
    pairs = pairs[np.abs(off) <= 3 * max(_spread(off), 1e-4)]
    return _alignment(a, b, pairs, best, rival)


def _alignment(a: Events, b: Events, pairs: NDArray[np.int64], best: Vote, rival: Vote) -> Alignment:
    at_a, at_b = a.at_s[pairs[:, 0]], b.at_s[pairs[:, 1]]
    overlap = float(at_a.min()), float(at_a.max())
    require_overlap(a.name, b.name, overlap, SHORTEST_S)
    middle = at_b.mean()
    scale, at_middle = np.polyfit(at_b - middle, at_a, 1)
    off = at_a - at_middle - scale * (at_b - middle)
    spread = max(float(np.sqrt((off**2).sum() / max(len(off) - 2, 1))), 1e-5)
    drift_ppm = (float(scale) - 1) * 1e6
    sure = _confidence(a, best, rival)
    if sure < SURE:
        raise PalestraError(
            say(
                "Another offset fits nearly as well: {best:.2f} s brings {pairs} events together, {rival:.2f} s "
                "brings {others}. Events that come regularly tell little: say with --near where the second recording "
                "begins in the first.",
                best=best.offset_s,
                pairs=best.pairs,
                rival=rival.offset_s,
                others=rival.pairs,
            )
        )
    return Alignment(
        offset_s=float(at_middle - scale * middle),
        drift_ppm=drift_ppm,
        offset_sd_s=spread / float(np.sqrt(len(off))),
        drift_sd_ppm=1e6 * spread / float(np.sqrt(((at_b - middle) ** 2).sum())),
        overlap_s=overlap,
        confidence=sure,
        matched=len(pairs),
        notes=drift_notes(drift_ppm),
    )


def _votes(a: Events, b: Events, near_s: float | None) -> tuple[Vote, Vote]:
    """The offset that most pairs agree on, and the best of all that are another one."""
    apart = a.at_s[:, None] - b.at_s[None, :]
    chosen = np.ones(apart.shape, bool) if near_s is None else np.abs(apart - near_s) < NEAR_S + MOST_DRIFT_PPM * 1e-3
    if a.codes is not None and b.codes is not None:
        chosen &= np.array(a.codes)[:, None] == np.array(b.codes)[None, :]
    middle = float(b.at_s.mean())  # drifts turn around it
    at_b = np.broadcast_to(b.at_s[None, :] - middle, apart.shape)[chosen]
    apart = apart[chosen]
    if not len(apart):
        raise PalestraError(say("{a} and {b} have no event that could be the same.", a=a.name, b=b.name))
    length_s = max(float(np.ptp(b.at_s)), 1.0)
    most = MOST_DRIFT_PPM * 1e-6
    drifts = np.linspace(-most, most, 2 * int(np.clip(np.ceil(most * length_s / BIN_S), 1, 100)) + 1)
    low = float(apart.min()) - most * float(np.abs(at_b).max()) - BIN_S
    bins = int((float(apart.max()) - low + most * float(np.abs(at_b).max())) / BIN_S) + 3
    counts = np.zeros(bins)
    drift_of = np.zeros(bins)
    for drift in drifts[np.argsort(np.abs(drifts), kind="stable")]:
        found = np.bincount(((apart - drift * at_b - low) / BIN_S).astype(np.int64), minlength=bins).astype(float)
        found[1:-1] = np.maximum(found[1:-1] + np.maximum(found[:-2], found[2:]), 0)  # a peak may fall between two
        better = found > counts
        counts[better], drift_of[better] = found[better], drift
    top = int(np.argmax(counts))
    away = np.abs(np.arange(bins) - top) * BIN_S > RIVAL_S
    other = int(np.argmax(np.where(away, counts, -1)))
    votes = [
        Vote(int(counts[one]), low + (one + 0.5) * BIN_S - float(drift_of[one]) * middle, float(drift_of[one]))
        for one in (top, other)
    ]
    return votes[0], votes[1] if away.any() else Vote(0, 0.0, 0.0)


def _pairs(a: Events, b: Events, offset_s: float, scale: float, tolerance_s: float) -> NDArray[np.int64]:
    """Events that are nearest to each other, and near enough: (number in A, number in B)."""
    there = offset_s + scale * b.at_s
    nearest = _nearest(a.at_s, there)
    back = _nearest(there, a.at_s)
    number = np.arange(len(there))
    good = (back[nearest] == number) & (np.abs(a.at_s[nearest] - there) <= tolerance_s)
    if a.codes is not None and b.codes is not None:
        good &= np.array(a.codes)[nearest] == np.array(b.codes)
    return np.stack([nearest[good], number[good]], axis=1)


def _nearest(sorted_s: Floats, wanted_s: Floats) -> NDArray[np.int64]:
    after = np.clip(np.searchsorted(sorted_s, wanted_s), 1, len(sorted_s) - 1)
    return after - (wanted_s - sorted_s[after - 1] < sorted_s[after] - wanted_s)


def _spread(off: Floats) -> float:
    return float(np.median(np.abs(off - np.median(off)))) * 1.48


def _require_matches(a: Events, b: Events, count: int, line: Floats) -> None:
    low, high = max(a.at_s[0], np.polyval(line, b.at_s[0])), min(a.at_s[-1], np.polyval(line, b.at_s[-1]))
    inside_a = int(((a.at_s >= low) & (a.at_s <= high)).sum())
    there = np.polyval(line, b.at_s)
    inside_b = int(((there >= low) & (there <= high)).sum())
    if count >= max(FEWEST, LEAST_SHARE * min(inside_a, inside_b)):
        return
    raise PalestraError(
        say(
            "{a} ({count_a} events) and {b} ({count_b} events) have only {count} in common at the best offset. See "
            "that both are of one session, and that the right places, channels or columns are named.",
            a=a.name,
            b=b.name,
            count_a=len(a.at_s),
            count_b=len(b.at_s),
            count=count,
        )
    )


def _confidence(a: Events, best: Vote, rival: Vote) -> float:
    """What each pair more is worth: how seldom two events meet by chance."""
    by_chance = min(len(a.at_s) * 2 * BIN_S / max(float(np.ptp(a.at_s)), 1.0), 0.9)
    return float(1 / (1 + np.exp(np.clip((best.pairs - rival.pairs) * np.log(by_chance), -700, 700))))
