"""The clock that steps evenly and fits all readings best, with how sure that is.

Where each step falls between two frames says where the clock stands to a fraction of a frame: steps by the thousand say
it to far less. All clocks near the best one are tried; the answer is their mean, each as likely as the readings make
it, so that where several fit as well the answer is their middle, and its error says so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SEGMENTS = 64
POINTS = 61  # tried on each axis
REACHES = (1.2, 0.3, 0.08, 0.02)  # steps of the code to both sides: coarse to fine
BLUR = 0.065  # frames to both sides of a change
SAFE = 4.0  # errors that lie within the reach
LONGEST_RUN = 60  # frames over which readings that are wrong may depend on each other


@dataclass(frozen=True)
class PhaseLine:
    """The code's place is `at_middle` + `rate` × (time − `middle_s`), in steps."""

    middle_s: float
    at_middle: float
    rate: float
    cov: Floats  # 2 × 2, of at_middle and rate

    def place(self, at_s: Floats) -> Floats:
        return self.at_middle + self.rate * (at_s - self.middle_s)


def fit_line(codes: Floats, at_s: Floats, first: PhaseLine) -> PhaseLine:
    """Try clocks around a first one."""
    half_s = float(at_s[-1] - at_s[0]) / 2
    middle_s = float(at_s[0]) + half_s
    line = PhaseLine(middle_s, float(first.place(np.array([middle_s]))[0]), first.rate, np.zeros((2, 2)))
    segment = np.minimum((SEGMENTS * (at_s - at_s[0]) / (2 * half_s)).astype(int), SEGMENTS - 1)
    begins = np.flatnonzero(np.diff(segment, prepend=-1))
    where = np.add.reduceat((at_s - middle_s) / half_s, begins) / np.diff(np.append(begins, len(at_s)))
    temper = _dependence(codes, line.place(at_s))
    for reach in REACHES:
        if reach < SAFE * np.sqrt(max(line.cov[0, 0], line.cov[1, 1] * half_s**2)):
            break  # what is known is not known so well that it pays to look closer
        line = _zoom(codes, at_s, line, reach, half_s, begins, where, temper)
    return line


def _zoom(
    codes: Floats,
    at_s: Floats,
    line: PhaseLine,
    reach: float,
    half_s: float,
    begins: NDArray[np.int64],
    where: Floats,
    temper: float,
) -> PhaseLine:
    """All shifts of each segment are scored once; every clock is then a walk through these scores."""
    shifts = np.linspace(-2 * reach, 2 * reach, 2 * POINTS - 1)
    place = line.place(at_s)
    blur = BLUR * line.rate * float(np.median(np.diff(at_s)))
    scores = np.empty((len(shifts), len(begins)))
    for number, shift in enumerate(shifts):
        scores[number] = np.add.reduceat(_blurred(codes, place + shift, blur), begins)
    tried = np.linspace(-reach, reach, POINTS)
    step = shifts[1] - shifts[0]
    index = (tried[:, None, None] + tried[None, :, None] * where[None, None, :] - shifts[0]) / step
    low = np.clip(np.floor(index).astype(int), 0, len(shifts) - 2)
    part = index - low
    segments = np.arange(len(begins))[None, None, :]
    total = (scores[low, segments] * (1 - part) + scores[low + 1, segments] * part).sum(axis=-1) / temper
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    at, end = (weight.sum(axis=1) * tried).sum(), (weight.sum(axis=0) * tried).sum()
    d_at, d_end = tried - at, tried - end
    grid = (step / 2) ** 2 / 3  # what lies between two points is not told apart
    cross = float((weight * d_at[:, None] * d_end[None, :]).sum()) / half_s
    cov = np.array(
        [
            [(weight.sum(axis=1) * d_at**2).sum() + grid, cross],
            [cross, ((weight.sum(axis=0) * d_end**2).sum() + grid) / half_s**2],
        ]
    )
    return PhaseLine(line.middle_s, line.at_middle + float(at), line.rate + float(end) / half_s, cov)


def _blurred(codes: Floats, place: Floats, blur: float) -> Floats:
    """Log-likelihood of each frame. One taken just when an LED changes is of either code: an exposure takes time."""
    rows, count = np.arange(len(codes)), codes.shape[1]
    code = np.floor(place).astype(np.int64)
    part = place - code
    is_late = part > 0.5
    share = np.clip(0.5 - np.where(is_late, 1 - part, part) / (2 * blur), 0, 0.5)  # of the neighbour
    here = codes[rows, code % count]
    there = codes[rows, (code + np.where(is_late, 1, -1)) % count]
    found: Floats = here + np.log1p(share * np.expm1(there - here))
    return found


def _dependence(codes: Floats, place: Floats) -> float:
    """How many frames say no more than one: wrong readings that follow each other are one mistake."""
    code = np.floor(place).astype(np.int64) % codes.shape[1]
    missed = codes.max(axis=1) - codes[np.arange(len(codes)), code]
    missed = missed - missed.mean()
    power = float((missed**2).mean())
    if power <= 0:
        return 1.0
    runs = [
        float((missed[lag:] * missed[:-lag]).mean()) / power for lag in range(1, min(LONGEST_RUN, len(missed) // 4))
    ]
    return max(1.0, 1 + 2 * sum(run for run in runs if run > 0.05))
