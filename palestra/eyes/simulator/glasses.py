"""What lies between the camera and the eye: glasses, and the device's own rim."""

from dataclasses import dataclass

import cv2
import numpy as np

from palestra.eyes.simulator.layers import HEIGHT, WIDTH, Array, halved
from palestra.eyes.simulator.scene import GLASSES_Z_MM, Camera, Glasses, Person
from palestra.eyes.simulator.vectors import unit

RIM_LEVEL = 6  # grey level of the device's own black


@dataclass(frozen=True)
class Cover:
    """What lies over the picture, in layers of half size."""

    through: Array  # 1 where the view is clear, less under a frame or rim
    added: Array  # grey levels of reflections and of the frame's own shine


def cover_of(person: Person, camera: Camera, rng: np.random.Generator) -> Cover | None:
    """Glasses and rim together, or None where nothing is in the way."""
    glasses = None if person.glasses is None else _spectacles(person.glasses, camera, rng)
    rim = None if camera.rim_px is None and camera.ring_px is None else _rim(camera)
    if glasses is None or rim is None:
        return glasses or rim
    return Cover(glasses.through * rim.through, glasses.added * rim.through + rim.added)


def _rim(camera: Camera) -> Cover:
    """The device's black edge around the view and a lens ring that reaches into a corner, both with some shine."""
    clear = np.full((HEIGHT, WIDTH), 255 if camera.rim_px is None else 0, np.uint8)
    shine = np.zeros((HEIGHT, WIDTH), np.uint8)
    level = round(camera.rim_shine)
    if camera.rim_px is not None:
        x, y, radius = (round(value) for value in camera.rim_px)
        cv2.circle(clear, (x, y), radius, 255, -1)
        cv2.circle(shine, (x, y), radius + 4, level // 2, 3)
    if camera.ring_px is not None:
        x, y, radius = (round(value) for value in camera.ring_px)
        cv2.circle(clear, (x, y), radius, 0, -1)
        cv2.circle(shine, (x, y), radius - 5, level, 3)
        cv2.circle(shine, (x, y), radius - 22, level // 3, 2)
    through = halved(cv2.GaussianBlur(clear, (0, 0), 3.0)) / 255
    return Cover(through, halved(cv2.GaussianBlur(shine, (0, 0), 1.5)) + RIM_LEVEL * (1 - through))


def _spectacles(rim: Glasses, camera: Camera, rng: np.random.Generator) -> Cover:
    through = np.full((HEIGHT, WIDTH), 255, np.uint8)
    shine = np.zeros((HEIGHT, WIDTH), np.uint8)
    turn = np.linspace(0, 2 * np.pi, 97)
    corner = np.abs(np.cos(turn)) ** rim.squareness, np.abs(np.sin(turn)) ** rim.squareness
    x_mm = rim.centre_mm[0] + np.sign(np.cos(turn)) * corner[0] * rim.half_mm[0]
    y_mm = rim.centre_mm[1] + np.sign(np.sin(turn)) * corner[1] * rim.half_mm[1]
    path = camera.project(np.stack([x_mm, y_mm, np.full(97, GLASSES_Z_MM)], axis=-1))
    outline = np.round(np.clip(path, -4000, 4000) * 8).astype(np.int32)
    cv2.polylines(through, [outline], True, 0, rim.thick_px, cv2.LINE_AA, 3)
    highlight = outline + np.array([8, -round(rim.thick_px * 2.4)], np.int32)
    cv2.polylines(shine, [highlight], True, round(rim.shine), max(2, rim.thick_px // 5), cv2.LINE_AA, 3)
    _draw_lens_reflections(shine, rim, camera, rng)
    clear = halved(cv2.GaussianBlur(through, (0, 0), 1.2 + 0.5 * camera.blur_px)) / 255
    return Cover(0.05 + 0.9 * clear, halved(cv2.GaussianBlur(shine, (0, 0), rng.uniform(1.2, 3.6))))


def _draw_lens_reflections(shine: Array, glasses: Glasses, camera: Camera, rng: np.random.Generator) -> None:
    """Both faces of a lens mirror the LEDs like tilted, bulging planes: rows of spots drawn out along one direction."""
    normal = unit(np.array([*glasses.tilt, 1.0]))
    plane_mm = np.array([0.0, 0.0, GLASSES_Z_MM])
    behind = camera.leds_mm - 2 * ((camera.leds_mm - plane_mm) @ normal)[:, None] * normal
    centre = camera.project(np.array([*glasses.centre_mm, GLASSES_Z_MM]))
    streak = rng.normal(0, 5, 2) * rng.uniform(0.3, 2.5) + [6, 0]
    for _ in range(2):
        places = centre + rng.uniform(0.3, 1.0) * (camera.project(behind) - centre) + rng.normal(0, 12, 2)
        thick_px, strength = int(rng.integers(2, 9)), rng.uniform(60, 320)
        for spot, power in zip(places, camera.led_power, strict=True):
            if np.abs(spot).max() > 2000 or rng.random() > 0.8:
                continue
            start = spot + rng.normal(0, 2, 2)
            ends = np.round(np.stack([start - streak, start + streak]) * 8).astype(np.int32)
            level = int(np.clip(strength * power * rng.uniform(0.7, 1.3), 30, 255))
            cv2.polylines(shine, [ends], False, level, thick_px, cv2.LINE_AA, 3)
