"""Measures the synthetic gaze as real gaze was measured, and sets the numbers beside each other."""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import optimize, signal

from palestra.eyes.simulator.movements import (
    MOVEMENTS,
    SACCADE,
    SIMULATED_HZ,
    Mover,
    Trace,
    draw_mover,
    pick_windows,
    watch,
)
from palestra.eyes.simulator.targets import Array, Targets, free_viewing_pattern, random_pattern, ring_pattern
from palestra.metrics.angles import to_angles, to_vectors

PERCENTILES = (5, 50, 95)
VISIBLE_DEG_S = 30.0  # speed at which a saccade stands out of a recording
NOTICED_DEG_S = 21.0  # a peak below this drowns in the noise and nobody labels it
VISIBLE_SHARE = 0.45  # of its own peak, for saccades that hardly reach that speed
SMOOTHED_MS = 7  # window of the speed estimate
SHORTEST_FIXATION_MS = 40
QUIET_DEG = 0.032  # noise from sample to sample, both axes, of a good recording
HISTORY, STEPS = 50, 5  # frames that a forecaster sees and forecasts


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    quantity: str
    real: tuple[float, ...]
    ours: tuple[float, ...]

    @property
    def real_text(self) -> str:
        return _text(self.real)

    @property
    def ours_text(self) -> str:
        return _text(self.ours)


@dataclass(frozen=True)
class Measures:
    """What was measured in recordings: one entry per saccade or per fixation."""

    amplitude_deg: Array
    duration_ms: Array
    peak_deg_s: Array
    fixation_ms: Array
    fixation_sd_deg: Array
    noise_deg: Array


@dataclass(frozen=True)
class Forecast:
    """How far off one way of forecasting is, on windows of one kind."""

    forecaster: str
    movement: str  # what happens in the frames to forecast; "all" for every window
    windows: int
    error_deg: tuple[float, ...]  # mean, for each step ahead


# From real-signals.md: 1 kHz, head fixed, 847 labelled saccades of six people; 5 / 50 / 95 percentiles.
_REAL_BINS: dict[tuple[float, float], tuple[tuple[float, ...], tuple[float, ...]]] = {
    (0.5, 2): ((11, 15, 30), (38, 68, 130)),
    (2, 5): ((17, 21, 32), (135, 201, 288)),
    (5, 10): ((23, 36, 54), (234, 316, 414)),
    (10, 20): ((36, 51, 73), (342, 439, 578)),
    (20, 40): ((57, 76, 109), (431, 528, 644)),
}


def statistics(rng: np.random.Generator, people: int = 6, seconds: float = 70.0, recorded: bool = True) -> list[Row]:
    """The table of real gaze at 1 kHz beside the same one of people who look about freely here.

    `recorded` adds an eye tracker's noise to the true gaze, as the real numbers have it.
    """
    parts = []
    for _ in range(people):
        targets = free_viewing_pattern(rng, seconds)
        trace = watch(targets, draw_mover(rng), "left", rng)
        parts.append(measure(trace, QUIET_DEG * float(np.exp(0.1 * rng.standard_normal())) if recorded else 0.0, rng))
    return _rows(_joined(parts))


