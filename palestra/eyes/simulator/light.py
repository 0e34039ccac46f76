"""The light on a face and an eyeball from a headset's LEDs, and what the camera's lens lets through of it."""

from dataclasses import dataclass

import cv2
import numpy as np

from palestra.eyes.simulator.layers import HEIGHT, Array, coarse_pixels, enlarged
from palestra.eyes.simulator.optics import LID_AXES_MM
from palestra.eyes.simulator.scene import Camera, Person
from palestra.eyes.simulator.vectors import unit

MOST_LIGHT = 4.0
GLOSS = 16.0  # exponent of the skin's sheen: patches of some millimetres, because skin is rough
BEFORE_EYE_MM = np.array([0.0, 0.0, 12.0])  # where a headset sets its exposure
DARKEST_EYE = 0.35  # of the lens's own light; an exposure makes up for no more


def light_on(camera: Camera, points_mm: Array, normals: Array) -> Array:
    """Light that falls on a surface from all LEDs, 1 on a forward-facing spot before the eye."""

    def received(points: Array, facing: Array) -> Array:
        to_led = camera.leds_mm - points[..., None, :]
        distance = np.sqrt((to_led**2).sum(-1))
        cosine = np.maximum((to_led * facing[..., None, :]).sum(-1) / distance, 0)
        # Headset LEDs are broad and many surfaces send light back, so light wraps a little around edges.
        return np.asarray((camera.led_power * (0.2 + 0.8 * cosine) / distance**2).sum(-1))

    reference = received(BEFORE_EYE_MM, np.array([0.0, 0.0, 1.0]))
    # A light that all but touches the skin burns it out; more than that would ring when the grid is enlarged.
    return np.minimum(received(points_mm, normals) / reference, MOST_LIGHT)


def _face_depth(person: Person, x_mm: Array, y_mm: Array) -> Array:
    """Z of the face: the lids' bulge in a socket between brow, nose and cheek."""
    bulge = 8.0 * np.exp(-((x_mm / 13.0) ** 2) - (y_mm / 9.5) ** 2)
    brow = person.brow_relief_mm * np.exp(-(((y_mm - person.brow_mm) / 7.0) ** 2))
    nose = 13.0 / (1 + np.exp((x_mm + 21.0) / 3.0))
    cheek = 8.0 / (1 + np.exp((y_mm + 15.5) / 2.8))
    temple = 1.4 * np.logaddexp(0, (x_mm - 12.0) / 4.0)
    return np.asarray(5.0 + bulge + brow + nose + cheek - temple)


@dataclass(frozen=True)
class Face:
    """The face as the camera meets it, on the coarse grid."""

    points_mm: Array
    light: Array
    sheen: Array  # how strongly an oily skin would mirror the LEDs here, about 1 where it does most


def face_seen(person: Person, camera: Camera) -> Face:
    rays = camera.rays(coarse_pixels())
    depth = np.full(rays.shape[:2], 10.0)
    for _ in range(4):  # along each ray, towards the depth that the face has there
        points = camera.position_mm + ((depth - camera.position_mm[2]) / rays[..., 2])[..., None] * rays
        depth = 0.5 * depth + 0.5 * _face_depth(person, points[..., 0], points[..., 1])
    x, y = points[..., 0], points[..., 1]
    depth = _face_depth(person, x, y)
    slope_x = _face_depth(person, x + 0.4, y) - _face_depth(person, x - 0.4, y)
    slope_y = _face_depth(person, x, y + 0.4) - _face_depth(person, x, y - 0.4)
    normals = unit(np.stack([-slope_x / 0.8, -slope_y / 0.8, np.ones_like(x)], axis=-1))
    surface = np.stack([x, y, depth], axis=-1)
    hollow = cv2.GaussianBlur(depth, (0, 0), 4.0) - depth
    light = light_on(camera, surface, normals) * (1 - np.clip(hollow * 0.14, -0.1, 0.5))
    return Face(surface, light, _sheen(camera, surface, normals))


def _sheen(camera: Camera, points_mm: Array, normals: Array) -> Array:
    """Each LED shows where the skin's normal halves the angle between it and the camera."""
    to_led = camera.leds_mm - points_mm[..., None, :]
    distance = np.sqrt((to_led**2).sum(-1))
    to_camera = unit(camera.position_mm - points_mm)[..., None, :]
    facing = (unit(to_led / distance[..., None] + to_camera) * normals[..., None, :]).sum(-1)
    shine = (camera.led_power * np.maximum(facing, 0) ** GLOSS / distance**2).sum(-1)
    return np.asarray(np.minimum(shine / np.percentile(shine, 96), 1.5))


def ball_light(camera: Camera) -> Array:
    """Light on the ball for every pixel. It is lit as the lids' ellipsoid, which reaches to both corners."""
    origin, rays = camera.position_mm / LID_AXES_MM, camera.rays(coarse_pixels()) / LID_AXES_MM
    square, along = (rays**2).sum(-1), rays @ origin
    inside = along**2 - square * (origin @ origin - 1)
    points = origin + ((-along - np.sqrt(np.maximum(inside, 0))) / square)[..., None] * rays
    light = light_on(camera, points * LID_AXES_MM, unit(points / LID_AXES_MM))
    return enlarged(cv2.GaussianBlur(light, (0, 0), 1.0))


def vignette(camera: Camera) -> Array:
    """What the lens lets through towards the corners, 1 at the eye, by which a headset sets its exposure."""

    def let_through(pixels: Array) -> Array:
        far = np.hypot(*np.moveaxis(pixels - np.asarray(camera.vignette_px), -1, 0)) / 377
        ramp = np.clip((far - camera.vignette_start) / (1.05 - camera.vignette_start), 0, 1)
        return np.asarray(1 - camera.vignette_depth * ramp**2 * (3 - 2 * ramp))

    at_eye = max(float(let_through(camera.project(BEFORE_EYE_MM))), DARKEST_EYE)
    return enlarged(let_through(coarse_pixels()) / at_eye)


def falloff(camera: Camera) -> Array:
    """Light that fades over the face, 1 at the eye."""
    away = (coarse_pixels() - camera.project(BEFORE_EYE_MM)) / (HEIGHT / 2)
    return enlarged(np.exp(-(away @ np.asarray(camera.falloff))))
