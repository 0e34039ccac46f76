"""A board: who stands where, and who cannot be told apart."""

from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.metrics.resample import MIN_UNITS, interval
from palestra.records import Estimate, Metric, Track
from palestra.scoring import RESAMPLES, Scored, draw


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
            raise PalestraError(f"Two entries are called {name!r}. Tell them apart with --entrant when scoring.")
    sign = 1 if track.ranks.better == "lower" else -1
    standing = partial(_standing, _deciding(track))
    ordered = sorted(entries, key=standing)
    draws = _resampled(track, ordered)
    places: list[Place] = []
    first = 0
    for i, entry in enumerate(ordered):
        worse = sign * (draws[i] - draws[first])
        if len(worse) and interval(worse)[0] > 0:
            first = i
        tied = i > 0 and standing(entry) == standing(ordered[i - 1])
        rank = places[-1].rank if tied else i + 1
        band = (places[-1].band or 0) + (first == i) if places else 1
        places.append(Place(rank, band if len(worse) else None, entry.result.entrant, entry.result.metrics))
    return places


def _deciding(track: Track) -> list[Metric]:
    """The metric that ranks, then those that break ties."""
    known = {metric.name: metric for metric in track.metrics}
    for name in track.ties:
        if name not in known:
            raise UnknownName(f"metric of {track.id}", name, known)
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
            f"{track.id}: these results were scored on {len(seen)} different data sets or settings; "
            "a board compares results on one."
        )
