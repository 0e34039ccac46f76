"""EYEDIAP's calibrations: cameras, the depth camera's model, the screen, and where people's eyes are in their heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.formats import decode_text, read_bytes
from palestra.metrics.transforms import Camera, Display, Head, Pose, Sight, World
from palestra.text import Text, say, say_count
from palestra.tracks.remote_gaze.eyediap.depth import DepthModel
from palestra.tracks.remote_gaze.eyediap.names import Name, Which, existing_file

MAX_BYTES = 64_000_000
ROTATION_WITHIN = 5e-3  # of RᵀR from the identity: files round their numbers, and trackers theirs
SCREEN_FILE = Path("Metadata", "ScreenCalibration", "screen_calibration.txt")
EYES_FOLDER = Path("Metadata", "Participants")

Floats = NDArray[np.float64]
Lines = list[tuple[int, str]]  # a line's number, as editors count, and what it says


def camera(data: Path, name: Name, which: Which) -> Camera:
    """A recording's camera."""
    file = existing_file(data, name, f"{which}_calibration.txt")
    return _camera(file, _sections(file))


def depth_model(data: Path, name: Name) -> DepthModel:
    """What a recording's disparities mean."""
    file = existing_file(data, name, "depth_calibration.txt")
    sections = _sections(file)
    seen_by = _camera(file, sections)
    c0, c1 = _numbers(file, sections, "k_coefficients", (2,)).tolist()
    a0, a1 = _numbers(file, sections, "alpha", (2,)).tolist()
    beta = _numbers(file, sections, "beta", (seen_by.height, seen_by.width))
    return DepthModel((c0, c1), (a0, a1), beta)


def display(data: Path) -> Display:
    """The screen, which stood in one place for all recordings."""
    rotation, translation, metres_per_pixel = screen_calibration(data)
    return Display.calibrated(rotation, translation, metres_per_pixel)


def screen_calibration(data: Path) -> tuple[Floats, Floats, Floats]:
    """The screen's file as it is: R̂, t̂ and k̂, before Eq. 3."""
    file = data / SCREEN_FILE
    lines = _lines(file)
    if len(lines) < 12:
        refuse(
            str(file),
            say("{number} lines", number=len(lines)),
            say("12: kx, ky, R (3) and T (3), each under a line that names it"),
        )
    metres_per_pixel = np.array([_row(file, lines[at], 1)[0] for at in (1, 3)])
    rotation = np.array([_row(file, line, 3) for line in lines[5:8]])
    translation = np.array([_row(file, line, 1)[0] for line in lines[9:12]])
    check_rotation(f"{file}, line {lines[5][0]}", rotation)
    if not (metres_per_pixel > 0).all():
        refuse(
            say("{file}, line {lines}", file=file, lines=lines[1][0]),
            say("pixels of {tolist} m", tolist=metres_per_pixel.tolist()),
            say("a size of more than nothing"),
        )
    return rotation, translation, metres_per_pixel


def eyeballs(data: Path, person: int) -> Head:
    """A person's left and right eyeball in the head's own frame: (2, 3)."""
    file = data / EYES_FOLDER / f"eyes_position_{person}.txt"
    lines = [line for line in _lines(file) if line[1]]
    if len(lines) != 2:
        refuse(str(file), say("{number} rows", number=len(lines)), say("two: the left eye, the right eye"))
    return Head(np.array([_row(file, line, 3, None) for line in lines]))


def check_rotation(where: Text, rotation: Floats) -> None:
    """Refuse what is no rotation: its rows must be at right angles, of length one, and not mirrored."""
    off = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    if not off <= ROTATION_WITHIN:  # NaN, of numbers that overflow, is off as well
        refuse(
            where,
            say("a matrix whose RᵀR is off the identity by {off:.3g}", off=off),
            say("a rotation (within {rotation_within})", rotation_within=ROTATION_WITHIN),
        )
    if np.linalg.det(rotation) < 0:
        refuse(where, say("a mirrored matrix"), say("a rotation, whose determinant is 1"))


# --- reading


