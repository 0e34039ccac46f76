"""EEG of people who watch films that move them: 32 channels in µV, as a cap with its reference at CPz records them.

Sources in the head are mixed to the electrodes by a smooth forward model. Most are 1/f noise that says nothing; twelve
regions have a rhythm in each of five bands, and what a person feels shows in nothing but the power of these rhythms.
Eyes, muscles, mains and electrodes add what they add to every recording, without regard to what is shown.

A recording is made block by block: noise is drawn in order of time and filters keep their state, so the size of a block
changes nothing but the memory in use.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import signal

Array = npt.NDArray[np.float64]
Samples = npt.NDArray[np.float32]
Layer = Callable[[int, int], Array]  # first sample and count → what it adds to each electrode (33, count)
What = Literal["rest", "closed", "fixation", "video", "report", "maths"]

# Inclination from the vertex and azimuth from the right ear, in degrees, of the electrodes of the second batch in their
# order, and last the reference. Mastoids lie below the equator.
_PLACES_DEG = {
    "Fp1": (-92, -72), "Fp2": (92, 72), "Fz": (46, 90), "F3": (-60, -51), "F4": (60, 51), "F7": (-92, -36),
    "F8": (92, 36), "FC1": (-32, -45), "FC2": (32, 45), "FC5": (-72, -21), "FC6": (72, 21), "Cz": (0, 0),
    "C3": (-46, 0), "C4": (46, 0), "T7": (-92, 0), "T8": (92, 0), "CP1": (-32, 45), "CP2": (32, -45),
    "CP5": (-72, 21), "CP6": (72, -21), "Pz": (46, -90), "P3": (-60, 51), "P4": (60, -51), "P7": (-92, 36),
    "P8": (92, -36), "PO3": (-74, 67), "PO4": (74, -67), "Oz": (92, -90), "O1": (-92, 72), "O2": (92, -72),
    "A2": (115, -15), "A1": (-115, 15), "CPz": (23, -90),
}  # fmt: skip
CHANNELS = tuple(_PLACES_DEG)[:-1]
EMOTIONS = ("anger", "disgust", "fear", "sadness", "neutral", "amusement", "inspiration", "joy", "tenderness")
BANDS_HZ = {"delta": (1.0, 4.0), "theta": (4.0, 8.0), "alpha": (8.0, 14.0), "beta": (14.0, 30.0), "gamma": (30.0, 47.0)}
REGIONS = ("F3", "F4", "Fz", "T7", "T8", "C3", "C4", "P3", "P4", "Pz", "O1", "O2")  # named by the electrode above

# How strong a region's rhythms are: alpha in µV, all others over the 1/f background in the same band.
_STRENGTH = {
    "delta": (0.65, 0.65, 0.70, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55),
    "theta": (0.80, 0.80, 1.40, 0.75, 0.75, 0.80, 0.80, 0.80, 0.80, 0.80, 0.75, 0.75),
    "alpha": (3.5, 3.5, 4.0, 3.0, 3.0, 4.5, 4.5, 9.5, 9.5, 8.5, 14.0, 14.0),
    "beta": (1.10, 1.10, 1.10, 1.10, 1.10, 1.40, 1.40, 0.90, 0.90, 0.90, 0.90, 0.90),
    "gamma": (1.10, 1.10, 0.90, 1.40, 1.40, 0.80, 0.80, 0.80, 0.80, 0.80, 0.90, 0.90),
}
# Valence, arousal and absorption of each emotion, in the order of EMOTIONS.
_FEELINGS = np.array(
    [(-0.7, 0.7, 0.2), (-0.8, 0.3, -0.3), (-0.7, 0.9, 0.6), (-0.7, -0.5, 0.4), (0.0, -0.8, -0.8)]
    + [(0.8, 0.6, -0.4), (0.6, 0.2, 0.6), (0.9, 0.7, 0.0), (0.7, -0.4, 0.3)]
)
# What is on: alpha power in nats over rest, and how often people blink and look elsewhere, over rest.
_BLOCKING = {"rest": 0.0, "closed": 1.0, "fixation": -0.3, "video": -0.7, "report": -0.8, "maths": -0.9}
_BLINKING = {"rest": 1.2, "closed": 0.0, "fixation": 0.6, "video": 0.7, "report": 1.2, "maths": 1.0}
_LOOKING = {"rest": 0.6, "closed": 0.1, "fixation": 0.3, "video": 1.0, "report": 1.2, "maths": 0.8}

SOURCES = 60  # of the background
BACKGROUND_UV = 7.7  # rms of the background above 1 Hz at a typical electrode, before the reference
KNOTS_HZ = 4  # slow courses are kept at this rate and joined by straight lines
SETTLE_S = 10.0  # what filters are fed before the first sample
_FILMS_SEED = 20230  # the same films move everybody in every data set that is ever made


@dataclass(frozen=True)
class Difficulty:
    """How much of a person's brain power tells what is felt. Sizes are sd of log power (nats) of a region's rhythm."""

    shared: float = 0.2  # the emotion's pattern, the same in all people
    own: float = 0.3  # the person's own way to feel this emotion
    film: float = 0.2  # what belongs to the video, whatever is felt, in all people
    moment: float = 0.4  # of this person with this video, never again
    wander: float = 0.45  # slow changes of state that nothing on the screen explains
    wander_s: float = 20.0  # their time constant
    reactivity_spread: float = 0.4  # log sd between people of how strongly they feel
    build_s: float = 5.0  # time constant with which a feeling builds up, and fades


@dataclass(frozen=True)
class Segment:
    """A stretch of the sitting. Between segments there is rest."""

    start_s: float
    stop_s: float
    what: What = "rest"
    video: int | None = None  # 1–28, while one is shown
    emotion: int | None = None  # index into EMOTIONS


@dataclass(frozen=True)
class Brain:
    """One person under one cap. Matrices have a row for each channel and a last one for the reference; µV."""

    slope: float  # of log10 power per decade, negative
    alpha_hz: float
    background: Array = field(repr=False)  # (33, SOURCES)
    rhythms: Array = field(repr=False)  # (33, regions, bands)
    reactions: Array = field(repr=False)  # (emotions, regions, bands) log power
    reactivity: float  # to films, over that of most people
    eyes: Array = field(repr=False)  # (33, 3) of a blink, of a degree to the right, of a degree up
    blinks_per_min: float
    saccades_hz: float
    muscles: Array = field(repr=False)  # (33, 5) left and right temple, forehead, left and right neck
    bursts_per_min: float
    tension: float  # muscle tone between bursts, over that of a burst
    hum_uv: Array = field(repr=False)  # (33,) amplitude of the mains
    noise_uv: Array = field(repr=False)  # (33,) of the electrode itself, 1/f
    drift_uv: Array = field(repr=False)  # (33,) sd
    offset_uv: Array = field(repr=False)  # (33,)
    pops_per_min: Array = field(repr=False)  # (33,)
    difficulty: Difficulty = Difficulty()


def place(inclination_deg: float, azimuth_deg: float) -> Array:
    """A point on the unit sphere: x to the right ear, y to the nose, z up."""
    down, round_ = np.radians(inclination_deg), np.radians(azimuth_deg)
    return np.array([np.sin(down) * np.cos(round_), np.sin(down) * np.sin(round_), np.cos(down)])


ELECTRODES = np.array([place(*at) for at in _PLACES_DEG.values()])  # (33, 3), the reference last


def forward(at: Array, moment: Array, blur: float = 0.4) -> Array:
    """Potential of dipoles (s, 3) at the electrodes (33, s), the strongest 1; skull and scalp blur what is near."""
    apart = ELECTRODES[:, None] - at
    gain = (apart * moment).sum(axis=2) / ((apart**2).sum(axis=2) + blur**2) ** 1.5
    return np.asarray(gain / np.abs(gain).max(axis=0))


def refer(potential: Array) -> Array:
    """What the amplifier writes (32, n): each electrode (33, n) against the reference, which is the last row."""
    return np.asarray(potential[:-1] - potential[-1])


def emotion_patterns() -> Array:
    """The part of each emotion that all people share (emotions, regions, bands), mean square 1.

    Valence tilts frontal alpha and lifts temporal gamma and beta, arousal blocks posterior alpha and lifts beta,
    absorption lifts frontal theta; the rest is each emotion's own.
    """
    axes = np.zeros((3, len(REGIONS), len(BANDS_HZ)))
    delta, theta, alpha, beta, gamma = range(len(BANDS_HZ))
    left, right = [0, 5, 7], [1, 6, 8]
    axes[0, left, alpha], axes[0, right, alpha] = -1.0, 1.0
    axes[0, 3:5, beta:], axes[0, 0:2, gamma] = 1.0, 0.5
    axes[1, 7:, alpha], axes[1, 0:7, beta] = -1.0, 0.7
    axes[2, 0:3, theta], axes[2, 7:, alpha], axes[2, :, delta] = 1.2, -0.5, 0.5
    tied = np.einsum("ea,arb->erb", _FEELINGS, axes)
    free = np.random.default_rng([_FILMS_SEED, 0]).standard_normal(tied.shape)
    mixed = tied / tied.std() + free
    mixed -= mixed.mean(axis=0)  # what all emotions share is no sign of any
    return np.asarray(mixed / np.sqrt((mixed**2).mean()))


def film_pattern(video: int) -> Array:
    """What a video does to everybody (regions, bands), whatever it makes them feel."""
    return np.random.default_rng([_FILMS_SEED, 1, video]).standard_normal((len(REGIONS), len(BANDS_HZ)))


def draw_brain(rng: np.random.Generator, difficulty: Difficulty | None = None) -> Brain:
    """A person as people differ, and a cap that sits as caps do: not quite straight, with a bad electrode at times."""
    difficulty = difficulty or Difficulty()

    def around(middle: float, spread: float, *shape: int) -> Array:
        return np.asarray(middle * np.exp(spread * np.clip(rng.standard_normal(shape), -2.5, 2.5)))

    count = len(ELECTRODES)
    slope = float(-rng.uniform(1.4, 1.8))
    gain = around(1.0, 0.18)
    own = rng.standard_normal((len(EMOTIONS), len(REGIONS), len(BANDS_HZ)))
    last = np.arange(count) == count - 1  # the reference, whose faults are everybody's: it is looked after
    bad = (rng.random(count) < 0.03) & ~last
    eye_gain = around(1.0, 0.25)
    return Brain(
        slope=slope,
        alpha_hz=float(rng.uniform(8.6, 10.9)),
        background=gain * _background_gains(rng),
        rhythms=gain * _rhythm_gains(slope, rng) * around(1.0, 0.35, len(BANDS_HZ)),
        reactions=difficulty.shared * emotion_patterns() + difficulty.own * own,
        reactivity=float(around(1.0, difficulty.reactivity_spread)),
        eyes=eye_gain * _eye_gains(rng),
        blinks_per_min=float(around(13.0, 0.45)),
        saccades_hz=float(around(1.8, 0.2)),
        muscles=_muscle_gains() * around(9.0, 0.4, 5),
        bursts_per_min=float(around(3.0, 0.6)),
        tension=float(around(0.1, 0.5)),
        hum_uv=around(3.5, 0.6, count) * np.where(bad, 4.0, 1.0),
        noise_uv=around(1.1, 0.3, count) * np.where(bad, 6.0, 1.0) * np.where(last, 3.0, 1.0),
        drift_uv=around(14.0, 0.5, count) * np.where(bad, 2.0, 1.0),
        offset_uv=200.0 * rng.standard_normal(count),
        pops_per_min=around(0.03, 0.8, count) * np.where(bad, 15.0, 1.0),
        difficulty=difficulty,
    )


def _background_gains(rng: np.random.Generator) -> Array:
    """Gains (33, SOURCES) of cortical dipoles that point any way, outward by preference."""
    at = rng.standard_normal((SOURCES, 3))
    at[:, 2] = np.abs(at[:, 2]) - 0.35 * np.linalg.norm(at, axis=1)  # the cortex ends below the ears
    at /= np.linalg.norm(at, axis=1, keepdims=True)
    moment = at + 0.8 * rng.standard_normal(at.shape)
    depth = rng.uniform(0.3, 0.85, (SOURCES, 1))
    gains = forward(depth * at, moment) * np.exp(1.2 * at[:, 2] + 0.3 * rng.standard_normal(SOURCES))
    return np.asarray(gains * BACKGROUND_UV / np.sqrt((gains**2).sum(axis=1).mean()))


def _rhythm_gains(slope: float, rng: np.random.Generator) -> Array:
    """Gains (33, regions, bands); a person's regions lie and weigh a little otherwise than the next one's."""
    tilt = 0.08 * rng.standard_normal((len(REGIONS), 3))
    at = np.array([ELECTRODES[list(_PLACES_DEG).index(name)] for name in REGIONS]) + tilt
    at /= np.linalg.norm(at, axis=1, keepdims=True)
    gains = forward(0.72 * at, at + 0.35 * rng.standard_normal(at.shape))
    power = {band: low ** (1 + slope) - high ** (1 + slope) for band, (low, high) in BANDS_HZ.items()}
    scale = [1.0 if band == "alpha" else BACKGROUND_UV * np.sqrt(power[band]) for band in BANDS_HZ]
    strength = np.array([_STRENGTH[band] for band in BANDS_HZ]).T * scale
    return np.asarray(gains[:, :, None] * strength * np.exp(0.15 * rng.standard_normal(strength.shape)))


def _eye_gains(rng: np.random.Generator) -> Array:
    """Gains (33, 3) of lids and eyeballs: a blink lifts the forehead, a look to the right F8 and lowers F7."""
    balls = 0.9 * np.array([place(-105, -70), place(105, 70)])
    side, up = np.array([1.0, 0, 0]), np.array([0, 0.4, 1.0])
    lids = (1 + ((ELECTRODES[:, None] - balls) ** 2).sum(axis=2) / 0.7**2) ** -1.5  # lids slide over a charged eye
    gains = (lids, forward(balls, np.array([side, side]), 0.3), forward(balls, np.array([up, up]), 0.3))
    shapes = [gain.sum(axis=1) / np.abs(gain.sum(axis=1)).max() for gain in gains]
    sizes = np.array([170.0, 5.0, 4.0]) * np.exp(0.1 * rng.standard_normal(3))
    return np.asarray(np.stack(shapes, axis=1) * sizes)


def _muscle_gains() -> Array:
    """Gains (33, 5): muscles lie just below the skin, so each reaches few electrodes."""
    at = np.array([place(-97, -12), place(97, 12), place(98, 90), place(-108, 55), place(108, -55)])
    return np.asarray(np.exp(-(((ELECTRODES[:, None] - 1.05 * at) / 0.38) ** 2).sum(axis=2)))


def listen(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float = 250.0) -> Samples:
    """The whole recording (32, n) in µV, raw: against CPz, with drift and mains."""
    return np.concatenate(list(stream(brain, segments, rng, rate_hz)), axis=1)


def stream(
    brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float = 250.0, block_s: float = 30.0
) -> Iterator[Samples]:
    """The same recording as blocks (32, m), so that its length costs no memory."""
    _check(segments, rate_hz)
    stop_s = max(segment.stop_s for segment in segments)
    total, block = round(stop_s * rate_hz), max(1, round(block_s * rate_hz))
    seed = int(rng.integers(2**62))
    makers = (_background, _rhythms, _eyes, _muscles, _electrodes)
    # Each layer draws from its own generator: then none depends on how much another drew before it.
    layers = [make(brain, segments, np.random.default_rng([seed, i]), rate_hz) for i, make in enumerate(makers)]
    return (
        refer(np.asarray(sum(layer(start, min(block, total - start)) for layer in layers))).astype(np.float32)
        for start in range(0, total, block)
    )


def _check(segments: Sequence[Segment], rate_hz: float) -> None:
    if not segments or any(not 0 <= segment.start_s < segment.stop_s for segment in segments):
        raise ValueError("a sitting needs segments, each from 0 s on and with its stop after its start")
    if rate_hz < 125:
        raise ValueError(f"rate_hz is {rate_hz}; gamma and the mains need at least 125")
    for segment in segments:
        if segment.emotion is not None and not 0 <= segment.emotion < len(EMOTIONS):
            raise ValueError(f"emotion is {segment.emotion}; expected 0 to {len(EMOTIONS) - 1}")


def _background(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float) -> Layer:
    """What says nothing: 1/f noise, now a little louder and now softer."""
    size = _lines(np.exp(0.27 * _wander((_knots(segments), 1), 4.0, rng) - 0.07).T, rate_hz)
    noise = _noise(_one_over_f(brain.slope, rate_hz), SOURCES, rng, rate_hz)
    return lambda start, count: brain.background @ (size(start, count) * noise(count))


def _rhythms(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float) -> Layer:
    power = _courses(brain, segments, np.random.default_rng(rng.integers(2**62)))
    size = [_lines(np.exp(0.5 * power[:, band]).T, rate_hz) for band in range(len(BANDS_HZ))]
    # Fast rhythms have soft edges, or they would stand like shelves in a spectrum that falls.
    orders = dict.fromkeys(BANDS_HZ, 2) | {"beta": 1, "gamma": 1}
    filters = [signal.butter(orders[b], BANDS_HZ[b], "bandpass", fs=rate_hz, output="sos") for b in BANDS_HZ]
    filters[list(BANDS_HZ).index("alpha")] = np.array(
        [np.concatenate(signal.iirpeak(brain.alpha_hz, brain.alpha_hz / 2.4, rate_hz))] * 2
    )
    noises = [_noise(sos, len(REGIONS), np.random.default_rng(rng.integers(2**62)), rate_hz) for sos in filters]

    def layer(start: int, count: int) -> Array:
        parts = (brain.rhythms[..., b] @ (noises[b](count) * size[b](start, count)) for b in range(len(BANDS_HZ)))
        return np.asarray(sum(parts))

    return layer


def _courses(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator) -> Array:
    """Log power (knots, bands, regions) of every rhythm over the whole sitting."""
    hard = brain.difficulty
    count = _knots(segments)
    shape = (count, len(BANDS_HZ), len(REGIONS))
    felt, blocked = np.zeros(shape), np.zeros(count)
    for segment in segments:
        at = slice(round(segment.start_s * KNOTS_HZ), round(segment.stop_s * KNOTS_HZ))
        blocked[at] = _BLOCKING[segment.what]
        moved = hard.moment * rng.standard_normal(shape[1:])
        if segment.emotion is not None:
            moved += brain.reactivity * brain.reactions[segment.emotion].T
        if segment.video is not None:
            moved += hard.film * film_pattern(segment.video).T
        if segment.what == "video":
            felt[at] = moved
    power = _ease(felt, hard.build_s) + hard.wander * _wander(shape, hard.wander_s, rng)
    # Alpha waxes and wanes within seconds, mostly everywhere at once, and gives way when there is something to do.
    alpha = list(BANDS_HZ).index("alpha")
    spindles = 0.8 * _wander((count, 1), 1.5, rng) + 0.5 * _wander((count, len(REGIONS)), 1.5, rng)
    power[:, alpha] += spindles + _ease(blocked, 1.0)[:, None] - 0.4  # a lognormal's mean square exceeds 1
    return power


def _eyes(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float) -> Layer:
    """Blinks, and the eyeball's charge that turns with every look."""
    blinks = _times(segments, brain.blinks_per_min / 60, _BLINKING, rng)
    sizes = np.exp(0.22 * rng.standard_normal(len(blinks)))
    lid = _pulses(blinks, rng.uniform(0.26, 0.42, len(blinks)), sizes, _lid)
    looks = _times(segments, brain.saccades_hz, _LOOKING, rng)
    # Eyes come back to the middle of the screen: each look keeps some of the last one's direction.
    places = signal.lfilter([1], [1, -0.3], rng.standard_normal((len(looks) + 1, 2)), axis=0) * (4.5, 2.6)
    moves_s = 0.02 + 0.0025 * np.abs(np.diff(places, axis=0)).sum(axis=1)
    knots_s = np.stack([looks, np.minimum(looks + moves_s, np.append(looks[1:], np.inf))], axis=1).ravel()
    held = np.stack([places[:-1], places[1:]], axis=1).reshape(-1, 2)

    def layer(start: int, count: int) -> Array:
        time_s = (start + np.arange(count)) / rate_hz
        gaze = [np.interp(time_s, knots_s, axis) if len(held) else np.zeros(count) for axis in held.T]
        return np.asarray(brain.eyes @ np.array([lid(time_s), *gaze]))

    return layer


