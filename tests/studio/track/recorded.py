"""Scenes written to disk: folders of colour and depth with EYEDIAP's calibration files."""

from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np

from palestra.metrics.transforms import Camera
from palestra.studio.track.depth_units import DepthUnit
from palestra.studio.track.rig import Rig
from tests.studio.track.scene import COLOUR_CAMERA, DEPTH_CAMERA

RIG = Rig(COLOUR_CAMERA, DEPTH_CAMERA, DepthUnit())


def camera_text(camera: Camera) -> str:
    def rows(matrix: np.ndarray) -> str:
        return "".join(";".join(repr(float(value)) for value in row) + "\n" for row in matrix)

    pose = camera.pose
    return (
        f"[resolution]\n{camera.width};{camera.height}\n[intrinsics]\n{rows(camera.intrinsics)}"
        f"[R]\n{rows(pose.rotation)}[T]\n{rows(pose.translation[:, None])}"
    )


def write_calibration(folder: Path, colour: Camera = COLOUR_CAMERA, depth: Camera = DEPTH_CAMERA) -> None:
    (folder / "rgb_vga_calibration.txt").write_text(camera_text(colour))
    (folder / "depth_calibration.txt").write_text(camera_text(depth))


def write_pairs(folder: Path, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> Path:
    for name in ("colour", "depth"):
        (folder / name).mkdir(parents=True)
    for number, (colour, depth) in enumerate(pairs):
        cv2.imwrite(str(folder / "colour" / f"{number}.png"), colour)
        cv2.imwrite(str(folder / "depth" / f"{number}.png"), depth)
    write_calibration(folder)
    return folder
