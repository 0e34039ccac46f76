"""Measures the synthetic EEG as real EEG was measured, and tries on it what everybody tries first."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage, signal, stats

from palestra.tracks.emotion_eeg.simulator import (
    BANDS_HZ,
    CHANNELS,
    EMOTIONS,
    Array,
    Difficulty,
    Samples,
    Segment,
    draw_brain,
    listen,
)

Ints = npt.NDArray[np.int64]

PERCENTILES = (5, 50, 95)
RATE_HZ = 250
SEEN_HZ = (1.0, 40.0)
PUBLISHED_S = 30  # published results are on the last seconds of each video
SCALP = tuple(i for i, name in enumerate(CHANNELS) if name not in ("A1", "A2"))  # the mastoids are left out of features
LABELS = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8)  # of videos 1 to 28
SECONDS = (81, 63, 73, 78, 69, 90, 56, 60, 81, 45, 60, 81, 35, 44, 38, 43) + (
    *(55, 69, 73, 129, 77, 83, 34, 37, 67, 63, 83, 77),
)

# From real-signals.md; 5 / 50 / 95 percentiles on a lab cap (one person) and on a consumer headset (87 recordings).
_REAL: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "rms 1–40 Hz, µV": ((11, 17, 20), (5.8, 14, 69)),
    "peak to peak in 1 s, µV": ((41, 71, 117), (24, 55, 215)),
    "slope 2–40 Hz without alpha": ((-1.8, -1.7, -1.4), (-2.4, -1.2, -0.3)),
    "alpha peak, Hz": ((8.5, 10, 10), (7.5, 10.5, 13)),
    "channels with an alpha peak": ((1.0,), (0.11,)),
    "correlation between channels": ((-0.09, 0.51, 0.91), (0.06, 0.52, 0.94)),
    "kurtosis": ((3.3, 3.7, 20), (3.2, 7.9, 75)),
    "share of power: delta": ((0.21, 0.31, 0.58), (0.31, 0.69, 0.95)),
    "share of power: theta": ((0.11, 0.15, 0.19), (0.02, 0.10, 0.21)),
    "share of power: alpha": ((0.18, 0.45, 0.61), (0.01, 0.06, 0.16)),
    "share of power: beta": ((0.05, 0.07, 0.08), (0.01, 0.07, 0.26)),
    "share of power: gamma": ((0.01, 0.02, 0.04), (0.00, 0.04, 0.20)),
}


@dataclass(frozen=True)
class Row:
    """One line of the comparison."""

    quantity: str
    lab: tuple[float, ...]
    consumer: tuple[float, ...]
    ours: tuple[float, ...]


@dataclass(frozen=True)
class Recipe:
    """How many of a stranger's seconds the usual recipe gets right, and on what that was tried."""

    published: float  # whole recording normalises, features smoothed over videos sorted by label
    published_by_second: float  # the same without smoothing
    causal: float  # videos shuffled, only the past normalises, no smoothing
    people: int
    seconds: int  # of video per person


def statistics(rng: np.random.Generator, people: int = 8, seconds: float = 240.0) -> list[Row]:
    """The table of real EEG beside the same one of people here, half at rest with open eyes and half before a film."""
    half = seconds / 2
    segments = [Segment(0, half, "rest"), Segment(half, seconds, "video")]
    parts = [measure(listen(draw_brain(rng), segments, rng, RATE_HZ)) for _ in range(people)]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return [Row(name, *_REAL[name], _summary(name, joined[name])) for name in _REAL]


