"""What trackers make of a recording: the head, the eyes and the ball as they are found, a little off or not at all."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Head
from palestra.tracks.remote_gaze.simulator.motion import RATE_HZ, Motion
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.simulator.stage import rotations
from palestra.tracks.remote_gaze.simulator.targets import waves

Floats = npt.NDArray[np.float64]

# Sd of a slow error and of one from frame to frame, on each axis.
TURN_DEG, SHIFT_M, BALL_M = (0.12, 0.05), (0.00025, 0.00008), (0.0008, 0.0004)
SLOW_HZ = 0.4
EYEBALL_M = 0.0006  # how far off a person's eyeballs are thought to be
LOSSES_PER_FRAME, LONGEST_LOSS = 0.003, 8  # spells without a head, and their frames
BALLS_LOST = 0.004  # of all frames


@dataclass(frozen=True)
class Tracked:
    """What the data set says of each frame."""

    rotations: Floats  # (n, 3, 3)
    translations: Floats  # (n, 3)
    eyes: Floats  # (n, 2, 3)
    target: Floats  # (n, 3); not a number where the ball was not found
    available: npt.NDArray[np.bool_]  # (n,) whether the head was found


def approximate_eyes_m(person: Person, rng: np.random.Generator) -> Head:
    """(2, 3) a person's eyeballs, as a face model tells them."""
    return Head(person.eyes_mm / 1000 + rng.normal(0, EYEBALL_M, (2, 3)))


def track(motion: Motion, eyes_m: Head, every: int, rng: np.random.Generator) -> Tracked:
    """`eyes_m` is where the eyeballs are thought to be, `every` how many frames at 30 Hz lie between two of these."""
    at_s = np.arange(len(motion.translations)) * every / RATE_HZ
    turned = rotations(np.radians(_errors(at_s, TURN_DEG, rng))) @ motion.rotations
    translations = motion.translations + _errors(at_s, SHIFT_M, rng)
    eyes = translations[:, None] + (turned[:, None] @ eyes_m[..., None])[..., 0]
    target = motion.target.copy()
    if motion.pixels is None:
        target += _errors(at_s, BALL_M, rng)
        target[rng.random(len(at_s)) < BALLS_LOST] = np.nan
    return Tracked(turned, translations, eyes, target, _available(len(at_s), rng))


def _errors(at_s: Floats, sizes: tuple[float, float], rng: np.random.Generator) -> Floats:
    slow = np.stack([waves(at_s, SLOW_HZ, rng) for _ in range(3)], axis=1)
    return np.asarray(sizes[0] * slow + sizes[1] * rng.standard_normal(slow.shape))


def _available(frames: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """False in spells in which the head is lost; every recording has one."""
    found = np.ones(frames, dtype=bool)
    for _ in range(max(1, rng.poisson(LOSSES_PER_FRAME * frames))):
        begin = int(rng.integers(1, max(2, frames - 1)))
        found[begin : begin + int(rng.integers(1, LONGEST_LOSS + 1))] = False
    return found
