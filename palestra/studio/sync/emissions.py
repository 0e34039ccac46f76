"""What a reading says of an LED: how likely each brightness is where the LED is lit and where it is dark.

A reading may simply be wrong (a hand, a reflection, compression). How often it is, is learnt from the recording itself,
LED by LED, and a reading of an LED that is often wrong counts less.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

Floats = NDArray[np.float64]
SLOW_S = 60.0  # light of the room that changes so slowly is taken off
WRONG_FIRST, WRONG_LEAST, WRONG_MOST = 0.25, 0.02, 0.49
NARROWEST = 0.12  # of the way from dark to lit: noise is taken as at least this


@dataclass(frozen=True)
class Emissions:
    """For each frame and LED, how likely the reading looks lit; for each LED, how often readings are wrong."""

    lit: Floats  # frames × LEDs, 0 to 1
    wrong: Floats  # LEDs

    @classmethod
    def of(cls, grey: Floats, period_s: float) -> Self:
        """Two levels for each LED, found in its readings."""
        level = _without_room_light(grey, period_s)
        dark, bright = np.percentile(level, [10, 90], axis=0)
        for _ in range(8):  # 2-means in one dimension
            is_lit = level > (dark + bright) / 2
            dark = _mean(level, ~is_lit, dark)
            bright = _mean(level, is_lit, bright)
        is_lit = level > (dark + bright) / 2
        gap = np.maximum(bright - dark, 1e-6)
        spread_dark = np.maximum(np.sqrt(_mean((level - dark) ** 2, ~is_lit, gap)), NARROWEST * gap)
        spread_lit = np.maximum(np.sqrt(_mean((level - bright) ** 2, is_lit, gap)), NARROWEST * gap)
        odds = -(((level - bright) / spread_lit) ** 2) / 2 - np.log(spread_lit)
        odds += ((level - dark) / spread_dark) ** 2 / 2 + np.log(spread_dark)
        lit = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        lit[level > bright] = 1.0  # beyond a level is no reason to doubt it
        lit[level < dark] = 0.0
        return cls(lit, np.full(grey.shape[1], WRONG_FIRST))

    def per_code(self, bits: NDArray[np.int8]) -> Floats:
        """Log-likelihood of each code in each frame, against all LEDs dark."""
        right, lit = 1 - self.wrong, self.lit
        odds = np.log(right * lit + self.wrong * (1 - lit)) - np.log(right * (1 - lit) + self.wrong * lit)
        found: Floats = odds @ bits.T.astype(np.float64)
        return found

    def relearnt_in(self, frames: slice, shown: NDArray[np.int8]) -> Self:
        """The same, with how often readings of these frames were wrong, where these bits were shown."""
        wrong = np.abs(self.lit[frames] - shown[frames]).mean(axis=0)
        return replace(self, wrong=np.clip(wrong, WRONG_LEAST, WRONG_MOST))


def _mean(values: Floats, chosen: NDArray[np.bool_], default: Floats) -> Floats:
    count = chosen.sum(axis=0)
    found: Floats = np.where(count > 0, (values * chosen).sum(axis=0) / np.maximum(count, 1), default)
    return found


def _without_room_light(grey: Floats, period_s: float) -> Floats:
    """An LED of the code is lit half of the time, so that its running mean is half-way between dark and lit."""
    window = round(SLOW_S / period_s)
    if len(grey) < 2 * window:
        return grey
    found: Floats = grey - uniform_filter1d(grey, window, axis=0, mode="nearest")
    return found
