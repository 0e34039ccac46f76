"""Three headsets that no training has in it: the same drawn people through lenses, light and sensors of other kinds.

Each changes a picture and its mask as a camera would: first what the light does, then the lens, then the sensor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.eyes.simulator.people import Census, draw_profiles
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Camera, Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors

Image = NDArray[Any]
Floats = NDArray[np.float64]
SEED = 9_180
PEOPLE = Census(
    {"female": 3, "male": 3}, {"asian": 2, "caucasian": 2, "other": 2}, {"26–30": 6}, glasses=1, makeup=1
)  # fmt: skip


@dataclass(frozen=True)
class Device:
    name: str
    seen: Callable[[Image, Image], tuple[Image, Image]]  # picture and mask as it has them


def _grid(shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    x, y = np.meshgrid(np.linspace(-1, 1, shape[1]), np.linspace(-1, 1, shape[0]))
    return x, y


def _through(image: Image, mask: Image, x: Floats, y: Floats) -> tuple[Image, Image]:
    """Both, read at other places (-1 … 1)."""
    height, width = mask.shape
    to = [((part + 1) / 2 * (side - 1)).astype(np.float32) for part, side in ((x, width), (y, height))]
    return (
        cv2.remap(image, *to, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT),
        cv2.remap(mask, *to, cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT),
    )


def _finished(image: Floats) -> Image:
    return np.clip(image, 0, 255).astype(np.uint8)


def fisheye(image: Image, mask: Image) -> tuple[Image, Image]:
    """A wide lens close to the eye, a sensor that lifts the shadows, and its columns' fixed pattern."""
    x, y = _grid(mask.shape)
    pull = 0.55 + 0.45 * (x**2 + y**2)
    image, mask = _through(image.astype(np.float32), mask, x * pull, y * pull)
    rng = np.random.default_rng(SEED)
    light = 255 * (image / 255) ** 0.45
    pattern = 16 * rng.normal(size=(1, mask.shape[1])) + 9 * rng.normal(size=mask.shape)
    return _finished(0.62 * light + 70 + pattern), mask


def burnt_skin(image: Image, mask: Image) -> tuple[Image, Image]:
    """Two lamps close to the cheek: skin burns out and sclera lies in the lids' shade, as dark as an iris."""
    x, y = _grid(mask.shape)
    level = np.array([2.6, 0.42, 0.9, 1.6])[mask]
    level = cv2.GaussianBlur(level, None, 5)
    lamp = 1 + 1.1 * np.exp(-((x - 0.5) ** 2 + (y - 0.7) ** 2) / 0.18) + 0.8 * np.exp(-((x + 0.6) ** 2 + y**2) / 0.1)
    lit = image * level * np.where(mask == 0, lamp, 1.0) + 34 * np.exp(-((x - 0.1) ** 2 + (y - 0.2) ** 2) / 0.25)
    return _finished(255 * (np.clip(lit, 0, 255) / 255) ** 0.8), mask


def rolling_bands(image: Image, mask: Image) -> tuple[Image, Image]:
    """A cheap sensor under a flickering light: bands that roll, out of focus, dark towards its corners, grainy."""
    rng = np.random.default_rng([SEED, int(image[::7, ::7].sum())])
    x, y = _grid(mask.shape)
    soft = cv2.GaussianBlur(image.astype(np.float64), None, 5.5)
    bands = 1 + 0.45 * np.sin(2 * np.pi * (5.5 * (y + 0.06 * x) + rng.uniform()))
    lit = soft * bands * np.exp(-1.5 * (x**2 + 0.8 * y**2))
    lit = 46 + 0.5 * lit + 7 * cv2.GaussianBlur(rng.normal(size=mask.shape), None, 1.2) * 2
    return _finished(lit), mask


DEVICES = (
    Device("fisheye lens", fisheye),
    Device("burnt-out skin", burnt_skin),
    Device("rolling bands", rolling_bands),
)


def pictures(device: Device, count: int) -> list[tuple[Image, Image]]:
    """Pictures and masks of six people before one camera of that kind, one person after the other."""
    profiles = draw_profiles(PEOPLE, np.random.default_rng(SEED))
    camera = draw_camera(np.random.default_rng([SEED, len(device.name)]))
    people = [_renderer(profile, number, camera) for number, profile in enumerate(profiles)]
    found = []
    for number in range(count):
        person, renderer, rng = people[number % len(people)]
        gaze = to_vectors(rng.uniform(-16, 16), rng.uniform(-12, 9))
        look = Look(gaze, person.pupil_mm * rng.uniform(0.9, 1.2), rng.uniform(0.6, 1.0))
        picture = renderer.render(look, rng)
        found.append(device.seen(picture.image, picture.mask))
    return found


def _renderer(profile: Any, number: int, camera: Camera) -> tuple[Any, Renderer, np.random.Generator]:
    rng = np.random.default_rng([SEED, 1, number])
    person = draw_person(profile, rng)
    return person, Renderer(person, camera), rng
