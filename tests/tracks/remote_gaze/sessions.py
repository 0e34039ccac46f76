"""EYEDIAP recordings without pictures, for tests: heads that sway, eyes that look exactly at the target."""

from pathlib import Path

import numpy as np

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Display, Head, Pose, Screen
from palestra.tracks.remote_gaze import eyediap

EYES = Head(np.array([[-0.032, 0.03, 0.05], [0.032, 0.03, 0.05]]))  # left and right, in the head's frame
# The screen's file: where its corner is before the Kinect, and how large a pixel is.
SCREEN = (np.diag([1.0, 1.0, 1.0]), np.array([-0.26, -0.35, 0.0]), np.array([0.00039, 0.0004]))
DISPLAY = Display.calibrated(*SCREEN)
CAMERA = Camera(640, 480, np.array([[525.0, 0, 320], [0, 525.0, 240], [0, 0, 1]]), KINECT_TO_WORLD)


def write_sessions(data: Path, names: list[str], frames: int = 24) -> Path:
    """Write recordings by their names, with the metadata of all people."""
    eyediap.write_metadata(data, SCREEN, dict.fromkeys(range(1, 17), EYES))
    for name in names:
        eyediap.write_session(data, recording(eyediap.name_of(name), frames), {})
    return data


def recording(name: eyediap.Name, frames: int) -> eyediap.Recording:
    random = np.random.default_rng(name.index)
    spread_deg = 25 if name.head == "M" else 3
    turned = np.radians(random.normal(0, spread_deg, (frames, 2)))
    heads = [Pose(_rotation(yaw, pitch), random.normal(0, 0.01, 3)) for yaw, pitch in turned]
    eyes = np.stack([head(EYES) for head in heads])
    screen = None if name.target == "FT" else random.uniform(0, 1, (frames, 2)) * (1340, 740)
    if screen is None:
        target = random.uniform((-0.3, -0.3, 0.3), (0.3, 0.3, 0.6), (frames, 3))
    else:
        target = DISPLAY.point_of(Screen(screen))
    states = None if name.target == "DS" else ["BK" if i % 8 == 3 else "OK" for i in range(frames)]
    return eyediap.Recording(
        name=name,
        rotations=np.stack([head.rotation for head in heads]),
        translations=np.stack([head.translation for head in heads]),
        eyes=eyes,
        target=target,
        screen=screen,
        states=states,
        available=np.arange(frames) % 11 != 7,
        cameras=dict.fromkeys(("rgb_vga", "rgb_hd", "depth"), CAMERA),
        depth=eyediap.DepthModel((3.1, -0.0029), (1.0, 0.002), np.zeros((480, 640))),
    )


def _rotation(yaw: float, pitch: float) -> np.ndarray:
    """Of a head that looks to its left side of the picture's right, and up."""
    a, b = np.cos(yaw), np.sin(yaw)
    c, d = np.cos(pitch), np.sin(pitch)
    return np.array([[a, 0, b], [0, 1, 0], [-b, 0, a]]) @ np.array([[1, 0, 0], [0, c, d], [0, -d, c]])
