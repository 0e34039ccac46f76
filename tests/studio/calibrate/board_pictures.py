"""Drawn pictures of boards: a flat board before a pin-hole camera with a lens that bends, noise and blur."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.studio.calibrate.boards import Board
from palestra.studio.calibrate.turns import matrix_of

Floats = NDArray[np.float64]

SQUARE_PX = 48
FINER = 2  # drawn so much larger, then averaged


@dataclass(frozen=True)
class Lens:
    """A camera that is known."""

    size: tuple[int, int] = (640, 480)
    focal: float = 560.0
    centre: tuple[float, float] = (326.0, 236.0)
    bend: tuple[float, ...] = (-0.18, 0.06, 0.0005, -0.0004, 0.0)

    @property
    def matrix(self) -> Floats:
        return np.array([[self.focal, 0, self.centre[0]], [0, self.focal * 1.003, self.centre[1]], [0, 0, 1]])


def poses(count: int, seed: int = 0, tilt_deg: float = 35.0, near_m: float = 0.35, far_m: float = 0.6) -> list:
    """How the board is held: its middle all over the picture, tilted to all sides."""
    rng = np.random.default_rng(seed)
    out = []
    for index in range(count):
        turn = np.radians([*rng.uniform(-tilt_deg, tilt_deg, 2), rng.uniform(-10, 10)])
        across = np.array([[-1, -1], [1, -1], [0, 0], [-1, 1], [1, 1]])[index % 5] * [0.22, 0.16]
        depth = rng.uniform(near_m, far_m)
        out.append((matrix_of(turn), np.array([*(across + rng.normal(0, 0.03, 2)) * depth, depth])))
    return out


def draw(
    board: Board, lens: Lens, rotation: Floats, place: Floats, seed: int = 0, noise: float = 3.0, blur_px: float = 0.6
) -> NDArray[np.uint8]:
    """The board as a camera sees it; its middle is at `place`."""
    middle = board.points.mean(axis=0)
    # From the drawn board's pixels to its metres: the first inner corner is a square and the margin from the edge.
    metre = board.square_mm / 1000 / SQUARE_PX
    first = 1.5 * SQUARE_PX - 0.5
    flat = np.array([[metre, 0, -first * metre - middle[0]], [0, metre, -first * metre - middle[1]], [0, 0, 1]])
    home = np.column_stack([rotation[:, 0], rotation[:, 1], place])
    finer = np.array([[FINER, 0, (FINER - 1) / 2], [0, FINER, (FINER - 1) / 2], [0, 0, 1]])
    wide, high = (side * FINER for side in lens.size)
    drawn = board.drawn(SQUARE_PX)
    straight = cv2.warpPerspective(
        drawn, finer @ lens.matrix @ home @ flat, (wide, high), flags=cv2.INTER_AREA, borderValue=160
    )
    v, u = np.indices((high, wide), np.float64)
    pixels = np.stack([(u - (FINER - 1) / 2) / FINER, (v - (FINER - 1) / 2) / FINER], axis=-1).reshape(-1, 1, 2)
    sources = cv2.undistortPoints(pixels, lens.matrix, np.array(lens.bend), P=finer @ lens.matrix)
    maps = sources.reshape(high, wide, 2).astype(np.float32)
    bent = cv2.remap(straight, maps, None, cv2.INTER_LINEAR, borderValue=160)
    small = cv2.resize(bent, lens.size, interpolation=cv2.INTER_AREA)
    if blur_px:
        small = cv2.GaussianBlur(small, (0, 0), blur_px)
    noisy = 20 + small * 0.8 + np.random.default_rng(seed).normal(0, noise, small.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def write(folder: Path, board: Board, lens: Lens, held: list, noise: float = 3.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for index, (rotation, place) in enumerate(held):
        cv2.imwrite(str(folder / f"{index:02d}.png"), draw(board, lens, rotation, place, index, noise))
    return folder
