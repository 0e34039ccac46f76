"""What is seen of the eyes in a recording's video. Each video is decoded once: what was seen is kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.formats import replacing
from palestra.metrics.transforms import Camera, World
from palestra.text import say
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.names import existing_file
from palestra.tracks.remote_gaze.solutions.samples import Floats, Rows
from palestra.tracks.remote_gaze.solutions.stabilise import steadied, strip, strip_warps
from palestra.tracks.remote_gaze.solutions.virtual_camera import EYE, Frame, Picture, axes_towards, eye_pictures, warps

KEPT_BYTES = 2_000_000_000  # of what was seen; the oldest goes first
FORMAT = 1  # of the files: another number, and none that is kept is taken for a new one


@dataclass(frozen=True)
class Look:
    """How a picture is looked at: RGB and the homographies (2, 3, 3) of both eyes in, an array of one shape out."""

    name: str  # changes whenever what comes out would
    frame: Frame
    see: Callable[[Picture, Floats], NDArray[Any]]


EYES = Look("eyes 1", EYE, eye_pictures)  # (2, 32, 48)


@dataclass(frozen=True)
class Seen:
    """What was seen of each row's frame, by which cameras."""

    found: NDArray[Any]  # (n, …)
    axes: Floats  # (n, 2, 3, 3) of the cameras that look straight at the eyes (virtual_camera.py)
    cameras: list[Camera]
    camera_of: NDArray[np.int64]  # (n,) which of them took a row's frame


def look(data: Path, rows: Rows, way: Look, wants: eyediap.Which = "rgb_vga") -> Seen:
    """Everything that rows show. Where a recording has no such video, that of the VGA camera is taken."""
    sessions = rows.table["piece"].to_list()
    found: dict[str, tuple[NDArray[Any], Camera]] = {}
    for session in dict.fromkeys(sessions):
        name = eyediap.name_of(session)
        which = wants if eyediap.has_video(data, name, wants) else "rgb_vga"
        found[session] = _of_session(data, name, way, which), eyediap.camera(data, name, which)
    frames = rows.table["frame"].to_list()
    each = [found[session][0][frame] for session, frame in zip(sessions, frames, strict=True)]
    order = {session: at for at, session in enumerate(found)}
    camera_of = np.array([order[session] for session in sessions], dtype=np.int64)
    cameras = [camera for _, camera in found.values()]
    axes = np.empty((len(rows), 2, 3, 3))
    for at, camera in enumerate(cameras):
        mine = camera_of == at
        axes[mine] = axes_towards(camera, rows.heads[mine], rows.eyes[mine])
    return Seen(np.stack(each), axes, cameras, camera_of)


def _of_session(data: Path, name: eyediap.Name, way: Look, which: eyediap.Which) -> NDArray[Any]:
    """(frames, …) of a whole recording, zeros where the head was lost."""
    if not eyediap.has_video(data, name, which):
        told = say(
            "{data}: {name} has no {which}.mov. This solution looks at pictures; use data with videos.",
            data=data,
            name=name,
            which=which,
        )
        raise PalestraError(told)
    files = _files(data, name, which)
    # Strips are looked at first, and whoever looks at something else of the same video need not do so again.
    eyes = _kept(f"steady {files}", partial(_steadied, data, name, which))
    return _kept(f"{way.name} {way.frame} {files}", partial(_seen, data, name, way, which, eyes))


def _steadied(data: Path, name: eyediap.Name, which: eyediap.Which) -> NDArray[Any]:
    """(frames, 2, 3) where the eyes are, as the face shows it."""
    rows, frames = _rows(data, name)
    camera, found = eyediap.camera(data, name, which), np.zeros((frames, 2, 3))
    numbers, warp = rows.table["frame"].to_list(), strip_warps(camera, rows.heads, rows.eyes)
    with eyediap.video(data, name, which) as video:
        greys = (np.asarray(cv2.cvtColor(video[number], cv2.COLOR_RGB2GRAY), np.uint8) for number in numbers)
        strips = [strip(grey, warp[at]) for at, grey in enumerate(greys)]
    found[numbers] = steadied(camera, rows.heads, rows.eyes, np.array(strips))
    return found


def _seen(data: Path, name: eyediap.Name, way: Look, which: eyediap.Which, eyes: NDArray[Any]) -> NDArray[Any]:
    rows, frames = _rows(data, name)
    numbers, camera = rows.table["frame"].to_list(), eyediap.camera(data, name, which)
    there = World(eyes[numbers])
    warp = warps(camera, axes_towards(camera, rows.heads, there), there, way.frame)
    with eyediap.video(data, name, which) as video:
        each = np.array([way.see(video[number], warp[at]) for at, number in enumerate(numbers)])
    found = np.zeros((frames, *each.shape[1:]), each.dtype)
    found[numbers] = each
    return found


def _rows(data: Path, name: eyediap.Name) -> tuple[Rows, int]:
    """The frames in which a head was found, and how many there are in all. Where the target was is in another file."""
    head = eyediap.tracking(data, name, "head_pose")
    eyes = eyediap.tracking(data, name, "eye_tracking").select("frame", *eyediap.EYES)
    return Rows.of(head.join(eyes, on="frame").drop_nulls()), head.height


# --- what is kept


def _kept(what: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """The array that is kept under this text; it is made where there is none."""
    file = _folder() / f"{hashlib.sha256(f'{FORMAT} {what}'.encode()).hexdigest()[:32]}.npy"
    try:
        found: NDArray[Any] = np.load(file, mmap_mode="r")
    except FileNotFoundError:
        found = make()
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as aside, aside.open("wb") as stream:
            np.save(stream, found)
        _make_room(file)
    return found


def _files(data: Path, name: eyediap.Name, which: eyediap.Which) -> str:
    """Files by what the disk says of them: reading a video to know whether it changed would take as long as seeing.

    Data that we made bears one date for all times, so when a file came onto this disk counts too.
    """
    names = (f"{which}.mov", f"{which}_calibration.txt", "head_pose.txt", "eye_tracking.txt")
    places = [existing_file(data, name, file).resolve() for file in names]
    known = [place.stat() for place in places]
    times = [(one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in known]
    return f"{[*map(str, places)]} {times}"


def _folder() -> Path:
    from palestra.datasets import cache_folder  # stands after the solutions; where it keeps things is known there

    return cache_folder() / "remote-gaze"


def _make_room(fresh: Path) -> None:
    """Remove the oldest until what is kept is small enough again. Another process may be at it too."""
    files = []
    for file in fresh.parent.glob("*.npy"):
        try:
            known = file.stat()
        except FileNotFoundError:
            continue
        files.append((known.st_mtime_ns, known.st_size, file))
    total = sum(size for _, size, _ in files)
    for _, size, file in sorted(files):
        if total <= KEPT_BYTES or file == fresh:
            return
        file.unlink(missing_ok=True)
        total -= size