def _camera(file: Path, sections: Mapping[str, Lines]) -> Camera:
    width, height = _numbers(file, sections, "resolution", (2,)).tolist()
    if not (width == int(width) >= 1 and height == int(height) >= 1):
        refuse(_place(file, sections["resolution"]), f"{width} × {height}", say("a width and a height in pixels"))
    rotation = _numbers(file, sections, "R", (3, 3))
    check_rotation(_place(file, sections["R"]), rotation)
    pose: Pose[Sight, World] = Pose(rotation, _numbers(file, sections, "T", (3, 1))[:, 0])
    return Camera(int(width), int(height), _intrinsics(file, sections), pose)


def _intrinsics(file: Path, sections: Mapping[str, Lines]) -> Floats:
    matrix = _numbers(file, sections, "intrinsics", (3, 3))
    if matrix[0, 0] <= 0 or matrix[1, 1] <= 0 or matrix[2].tolist() != [0, 0, 1]:
        refuse(
            _place(file, sections["intrinsics"]),
            say("the matrix {tolist}", tolist=matrix.tolist()),
            say("fx 0 cx; 0 fy cy; 0 0 1"),
        )
    return matrix


def _sections(file: Path) -> dict[str, Lines]:
    """A calibration's sections by name, such as [intrinsics]. What nobody asks for ([distorsion]) stays unread."""
    sections: dict[str, Lines] = {}
    inside: Lines | None = None
    for number, line in _lines(file):
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


def _numbers(file: Path, sections: Mapping[str, Lines], name: str, shape: tuple[int, ...]) -> Floats:
    """A section's numbers: one row for a shape of one side, else so many rows."""
    if name not in sections:
        refuse(
            str(file),
            say("no section [{name}]", name=name),
            say("one among {join}", join=", ".join(f"[{known}]" for known in sections)),
        )
    rows, lines = (1, *shape)[-2:][0], sections[name]
    if len(lines) != rows:
        refuse(f"{_place(file, lines)}, [{name}]", say("{number} rows", number=len(lines)), f"{rows}")
    return np.array([_row(file, line, shape[-1]) for line in lines]).reshape(shape)


def _place(file: Path, lines: Lines) -> str:
    return f"{file}, line {lines[0][0]}" if lines else str(file)


def _row(file: Path, line: tuple[int, str], count: int, separator: str | None = ";") -> list[float]:
    """The numbers of one line; a last separator with nothing after it is let pass."""
    number, text = line
    cells = text.rstrip(";").split(separator)
    try:
        values = list(map(float, cells))
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        refuse(
            say("{file}, line {number}", file=file, number=number),
            clip(text),
            say_count("{count} number", "{count} numbers", count),
        )
    return values


def _lines(file: Path) -> Lines:
    text = decode_text(read_bytes(file, MAX_BYTES), file)
    return list(enumerate((line.strip() for line in text.splitlines()), 1))


# --- writing


def camera_text(shown_by: Camera) -> str:
    """A camera's calibration file."""
    matrices = {"intrinsics": shown_by.intrinsics, "R": shown_by.pose.rotation, "T": shown_by.pose.translation[:, None]}
    parts = [f"[resolution]\n{shown_by.width};{shown_by.height}\n"]
    return "".join(parts + [f"[{name}]\n{rows_text(matrix)}" for name, matrix in matrices.items()])


def depth_text(model: DepthModel) -> str:
    """What the depth camera's calibration file has after the camera's own sections."""
    parts = {"k_coefficients": np.array([model.k]), "alpha": np.array([model.alpha]), "beta": model.beta}
    return "".join(f"[{name}]\n{rows_text(rows)}" for name, rows in parts.items())


def screen_text(rotation: Floats, translation: Floats, metres_per_pixel: Floats) -> str:
    """The screen's calibration file, from R̂, t̂ and k̂."""
    kx, ky = map(float, metres_per_pixel)
    return f"[kx]\n{kx!r}\n[ky]\n{ky!r}\n[R]\n{rows_text(rotation)}[T]\n{rows_text(translation[:, None])}"


def eyes_text(eyes: Head) -> str:
    """A person's file of eyeballs."""
    return rows_text(np.asarray(eyes), " ")


def rows_text(rows: Floats, separator: str = ";") -> str:
    """Numbers line by line, so that reading gives the same bits."""
    return "".join(separator.join(map(repr, row)) + "\n" for row in rows.tolist())
