"""Windows of gaze that forecasters are judged by: 50 samples as a tracker gives them, and the five that follow.

Nothing here is learnt from: train/gaze_forecaster.py has a world of its own, with other profiles of saccades and other
slow phases. Here the eye is simulated at 1 kHz, movement by movement: slow phases as while the head turns, pursuit and
drift of a given speed, and the saccades of eyes/simulator/movements.py between them. Each window is then brought to a
given eccentricity, half of them turned on the sphere and half moved in yaw and pitch, as while the head turns about an
upright axis, and recorded by a tracker of a given rate and noise, with its filters and faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, signal

from palestra.eyes.simulator.movements import Mover, draw_mover, saccade_course
from palestra.metrics.angles import angles_deg, to_angles, to_vectors

Array = NDArray[np.float64]

GIVEN, STEPS = 50, 5
SEED = 20_200_527  # no other world begins with it
SPARE = 4  # samples before and after a window, for the filters
SIMULATED_HZ = 1000
RECORDINGS, RECORDED_S = 60, 20
# How windows are recorded, and how many of ten so.
TRACKERS = ("plain",) * 5 + ("mean", "median", "lag", "held", "spikes")


# The bins in which a forecaster must not lose to a simple rule, and how far it may be behind by chance.
NOISES_DEG = (0.01, 0.03, 0.1, 0.3)
ECCENTRICITIES_DEG = ((0.0, 10.0), (10.0, 20.0), (20.0, 30.0), (30.0, 40.0))
SPEEDS_DEG_S = ((0.0, 5.0), (5.0, 30.0), (30.0, 60.0), (60.0, 100.0))
RATES_HZ = (60.0, 120.0, 250.0, 500.0, 1000.0)
MOST_WORSE = 1.03


@dataclass(frozen=True)
class Kind:
    """What the windows of one bin have in common."""

    noise_deg: float  # sd of each sample on each axis
    eccentricity_deg: tuple[float, float]  # of the last sample
    speed_deg_s: tuple[float, float]  # of the slow phase at the last sample; saccades come on top
    rate_hz: float
    stretch: float = 1.0  # of saccades: larger, and longer


@dataclass(frozen=True)
class Windows:
    """Yaw and pitch in degrees."""

    past: Array  # (n, 50, 2) as recorded, faults and all
    measured: Array  # (n, 5, 2) as recorded, without faults
    true: Array  # (n, 5, 2)


def windows(kind: Kind, count: int, seed: int = 0) -> Windows:
    """Always the same ones for the same kind, count and seed."""
    numbers = [kind.noise_deg, *kind.eccentricity_deg, *kind.speed_deg_s, kind.rate_hz, kind.stretch]
    rng = np.random.default_rng([SEED, seed, *(round(1000 * number) for number in numbers)])
    flat = _flat(kind, count, rng)
    true = _brought(flat, kind.eccentricity_deg, rng)
    measured, faulty = _recorded(true, kind, rng)
    first, last = SPARE, SPARE + GIVEN
    return Windows(faulty[:, first:last], measured[:, last : last + STEPS], true[:, last : last + STEPS])


def kinds(
    noises: Sequence[float] = NOISES_DEG,
    eccentricities: Sequence[tuple[float, float]] = ECCENTRICITIES_DEG,
    speeds: Sequence[tuple[float, float]] = SPEEDS_DEG_S,
    rates: Sequence[float] = RATES_HZ,
    stretch: float = 1.0,
) -> list[Kind]:
    """Every bin; those that share their recordings come one after the other."""
    every = product(speeds, rates, noises, eccentricities)
    return [Kind(noise, away, speed, rate, stretch) for speed, rate, noise, away in every]


def rules(past: Array) -> dict[str, Array]:
    """What the simple rules say, (n, 5, 2) each."""
    last, ahead = past[:, -1:], np.arange(1, STEPS + 1)[None, :, None]
    return {
        "hold": np.repeat(last, STEPS, axis=1),
        "line": last + ahead * (last - past[:, -3:-2]) / 2,
        "mean": np.repeat(past[:, -5:].mean(axis=1, keepdims=True), STEPS, axis=1),
    }


def error_deg(found: Array, true: Array) -> float:
    """The mean angle over windows and steps."""
    return float(errors_deg(found, true).mean())


def errors_deg(found: Array, true: Array) -> Array:
    """(n, 5)"""
    one, other = (to_vectors(angles[..., 0], angles[..., 1]).reshape(-1, 3) for angles in (found, true))
    return angles_deg(one, other).reshape(found.shape[:-1])


def rule_errors_deg(past: Array, true: Array) -> Mapping[str, float]:
    return {name: error_deg(found, true) for name, found in rules(past).items()}


# ── How the eye moves, at 1 kHz in a plane. ───────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=8)
def _paths(low: float, high: float, stretch: float) -> tuple[Array, Array]:
    """Places (recordings, ms, 2), and the slow phase's speed (recordings, ms), which is often between low and high."""
    rng = np.random.default_rng([SEED, round(1000 * low), round(1000 * high), round(1000 * stretch)])
    places, speeds = [], []
    for number in range(RECORDINGS):
        mover = draw_mover(rng)
        slow = _waves(low, high, rng) if number % 3 == 2 else _turns(low, high, rng)
        quick = _saccades(slow, mover, stretch, rng)
        places.append(np.cumsum(slow + quick, axis=0) + _fixational(mover, rng))
        speeds.append(SIMULATED_HZ * np.hypot(slow[:, 0], slow[:, 1]))
    return np.array(places), np.array(speeds)


