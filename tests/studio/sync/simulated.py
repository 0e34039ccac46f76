"""LEDs that run a Gray code, as a camera with a clock of its own sees them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.studio.sync.brightness import Readings
from palestra.studio.sync.gray_code import code_bits

DARK, LIT, NOISE = 40.0, 170.0, 9.0


@dataclass(frozen=True)
class Board:
    """The LEDs; their own clock is a little off, as clocks are."""

    count: int = 5
    step_s: float = 0.107
    phase: float = 11.3  # steps, at time 0
    on_s: float = -1e9
    off_s: float = 1e9

    def shown(self, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Which are lit at each moment of the true time (moments × LEDs)."""
        bits = code_bits(self.count)
        code = np.floor(self.phase + at_s / (self.step_s * 1.0021)).astype(np.int64) % len(bits)
        is_on = (at_s >= self.on_s) & (at_s < self.off_s)
        return bits[code] * is_on[..., None]


@dataclass(frozen=True)
class Camera:
    """Takes a frame each 1/fps by its own clock: true time = start_s + (1 + ppm · 1e-6) · its time."""

    fps: float = 30.0
    start_s: float = 0.0
    ppm: float = 0.0
    exposure: float = 0.5  # of a frame
    wrong: float = 0.0  # of the readings
    dropped: float = 0.0  # of the frames, their times known
    lost: int = 0  # frames, in times that go on as if nothing had happened

    def frames(self, seconds: float, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The time that each frame says it has, and its true time."""
        rng = np.random.default_rng([seed, 1])
        at_s = np.arange(round(seconds * self.fps)) / self.fps
        true_s = self.start_s + (1 + self.ppm * 1e-6) * at_s
        kept = rng.random(len(at_s)) >= self.dropped
        kept[[0, -1]] = True
        at_s, true_s = at_s[kept], true_s[kept]
        gone = rng.choice(np.arange(200, len(at_s) - 200), self.lost, replace=False)
        return at_s[: len(at_s) - self.lost], np.delete(true_s, gone)

    def levels(self, board: Board, true_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much of the exposure each LED is lit."""
        parts = (np.arange(64) - 31.5) / 64 * self.exposure / self.fps
        return np.mean([board.shown(true_s + part) for part in parts], axis=0)

    def readings(self, board: Board, seconds: float, seed: int = 0, name: str = "a.mp4") -> Readings:
        rng = np.random.default_rng([seed, 2])
        at_s, true_s = self.frames(seconds, seed)
        level = self.levels(board, true_s)
        level = np.where(rng.random(level.shape) < self.wrong, 1 - level, level)
        grey = DARK + (LIT - DARK) * level + rng.normal(0, NOISE, level.shape)
        return Readings(name, at_s, grey, (640, 480))