def measure(trace: Trace, noise_deg: float, rng: np.random.Generator) -> Measures:
    """Saccades and fixations of a trace at 1 kHz, taken from its signal as a person who labels it would."""
    angles = np.stack(to_angles(trace.gaze), axis=1)
    signal_deg = angles + _tracker_noise(angles.shape, noise_deg, rng)
    slope = signal.savgol_filter(signal_deg, SMOOTHED_MS, 2, deriv=1, delta=1 / SIMULATED_HZ, axis=0)
    speed = np.hypot(slope[:, 0], slope[:, 1])
    seen = [(a, b) for a, b in _runs_of(trace, SACCADE) if speed[a : b + 1].max() >= NOTICED_DEG_S]
    saccades = [_visible(speed, a, b) for a, b in seen]
    kept = [(a, b) for a, b in saccades if trace.valid[a : b + 1].all()]
    steps = np.array([signal_deg[b] - signal_deg[a] for a, b in kept]).reshape(-1, 2)
    gaps = [(a, b) for (_, a), (b, _) in itertools.pairwise(saccades)]
    rests = [(a + 2, b - 2) for a, b in gaps if b - a >= SHORTEST_FIXATION_MS and trace.valid[a:b].all()]
    return Measures(
        amplitude_deg=np.hypot(steps[:, 0], steps[:, 1]),
        duration_ms=np.array([b - a for a, b in kept], dtype=float),
        peak_deg_s=np.array([speed[a : b + 1].max() for a, b in kept]),
        fixation_ms=np.array([b - a for a, b in rests], dtype=float),
        fixation_sd_deg=np.array([np.sqrt(signal_deg[a:b].var(axis=0).sum()) for a, b in rests]),
        noise_deg=np.array([np.sqrt((np.diff(signal_deg[a:b], axis=0) ** 2).sum(axis=1).mean()) for a, b in rests]),
    )