def _turns(low: float, high: float, rng: np.random.Generator) -> Array:
    """Movement per ms (ms, 2): one speed after the other, as in pursuit of something that changes its mind, or while
    the head turns, with soft changes between them."""
    count, found = RECORDED_S * SIMULATED_HZ, []
    heading = rng.uniform(0, 2 * np.pi)
    while sum(len(part) for part in found) < count:
        heading += rng.choice([0.0, np.pi, rng.uniform(0, 2 * np.pi)], p=[0.4, 0.3, 0.3])
        speed = np.exp(rng.uniform(np.log(max(low, high / 30)), np.log(high))) / SIMULATED_HZ
        found.append(np.tile(speed * np.array([np.cos(heading), np.sin(heading)]), (int(rng.integers(200, 1200)), 1)))
    soft = signal.windows.hann(int(rng.integers(40, 160)))
    speeds: Array = ndimage.convolve1d(np.concatenate(found)[:count], soft / soft.sum(), axis=0, mode="nearest")
    return speeds


def _waves(low: float, high: float, rng: np.random.Generator) -> Array:
    """Movement per ms (ms, 2): to and fro, as while somebody walks or shakes the head."""
    time_s = np.arange(RECORDED_S * SIMULATED_HZ) / SIMULATED_HZ
    heading, turn = rng.uniform(0, 2 * np.pi, 2)
    both = [
        np.cos(2 * np.pi * hz * time_s + phase)
        for hz, phase in zip(rng.uniform(0.2, 2, 2), rng.uniform(0, 6, 2), strict=True)
    ]
    top = 1.1 * rng.uniform(max(low, 0.5 * high), high) / SIMULATED_HZ
    one, other = (np.array([np.cos(angle), np.sin(angle)]) for angle in (heading, turn))
    return np.asarray(top * (0.85 * both[0][:, None] * one + 0.25 * both[1][:, None] * other))


def _saccades(slow: Array, mover: Mover, stretch: float, rng: np.random.Generator) -> Array:
    """Displacement per ms (ms, 2): some lead back where the slow phase came from, others go anywhere."""
    quick = np.zeros_like(slow)
    rate_hz = rng.uniform(1.0, 4.0)
    now = round(1000 * rng.exponential(1 / rate_hz))
    while now < len(slow):
        size = stretch * min(28.0, 2.2 * np.exp(1.1 * rng.standard_normal()))
        heading = rng.uniform(0, 2 * np.pi)
        step = size * np.array([np.cos(heading), 0.7 * np.sin(heading)])
        speed = float(np.hypot(*slow[now]))
        if speed > 0.01 and rng.random() < 0.5:
            step = -size * slow[now] / speed
        course = saccade_course(step, mover, rng)
        if stretch != 1.0:  # longer as well: the same way in more time
            at = np.linspace(0, len(course), round(stretch * len(course)) + 1)
            way = np.concatenate([np.zeros((1, 2)), np.cumsum(course, axis=0)])
            course = np.diff([np.interp(at, np.arange(len(way)), axis) for axis in way.T], axis=1).T
        course = course[: len(slow) - now]
        quick[now : now + len(course)] += course
        now += len(course) + 60 + round(1000 * rng.gamma(2.0, 0.5 / rate_hz))
    return quick


def _fixational(mover: Mover, rng: np.random.Generator) -> Array:
    """Drift and tremor (ms, 2)."""
    keep = np.exp(-1 / (SIMULATED_HZ * mover.drift_s))
    steps = ndimage.gaussian_filter1d(rng.standard_normal((RECORDED_S * SIMULATED_HZ, 2)), 15, axis=0)
    walk = signal.lfilter([1.0], [1.0, -keep], steps, axis=0)
    return np.asarray(mover.drift_deg * walk / walk.std() + mover.tremor_deg * rng.standard_normal(walk.shape))


