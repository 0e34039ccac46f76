"""Moments that a recording saw: claps, flashes, edges of a photodiode, markers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.text import say

Floats = NDArray[np.float64]
FEWEST, MOST = 5, 2000


@dataclass(frozen=True)
class Events:
    """Moments in order; codes tell apart those of different kinds, where a recording has them."""

    name: str
    at_s: Floats
    codes: tuple[str, ...] | None = None

    def require_many(self) -> "Events":
        count = len(self.at_s)
        if not FEWEST <= count <= MOST:
            raise PalestraError(
                say(
                    "{name}: found {count} events, expected {fewest} to {most}. Look whether the right place, channel "
                    "or column is named.",
                    name=self.name,
                    count=count,
                    fewest=FEWEST,
                    most=MOST,
                )
            )
        return self


def edges(name: str, at_s: Floats, level: Floats, only_on: bool = False) -> Events:
    """When a light went on or off, or only when it went on.

    Its level crosses half-way, and must go a good way further before it may cross back.
    """
    dark, lit = (float(one) for one in np.percentile(level, [1, 99]))
    for _ in range(8):
        half = (dark + lit) / 2
        dark, lit = _middle(level[level <= half], dark), _middle(level[level > half], lit)
    noise = float(np.median(np.abs(np.diff(level)))) / 0.95
    if lit - dark < max(6 * noise, 1e-9):
        raise PalestraError(
            say(
                "{name}: the light never changes more than its noise. It is out of sight, or the place or channel is "
                "another.",
                name=name,
            )
        )
    state = np.where(level > dark + 0.65 * (lit - dark), 1, np.where(level < dark + 0.35 * (lit - dark), 0, -1))
    known = np.flatnonzero(state >= 0)
    turned = np.flatnonzero(np.diff(state[known]) != 0)
    turned = turned[state[known[turned + 1]] == 1] if only_on else turned
    before, after = known[turned], known[turned + 1]
    return Events(name, _crossings(at_s, level, before, after, (dark + lit) / 2)).require_many()


def _middle(values: Floats, default: float) -> float:
    return float(np.median(values)) if len(values) else default


def _crossings(at_s: Floats, level: Floats, before: NDArray[np.int64], after: NDArray[np.int64], half: float) -> Floats:
    """Between the last sample on one side and the first on the other, where a line through both is half-way."""
    part = (half - level[before]) / (level[after] - level[before])
    found: Floats = at_s[before] + np.clip(part, 0, 1) * (at_s[after] - at_s[before])
    return found
