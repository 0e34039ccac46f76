"""The LEDs of a video as a clock: which step of the code was shown at any moment of it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.sync.brightness import Readings, require_changing
from palestra.studio.sync.code_phase import PER_STEP, Phase, block_scores, code_phase
from palestra.studio.sync.emissions import Emissions
from palestra.studio.sync.gray_code import code_bits
from palestra.studio.sync.led_places import Places
from palestra.studio.sync.lost_frames import clock_beside_losses, lost_before
from palestra.studio.sync.phase_line import PhaseLine, fit_line
from palestra.studio.sync.step_rate import step_rate
from palestra.text import say

Floats = NDArray[np.float64]
MOST_LOST = 600
TURNS = (0.0, -0.5, 0.5, -1.0, 1.0)  # frames by which a clock is off at the end, of those that are tried
ROUNDS = 4  # of lost frames and line in turn
SHORTEST_ROUNDS = 2.0  # of the code
SURE = 0.99
OFF_GAIN = 15.0  # log-likelihood by which the LEDs are rather off than running


@dataclass(frozen=True)
class LedClock:
    """What was learnt of one video."""

    name: str
    at_s: Floats  # of each frame, lost ones put in: the time by an even clock
    line: PhaseLine
    codes: Floats  # log-likelihood of each code in each frame
    lost: NDArray[np.int64]  # frames that are missing without a trace before each one
    wrong: Floats  # how often the readings of each LED are wrong
    is_reversed: bool
    on: slice  # the frames in which the LEDs run
    confidence: float

    @property
    def step_s(self) -> float:
        return float(1 / self.line.rate)

    @property
    def round_s(self) -> float:
        """The code's length, after which it repeats."""
        return float(self.codes.shape[1] / self.line.rate)

    @property
    def on_s(self) -> tuple[float, float]:
        return float(self.at_s[self.on][0]), float(self.at_s[self.on][-1])

    @property
    def began_s(self) -> float | None:
        """When the LEDs were switched on, if the video saw it."""
        return None if self.on.start == 0 else self.on_s[0]

    @property
    def ended_s(self) -> float | None:
        return None if self.on.stop == len(self.at_s) else self.on_s[1]

    def within(self, low_s: float, high_s: float) -> "LedClock":
        """The same clock, fitted to the frames between two moments."""
        inside = (self.at_s >= max(low_s, self.on_s[0])) & (self.at_s <= min(high_s, self.on_s[1]))
        return replace(self, line=fit_line(self.codes[inside], self.at_s[inside], self.line))


def led_clock(readings: Readings, places: Places) -> LedClock:
    """Find the code in the readings; refused in words where it is not there."""
    places.require_code()
    require_changing(readings, places)
    emissions = Emissions.of(readings.grey, readings.period_s)
    rate = step_rate(emissions.lit, readings.at_s, readings.period_s)
    if rate.is_reversed:
        emissions = Emissions(emissions.lit[:, ::-1], emissions.wrong[::-1])
    bits = code_bits(len(places.places))
    at_s, period_s = readings.at_s, readings.period_s
    phase = code_phase(emissions.per_code(bits), at_s, rate.per_s)
    line, lost = _settle(emissions.per_code(bits), at_s, rate.per_s, phase, period_s)
    for _ in range(2):  # how often readings are wrong, and from when to when the LEDs run
        even_s = at_s + lost * period_s
        code = np.floor(line.place(even_s)).astype(np.int64) % len(bits)
        on = _running(emissions.per_code(bits), code)
        emissions = emissions.relearnt_in(on, bits[code])
        codes = emissions.per_code(bits)
        line = _from_first(line, lost[on.start], period_s)
        line, within, _ = _alternate(codes[on], at_s[on], line, period_s, _around(lost[on] - lost[on.start]))
        lost = np.concatenate([np.zeros(on.start, np.int64), within, np.full(len(lost) - on.stop, within[-1])])
    even_s = at_s + lost * period_s
    _require_rounds(readings.name, float(even_s[on][-1] - even_s[on][0]), line, len(bits))
    sure = _confidence(codes[on], even_s[on], line)
    wrong = emissions.wrong[::-1] if rate.is_reversed else emissions.wrong
    if sure < SURE:
        _refuse_code(readings, places, wrong)
    return LedClock(readings.name, even_s, line, codes, lost, wrong, rate.is_reversed, on, sure)