def _lid(share: Array) -> Array:
    """A blink's course: up in a quarter of its time, down more slowly, and a little below zero after."""
    rise = np.sin(np.pi / 2 * np.clip(share / 0.27, 0, 1)) ** 2
    fall = np.cos(np.pi / 2 * np.clip((share - 0.27) / 0.5, 0, 1)) ** 2
    return np.asarray(rise * fall - 0.07 * np.sin(np.pi * np.clip((share - 0.6) / 0.4, 0, 1)) ** 2)


def _muscles(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float) -> Layer:
    """Bursts of clenching and frowning, and some tone between them."""
    bursts = []
    for _ in range(brain.muscles.shape[1]):
        times = _times(segments, brain.bursts_per_min / 60 / 3, dict.fromkeys(_LOOKING, 1.0), rng)
        lengths = rng.lognormal(0.0, 0.7, len(times))
        bursts.append(
            _pulses(times, lengths, rng.lognormal(0.0, 0.6, len(times)), lambda share: np.sin(np.pi * share) ** 0.7)
        )
    tone = _lines(np.exp(0.3 * _wander((_knots(segments), len(bursts)), 20.0, rng)).T, rate_hz)
    sos = signal.butter(2, (22.0, min(110.0, 0.45 * rate_hz)), "bandpass", fs=rate_hz, output="sos")
    noise = _noise(sos, len(bursts), rng, rate_hz)

    def layer(start: int, count: int) -> Array:
        time_s = (start + np.arange(count)) / rate_hz
        size = np.array([burst(time_s) for burst in bursts]) + brain.tension * tone(start, count)
        return brain.muscles @ (size * noise(count))

    return layer


