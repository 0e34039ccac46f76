"""How fast the LEDs step, and in which order they stand: each LED blinks at a rate of its own, half that of the one
before it, so that the spectra of all of them together have one peak."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from palestra.studio.sync.gray_code import rounds_per_step

Floats = NDArray[np.float64]
WINDOW_S = 40.0  # short enough that clocks and lost frames do not blur a peak
FINER = 4  # than the spectrum of a window has points
FASTEST, SLOWEST = 0.9, 12.0  # steps in a frame; in a window


class StepRate(NamedTuple):
    """What the spectra say."""

    per_s: float
    is_reversed: bool  # the LED that changes most often was named last
    stands_out: float  # the peak, against the level of all that is no peak


def step_rate(lit: Floats, at_s: Floats, period_s: float) -> StepRate:
    """The rate at which LEDs that are lit with these probabilities step through the code."""
    count = lit.shape[1]
    power, resolution = spectra(lit, at_s, period_s)
    rates = np.arange(SLOWEST * FINER * resolution, FASTEST / period_s, 2 * resolution)
    share = rounds_per_step(count)
    scores = []
    for order in (slice(None), slice(None, None, -1)):
        places = np.rint(rates[:, None] * share[order][None, :] / resolution).astype(int)
        scores.append(np.take_along_axis(power, np.minimum(places, len(power) - 1), axis=0).mean(axis=1))
    both = np.array(scores)
    is_reversed, best = np.unravel_index(int(np.argmax(both)), both.shape)
    return StepRate(float(rates[best]), bool(is_reversed), float(both.max() / np.median(both)))


def spectra(lit: Floats, at_s: Floats, period_s: float) -> tuple[Floats, float]:
    """Power of each LED (frequencies × LEDs), and the step between two frequencies in Hz."""
    grid = np.arange(at_s[0], at_s[-1], period_s)
    nearest = np.clip(np.searchsorted(at_s, grid), 1, len(at_s) - 1)
    nearest -= (grid - at_s[nearest - 1] < at_s[nearest] - grid).astype(int)
    values = lit[nearest] - 0.5
    size = min(round(WINDOW_S / period_s), len(values))
    power = np.zeros((FINER * size // 2 + 1, values.shape[1]))
    for start in range(0, len(values) - size + 1, max(size // 2, 1)):
        piece = values[start : start + size]
        piece = (piece - piece.mean(axis=0)) * np.hanning(size)[:, None]
        power = power + np.abs(np.fft.rfft(piece, FINER * size, axis=0)) ** 2
    return power / (power.sum(axis=0) + 1e-9), 1 / (FINER * size * period_s)
