"""The world that the forecaster learns from: gaze as trackers of all kinds record it, drawn anew for every batch.

A window is 61 samples in a plane: a few for the filters, 50 that are given, five that are asked for. The eye's movement
is the sum of saccades, of what it does while the head turns and of slow phases (pursuit, looking at something fixed
with a moving head, drift); a tracker then adds noise, smooths, rounds and fails. All of it is a formula of time, so a
batch is a few hundred operations on the card, whatever the sampling rate is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

GIVEN, STEPS = 50, 5
BEFORE, AFTER = 4, 2  # samples for the filters
LENGTH = BEFORE + GIVEN + STEPS + AFTER
LAST = BEFORE + GIVEN - 1  # the last sample that is given
SLOWEST_HZ, BETWEEN_HZ, FASTEST_HZ = 60.0, 200.0, 1000.0
SLOTS, FEWER_SLOTS = 6, 3  # saccades in a window, below and above BETWEEN_HZ
TOP_SPEED_DEG_S, SPEED_AMPLITUDE_DEG = 541.0, 7.6  # of real saccades: speed = top · (1 − exp(−amplitude / 7.6°))
LARGEST_DEG = 40.0


@dataclass(frozen=True)
class Ranges:
    """Lowest and highest of what is drawn, and shares of windows."""

    noise_deg: tuple[float, float] = (0.003, 0.3)  # evenly on a logarithmic scale
    slow_deg_s: tuple[float, float] = (1.0, 100.0)
    slow: float = 0.55  # share with more than drift
    saccades: float = 0.9
    turns: float = 0.35  # share in which the head follows saccades
    coloured: float = 0.4  # share whose noise resembles itself from sample to sample
    slower: float = 0.08  # share that was recorded at a lower rate and brought to this one
    rounded: float = 0.06
    dropped: float = 0.08  # share with samples that were held or bridged by a line
    spiky: float = 0.10
    burst: float = 0.04  # share with a run of wild samples
    moved: float = 0.03  # share in which the tracker jumps and stays


@dataclass(frozen=True)
class Windows:
    """Degrees in the plane, from the last given sample."""

    past: Tensor  # (n, 50, 2)
    ahead: Tensor  # (n, 5, 2) as measured
    clean: Tensor  # (n, 5, 2) as it would have been measured without noise
    hz: Tensor  # (n,)


class World:
    """Windows without end. What is drawn hangs on torch's own seed."""

    def __init__(self, device: str, ranges: Ranges | None = None) -> None:
        self.device = device
        self.ranges = ranges or Ranges()

    @torch.no_grad()
    def batch(self, count: int) -> Windows:
        slow = count * 11 // 20
        parts = [
            self._windows(slow, self.spread(slow, SLOWEST_HZ, BETWEEN_HZ), SLOTS),
            self._windows(count - slow, self.spread(count - slow, BETWEEN_HZ, FASTEST_HZ), FEWER_SLOTS),
        ]
        order = torch.randperm(count, device=self.device)
        return Windows(*(torch.cat(both)[order] for both in zip(*parts, strict=True)))

    def _windows(self, count: int, hz: Tensor, slots: int) -> tuple[Tensor, ...]:
        """Past, what is measured, what would be without noise, and rates."""
        time_s = (torch.arange(LENGTH, device=self.device) - LAST) / hz[:, None]
        measured, clean = self._tracked(self.gaze(time_s, slots), hz)
        given, jump = self._with_faults(measured)
        last, ahead = given[:, LAST : LAST + 1], slice(LAST + 1, LAST + 1 + STEPS)
        return (
            (given - last)[:, BEFORE : LAST + 1],
            (measured + jump - last)[:, ahead],
            (clean + jump - last)[:, ahead],
            hz,
        )

    # ── Numbers. ──

    def even(self, low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, device=self.device)

    def spread(self, count: int, low: float, high: float, *more: int) -> Tensor:
        """Evenly on a logarithmic scale."""
        return low * (high / low) ** torch.rand(count, *more, device=self.device)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, device=self.device)

    def some(self, share: float, *shape: int) -> Tensor:
        """1 for a share of them, 0 for the others."""
        return (torch.rand(shape, device=self.device) < share).float()

    # ── The eye. ──

    def gaze(self, time_s: Tensor, slots: int) -> Tensor:
        """Where it points at these times (n, samples), in degrees (n, samples, 2)."""
        count = len(time_s)
        heading = self.even(0, 2 * torch.pi, count)
        slow = self._slow_phases(time_s, heading)
        quick = self.some(self.ranges.saccades, count, 1, 1) * self._saccades(time_s, heading, slots)
        return slow + quick

    def _slow_phases(self, time_s: Tensor, heading: Tensor) -> Tensor:
        """A speed that stays and one that wanders, in some windows; drift in all."""
        count, ranges = len(time_s), self.ranges
        low, high = ranges.slow_deg_s
        # Evenly on a logarithmic scale there would be few quick ones, and with those most is lost.
        speed_deg_s = torch.where(self.some(0.6, count) > 0, self.spread(count, low, high), self.even(low, high, count))
        steady = self.some(ranges.slow, count) * speed_deg_s
        unsteady = steady * self.spread(count, 0.003, 1.0)
        step_s = time_s[:, 1] - time_s[:, 0]
        wander = unsteady[:, None, None] * self._wander(step_s, self.spread(count, 0.04, 0.6))
        drift = self.spread(count, 0.01, 1.5)[:, None, None] * self._wander(step_s, self.spread(count, 0.05, 0.5))
        ahead = torch.stack([heading.cos(), heading.sin()], 1)
        speed = (steady * self.some(0.85, count))[:, None, None] * ahead[:, None] + wander + drift
        return speed.cumsum(1) * step_s[:, None, None]

    def _wander(self, step_s: Tensor, lasts_s: Tensor) -> Tensor:
        """A speed (n, samples, 2) of sd 1 that forgets itself within some time, and changes softly."""
        keep = torch.exp(-step_s / lasts_s)[:, None, None]
        pushes = self.normal(len(step_s), LENGTH, 2) * (1 - keep**2).sqrt()
        pushes[:, 0] = self.normal(len(step_s), 2)
        rough = remembered(pushes, keep)
        soft = torch.exp(-step_s / self.spread(len(step_s), 0.003, 0.06))[:, None, None]
        return lagging(rough, soft)

    def _saccades(self, time_s: Tensor, slow_heading: Tensor, slots: int) -> Tensor:
        """Saccades that come one after the other, and the slow phases of a head that turns after them."""
        count = len(time_s)
        amplitude, heading = self._aims(slow_heading, slots)
        vigour = torch.exp(0.08 * self.normal(count, 1) + 0.13 * self.normal(count, slots))
        peak = vigour * TOP_SPEED_DEG_S * -torch.expm1(-amplitude / SPEED_AMPLITUDE_DEG)
        shape = torch.rand(count, slots, device=self.device)  # a soft profile at 0, one with long tails at 1
        lasts_s = (1.5 + 0.375 * shape) * amplitude / peak
        begins_s = self._onsets(time_s, lasts_s)
        since_s = time_s[:, None] - begins_s[:, :, None]  # (n, slots, samples)
        early = torch.exp(-0.05 - 0.01 * amplitude + 0.12 * self.normal(count, slots)).clamp(0.6, 1.3)
        share = (since_s / lasts_s[:, :, None]).clamp(0, 1) ** early[:, :, None]
        way = profile(share, shape[:, :, None])
        along = amplitude[:, :, None] * (way + self._overshoot(since_s - lasts_s[:, :, None], share))
        along = along - self._head_turns(since_s, amplitude)
        across = (0.4 * self.normal(count, slots) * amplitude)[:, :, None] * (way * (1 - way)) ** 2
        cosine, sine = heading.cos()[:, :, None], heading.sin()[:, :, None]
        return torch.stack([(cosine * along - sine * across).sum(1), (sine * along + cosine * across).sum(1)], 2)

    def _aims(self, slow_heading: Tensor, slots: int) -> tuple[Tensor, Tensor]:
        """Amplitudes and headings (n, slots): along a line of text, to and fro, anywhere, or with the slow phase."""
        count = len(slow_heading)
        usual = 2.5 * torch.exp(0.95 * self.normal(count, 1))
        amplitude = (usual * torch.exp(0.9 * self.normal(count, slots))).clamp(0.03, LARGEST_DEG)
        kind = torch.rand(count, 1, device=self.device)  # back where the slow phase came from, with it, or neither
        common = torch.where(kind < 0.45, slow_heading[:, None] + torch.pi, slow_heading[:, None])
        common = torch.where(kind < 0.65, common, self.even(0, 2 * torch.pi, count, 1))
        scatter = torch.where(self.some(0.5, count, 1) > 0, self.spread(count, 0.05, 1.0, 1), 6.0)
        turned = torch.pi * (torch.rand(count, slots, device=self.device) < self.even(0, 0.5, count, 1))
        return amplitude, common + scatter * self.normal(count, slots) + turned

    def _onsets(self, time_s: Tensor, lasts_s: Tensor) -> Tensor:
        """(n, slots): the first may be over before the window begins."""
        count, slots = lasts_s.shape
        pace_hz = self.spread(count, 3.0, 20.0, 1)
        waits = -torch.log(torch.rand(2, count, slots, device=self.device).clamp(min=1e-7)).sum(0) / pace_hz
        gaps = self.even(0.02, 0.15, count, 1) + waits
        first = time_s[:, :1] - 0.1 - gaps[:, :1] * torch.rand(count, 1, device=self.device)
        return torch.cat([first, first + (lasts_s + gaps)[:, :-1].cumsum(1)], 1) + 0.1 * self.even(0, 1, count, 1)

    def _overshoot(self, after_s: Tensor, share: Tensor) -> Tensor:
        """What pupils and lenses add: it grows while the eye brakes, swings, and is gone in a few hundredths."""
        count, slots, _ = after_s.shape
        size = torch.where(self.some(0.3, count, 1) > 0, 0.08, 0.025) * self.normal(count, slots)
        decay_s, swing_hz = self.even(0.008, 0.035, count, 1, 1), self.even(0, 35, count, 1, 1)
        after = after_s.clamp(min=0)
        swing = torch.exp(-after / decay_s) * torch.cos(2 * torch.pi * swing_hz * after)
        grown = (2 * share - 1).clamp(0, 1)
        return size[:, :, None] * swing * grown * grown * (3 - 2 * grown)

    def _head_turns(self, since_s: Tensor, amplitude: Tensor) -> Tensor:
        """How far the eye has come back (n, slots, samples) while the head follows it."""
        count, slots, _ = since_s.shape
        lasts_s = self.spread(count, 0.15, 0.8, slots)
        most = self.some(self.ranges.turns, count, 1) * self.even(0, 1.2, count, slots) * amplitude
        most = torch.minimum(most, 60 * lasts_s)  # on average; 120 deg/s at its peak
        share = ((since_s - self.even(-0.03, 0.08, count, slots)[:, :, None]) / lasts_s[:, :, None]).clamp(0, 1)
        return most[:, :, None] * (share - torch.sin(2 * torch.pi * share) / (2 * torch.pi))

    # ── The tracker. ──

    def _tracked(self, gaze: Tensor, hz: Tensor) -> tuple[Tensor, Tensor]:
        """As recorded (n, samples, 2), but for faults; and the same without noise."""
        count, ranges = len(gaze), self.ranges
        sd = self.spread(count, *ranges.noise_deg)[:, None, None]
        noise = self.normal(count, LENGTH, 2) * torch.exp(0.15 * self.normal(count, 1, 2))
        tails = 1 + 1.5 * self.some(0.15, count, 1, 1) * self.some(0.1, count, LENGTH, 1)
        keep = torch.exp(-1 / (hz * self.spread(count, 0.005, 0.3)))[:, None, None]
        colour = self.some(ranges.coloured, count, 1, 1) * torch.exp(0.7 * self.normal(count, 1, 1))
        like_before = remembered(self.normal(count, LENGTH, 2) * (1 - keep**2).sqrt(), keep)
        noisy = gaze + sd * (tails * noise + colour * like_before)
        smooth, clean = self._smoothed(torch.cat([noisy, gaze], 2)).split(2, dim=2)
        return self._rounded(self._brought_to_rate(smooth)), clean

    def _smoothed(self, raw: Tensor) -> Tensor:
        """Each share of the batch by one filter. Windows come in no order, so shares are runs of rows."""
        found, begin = [], 0
        for filtered, share in FILTERS:
            end = begin + round(share * len(raw))
            found.append(filtered(raw[begin:end]))
            begin = end
        rest = raw[begin:]
        return torch.cat([*found, lagging(rest, self.even(0.2, 0.8, len(rest), 1, 1))])

    def _brought_to_rate(self, raw: Tensor) -> Tensor:
        """A share of the windows was recorded more slowly; between its samples, values are held or interpolated."""
        some = torch.randperm(len(raw), device=self.device)[: round(self.ranges.slower * len(raw))]
        count = len(some)
        every = 1 / self.even(0.3, 0.95, count, 1)  # samples of this rate for one of that
        phase = torch.rand(count, 1, device=self.device)
        at = torch.arange(LENGTH, device=self.device)[None] / every + phase
        below, above = (((at.floor() + one - phase) * every).clamp(0, LENGTH - 1) for one in (0, 1))
        low, high = self._at(raw[some], below), self._at(raw[some], above)
        part = torch.where(self.some(0.5, count, 1) > 0, at - at.floor(), 0.0)[..., None]
        after = raw.clone()
        after[some] = low + part * (high - low)
        return after

    def _at(self, rows: Tensor, index: Tensor) -> Tensor:
        """Between samples, the nearest one."""
        whole = index.round().long()[..., None].expand(-1, -1, 2)
        return rows.gather(1, whole)

    def _rounded(self, raw: Tensor) -> Tensor:
        step = self.spread(len(raw), 0.003, 0.1)[:, None, None]
        return torch.where(self.some(self.ranges.rounded, len(raw), 1, 1) > 0, (raw / step).round() * step, raw)

    def _with_faults(self, measured: Tensor) -> tuple[Tensor, Tensor]:
        """What is given, with all faults; and jumps after which the tracker stays, as they are asked for as well."""
        count, ranges = len(measured), self.ranges
        index = torch.arange(LENGTH, device=self.device)[None, :, None]
        begin = torch.randint(BEFORE + 1, LAST + 1, (count, 1, 1), device=self.device)
        length = torch.randint(1, 8, (count, 1, 1), device=self.device)
        within = (index >= begin) & (index < begin + length)
        # Samples that are missing: held, or bridged where there is something on the other side.
        end = (begin + length).clamp(max=LAST)
        before, after = (measured.gather(1, at.expand(-1, -1, 2)) for at in (begin - 1, end))
        share = ((index - begin + 1) / (end - begin + 1)).clamp(0, 1)
        bridge = torch.where((self.some(0.5, count, 1, 1) > 0) & (begin + length <= LAST), share, 0.0)
        kind = torch.rand(count, 1, 1, device=self.device)
        given = torch.where(within & (kind < ranges.dropped), before + bridge * (after - before), measured)
        # Single wild samples, and runs of them around one wrong place.
        size = self.spread(count, 0.3, 20.0)[:, None, None]
        hit = torch.rand(count, LENGTH, 1, device=self.device) < self.spread(count, 0.01, 0.1)[:, None, None]
        hit = hit & (self.some(ranges.spiky, count, 1, 1) > 0)
        given = given + hit * size * self.normal(count, LENGTH, 2)
        burst = within & (kind > 1 - ranges.burst)
        wild = 0.3 * self.normal(count, LENGTH, 2) + self.normal(count, 1, 2)
        given = given + burst * size * wild
        jumped = (index >= begin) & (kind > 1 - ranges.burst - ranges.moved) & (kind <= 1 - ranges.burst)
        jump = jumped * size * self.normal(count, 1, 2)
        return given + jump, jump