def _settle(
    codes: Floats, at_s: Floats, rate: float, phase: Phase, period_s: float
) -> tuple[PhaseLine, NDArray[np.int64]]:
    """A line, and frames lost beside it, from a way through the code that may jump with each lost frame.

    Lost frames look like a faster clock. So one clock is the line through the way, as if none were lost, another the
    one that fits whatever is lost; the more likely of them is taken.
    """

    def ended(line: PhaseLine) -> tuple[PhaseLine, NDArray[np.int64], float]:
        return _alternate(codes, at_s, line, period_s, _span(phase, rate, line, period_s))

    slope, first = (float(one) for one in np.polyfit(phase.at_s, phase.ahead, 1))
    best = ended(PhaseLine(0.0, first, rate + slope, np.zeros((2, 2))))
    first, found = clock_beside_losses(codes, at_s, rate, phase, period_s)
    length_s, middle_s = float(at_s[-1] - at_s[0]), float(at_s[0] + at_s[-1]) / 2
    for turn in TURNS:
        slope = found + turn * rate * period_s / length_s
        other = ended(PhaseLine(middle_s, first + found * middle_s, slope, np.zeros((2, 2))))
        if other[2] > best[2]:
            best = other
        elif not other[1].any() and not best[1].any():
            break  # nothing is lost, and both say so
    return best[0], best[1]


def _span(phase: Phase, rate: float, line: PhaseLine, period_s: float) -> tuple[int, int]:
    """Between how many and how many frames may be missing, beside this clock."""
    off = (phase.ahead + rate * phase.at_s - line.place(phase.at_s)) / (rate * period_s)
    low = int(off.min()) - 3
    return low, min(int(off.max()) + 4, low + MOST_LOST)


def _alternate(
    codes: Floats, at_s: Floats, line: PhaseLine, period_s: float, span: tuple[int, int]
) -> tuple[PhaseLine, NDArray[np.int64], float]:
    """Lost frames beside a line, and the line through all frames but for what is lost, until both stay; and how likely
    they are. Frames are counted from the first one."""
    lost, best = np.zeros(len(at_s), np.int64), 0.0
    for number in range(ROUNDS):
        before = lost
        lost, best = lost_before(codes, line.place(at_s), line.rate * period_s, span)
        line = _from_first(line, lost[0], period_s)
        lost = lost - lost[0]
        line = fit_line(codes, at_s + lost * period_s, line)
        span = _around(lost)
        if number and np.array_equal(before, lost):
            break
    return line, lost, best


def _around(lost: NDArray[np.int64]) -> tuple[int, int]:
    return int(lost.min()) - 4, int(lost.max()) + 5


def _from_first(line: PhaseLine, lost: np.int64, period_s: float) -> PhaseLine:
    """The line for times in which nothing is lost before the first frame."""
    return replace(line, at_middle=line.at_middle + line.rate * float(lost) * period_s)


def _running(codes: Floats, code: NDArray[np.int64]) -> slice:
    """From which frame to which the LEDs run, rather than being all dark before and after."""
    gain = codes[np.arange(len(codes)), code] - codes[:, 0]
    so_far = np.concatenate([[0.0], np.cumsum(gain)])
    start = int(np.argmin(so_far))
    start = start if so_far[start] < -OFF_GAIN else 0
    end = int(np.argmax(so_far))
    end = end if so_far[end] - so_far[-1] > OFF_GAIN and end > start else len(codes)
    return slice(start, end)


def _require_rounds(name: str, length_s: float, line: PhaseLine, count: int) -> None:
    if length_s * line.rate < SHORTEST_ROUNDS * count:
        raise PalestraError(
            say(
                "{name}: the LEDs run for {length:.1f} s in it, expected at least {rounds:g} rounds of the code "
                "({least:.1f} s). Record longer, or let them step faster.",
                name=name,
                length=length_s,
                rounds=SHORTEST_ROUNDS,
                least=SHORTEST_ROUNDS * count / line.rate,
            )
        )


def _confidence(codes: Floats, at_s: Floats, line: PhaseLine) -> float:
    """How likely this place of the code is, among all."""
    shifted = block_scores(codes, at_s - line.middle_s, line.rate, np.array([0]))[0]
    states = len(shifted)
    here = round(line.at_middle * PER_STEP - 0.5) % states
    away = np.abs((np.arange(states) - here + states // 2) % states - states // 2)
    near = shifted[away <= PER_STEP].max()
    rivals = shifted[away > PER_STEP]
    return float(1 / (1 + np.exp(np.clip(rivals - near, -700, 700)).sum()))


def _refuse_code(readings: Readings, places: Places, often: Floats) -> None:
    worst = places.places[int(np.argmax(often))]
    raise PalestraError(
        say(
            "{name}: the lights at {places} do not run a Gray code that can be read; worst is {worst} ({wrong:.0%} of "
            "its readings do not fit). See that each place is an LED, in their order, and that none is out of sight.",
            name=readings.name,
            places=" ".join(map(str, places.places)),
            worst=worst,
            wrong=float(often.max()),
        )
    )
