"""The ball that people look at, on its thread."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from palestra.metrics.transforms import Camera, World
from palestra.tracks.remote_gaze.simulator.room import Lighting

Floats = npt.NDArray[np.float64]

RADIUS_M = 0.02
COLOUR = np.array([0.62, 0.20, 0.035])  # orange, as nothing else in the room is
THREAD_M, THREAD_LONG_M = 0.0012, 0.6
THREAD_COLOUR = (40, 38, 36)
NEAREST_M = 0.1
FINER = 4  # bits of a pixel for the thread's ends


@dataclass(frozen=True)
class _Disc:
    """The pixels about a ball: where they are on it, in radii."""

    part: tuple[slice, slice]
    x: Floats
    y: Floats
    out: Floats  # towards the camera
    size_px: float
    far_m: float


def _disc(camera: Camera, ball: World) -> _Disc | None:
    """None where the ball is not in the picture."""
    far = float(camera.pose.back()(ball)[2])
    if far < NEAREST_M:
        return None
    middle, size = camera.project(ball), RADIUS_M * float(camera.intrinsics[0, 0]) / far
    left, top = np.maximum(np.floor(middle - size - 2), 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(middle + size + 3), (camera.width, camera.height)).astype(int).tolist()
    if right <= left or bottom <= top:
        return None
    x, y = np.meshgrid((np.arange(left, right) - middle[0]) / size, (np.arange(top, bottom) - middle[1]) / size)
    out = np.sqrt(np.clip(1 - x**2 - y**2, 0, 1))
    return _Disc((slice(top, bottom), slice(left, right)), x, y, out, size, far)


def draw_ball(image: npt.NDArray[np.uint8], camera: Camera, ball: World, lighting: Lighting, up: Floats) -> None:
    """Draw the ball and its thread into a picture."""
    disc = _disc(camera, ball)
    if disc is None:
        return
    _draw_thread(image, camera, ball, up, disc.far_m)
    normal = np.stack([disc.x, disc.y, -disc.out], axis=-1) @ camera.pose.rotation.T
    light = np.clip(normal @ lighting.key, 0, 1)[..., None] * lighting.key_colour
    light += np.clip(normal @ lighting.fill, 0, 1)[..., None] * lighting.fill_colour
    light += 0.5 * (lighting.above + lighting.below)
    drawn = 255 * np.sqrt(np.clip(light * COLOUR, 0, 1))
    cover = np.clip((1 - np.hypot(disc.x, disc.y)) * disc.size_px + 0.5, 0, 1)[..., None]
    behind = image[disc.part]
    image[disc.part] = np.round(behind + cover * (drawn - behind)).astype(np.uint8)


def put_ball(far_m: npt.NDArray[np.float32], bright: npt.NDArray[np.float32], camera: Camera, ball: World) -> None:
    """Put the ball into a depth picture."""
    disc = _disc(camera, ball)
    if disc is None:
        return
    surface = disc.far_m - RADIUS_M * disc.out
    nearer = (disc.out > 0) & (surface < far_m[disc.part])
    far_m[disc.part] = np.where(nearer, surface, far_m[disc.part])
    bright[disc.part] = np.where(nearer, 1, bright[disc.part])


def _draw_thread(image: npt.NDArray[np.uint8], camera: Camera, ball: World, up: Floats, far_m: float) -> None:
    """A line to above the picture; it is thinner than a pixel, so it only darkens those that it crosses."""
    ends = camera.project(World(np.stack([ball, ball + THREAD_LONG_M * up])))
    left, right = max(0, int(ends[:, 0].min()) - 8), min(camera.width, int(ends[:, 0].max()) + 9)
    if right <= left:
        return
    behind = image[:, left:right]
    strip = behind.copy()
    (x0, y0), (x1, y1) = np.round((ends - [left, 0]) * 2**FINER).astype(int).tolist()
    cv2.line(strip, (x0, y0), (x1, y1), THREAD_COLOUR, 1, cv2.LINE_AA, FINER)
    share = min(1.0, THREAD_M * float(camera.intrinsics[0, 0]) / far_m)
    behind[...] = cv2.addWeighted(strip, share, behind, 1 - share, 0)
