"""Reflectances of the iris, the white and the upper lid, each a texture of its own that moves with them."""

import cv2
import numpy as np

from palestra.eyes.simulator.layers import Array, cut_out, noise_bank
from palestra.eyes.simulator.scene import Person

IRIS_RINGS, IRIS_SPOKES = 64, 512


def iris_texture(person: Person, rng: np.random.Generator) -> Array:
    """Near-infrared iris, rings × spokes from the pupil's edge to the limbus: fibres, collarette, crypts."""
    _, fine, mid, coarse = noise_bank()
    size = (IRIS_RINGS, IRIS_SPOKES)
    ring = np.linspace(0, 1, IRIS_RINGS, dtype=np.float32)[:, None]
    fibres = cv2.resize(cut_out(fine, 8, IRIS_SPOKES, rng), size[::-1], interpolation=cv2.INTER_CUBIC)
    fibres = 0.7 * fibres + 0.6 * cv2.resize(cut_out(mid, 40, IRIS_SPOKES, rng), size[::-1])
    crypts = np.minimum(cut_out(mid, *size, rng) + 0.9, 0) * np.exp(-(((ring - 0.45) / 0.28) ** 2))
    blotch = cut_out(coarse, *size, rng)
    wave = person.collarette + 0.05 * blotch[IRIS_RINGS // 2]
    collarette = np.exp(-(((ring - wave) / 0.09) ** 2)) - 0.5 * np.exp(-(((ring - wave + 0.16) / 0.1) ** 2))
    value = 1 + person.iris_contrast * (0.55 * fibres + 0.8 * crypts + 0.55 * collarette + 0.35 * blotch)
    value *= 1 - 0.12 * np.exp(-ring / 0.05) - person.limbus_dark * np.clip((ring - 0.72) / 0.28, 0, 1) ** 2
    seam = np.minimum(np.arange(IRIS_SPOKES), np.arange(IRIS_SPOKES)[::-1]) / 24  # the last spoke meets the first
    blend = np.clip(0.5 + 0.5 * seam, 0, 1).astype(np.float32)
    value = blend * value + (1 - blend) * value[:, ::-1]
    value = np.concatenate([value, value[:, :1]], axis=1)  # so that interpolation may run over the seam
    return np.asarray(np.clip(value, 0.25, 2.2) * person.iris_tone, dtype=np.float32)


def sclera_texture(person: Person, height: int, width: int, rng: np.random.Generator) -> Array:
    """White of the eye with blotches and vessels that creep in from both sides."""
    _, _, mid, coarse = noise_bank()
    value = 1 + 0.06 * cut_out(coarse, height, width, rng) + 0.02 * cut_out(mid, height, width, rng)
    vessels = np.zeros((height, width), np.uint8)
    for index in range(person.vessels):
        from_left = index % 2 == 0
        steps = rng.normal(0, 2, (9, 2)) + [rng.uniform(4, 9) * (1 if from_left else -1), 0]
        start = [rng.uniform(-0.1, 0.15) * width if from_left else rng.uniform(0.85, 1.1) * width]
        path = np.cumsum(steps, axis=0) + [start[0], rng.uniform(0.2, 0.8) * height]
        cv2.polylines(vessels, [np.round(path * 8).astype(np.int32)], False, int(rng.integers(60, 255)), 1, 8, 3)
    soft = cv2.GaussianBlur(vessels, (0, 0), 0.9).astype(np.float32) / 255
    return np.asarray(person.sclera_tone * value * (1 - 0.28 * soft), dtype=np.float32)


def lid_texture(person: Person, height: int, width: int, rng: np.random.Generator) -> Array:
    """Skin of the upper lid, row 0 at its margin: smooth, with fine creases along the lid."""
    grain, fine, mid, coarse = noise_bank()
    along = cv2.resize(cut_out(fine, height, max(2, width // 10), rng), (width, height), interpolation=cv2.INTER_LINEAR)
    value = 1 + 0.05 * cut_out(coarse, height, width, rng) + 0.035 * cut_out(mid, height, width, rng)
    value += person.pores * (1.2 * along + 0.8 * cut_out(fine, height, width, rng))
    value += 0.25 * person.pores * cut_out(grain, height, width, rng)
    value += 0.5 * person.oil * np.maximum(cut_out(fine, height, width, rng) - 2.0, 0)
    return np.asarray(person.skin_tone * value, dtype=np.float32)
