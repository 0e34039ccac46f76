"""EYEDIAP's files of what was tracked: one row for each frame, zeros where nothing is known."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, clip, refuse
from palestra.formats import decode_text, read_bytes, write_bytes
from palestra.metrics.transforms import Camera, Head, World
from palestra.studio.track.head_icp import HeadPose
from palestra.studio.track.rig import Rig
from palestra.text import say

Floats = NDArray[np.float64]

SESSION = re.compile(r"(?P<person>[1-9]\d?)_[AB]_(?P<target>DS|CS|FT)_[SM]")
HEAD_POSE, EYES, BALL = "head_pose.txt", "eye_tracking.txt", "ball_tracking.txt"
HEADERS = {
    HEAD_POSE: "Head pose: frame;rotation matrix (9 values, row by row);translation (x,y,z)",
    EYES: "Eyes tracking: frame;RGB (x_left,y_left,x_right,y_right);Depth (4);HD (4);3D left (x,y,z);3D right (x,y,z)",
    BALL: "Ball tracking: frame;RGB (x,y);Depth (x,y);HD (x,y);3D (x,y,z)",
}
MAX_BYTES = 10_000


@dataclass(frozen=True)
class Session:
    """A session's place in a data set, by EYEDIAP's name of it, such as 1_A_FT_M."""

    data: Path
    name: str

    def __post_init__(self) -> None:
        if not SESSION.fullmatch(self.name):
            raise PalestraError(
                say("{name!r} is no session's name: expected PERSON_CONDITIONS_TARGET_HEAD, such as 1_A_FT_M.",
                    name=clip(self.name))
            )  # fmt: skip

    @property
    def person(self) -> int:
        return int(self.name.partition("_")[0])

    @property
    def has_ball(self) -> bool:
        return "_FT_" in self.name

    @property
    def folder(self) -> Path:
        return self.data / "Data" / self.name

    @property
    def eyes_file(self) -> Path:
        return self.data / "Metadata" / "Participants" / f"eyes_position_{self.person}.txt"

    @property
    def shape_file(self) -> Path:
        return self.data / "Metadata" / "Participants" / f"head_shape_{self.person}.npz"

    def require_new(self, *files: str) -> None:
        """What was tracked before is not written over: somebody may have corrected it."""
        for file in files:
            if (self.folder / file).exists():
                raise PalestraError(
                    say("{file} is there already. Move it away, or name another folder by --out.",
                        file=self.folder / file)
                )  # fmt: skip


def write_heads(session: Session, rig: Rig, poses: Sequence[HeadPose | None], eyes: Head) -> None:
    """Eq. 4 carries the eyeballs with the head: R·õ + t."""
    known = np.array([pose is not None for pose in poses])
    heads = np.array([_twelve(pose) for pose in poses])
    places = np.array([np.zeros((2, 3)) if pose is None else pose(eyes) for pose in poses])
    seen = [_seen_by(camera, places) for camera in (rig.colour, rig.depth, rig.hd)]
    _write(session.folder / HEAD_POSE, heads, known)
    _write(session.folder / EYES, np.hstack([*seen, places.reshape(-1, 6)]), known)


def write_balls(session: Session, rig: Rig, centres: Sequence[Floats | None]) -> None:
    known = np.array([centre is not None for centre in centres])
    places = np.array([np.zeros(3) if centre is None else centre for centre in centres])
    seen = [_seen_by(camera, places[:, None]) for camera in (rig.colour, rig.depth, rig.hd)]
    _write(session.folder / BALL, np.hstack([*seen, places]), known)


def keep_calibrations(session: Session, files: Mapping[str, Path]) -> None:
    """The files by which all of it was found, beside it."""
    session.folder.mkdir(parents=True, exist_ok=True)
    for which, file in files.items():
        kept = session.folder / f"{which}_calibration.txt"
        if not kept.exists():
            shutil.copyfile(file, kept)
        elif kept.read_bytes() != file.read_bytes():
            raise PalestraError(
                say("{kept} is another calibration than {file}: all of a session is tracked by one.",
                    kept=kept, file=file)
            )  # fmt: skip


def write_eyes(file: Path, eyes: Head) -> None:
    """A person's eyeballs in the head's frame: the left one, the right one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(file, "".join(" ".join(map(repr, row)) + "\n" for row in np.asarray(eyes).tolist()).encode())


def read_eyes(file: Path) -> Head:
    lines = [line.split() for line in decode_text(read_bytes(file, MAX_BYTES), file).splitlines() if line.strip()]
    try:
        eyes = np.array([[float(cell) for cell in line] for line in lines])
    except ValueError:
        eyes = np.zeros(0)
    if eyes.shape != (2, 3) or not np.isfinite(eyes).all():
        refuse(str(file), clip(lines), say("two rows of three numbers: the left eye, the right eye"))
    return Head(eyes)


def _twelve(pose: HeadPose | None) -> Floats:
    return np.zeros(12) if pose is None else np.concatenate([pose.rotation.ravel(), pose.translation])


def _seen_by(camera: Camera | None, places: Floats) -> Floats:
    """(n, 2·points) pixels; zeros for a camera that was not there."""
    if camera is None:
        return np.zeros((len(places), 2 * places.shape[1]))
    return np.asarray(camera.project(World(places))).reshape(len(places), -1)


def _write(file: Path, table: Floats, known: NDArray[np.bool_]) -> None:
    rows = np.where(known[:, None], table, 0.0)
    lines = [HEADERS[file.name], *(";".join([str(at), *map(_number, row)]) for at, row in enumerate(rows.tolist()))]
    write_bytes(file, ("\n".join(lines) + "\n").encode())


def _number(value: float) -> str:
    """The shortest decimals that read back as the same number."""
    return "0" if value == 0 else repr(value)