def format_statistics(rows: list[Row]) -> str:
    """The rows as a table of text."""
    cells = [("quantity", "real", "ours"), *((row.quantity, row.real_text, row.ours_text) for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(3)]
    return "\n".join("  ".join(cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip() for line in cells)


def forecast_errors(rng: np.random.Generator, people: int = 6, windows: int = 40) -> list[Forecast]:
    """Errors of three simple forecasters on labels at 100 Hz, by what the eye does in the frames to forecast."""
    truth, seen, kinds = [], [], []
    for _ in range(people):
        mover = draw_mover(rng)
        for targets in (ring_pattern(float(rng.uniform(50, 600))), random_pattern(rng)):
            label, kind = _windows(targets, mover, windows, rng)
            seen.append(label[:, :HISTORY])
            truth.append(label[:, HISTORY:])
            kinds.append(kind)
    kind = np.concatenate(kinds)
    forecasts = []
    for name, guess in _forecasters(np.concatenate(seen)).items():
        error = _distance_deg(guess, np.concatenate(truth))
        for movement in ("all", *MOVEMENTS):
            chosen = kind == movement if movement != "all" else np.ones(len(kind), dtype=bool)
            if chosen.any():
                means = tuple(float(value) for value in error[chosen].mean(axis=0))
                forecasts.append(Forecast(name, movement, int(chosen.sum()), means))
    return forecasts


def format_forecasts(forecasts: list[Forecast]) -> str:
    """The forecasts as a table of text."""
    lines = [f"{'forecaster':<16} {'movement':<9} {'windows':>7}  error in deg, 1 to {STEPS} frames ahead; mean"]
    for row in forecasts:
        steps = " ".join(f"{value:6.2f}" for value in row.error_deg)
        lines.append(f"{row.forecaster:<16} {row.movement:<9} {row.windows:>7}  {steps}; {np.mean(row.error_deg):.2f}")
    return "\n".join(lines)


def _tracker_noise(shape: tuple[int, ...], noise_deg: float, rng: np.random.Generator) -> Array:
    """White noise whose sample-to-sample size wanders, as it does with the pupil's size and the lids."""
    spread = np.repeat(np.exp(rng.exponential(0.36, shape[0] // 300 + 1)), 300)[: shape[0], None]
    return np.asarray(noise_deg / 2 * spread * rng.standard_normal(shape))


def _runs_of(trace: Trace, movement: int) -> list[tuple[int, int]]:
    inside = np.concatenate([[False], trace.movement == movement, [False]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(inside)).reshape(-1, 2)
    return [(int(begin), int(end) - 1) for begin, end in edges if end - begin > 2]


def _visible(speed: Array, begin: int, end: int) -> tuple[int, int]:
    """The part of a saccade around its peak that stands out by its speed."""
    top = begin + int(np.argmax(speed[begin : end + 1]))
    slow = np.flatnonzero(speed < min(VISIBLE_DEG_S, VISIBLE_SHARE * float(speed[top])))
    before, after = slow[slow < top], slow[slow > top]
    return int(before[-1]) if len(before) else begin, int(after[0]) if len(after) else end


def _joined(parts: list[Measures]) -> Measures:
    names = Measures.__dataclass_fields__
    return Measures(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _rows(found: Measures) -> list[Row]:
    amplitude, duration, peak = found.amplitude_deg, found.duration_ms, found.peak_deg_s
    slope, rest = np.polyfit(amplitude, duration, 1)
    fit, _ = optimize.curve_fit(lambda a, top, scale: top * -np.expm1(-a / scale), amplitude, peak, p0=(500, 8))
    rows = [
        Row("saccade amplitude, deg", (0.29, 2.0, 28), _percentiles(amplitude)),
        Row("duration: ms per deg, ms at 0 deg", (2.46, 14.8), (float(slope), float(rest))),
        Row("peak velocity: top deg/s, scale deg", (541, 7.6), (float(fit[0]), float(fit[1]))),
    ]
    for (low, high), (real_ms, real_deg_s) in _REAL_BINS.items():
        inside = (amplitude >= low) & (amplitude < high)
        rows.append(Row(f"{low:g} to {high:g} deg: duration, ms", real_ms, _percentiles(duration[inside])))
        rows.append(Row(f"{low:g} to {high:g} deg: peak velocity, deg/s", real_deg_s, _percentiles(peak[inside])))
    return [
        *rows,
        Row("fixation, ms", (81, 294, 1290), _percentiles(found.fixation_ms)),
        Row("sd within a fixation, deg", (0.044, 0.088, 0.27), _percentiles(found.fixation_sd_deg)),
        Row("sample-to-sample noise, deg", (0.031, 0.043, 0.10), _percentiles(found.noise_deg)),
    ]


def _percentiles(values: Array) -> tuple[float, ...]:
    if not len(values):
        return (float("nan"),) * len(PERCENTILES)
    return tuple(float(value) for value in np.percentile(values, PERCENTILES))


def _text(values: tuple[float, ...]) -> str:
    return " / ".join(f"{value:.0f}" if value >= 1000 else f"{value:.3g}" for value in values)


def _windows(targets: Targets, mover: Mover, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Labels (w, 55, 3) of random windows, and what the eye does in the last five frames (w,) of each."""
    trace = watch(targets, mover, "left", rng)
    length = HISTORY + STEPS
    at = pick_windows(trace.valid, length, count, rng)[:, None] + np.arange(length)
    # The codes rise from fixation to saccade, so the highest says what matters most.
    return trace.label[at], np.array(MOVEMENTS)[trace.movement[at[:, HISTORY:]].max(axis=1)]


def _forecasters(seen: Array) -> dict[str, Array]:
    return {
        "hold the last": np.repeat(seen[:, -1:], STEPS, axis=1),
        "line through 50": _extended(seen, HISTORY),
        "line through 3": _extended(seen, 3),
    }


def _extended(seen: Array, points: int) -> Array:
    """Yaw and pitch each carried on along the least-squares line through the last points, as vectors (w, 5, 3)."""
    angles = np.stack(to_angles(seen[:, -points:]), axis=-1)
    time = np.arange(points) - (points - 1) / 2
    slope = np.einsum("t,wta->wa", time, angles) / (time**2).sum()
    ahead = (points - 1) / 2 + np.arange(1, STEPS + 1)
    guess = angles.mean(axis=1)[:, None] + ahead[:, None] * slope[:, None]
    return to_vectors(guess[..., 0], guess[..., 1])


def _distance_deg(a: Array, b: Array) -> Array:
    return np.asarray(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), (a * b).sum(axis=-1))))
