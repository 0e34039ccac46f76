"""A board: who stands where, and who cannot be told apart."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.metrics.bootstrap import INTERVAL_SHARES, MIN_UNITS
from palestra.metrics.quantiles import position
from palestra.records import Estimate, Metric, Track
from palestra.scoring.score import RESAMPLES, Scored, draw
from palestra.text import say

AT_ONCE = 16  # entries that are compared with a band's first in one go


class Place(msgspec.Struct, frozen=True):
    """One row of a board."""

    rank: int  # teams with the same number share a rank
    band: int | None  # teams that cannot be told apart from the band's first; null where too few units took part
    entrant: str
    metrics: dict[str, Estimate]


def board(track: Track, entries: Sequence[Scored]) -> list[Place]:
    """Entrants in order of the track's first metric, in bands. Equal ones are parted by the metrics in `ties`, if any.

    A band is its first team and all who are not significantly worse than it: the 95 % interval of the difference,
    paired by drawing the same people for both, does not exclude zero.
    """
    _require_same_trials(track, entries)
    names = [entry.result.entrant for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise PalestraError(
                say("Two entries are called {name!r}. Tell them apart with --entrant when scoring.", name=name)
            )
    standing = partial(_standing, _deciding(track))
    ordered = sorted(entries, key=standing)
    spots = placed([standing(entry) for entry in ordered], _resampled(track, ordered), track.ranks)
    return [
        Place(rank, band, entry.result.entrant, entry.result.metrics)
        for (rank, band), entry in zip(spots, ordered, strict=True)
    ]


def placed(
    standings: Sequence[tuple[float | Fraction, ...]], draws: Sequence[NDArray[np.floating[Any]]], metric: Metric
) -> list[tuple[int, int | None]]:
    """Rank and band of entries that are in order: what put each in its place, and its metric in every resample."""
    bands = _bands(draws, 1 if metric.better == "lower" else -1)
    spots: list[tuple[int, int | None]] = []
    for i, standing in enumerate(standings):
        rank = spots[-1][0] if i and standing == standings[i - 1] else i + 1
        spots.append((rank, bands[i]))
    return spots


def _bands(draws: Sequence[NDArray[np.floating[Any]]], sign: int) -> Sequence[int | None]:
    """The band of each entry. A few are compared with a band's first at once; how far it goes is seen then."""
    if not len(draws) or not len(draws[0]):
        return [None] * len(draws)
    table = sign * np.asarray(draws, np.float64)
    low = position(INTERVAL_SHARES[0], table.shape[1])
    bands, first, i, band = [1] * len(table), 0, 1, 1
    while i < len(table):
        worse = table[i : i + AT_ONCE] - table[first]
        beyond = np.partition(worse, low - 1, axis=1)[:, low - 1] > 0
        beyond &= ~np.isnan(worse).any(axis=1)
        count = int(beyond.argmax()) if beyond.any() else len(worse)
        bands[i : i + count] = [band] * count
        i += count
        if beyond.any():
            first, band = i, band + 1
            bands[i] = band
            i += 1
    return bands


def _deciding(track: Track) -> list[Metric]:
    """The metric that ranks, then those that break ties."""
    known = {metric.name: metric for metric in track.metrics}
    for name in track.ties:
        if name not in known:
            raise UnknownName(say("metric of {track}", track=track.id), name, known)
    return [track.ranks, *(known[name] for name in track.ties)]


def _standing(deciding: Sequence[Metric], entry: Scored) -> tuple[float, ...]:
    """What puts an entry in its place: lower comes first."""
    signs = {"lower": 1, "higher": -1}
    return tuple(signs[metric.better] * entry.result.metrics[metric.name].value for metric in deciding)


def _resampled(track: Track, entries: Sequence[Scored]) -> list[NDArray[np.float64]]:
    """The ranking metric of each entry in every resample; empty where there are too few units to resample.

    The same resamples for all, whatever seed their own intervals were made with: else differences were not paired.
    """
    if not entries:
        return []
    draws = draw(entries[0].rows, entries[0].result.unit, RESAMPLES, seed=0)
    if draws.weights.shape[1] < MIN_UNITS:
        return [np.empty(0) for _ in entries]
    return [track.ranks.reduce(entry.rows, draws) for entry in entries]


def _require_same_trials(track: Track, entries: Sequence[Scored]) -> None:
    """Differences are paired, so everybody must have been scored on the same trials, in the same way."""
    seen = {(entry.result.provenance.data, str(entry.result.provenance.settings)) for entry in entries}
    if len(seen) > 1:
        raise PalestraError(
            say(
                "{id}: these results were scored on {number} different data sets or settings; a board "
                "compares results on one.",
                id=track.id,
                number=len(seen),
            )
        )
