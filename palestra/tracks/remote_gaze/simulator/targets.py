"""What people are asked to look at: a point that jumps on the screen, one that glides there, a ball in the air."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Display, Screen, World
from palestra.tracks.remote_gaze.simulator.stage import SCREEN_PX

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

JUMP_S = 1.1  # between two places of DS
CURVE_S = 2.0  # of CS
WINDOW_PX = (470, 330)  # in which a curve's control points lie
BALL_MIDDLE_M, BALL_REACH_M = (0.0, 0.015, 0.37), (0.27, 0.13, 0.15)
FASTEST_HZ = 0.22  # of the waves that the ball's way is made of
FACE_M = 0.06  # about the line from the cameras to the eyes, where the ball would hide them


@dataclass(frozen=True)
class Shown:
    """A target over time."""

    points: World  # (n, 3)
    pixels: Screen | None  # (n, 2) on the screen
    jumps: Ints  # samples at which it is suddenly elsewhere
    glides: bool  # moves between jumps


def show(target: str, at_s: Floats, display: Display, eyes: World, rng: np.random.Generator) -> Shown:
    """DS, CS or FT, at these times. `eyes` is where the person's are, roughly."""
    if target == "FT":
        return Shown(_ball(at_s, eyes, rng), None, np.zeros(0, dtype=np.int64), True)
    every_s = JUMP_S if target == "DS" else CURVE_S
    # A tenth of a nanosecond: 3.3 s are three jumps, whatever the binary numbers say.
    index = np.floor(at_s / every_s + 1e-10).astype(np.int64)
    pixels = _places(index, rng) if target == "DS" else _curves(index, at_s - index * every_s, rng)
    jumps = np.flatnonzero(np.diff(index)) + 1
    return Shown(display.point_of(Screen(pixels)), Screen(pixels), jumps, target == "CS")


def _places(index: Ints, rng: np.random.Generator) -> Floats:
    """Anywhere on the screen, whole pixels."""
    places = np.stack([rng.integers(0, size, index[-1] + 1) for size in SCREEN_PX], axis=1)
    return np.asarray(places[index], dtype=np.float64)


def _curves(index: Ints, since_s: Floats, rng: np.random.Generator) -> Floats:
    """Quadratic Bézier curves, each in a window of its own somewhere on the screen."""
    count = int(index[-1]) + 1
    corner = rng.uniform(0, np.array(SCREEN_PX) - 1 - WINDOW_PX, (count, 1, 2))
    controls = (corner + rng.uniform(0, WINDOW_PX, (count, 3, 2)))[index]
    share = np.clip(since_s / CURVE_S, 0, 1)[:, None]
    return np.asarray(
        (1 - share) ** 2 * controls[:, 0] + 2 * share * (1 - share) * controls[:, 1] + share**2 * controls[:, 2]
    )


def waves(at_s: Floats, fastest_hz: float, rng: np.random.Generator, count: int = 4) -> Floats:
    """A smooth movement to and fro that does not repeat soon; its sd is 1 over long times."""
    rates = fastest_hz * rng.uniform(0.15, 1.0, count)
    sizes = rng.uniform(0.5, 1.0, count)
    phases = rng.uniform(0, 2 * np.pi, count)
    moved = np.sin(2 * np.pi * rates * at_s[:, None] + phases) @ sizes
    return np.asarray(moved / np.sqrt((sizes**2).sum() / 2))


def _ball(at_s: Floats, eyes: World, rng: np.random.Generator) -> World:
    """Moved by hand in the space between the cameras and the person, mostly not where it hides the eyes."""
    swing = np.stack([np.tanh(0.9 * waves(at_s, FASTEST_HZ, rng)) for _ in range(3)], axis=1)
    middle = np.array(BALL_MIDDLE_M) + np.array([0.0, 0.0, 0.4 * (eyes[2] + 0.2)])
    place = middle + swing * np.array(BALL_REACH_M)
    lens = np.array([0.0, 0.0, 1.0])
    share = (place[:, 2:] - lens[2]) / (eyes[2] - lens[2])
    away = (place - (lens + share * (eyes - lens)))[:, :2]
    far = np.linalg.norm(away, axis=1, keepdims=True)
    # Pushed out of the way, more the nearer it is; in the very middle it passes quickly.
    pushed = FACE_M * np.exp(-far / FACE_M) * far / (far + 0.02)
    place[:, :2] += away / np.maximum(far, 1e-9) * pushed
    return World(place)