def _flat(kind: Kind, count: int, rng: np.random.Generator) -> Array:
    """Windows (n, samples, 2) of the eye itself, each around where its last given sample is."""
    places, speeds = _paths(*kind.speed_deg_s, kind.stretch)
    before, after = SPARE + GIVEN - 1, STEPS + SPARE
    offsets = np.arange(-before, after + 1) * SIMULATED_HZ / kind.rate_hz
    margin = int(np.ceil(max(-offsets[0], offsets[-1]))) + 2
    fits = (speeds >= kind.speed_deg_s[0]) & (speeds <= kind.speed_deg_s[1])
    which, when = np.nonzero(fits[:, margin:-margin])
    pick = rng.choice(len(which), count, replace=len(which) < count)
    at = when[pick, None] + margin + offsets
    whole = np.floor(at).astype(np.int64)
    part, one = (at - whole)[..., None], which[pick, None]
    found = (1 - part) * places[one, whole] + part * places[one, whole + 1]
    return np.asarray(found - found[:, before : before + 1])


def _brought(flat: Array, eccentricity_deg: tuple[float, float], rng: np.random.Generator) -> Array:
    """Yaw and pitch in degrees, with the last given sample at some eccentricity: in any direction, as likely."""
    away, roll = rng.uniform(*eccentricity_deg, len(flat)), rng.uniform(0, 2 * np.pi, len(flat))
    half = len(flat) // 2
    return np.concatenate(
        [_turned(flat[:half], away[:half], roll[:half]), _moved(flat[half:], away[half:], roll[half:])]
    )


def _turned(flat: Array, away_deg: Array, roll: Array) -> Array:
    """What was straight in the plane is part of a great circle, if it leads through the last sample."""
    far = np.radians(np.linalg.norm(flat, axis=2))
    ahead = np.sinc(far / np.pi)[..., None] * np.radians(flat)
    vectors = np.concatenate([ahead, np.cos(far)[..., None]], axis=2)
    x, y, z = np.moveaxis(vectors, 2, 0)
    y, z = _rotated(y, z, -np.radians(away_deg))
    x, y = _rotated(x, y, roll)
    return np.stack(to_angles(np.stack([x, y, z], axis=2)), axis=2)


def _moved(flat: Array, away_deg: Array, roll: Array) -> Array:
    """What was straight in the plane is so in yaw and pitch."""
    tilt = np.radians(away_deg)
    last = to_angles(np.stack([np.sin(tilt) * np.cos(roll), np.sin(tilt) * np.sin(roll), np.cos(tilt)], axis=1))
    yaw = last[0][:, None] + flat[..., 0] / np.cos(np.radians(last[1]))[:, None]
    return np.stack([yaw, last[1][:, None] + flat[..., 1]], axis=2)


def _rotated(one: Array, other: Array, angle: Array) -> tuple[Array, Array]:
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return cosine * one - sine * other, sine * one + cosine * other


# ── How a tracker records it. ─────────────────────────────────────────────────────────────────────────────────────────


def _recorded(true: Array, kind: Kind, rng: np.random.Generator) -> tuple[Array, Array]:
    """The same windows with noise and filters, and with faults in what is given as well."""
    measured = true + kind.noise_deg * rng.standard_normal(true.shape)
    how = rng.choice(TRACKERS, len(true))
    smooth: dict[str, Any] = {
        "mean": lambda rows: ndimage.uniform_filter1d(rows, 3, axis=1, mode="nearest"),
        "median": lambda rows: ndimage.median_filter(rows, size=(1, 3, 1), mode="nearest"),
        "lag": _lagging,
    }
    for name, smoothed in smooth.items():
        measured[how == name] = smoothed(measured[how == name])
    faulty = measured.copy()
    for row in np.flatnonzero(how == "held"):
        begin = SPARE + int(rng.integers(2, GIVEN))
        end = min(begin + int(rng.integers(1, 6)), SPARE + GIVEN)
        faulty[row, begin:end] = faulty[row, begin - 1]
    for row in np.flatnonzero(how == "spikes"):
        at = SPARE + rng.integers(0, GIVEN, int(rng.integers(1, 3)))
        faulty[row, at] += rng.uniform(1, 10) * rng.standard_normal((len(at), 2))
    return measured, faulty


def _lagging(rows: Array) -> Array:
    """A running mean that forgets, as in many trackers' software."""
    keep = 0.5
    start = rows[:, :1] * keep
    return np.asarray(signal.lfilter([1 - keep], [1, -keep], rows, axis=1, zi=start)[0])
