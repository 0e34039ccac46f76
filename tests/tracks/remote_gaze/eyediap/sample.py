"""Small recordings in EYEDIAP's formats: a box for a head that turns before three small cameras."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Display, Head, Pose, Screen, Sight, World
from palestra.tracks.remote_gaze import eyediap

FRAMES = 20
EYES = Head(np.array([[0.031, 0.02, 0.08], [-0.031, 0.02, 0.08]]))
# R̂, t̂ and k̂: the screen's origin is 27 cm to the left of the Kinect and 40 cm above it.
SCREEN = (np.eye(3), np.array([-0.27, -0.40, 0.0]), np.array([0.0004, 0.0005]))
HD: Pose[Sight, World] = Pose(np.diag([1.0, -1.0, -1.0]), np.array([0.05, 0.02, 1.01]))


def cameras(width: int = 160, height: int = 120) -> dict[str, Camera]:
    def pinhole(focal: float, wide: int, high: int) -> np.ndarray:
        return np.array([[focal, 0, (wide - 1) / 2], [0, focal, (high - 1) / 2], [0, 0, 1]])

    small = Camera(width, height, pinhole(0.8 * width, width, height), KINECT_TO_WORLD)
    return {
        "rgb_vga": small,
        "depth": small,
        "rgb_hd": Camera(2 * width, 2 * height, pinhole(1.6 * width, 2 * width, 2 * height), HD),
    }


def model(height: int = 120, width: int = 160) -> eyediap.DepthModel:
    beta = 0.3 * np.sin(np.arange(height * width, dtype=np.float64).reshape(height, width) / 900)
    return eyediap.DepthModel((3.3309495161, -0.0030711016), (1.2, 0.003), beta)


def turned(yaw: np.ndarray) -> np.ndarray:
    """(n, 3, 3): turns about the world's upright axis."""
    zero, one, cos, sin = np.zeros_like(yaw), np.ones_like(yaw), np.cos(yaw), np.sin(yaw)
    return np.array([[cos, zero, sin], [zero, one, zero], [-sin, zero, cos]]).transpose(2, 0, 1)


def recording(session: str = "1_A_CS_S", frames: int = FRAMES, width: int = 160, height: int = 120) -> Any:
    """A head that turns and drifts; every seventh frame was not tracked."""
    name, at = eyediap.name_of(session), np.arange(frames)
    rotations = turned(0.3 * np.sin(at / 7))
    translations = np.stack([0.02 * np.sin(at / 9), 0.01 * np.cos(at / 5), 0.1 + 0.01 * np.sin(at / 4)], axis=-1)
    eyes = np.stack([Pose(r, t)(EYES) for r, t in zip(rotations, translations, strict=True)])
    screen = np.stack([670 + 500 * np.sin(at / 3), 370 + 300 * np.cos(at / 2)], axis=-1) if name.on_screen else None
    ball = np.stack([0.1 * np.sin(at / 3), 0.08 * np.cos(at / 4), 0.45 + 0.05 * np.sin(at)], axis=-1)
    target = ball if screen is None else np.asarray(Display.calibrated(*SCREEN).point_of(Screen(screen)))
    states = None if name.target == "DS" else ["BK" if frame % 11 == 3 else "OK" for frame in range(frames)]
    tracked = at % 7 != 6
    whole = (rotations, translations, eyes, target, screen, states, tracked)
    return eyediap.Recording(name, *whole, cameras(width, height), model(height, width))


def colours(recorded: Any, which: str) -> Iterator[np.ndarray]:
    """A box where the head is, before a wall with a gradient."""
    camera = recorded.cameras[which]
    wall = np.linspace(60, 140, camera.width * camera.height * 3).reshape(camera.height, camera.width, 3)
    for box in boxes(recorded, camera):
        picture = wall.astype(np.uint8)
        picture[box] = (205, 160, 130)
        yield picture


def disparities(recorded: Any) -> Iterator[np.ndarray]:
    camera = recorded.cameras["depth"]
    for number, box in enumerate(boxes(recorded, camera)):
        picture = np.full((camera.height, camera.width), 800, np.uint16)
        picture[:, : camera.width // 8] = 2047  # beside the wall nothing comes back
        picture[box] = 640 + number % 8
        yield picture


def boxes(recorded: Any, camera: Camera) -> Iterator[tuple[slice, slice]]:
    for place in recorded.translations:
        corners = place + np.array([[-0.08, 0.12, 0.0], [0.08, -0.12, 0.0]])
        (left, top), (right, bottom) = np.asarray(camera.project(World(corners))).clip(0, 4000).astype(int)
        yield slice(top, bottom), slice(left, right)


def pictures(recorded: Any) -> dict[str, Any]:
    kinds = {which: colours(recorded, which) for which in ("rgb_vga", "rgb_hd")}
    return {**kinds, "depth": disparities(recorded)}


def write(data: Path, recorded: Any, *, videos: bool = True, **changes: Any) -> Any:
    """Write a recording, with its pictures or without, and what holds for all recordings."""
    recorded = replace(recorded, **changes)
    eyediap.write_session(data, recorded, pictures(recorded) if videos else {})
    eyediap.write_metadata(data, SCREEN, {recorded.name.person: EYES})
    return recorded
