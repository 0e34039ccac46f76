"""Layers of a picture: their sizes, the noise they are made of, and the part of the picture that moves.

Still layers have half the picture's size: the focus blur leaves nothing finer. A half-size pixel i covers the pixels
2i and 2i + 1, so its centre lies at 2i + 0.5.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

HEIGHT, WIDTH = 400, 640
HALF_SIZE = HEIGHT // 2, WIDTH // 2
CELL_PX = 10  # light and relief are smooth: they are computed on a coarse grid and enlarged
BANK = 1024


@lru_cache(maxsize=1)
def noise_bank() -> tuple[Array, Array, Array, Array]:
    """Tiles of unit noise: grain, then ever softer blotches. The same for all; people take different cut-outs."""
    rng = np.random.default_rng(20200525)
    grain = rng.standard_normal((BANK, BANK), dtype=np.float32)
    tiles = [grain]
    for size, sigma in ((BANK, 1.5), (BANK // 4, 1.5), (BANK // 16, 1.5)):
        tile: Array = rng.standard_normal((size, size), dtype=np.float32)
        tile = cv2.resize(cv2.GaussianBlur(tile, (0, 0), sigma), (BANK, BANK), interpolation=cv2.INTER_CUBIC)
        tiles.append(((tile - tile.mean()) / tile.std()).astype(np.float32))
    return tiles[0], tiles[1], tiles[2], tiles[3]


def cut_out(tile: Array, height: int, width: int, rng: np.random.Generator) -> Array:
    """A random part of a tile, mirrored at random."""
    top, left = rng.integers(0, BANK - height + 1), rng.integers(0, BANK - width + 1)
    part = tile[top : top + height, left : left + width]
    return part[:: 1 - 2 * int(rng.integers(2)), :: 1 - 2 * int(rng.integers(2))]


def coarse_pixels() -> Array:
    """Centres of the coarse grid's cells, placed where cv2.resize expects them."""
    x = (np.arange(WIDTH // CELL_PX) + 0.5) * CELL_PX - 0.5
    y = (np.arange(HEIGHT // CELL_PX) + 0.5) * CELL_PX - 0.5
    return np.stack(np.meshgrid(x, y), axis=-1)


def enlarged(coarse: Array) -> Array:
    return np.asarray(cv2.resize(coarse.astype(np.float32), HALF_SIZE[::-1], interpolation=cv2.INTER_CUBIC))


def halved(picture: Array) -> Array:
    return np.asarray(cv2.resize(picture, HALF_SIZE[::-1], interpolation=cv2.INTER_AREA).astype(np.float32))


@dataclass(frozen=True)
class Region:
    """The part of the picture that lids, lashes and gaze can change, on even pixels."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def full(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def half(self) -> tuple[slice, slice]:
        return slice(self.top // 2, self.bottom // 2), slice(self.left // 2, self.right // 2)

    @property
    def half_columns_px(self) -> Array:
        return np.arange(self.left, self.right, 2) + 0.5

    @property
    def half_rows_px(self) -> Array:
        return (np.arange(self.top, self.bottom, 2, dtype=np.float32) + np.float32(0.5))[:, None]