def remembered(pushes: Tensor, keep: Tensor) -> Tensor:
    """y[i] = pushes[i] + keep · y[i − 1] along the second axis, in as many steps as its length has binary digits."""
    found, apart = pushes, 1
    while apart < found.shape[1]:
        found = torch.cat([found[:, :apart], found[:, apart:] + keep * found[:, :-apart]], 1)
        keep, apart = keep * keep, 2 * apart
    return found


def lagging(rows: Tensor, keep: Tensor) -> Tensor:
    """A running mean that forgets; it begins at the first sample."""
    return remembered(torch.cat([rows[:, :1], (1 - keep) * rows[:, 1:]], 1), keep)


def profile(share: Tensor, shape: Tensor) -> Tensor:
    """From 0 to 1: a saccade's way; its peak speed is 1.5 at shape 0, 1.875 with softer ends at shape 1."""
    square = share * share
    soft = square * (3 - 2 * share)
    return soft + shape * (square * share * (10 + share * (6 * share - 15)) - soft)


def _shifted(rows: Tensor, by: int) -> Tensor:
    """Samples a few places later, with the outermost ones repeated."""
    index = (torch.arange(rows.shape[1], device=rows.device) + by).clamp(0, rows.shape[1] - 1)
    return rows[:, index]


def _mean(weights: tuple[float, ...]) -> Callable[[Tensor], Tensor]:
    half = len(weights) // 2
    total = sum(weights)
    return lambda rows: sum(
        (weight / total * _shifted(rows, at - half) for at, weight in enumerate(weights)), torch.zeros_like(rows)
    )


def _middle(one: Tensor, two: Tensor, three: Tensor) -> Tensor:
    low, high = torch.minimum(one, two), torch.maximum(one, two)
    return torch.maximum(low, torch.minimum(high, three))


def median3(rows: Tensor) -> Tensor:
    return _middle(_shifted(rows, -1), rows, _shifted(rows, 1))


def median5(rows: Tensor) -> Tensor:
    """The outer four leave two candidates for the middle."""
    one, two, three, four = (_shifted(rows, by) for by in (-2, -1, 1, 2))
    above = torch.maximum(torch.minimum(one, two), torch.minimum(three, four))
    below = torch.minimum(torch.maximum(one, two), torch.maximum(three, four))
    return _middle(rows, above, below)


# What trackers smooth with, and how often; the rest has a running mean that forgets.
FILTERS: tuple[tuple[Callable[[Tensor], Tensor], float], ...] = (
    (lambda rows: rows, 0.42),
    (_mean((1, 1, 1)), 0.10),
    (_mean((1, 2, 1)), 0.08),
    (_mean((1, 1, 1, 1, 1)), 0.06),
    (median3, 0.12),
    (median5, 0.10),
)