def _electrodes(brain: Brain, segments: Sequence[Segment], rng: np.random.Generator, rate_hz: float) -> Layer:
    """What skin, paste and mains add to each electrode, the reference among them."""
    rows = len(brain.hum_uv)
    drift = _lines(brain.drift_uv[:, None] * _wander((_knots(segments), rows), 20.0, rng).T, rate_hz)
    sway = _lines(1 + 0.15 * _wander((_knots(segments), 1), 30.0, rng).T, rate_hz)
    mains_hz, turn = 50 + 0.02 * rng.standard_normal(), rng.normal(0, 0.4, (2, rows, 1))
    pops = []
    for rate in brain.pops_per_min:
        times = _times(segments, rate / 60, dict.fromkeys(_LOOKING, 1.0), rng)
        sizes = rng.choice([-1.0, 1.0], len(times)) * rng.lognormal(4.3, 0.6, len(times))
        pops.append(
            _pulses(times, rng.uniform(1.0, 6.0, len(times)), sizes, lambda share: np.exp(-5 * share) * (1 - share))
        )
    noise = _noise(_one_over_f(-1.2, rate_hz), rows, np.random.default_rng(rng.integers(2**62)), rate_hz)

    def layer(start: int, count: int) -> Array:
        time_s = (start + np.arange(count)) / rate_hz
        phase = 2 * np.pi * mains_hz * time_s
        hum = brain.hum_uv[:, None] * (np.sin(phase + turn[0]) + 0.1 * np.sin(2 * phase + turn[1]))
        bursts = np.array([pop(time_s) for pop in pops])
        white = 0.5 * rng.standard_normal((count, rows)).T
        slow = brain.offset_uv[:, None] + drift(start, count)
        return np.asarray(slow + bursts + white + sway(start, count) * hum + brain.noise_uv[:, None] * noise(count))

    return layer


