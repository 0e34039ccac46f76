"""Where the dot is that people are asked to watch: the patterns of the recordings, as points in headset axes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

STATUSES = ("static", "moving", "settling")  # settling: just finished moving, the eye catches up
STATIC, MOVING, SETTLING = range(3)

RADIUS_DEG = 20.0  # of the ring, and half the opening of the cone
RING_FIXATIONS = 17
MOST_RANDOM_FIXATIONS = 20
FIXATION_S = 1.0
PURSUIT_S = 1.0
JUMP_S = 0.1
SETTLING_S = 0.4  # reaction, saccade and correction are over by then
NEAREST_CM, FARTHEST_CM = 50.0, 600.0
FREE_DEPTH_CM = 100.0
FREE_HALF_WIDTH_DEG, FREE_HALF_HEIGHT_DEG = 24.0, 14.0


@dataclass(frozen=True)
class Targets:
    """A target over time. Axes: X left, Y up, Z forward, from the person's view; origin midway between the eyes."""

    time_s: Array  # (n,)
    point_cm: Array  # (n, 3)
    status: npt.NDArray[np.uint8]  # (n,) index into STATUSES
    rate_hz: float
    pattern: str  # ring, random, free


def ring_pattern(depth_cm: float, rate_hz: float = 100.0) -> Targets:
    """A ring walked once: 17 fixations joined by 16 pursuits. The same for all people; only its depth differs."""
    turn = np.linspace(0.0, 2 * np.pi, RING_FIXATIONS)
    # The target goes along the arc, so the turn is interpolated and not the point.
    time_s, step, share, status = _schedule(np.full(RING_FIXATIONS, FIXATION_S), PURSUIT_S, rate_hz)
    angle = turn[step] + share * (turn[1] - turn[0])
    points = _places(np.full(len(angle), RADIUS_DEG), angle, np.full(len(angle), depth_cm))
    return Targets(time_s, points, status, rate_hz, "ring")


def random_pattern(rng: np.random.Generator, rate_hz: float = 100.0) -> Targets:
    """Up to 20 places in a cone at any depth, one after another, with jumps of 0.1 s."""
    count = int(rng.integers(MOST_RANDOM_FIXATIONS - 3, MOST_RANDOM_FIXATIONS + 1))
    # The square root spreads places evenly over the cone's face.
    away_deg = RADIUS_DEG * np.sqrt(rng.random(count))
    places = _places(away_deg, rng.uniform(0, 2 * np.pi, count), rng.uniform(NEAREST_CM, FARTHEST_CM, count))
    return _jumping(places, np.full(count, FIXATION_S), JUMP_S, rate_hz, "random")


def free_viewing_pattern(rng: np.random.Generator, seconds: float = 60.0, rate_hz: float = 1000.0) -> Targets:
    """What a person looks at who looks about freely: many small steps, some across the whole field.

    The target stands for the person's own wish, so it jumps within one sample.
    """
    holds_s = _free_holds(seconds, rng)
    yaw_deg, pitch_deg = _free_walk(len(holds_s), rng)
    x = FREE_DEPTH_CM * np.tan(np.radians(yaw_deg))
    y = FREE_DEPTH_CM * np.tan(np.radians(pitch_deg))
    places = np.stack([x, y, np.full(len(x), FREE_DEPTH_CM)], axis=1)
    return _jumping(places, holds_s, 1.0 / rate_hz, rate_hz, "free")


def plane_points(n: int, half_width: float, half_height: float, rng: np.random.Generator) -> Array:
    """(n, 2) points that cover a display plane evenly: one at random in each cell of a grid, in random order."""
    columns = max(1, round(float(np.sqrt(n * half_width / half_height))))
    rows = -(-n // columns)
    # The last cells are left out at random, so that no corner of the plane is always the empty one.
    cells = rng.permutation(rows * columns)[:n]
    x = (cells % columns + rng.random(n)) / columns
    y = (cells // columns + rng.random(n)) / rows
    return np.stack([(2 * x - 1) * half_width, (2 * y - 1) * half_height], axis=1)


def _places(away_deg: Array, turn_rad: Array, depth_cm: Array) -> Array:
    """Points at an angle from straight ahead, in a direction around it, on the plane at a depth."""
    across = depth_cm * np.tan(np.radians(away_deg))
    return np.stack([across * np.cos(turn_rad), across * np.sin(turn_rad), depth_cm], axis=1)


def _schedule(
    holds_s: Array, move_s: float, rate_hz: float
) -> tuple[Array, npt.NDArray[np.int64], Array, npt.NDArray[np.uint8]]:
    """For each sample: its time, the place it is at or leaves, the share of the way to the next, and the status."""
    holds = np.maximum(1, np.round(holds_s * rate_hz)).astype(np.int64)
    moves = np.full(len(holds), max(1, round(move_s * rate_hz)), dtype=np.int64)
    moves[-1] = 0
    step = np.repeat(np.arange(len(holds)), holds + moves)
    starts = np.concatenate([[0], np.cumsum(holds + moves)[:-1]])
    since = np.arange(len(step)) - starts[step]
    moving = since >= holds[step]
    share = np.where(moving, (since - holds[step] + 1) / np.maximum(1, moves[step] + 1), 0.0)
    settling = ~moving & (since < SETTLING_S * rate_hz) & (step > 0)
    status = np.where(moving, MOVING, np.where(settling, SETTLING, STATIC)).astype(np.uint8)
    return np.arange(len(step)) / rate_hz, step, share, status


def _jumping(places: Array, holds_s: Array, jump_s: float, rate_hz: float, pattern: str) -> Targets:
    time_s, step, share, status = _schedule(holds_s, jump_s, rate_hz)
    following = places[np.minimum(step + 1, len(places) - 1)]
    points = places[step] + share[:, None] * (following - places[step])
    return Targets(time_s, points, status, rate_hz, pattern)


def _free_holds(seconds: float, rng: np.random.Generator) -> Array:
    """How long each place is looked at, until the time is full."""
    holds_s = rng.lognormal(np.log(0.70), 0.80, int(seconds * 8) + 8).clip(0.09, 5.0)
    return holds_s[: int(np.searchsorted(np.cumsum(holds_s), seconds)) + 1]


def _free_walk(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Steps of mixed size within a wide field; one that would leave it is turned until it does not."""
    far = rng.random(count) < 0.32
    sizes = np.where(far, rng.uniform(10.0, 42.0, count), rng.lognormal(np.log(3.4), 0.9, count).clip(0.3, 12.0))
    place = np.zeros((count, 2))
    for i in range(1, count):
        place[i] = _step_within(place[i - 1], float(sizes[i]), rng)
    return place[:, 0], place[:, 1]


def _step_within(place: Array, size_deg: float, rng: np.random.Generator) -> Array:
    """A step of this size in the first random direction that stays in the field; shorter if none does."""
    turns = rng.uniform(0, 2 * np.pi, 24)
    # Large looks go sideways far more often than up or down.
    turns[::2] = np.where(rng.random(12) < 0.5, 0.0, np.pi) + rng.normal(0.0, 0.25, 12)
    tries = place + size_deg * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    inside = (np.abs(tries[:, 0]) <= FREE_HALF_WIDTH_DEG) & (np.abs(tries[:, 1]) <= FREE_HALF_HEIGHT_DEG)
    chosen = tries[int(np.argmax(inside))]
    limits = np.array([FREE_HALF_WIDTH_DEG, FREE_HALF_HEIGHT_DEG])
    return np.asarray(np.clip(chosen, -limits, limits))
