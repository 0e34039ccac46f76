"""EYEDIAP's calibration files: a camera's intrinsics, where it stands in the world, and what disparities mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.formats import decode_text, read_bytes
from palestra.metrics.transforms import Camera, Pose, Sight, World
from palestra.text import say, say_count

Floats = NDArray[np.float64]
Lines = list[tuple[int, str]]  # a line's number, as editors count, and what it says

MAX_BYTES = 64_000_000
ROTATION_WITHIN = 5e-3  # of RRᵀ from the identity
LARGEST_PX = 20_000


@dataclass(frozen=True)
class Disparities:
    """What the numbers of a Kinect mean: d + beta·exp(a0 − a1·d) = (1/z − c0) / c1."""

    k: tuple[float, float]  # c0, c1
    alpha: tuple[float, float]  # a0, a1
    beta: Floats  # (height, width)


@dataclass(frozen=True)
class Calibrated:
    """What one file says."""

    file: Path
    camera: Camera
    disparities: Disparities | None


def calibration_of(folder: Path, which: str) -> Path | None:
    """The file of a camera (rgb_vga, depth, rgb_hd) by either of the names that EYEDIAP gives it, if it is there."""
    places = [folder / f"{which}_calibration.txt", folder / f"calibration_{which}.txt"]
    return next((place for place in places if place.is_file()), None)


def read_calibration(file: Path) -> Calibrated:
    """A camera's file, whole."""
    sections = _sections(file)
    width, height = _numbers(file, sections, "resolution", (1, 2))[0].tolist()
    if not (width == int(width) and height == int(height) and 1 <= min(width, height) <= LARGEST_PX):
        refuse(f"{file}, [resolution]", f"{width:g} × {height:g}", say("a width and a height in pixels, as 640;480"))
    intrinsics = _numbers(file, sections, "intrinsics", (3, 3))
    if intrinsics[0, 0] <= 0 or intrinsics[1, 1] <= 0 or intrinsics[2].tolist() != [0, 0, 1]:
        refuse(f"{file}, [intrinsics]", clip(intrinsics.tolist()), say("fx 0 cx; 0 fy cy; 0 0 1"))
    rotation = _numbers(file, sections, "R", (3, 3))
    off = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if not off <= ROTATION_WITHIN or np.linalg.det(rotation) < 0:
        refuse(f"{file}, [R]", clip(rotation.tolist()), say("a rotation, from the camera's axes to the world's"))
    pose: Pose[Sight, World] = Pose(rotation, _numbers(file, sections, "T", (3, 1))[:, 0])
    camera = Camera(int(width), int(height), intrinsics, pose)
    return Calibrated(file, camera, _disparities(file, sections, camera))


def _disparities(file: Path, sections: Mapping[str, Lines], camera: Camera) -> Disparities | None:
    if "k_coefficients" not in sections:
        return None
    c0, c1 = _numbers(file, sections, "k_coefficients", (1, 2))[0].tolist()
    a0, a1 = _numbers(file, sections, "alpha", (1, 2))[0].tolist()
    return Disparities((c0, c1), (a0, a1), _numbers(file, sections, "beta", (camera.height, camera.width)))


def _sections(file: Path) -> dict[str, Lines]:
    sections: dict[str, Lines] = {}
    inside: Lines | None = None
    text = decode_text(read_bytes(file, MAX_BYTES), file)
    for number, line in enumerate((line.strip() for line in text.splitlines()), 1):
        if line.startswith("[") and line.endswith("]"):
            inside = sections.setdefault(line[1:-1].strip(), [])
        elif line and inside is None:
            refuse(
                say("{file}, line {number}", file=file, number=number),
                clip(line),
                say("the name of a section, such as [resolution]"),
            )
        elif line and inside is not None:
            inside.append((number, line))
    return sections


def _numbers(file: Path, sections: Mapping[str, Lines], name: str, shape: tuple[int, int]) -> Floats:
    if name not in sections:
        known = ", ".join(f"[{section}]" for section in sections) or "–"
        refuse(str(file), say("the sections {known}", known=known), say("a section [{name}]", name=name))
    lines = sections[name]
    if len(lines) != shape[0]:
        rows = say_count("{count} row", "{count} rows", len(lines))
        refuse(f"{file}, [{name}]", rows, say_count("{count} row", "{count} rows", shape[0]))
    return np.array([_row(file, line, shape[1]) for line in lines])


def _row(file: Path, line: tuple[int, str], count: int) -> list[float]:
    number, text = line
    try:
        values = [float(cell) for cell in text.rstrip(";").split(";")]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        refuse(
            say("{file}, line {number}", file=file, number=number),
            clip(text),
            say_count("{count} number", "{count} numbers", count),
        )
    return values
