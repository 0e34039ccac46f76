"""How a recording goes: the head rests or turns, the eyes follow the target, blink and wander off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from palestra.eyes.simulator.movements import Mover, Trace, watch
from palestra.eyes.simulator.targets import MOVING, STATIC, Targets
from palestra.metrics.transforms import Display, Screen, World
from palestra.tracks.remote_gaze.simulator.person import Person
from palestra.tracks.remote_gaze.simulator.stage import rotations
from palestra.tracks.remote_gaze.simulator.targets import Shown, show, waves

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

RATE_HZ = 30
FINER = 10  # the eyes see the target at 300 Hz
NECK_M = np.array([0.0, -0.088, -0.018])  # the joint that a head turns about, in the head's frame
BLINK_OPENING = 0.7  # lids that are open to less are annotated as a blink
DISTRACTIONS_PER_MIN = 1.2
DISTRACTION_S = (0.5, 1.3)
LOOKING_BACK_S = 0.4  # after a distraction until the target is looked at again
# Yaw, pitch and roll of a head, in degrees: how far it goes, and about which pitch.
STATIC_DEG, MOVING_DEG, PITCH_DEG = (2.4, 2.0, 1.2), (42.0, 27.0, 9.0), 6.0
EYE_REACH_DEG = (36.0, 27.0)  # how far eyes turn in the head before the head gives in


@dataclass(frozen=True)
class Motion:
    """A recording's frames: what truly happened."""

    rotations: Floats  # (n, 3, 3) of the head
    translations: Floats  # (n, 3)
    gaze: Floats  # (n, 2, 3) visual axes of the left and the right eye, in the world, unit
    opening: Floats  # (n,)
    pupil_mm: Floats  # (n,)
    target: World  # (n, 3)
    pixels: Screen | None  # (n, 2)
    blinking: Bools  # (n,)
    away: Bools  # (n,) not looking at the target


@dataclass(frozen=True)
class Script:
    """What is recorded."""

    target: str  # DS, CS, FT
    head: str  # S, M
    seat: World  # where the head is at rest
    frames: int
    every: int = 1  # of the frames at 30 Hz, how many are gone on by from one to the next that is kept


def record(script: Script, person: Person, mover: Mover, display: Display, rng: np.random.Generator) -> Motion:
    at_s = np.arange((script.frames * script.every - 1) * FINER + 1) / (RATE_HZ * FINER)
    eyes_m = person.eyes_mm / 1000
    shown = show(script.target, at_s, display, World(script.seat + eyes_m.mean(axis=0)), rng)
    turned, translations = _head(script, at_s, shown, rng)
    middle = translations + turned @ eyes_m.mean(axis=0)
    attended, jumps, away = _attended(shown, at_s, middle, rng)
    targets = Targets(at_s, 100 * (attended - middle), _statuses(shown, jumps), RATE_HZ * FINER, script.target)
    left, right = _watch(targets, mover, rng)
    kept = np.arange(script.frames) * script.every * FINER
    eyes = translations[kept, None] + (turned[kept, None] @ eyes_m[..., None])[..., 0]
    looked_at = middle + _unit(left.gaze + right.gaze) * np.linalg.norm(attended - middle, axis=1, keepdims=True)
    return Motion(
        rotations=turned[kept],
        translations=translations[kept],
        gaze=_unit(looked_at[kept][:, None] - eyes),
        opening=left.opening[kept],
        pupil_mm=left.pupil_mm[kept],
        target=World(shown.points[kept]),
        pixels=None if shown.pixels is None else Screen(shown.pixels[kept]),
        blinking=left.opening[kept] < BLINK_OPENING,
        away=away[kept],
    )


def _watch(targets: Targets, mover: Mover, rng: np.random.Generator) -> tuple[Trace, Trace]:
    """Both eyes of one person: they share every movement but the turn towards each other."""
    seed = int(rng.integers(2**62))
    calm = replace(mover, distractions_per_min=0.0)  # ours are annotated, so they are made here
    left = watch(targets, calm, "left", np.random.default_rng(seed))
    return left, watch(targets, calm, "right", np.random.default_rng(seed))


def _head(script: Script, at_s: Floats, shown: Shown, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rotations (n, 3, 3) and translations (n, 3): it turns about the neck, which sways a little."""
    still = script.head == "S"
    reach = np.array(STATIC_DEG if still else MOVING_DEG)
    swing = np.stack([waves(at_s, 0.12 if still else 0.28, rng) for _ in range(3)], axis=1)
    angles = reach * (swing * 0.6 if still else np.tanh(0.85 * swing))
    angles += np.array([rng.normal(0, 1.5), PITCH_DEG + rng.normal(0, 2.0), rng.normal(0, 1.5)])
    if not still:
        angles[:, :2] = _within_reach(angles[:, :2], shown.points - script.seat, at_s)
    turned = rotations(np.radians(angles))
    sway = np.stack([waves(at_s, 0.15, rng) for _ in range(3)], axis=1) * (0.004 if still else 0.010)
    neck = script.seat + NECK_M + sway
    return turned, neck - turned @ NECK_M


def _within_reach(angles: Floats, towards: Floats, at_s: Floats) -> Floats:
    """Yaw and pitch of a head whose eyes can still see the target: where they could not, it turns less."""
    side, up, ahead = towards.T
    wish = np.degrees(np.stack([np.arctan2(side, ahead), np.arctan2(up, np.hypot(side, ahead))], axis=1))
    count = min(len(at_s), 2 * RATE_HZ * FINER)
    window = np.hanning(count + 2)[1:-1]
    padded = np.pad(wish, ((count // 2, count - 1 - count // 2), (0, 0)), mode="edge")
    smooth = np.stack([np.convolve(axis, window / window.sum(), "valid") for axis in padded.T], axis=1)
    most = np.array(EYE_REACH_DEG)
    return np.asarray(smooth + most * np.tanh((angles - smooth) / most))


def _attended(shown: Shown, at_s: Floats, middle: Floats, rng: np.random.Generator) -> tuple[Floats, list[int], Bools]:
    """What is looked at (n, 3), the samples at which that suddenly changes, and when (n,) it is not the target."""
    attended, away = shown.points.copy(), np.zeros(len(at_s), dtype=bool)
    jumps = shown.jumps.tolist()
    for _ in range(max(1, rng.poisson(DISTRACTIONS_PER_MIN * at_s[-1] / 60))):
        length = round(rng.uniform(*DISTRACTION_S) * RATE_HZ * FINER)
        begin = int(rng.integers(1, max(2, len(at_s) - length)))
        end = min(begin + length, len(at_s))
        turn, size = rng.uniform(0, 2 * np.pi), np.radians(rng.uniform(8, 18))
        side = np.array([np.cos(turn), 0.7 * np.sin(turn), 0.0]) * np.tan(size)
        there = shown.points[begin] - middle[begin]
        attended[begin:end] = middle[begin] + there + np.linalg.norm(there) * side
        away[begin : end + round(LOOKING_BACK_S * RATE_HZ * FINER)] = True
        jumps = [jump for jump in jumps if not begin <= jump <= end] + [begin, end]
    return attended, sorted({jump for jump in jumps if jump < len(at_s) - 3}), away


def _statuses(shown: Shown, jumps: list[int]) -> npt.NDArray[np.uint8]:
    """Moving where the target glides; each jump is a movement of one sample, at rest on both sides."""
    status = np.full(len(shown.points), MOVING if shown.glides else STATIC, dtype=np.uint8)
    status[[0, -1]] = STATIC
    for jump in jumps:
        status[max(0, jump - 2) : jump + 3] = STATIC
    status[jumps] = MOVING
    return status


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
