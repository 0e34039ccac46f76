"""Maps of a head: pictures of all directions, and what is drawn on them.

A map is Lambert's equal-area projection about straight ahead, so that a point becomes a place on it with two roots and
no angle, and the face has the finest pixels.
"""

import cv2
import numpy as np
import numpy.typing as npt

Map = npt.NDArray[np.float32]

SIDE_PX = 1024  # of a map; a pixel of the face is 0.4 mm
DRAWN_PX = 512  # of what is drawn without its finest grain, which saves three quarters of the time


def map_places(x: Map, y: Map, z: Map, length: Map) -> tuple[Map, Map]:
    """Columns and rows of the map for points of the head's frame."""
    scale = np.float32(SIDE_PX / 2) / np.sqrt(2 * length * np.maximum(length + z, np.float32(1e-4) * length))
    middle = np.float32((SIDE_PX - 1) / 2)
    return middle + x * scale, middle - y * scale


def directions(side_px: int) -> Map:
    """(side, side, 3) the direction of each pixel; those off the disc take that of its rim."""
    along = (np.arange(side_px, dtype=np.float32) + 0.5) / np.float32(side_px / 2) - 1
    across, up = np.meshgrid(along, -along)
    far = np.hypot(across, up)
    keep = np.minimum(1, np.float32(0.9999) / np.maximum(far, 1e-9))
    across, up, far = across * keep, up * keep, np.minimum(far, np.float32(0.9999))
    side = 2 * np.sqrt(1 - far**2)
    return np.stack([across * side, up * side, 1 - 2 * far**2], axis=-1).astype(np.float32)


class Grain:
    """Textures that a head's maps share, each of sd 1."""

    def __init__(self, side_px: int, rng: np.random.Generator) -> None:
        white = rng.standard_normal((side_px, side_px), dtype=np.float32)
        scale = side_px / SIDE_PX
        self.fine = _levelled(smoothed(white, 1.0))
        self.middle = _levelled(smoothed(np.roll(white, 311, axis=0), 6.0 * scale))
        self.coarse = _levelled(smoothed(np.roll(white, 517, axis=1), 28.0 * scale))
        self.strands = _strands(side_px, rng)


def _strands(side_px: int, rng: np.random.Generator) -> Map:
    """Noise that is long from the crown outwards, as hair lies: drawn round the crown and brought to the map."""
    wide = smoothed(rng.standard_normal((256, 1400), dtype=np.float32), 1.0, 14.0)
    x, y, z = np.moveaxis(directions(side_px), -1, 0)
    away = np.arctan2(np.hypot(x, z + np.float32(0.35)), y)  # from the crown, which lies a little behind the top
    turn = np.arctan2(x, z + np.float32(0.35))
    columns = ((turn / (2 * np.pi) + 0.5) * 1399).astype(np.float32)
    rows = (away / np.pi * 255).astype(np.float32)
    return _levelled(np.asarray(cv2.remap(wide, columns, rows, cv2.INTER_LINEAR), np.float32))


def _levelled(noise: Map) -> Map:
    return np.asarray((noise - noise.mean()) / noise.std(), dtype=np.float32)


def smoothed(values: Map, across_px: float, down_px: float = 0.0) -> Map:
    return np.asarray(cv2.GaussianBlur(values, (0, 0), across_px, sigmaY=down_px or across_px), dtype=np.float32)


def step(value: Map, width: float) -> Map:
    """0 far below zero, 1 far above it, and soft between."""
    return np.asarray(1 / (1 + np.exp(np.clip(-value / np.float32(width), -30, 30))), dtype=np.float32)


def spot(place: Map, at: tuple[float, float], size: tuple[float, float], sharp: float = 2.0) -> Map:
    """1 at a place of the face (x, y in millimetres) on both sides of its middle, 0 far from it."""
    x, y, z = np.abs(place[..., 0]), place[..., 1], place[..., 2]
    far = np.abs((x - np.float32(at[0])) / np.float32(size[0])) ** np.float32(sharp)
    far += np.abs((y - np.float32(at[1])) / np.float32(size[1])) ** np.float32(sharp)
    return np.asarray(np.exp(-far) * (z > 0), dtype=np.float32)


def lip(place: Map, y_mm: float, half_mm: float, half_width_mm: float) -> Map:
    """A ridge across the mouth, lower at its corners; the upper one dips in its middle."""
    x, y, z = np.moveaxis(place, -1, 0)
    bent = y - np.float32(y_mm) + np.float32(0.0016) * x**2
    if y_mm > -60:
        bent += np.float32(1.4) * np.exp(-((x / 5) ** 2))
    ridge = np.exp(-((bent / np.float32(half_mm)) ** 2) - np.abs(x / np.float32(half_width_mm)) ** 5)
    return np.asarray(ridge * (z > 0), dtype=np.float32)