def _knots(segments: Sequence[Segment]) -> int:
    return int(np.ceil(max(segment.stop_s for segment in segments) * KNOTS_HZ)) + 2


def _times(segments: Sequence[Segment], rate_hz: float, busy: dict[str, float], rng: np.random.Generator) -> Array:
    """When something happens, in s, that comes at this rate times how busy what is on makes it."""
    stop_s, most = max(segment.stop_s for segment in segments), max(busy.values())
    number = rng.poisson(stop_s * rate_hz * most)
    times = np.sort(rng.uniform(0, stop_s, number))
    share = np.full(number, busy["rest"])
    for segment in segments:
        share[(times >= segment.start_s) & (times < segment.stop_s)] = busy[segment.what]
    return times[rng.random(number) * most < share]


def _pulses(
    times_s: Array, lengths_s: Array, sizes: Array, shape: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """A course that is zero but for pulses of this shape, as a function of evenly spaced times."""
    longest = lengths_s.max(initial=0.0)

    def course(time_s: Array) -> Array:
        total = np.zeros(len(time_s))
        first, last = np.searchsorted(times_s, (time_s[0] - longest, time_s[-1]))
        for i in range(first, last):
            begin, end = np.searchsorted(time_s, (times_s[i], times_s[i] + lengths_s[i]))
            total[begin:end] += sizes[i] * shape((time_s[begin:end] - times_s[i]) / lengths_s[i])
        return total

    return course


def _noise(sos: Array, rows: int, rng: np.random.Generator, rate_hz: float) -> Callable[[int], Array]:
    """Noise (rows, count) of power 1 above 1 Hz, through a filter whose state lives on: blocks join without a seam."""
    wave_hz, gain = signal.sosfreqz(sos, 2**14, fs=rate_hz)
    unit = np.sqrt((np.abs(gain) ** 2 * (wave_hz >= 1)).mean())
    state = np.zeros((len(sos), rows, 2))

    def advance(count: int) -> Array:
        nonlocal state
        # Drawn in order of time, so that blocks of any size meet the same numbers.
        white = np.ascontiguousarray(rng.standard_normal((count, rows)).T)
        found, state = signal.sosfilt(sos, white, zi=state)
        return np.asarray(found / unit)

    advance(round(SETTLE_S * rate_hz))
    return advance


def _one_over_f(slope: float, rate_hz: float) -> Array:
    """A filter with this slope of power above 0.3 Hz: poles and zeros in turn, evenly spaced on a log axis."""
    poles = 2 * np.pi * 0.3 * 10 ** (np.arange(6) / 2)
    zeros = poles * 10 ** (-slope / 4)
    return np.asarray(signal.zpk2sos(*signal.bilinear_zpk(-zeros, -poles, 1.0, rate_hz)))


def _lines(values: Array, rate_hz: float) -> Layer:
    """Courses (rows, knots) at every sample, along straight lines between their knots."""

    def layer(start: int, count: int) -> Array:
        at = (start + np.arange(count)) * (KNOTS_HZ / rate_hz)
        knot = at.astype(np.int64)
        share = at - knot
        return np.asarray(values[:, knot] * (1 - share) + values[:, knot + 1] * share)

    return layer


def _wander(shape: tuple[int, ...], pull_s: float, rng: np.random.Generator) -> Array:
    """Random walks along the first axis (knots) with a pull back to zero, sd 1."""
    keep = np.exp(-1 / (pull_s * KNOTS_HZ))
    steps = rng.standard_normal(shape) * np.sqrt(1 - keep**2)
    steps[0] /= np.sqrt(1 - keep**2)
    return np.asarray(signal.lfilter([1], [1, -keep], steps, axis=0))


def _ease(steps: Array, lag_s: float) -> Array:
    """Steps along the first axis (knots) as something sluggish follows them."""
    keep = np.exp(-1 / (lag_s * KNOTS_HZ))
    return np.asarray(signal.lfilter([1 - keep], [1, -keep], steps, axis=0))