def measure(eeg_uv: Samples, rate_hz: float = RATE_HZ) -> dict[str, Array]:
    """Every quantity of the table, a value for each channel (or second, or pair of channels)."""
    band = signal.butter(4, SEEN_HZ, "bandpass", fs=rate_hz, output="sos")
    centred = eeg_uv - eeg_uv.mean(axis=1, keepdims=True, dtype=np.float64)
    seen = signal.sosfiltfilt(band, centred, axis=1)
    length = round(rate_hz)
    cut = seen[:, : seen.shape[1] // length * length].reshape(len(seen), -1, length)
    wave_hz, power = signal.welch(centred, rate_hz, nperseg=4 * length)
    slopes, peaks_hz = zip(*(_shape(wave_hz, row) for row in power), strict=True)
    found = {
        "rms 1–40 Hz, µV": seen.std(axis=1),
        "peak to peak in 1 s, µV": np.ptp(cut, axis=2).ravel(),
        "slope 2–40 Hz without alpha": np.array(slopes),
        "alpha peak, Hz": np.array(peaks_hz),
        "channels with an alpha peak": np.isfinite(peaks_hz).astype(np.float64),
        "correlation between channels": np.corrcoef(seen)[np.triu_indices(len(seen), 1)],
        "kurtosis": stats.kurtosis(seen, axis=1, fisher=False),
    }
    whole = power[:, (wave_hz >= 1) & (wave_hz < 47)].sum(axis=1)
    for name, (low, high) in BANDS_HZ.items():
        found[f"share of power: {name}"] = power[:, (wave_hz >= low) & (wave_hz < high)].sum(axis=1) / whole
    return found


def format_statistics(rows: Sequence[Row]) -> str:
    """The rows as a table of text."""
    cells = [("quantity", "real, lab cap", "real, consumer", "ours")]
    cells += [(row.quantity, _text(row.lab), _text(row.consumer), _text(row.ours)) for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(4)]
    return "\n".join("  ".join(cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip() for line in cells)


def _shape(wave_hz: Array, power: Array) -> tuple[float, float]:
    """Slope of a spectrum between its rhythms, and where alpha stands out of it (nan if it does not)."""
    inside = (wave_hz >= 2) & (wave_hz <= 40)
    alpha = (wave_hz >= 7) & (wave_hz <= 14)
    rest = inside & ~alpha
    slope, level = np.polyfit(np.log10(wave_hz[rest]), np.log10(power[rest]), 1)
    over = np.log10(power[alpha]) - (level + slope * np.log10(wave_hz[alpha]))
    best = int(np.argmax(over))
    stands_out = over[best] > 0.2 and 0 < best < len(over) - 1
    return float(slope), float(wave_hz[alpha][best]) if stands_out else float("nan")


def _summary(name: str, values: Array) -> tuple[float, ...]:
    if name == "channels with an alpha peak":
        return (float(values.mean()),)
    return tuple(float(value) for value in np.nanpercentile(values, PERCENTILES))


def _text(values: tuple[float, ...]) -> str:
    return " / ".join(f"{value:.3g}" if abs(value) >= 1 else f"{value:.2f}" for value in values)


def short_sitting(rng: np.random.Generator, video_s: float | None = 20.0, rest_s: float = 6.0) -> list[Segment]:
    """All videos in random order, with a rest before each; None leaves the videos their length."""
    segments, now = [], 0.0
    for video in (1 + rng.permutation(len(LABELS))).tolist():
        start, stop = now + rest_s, now + rest_s + (video_s or SECONDS[video - 1])
        segments += [Segment(now, start, "rest"), Segment(start, stop, "video", video, LABELS[video - 1])]
        now = stop
    return segments


def entropies(eeg_uv: Samples, rate_hz: int = RATE_HZ) -> Array:
    """Differential entropy (seconds, 30 channels × 5 bands) of each second: half the log of a band's variance."""
    whole = eeg_uv[list(SCALP), : eeg_uv.shape[1] // rate_hz * rate_hz].reshape(len(SCALP), -1, rate_hz)
    # A window with soft edges keeps drift and mains out of the bands beside them.
    spectrum = np.fft.rfft(signal.detrend(whole, axis=2) * np.hanning(rate_hz), axis=2)
    power = np.abs(spectrum[:, :, : round(max(high for _, high in BANDS_HZ.values()))]) ** 2 / rate_hz**2
    bands = [power[:, :, round(low) : round(high)].sum(axis=2) for low, high in BANDS_HZ.values()]
    return np.asarray(
        0.5 * np.log(2 * np.pi * np.e * np.stack(bands, axis=2)).swapaxes(0, 1).reshape(whole.shape[1], -1)
    )


def usual_recipe(
    rng: np.random.Generator, people: int = 18, difficulty: Difficulty | None = None, video_s: float | None = 20.0
) -> Recipe:
    """Tries the recipe both ways on people it was not fitted to (three folds).

    The classifier is linear discriminant analysis with a shrunk covariance, which stands in for the linear SVM.
    """
    sittings = [_Sitting.of(rng, difficulty, video_s) for _ in range(people)]
    whole = [_scaled(sitting.features) for sitting in sittings]
    past = [_running(sitting.features) for sitting in sittings]
    by_second = [(z[s.by_label], s.video[s.by_label]) for z, s in zip(whole, sittings, strict=True)]
    smooth = [(_smoothed(z), video) for z, video in by_second]
    causal = [(z[s.video > 0], s.video[s.video > 0]) for z, s in zip(past, sittings, strict=True)]
    seconds = int((sittings[0].video > 0).sum())
    return Recipe(_across(smooth), _across(by_second), _across(causal), people, seconds)


@dataclass(frozen=True)
class _Sitting:
    features: Array  # (seconds, features) in order of time
    video: Ints  # (seconds,) 0 where none is shown, and in its first and last second

    @classmethod
    def of(cls, rng: np.random.Generator, difficulty: Difficulty | None, video_s: float | None) -> "_Sitting":
        segments = short_sitting(rng, video_s)
        features = entropies(listen(draw_brain(rng, difficulty), segments, rng, RATE_HZ))
        video = np.zeros(len(features), dtype=np.int64)
        for segment in segments:
            if segment.video is not None:
                video[round(segment.start_s) + 1 : round(segment.stop_s) - 1] = segment.video
        return cls(features, video)

    @property
    def by_label(self) -> Ints:
        """The last seconds of each video, by video and so by label."""
        return np.concatenate([np.flatnonzero(self.video == v)[-PUBLISHED_S:] for v in range(1, len(LABELS) + 1)])


def _scaled(features: Array) -> Array:
    return np.asarray((features - features.mean(axis=0)) / features.std(axis=0))


def _running(features: Array, known_s: int = 20) -> Array:
    """Scaled by what has been seen so far; nothing can be said before something is known."""
    count = np.arange(1, len(features) + 1)[:, None]
    shifted = features - features[0]
    mean = np.cumsum(shifted, axis=0) / count
    variance = np.cumsum(shifted**2, axis=0) / count - mean**2
    scaled = (shifted - mean) / np.sqrt(np.maximum(variance, 1e-3))
    scaled[:known_s] = 0
    return np.asarray(scaled.clip(-5, 5))


def _smoothed(features: Array, lag_s: float = 10.0) -> Array:
    """Each second with those before and after it, as the smoother of a linear dynamical system does it."""
    reach = np.arange(-round(4 * lag_s), round(4 * lag_s) + 1)
    weights = np.exp(-np.abs(reach) / lag_s)
    return np.asarray(ndimage.correlate1d(features, weights / weights.sum(), axis=0, mode="nearest"))


def _across(people: list[tuple[Array, Ints]], folds: int = 3) -> float:
    """Mean over people of the mean over videos of the share of right seconds."""
    label = np.array((-1, *LABELS))
    scores = []
    for fold in range(folds):
        known = [person for i, person in enumerate(people) if i % folds != fold]
        weights, bias = _discriminant(
            np.concatenate([z for z, _ in known]), label[np.concatenate([v for _, v in known])]
        )
        for features, video in people[fold::folds]:
            right = np.argmax(features @ weights + bias, axis=1) == label[video]
            scores.append(np.mean([right[video == v].mean() for v in np.unique(video)]))
    return float(np.mean(scores))


def _discriminant(features: Array, label: Ints, shrink: float = 0.1) -> tuple[Array, Array]:
    """Weights (features, classes) and bias (classes,) of a linear discriminant; no class is favoured."""
    means = np.array([features[label == emotion].mean(axis=0) for emotion in range(len(EMOTIONS))])
    spread = np.cov((features - means[label]).T)
    spread = (1 - shrink) * spread + shrink * np.trace(spread) / len(spread) * np.eye(len(spread))
    weights = np.linalg.solve(spread, means.T)
    return weights, -0.5 * (means * weights.T).sum(axis=1)
