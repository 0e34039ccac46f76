"""Calibrations on disk: our own JSON, which commands read again, and EYEDIAP's text files, which data sets have."""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, refuse
from palestra.formats import read_bytes, write_bytes
from palestra.metrics.transforms import KINECT_TO_WORLD, Pose, Sight, World
from palestra.text import say

MAX_BYTES = 64_000_000
SCREEN_FILE = Path("Metadata", "ScreenCalibration", "screen_calibration.txt")
SQUARE_WITHIN = 1e-6

Floats = NDArray[np.float64]


class CameraFile(msgspec.Struct, frozen=True):
    """A camera: what it does to rays, and where it stands."""

    name: str
    width: int
    height: int
    intrinsics: list[list[float]]  # fx 0 cx; 0 fy cy; 0 0 1, in pixels
    distortion: list[float]  # k1 k2 p1 p2 k3, as OpenCV has them
    rotation: list[list[float]] = msgspec.field(default_factory=KINECT_TO_WORLD.rotation.tolist)  # to the world
    translation: list[float] = msgspec.field(default_factory=KINECT_TO_WORLD.translation.tolist)  # metres
    rms_px: float = 0.0
    views: int = 0

    @property
    def matrix(self) -> Floats:
        return np.array(self.intrinsics)

    @property
    def lens(self) -> Floats:
        return np.array(self.distortion)

    @property
    def pose(self) -> Pose[Sight, World]:
        return Pose(np.array(self.rotation), np.array(self.translation))

    def placed(self, pose: Pose[Sight, World]) -> "CameraFile":
        """The same camera, standing elsewhere."""
        return msgspec.structs.replace(
            self, rotation=pose.rotation.tolist(), translation=pose.translation.tolist()
        )  # fmt: skip


def read_camera(file: Path) -> CameraFile:
    """A camera that `palestra studio calibrate` wrote."""
    try:
        camera = msgspec.json.decode(read_bytes(file, MAX_BYTES), type=CameraFile)
    except msgspec.DecodeError as error:
        raise PalestraError(
            say("{file} is no camera of `palestra studio calibrate camera` or `stereo` ({error}).",
                file=file, error=error)
        ) from None  # fmt: skip
    if {len(camera.rotation), len(camera.intrinsics), len(camera.translation)} != {3} or {
        len(row) for row in (*camera.rotation, *camera.intrinsics)
    } != {3}:
        refuse(str(file), say("matrices of another shape"), say("3 × 3, and 3 for the place"))
    turned = camera.pose.rotation
    if camera.matrix[0, 0] <= 0 or camera.matrix[1, 1] <= 0 or min(camera.width, camera.height) < 1:
        refuse(str(file), say("a focal length or size of nothing"), say("numbers above 0"))
    if not np.abs(turned.T @ turned - np.eye(3)).max() < SQUARE_WITHIN or np.linalg.det(turned) < 0:
        refuse(str(file), say("a rotation that is none"), say("a rotation, whose determinant is 1"))
    return camera


def write_camera(folder: Path, camera: CameraFile, more: str = "") -> list[Path]:
    """NAME.json, and NAME_calibration.txt as EYEDIAP has it, with more sections after a camera's own."""
    folder.mkdir(parents=True, exist_ok=True)
    ours, theirs = folder / f"{camera.name}.json", folder / f"{camera.name}_calibration.txt"
    write_bytes(ours, msgspec.json.format(msgspec.json.encode(camera), indent=1) + b"\n")
    parts = {"intrinsics": camera.matrix, "distorsion": camera.lens[:, None], "R": camera.pose.rotation}
    text = f"[resolution]\n{camera.width};{camera.height}\n"
    text += "".join(f"[{name}]\n{rows_text(rows)}" for name, rows in parts.items())
    write_bytes(theirs, (text + f"[T]\n{rows_text(camera.pose.translation[:, None])}" + more).encode())
    return [ours, theirs]


def depth_sections(k: tuple[float, float], alpha: tuple[float, float], beta: Floats) -> str:
    """What the depth camera's file has after the camera's own sections."""
    parts = {"k_coefficients": np.array([k]), "alpha": np.array([alpha]), "beta": beta}
    return "".join(f"[{name}]\n{rows_text(rows)}" for name, rows in parts.items())


def write_screen(folder: Path, rotation: Floats, translation: Floats, metres_per_pixel: Floats) -> Path:
    """The screen before the camera, where a data set has it: R̂, t̂ and k̂ of EYEDIAP's Eq. 3."""
    file = folder / SCREEN_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    kx, ky = metres_per_pixel.tolist()
    text = f"[kx]\n{kx!r}\n[ky]\n{ky!r}\n[R]\n{rows_text(rotation)}[T]\n{rows_text(translation[:, None])}"
    write_bytes(file, text.encode())
    return file


def rows_text(rows: Floats) -> str:
    """Numbers line by line, so that reading gives the same bits."""
    return "".join(";".join(map(repr, row)) + "\n" for row in rows.tolist())
