"""EYEDIAP's files, written as the release has them: one recording at a time, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.formats import write_bytes
from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Head, World
from palestra.tracks.remote_gaze.eyediap import calibration
from palestra.tracks.remote_gaze.eyediap.depth import DepthModel, rgb_of
from palestra.tracks.remote_gaze.eyediap.digits import draw_index
from palestra.tracks.remote_gaze.eyediap.names import RATE_HZ, VIDEOS, Name
from palestra.tracks.remote_gaze.eyediap.states import STATE_FILE, STATE_FOLDER, STATES
from palestra.tracks.remote_gaze.eyediap.tracking import Tracking

Floats = NDArray[np.float64]

HEADERS: Mapping[Tracking, str] = {
    "head_pose": "Head pose: (Rotation matrix (9 values, row by row);Translation(3 values, x,y,z))",
    "eye_tracking": "Eyes tracking: frame;RGB (x_left,y_left,x_right,y_right);Depth (4);HD (4);"
    "3D left (x,y,z);3D right (x,y,z)",
    "ball_tracking": "Ball tracking: frame;RGB (x,y);Depth (x,y);HD (x,y);3D (x,y,z)",
    "screen_coordinates": "Screen coordinates: frame;2D (x,y);3D in the RGB camera's frame (x,y,z)",
}
PROJECTED = ("rgb_vga", "depth", "rgb_hd")  # the order of the projections in a row


@dataclass(frozen=True)
class Recording:
    """Everything of one recording but its pictures. Frames lie along the first axis; all is in the world's metres."""

    name: Name
    rotations: Floats  # (n, 3, 3): the head
    translations: Floats  # (n, 3)
    eyes: Floats  # (n, 2, 3): left, right
    target: Floats  # (n, 3); not a number where the ball was not found
    screen: Floats | None  # (n, 2): the target's pixel; None for the ball
    states: Sequence[str] | None  # OK, BK or NL; None where nobody annotated
    available: NDArray[np.bool_]  # (n,): whether the head was tracked, and so the eyes
    cameras: Mapping[str, Camera]  # rgb_vga, rgb_hd, depth
    depth: DepthModel


def write_session(data: Path, recording: Recording, pictures: Mapping[str, Iterable[NDArray[Any]]]) -> None:
    """Write a recording and its videos: RGB for rgb_vga and rgb_hd, disparities for depth; each may be left out.

    Pictures are taken in step, frame 0 of each video, then frame 1, so that one drawing can feed them all.
    """
    _check(recording, pictures)
    tables = _tables(recording)
    with _whole_folder(data / "Data" / str(recording.name)) as folder:
        for tracking, table in tables.items():
            (folder / f"{tracking}.txt").write_text(HEADERS[tracking] + "\n" + _rows(table))
        for which, camera in recording.cameras.items():
            depth_too = calibration.depth_text(recording.depth) if which == "depth" else ""
            (folder / f"{which}_calibration.txt").write_text(calibration.camera_text(camera) + depth_too)
        _write_videos(folder, len(recording.target), pictures)
        if recording.states is not None:  # last, since they stand elsewhere and must not outlive a failure
            _write_states(data, recording.name, recording.states)


def write_metadata(data: Path, screen: tuple[Floats, Floats, Floats], eyeballs: Mapping[int, Head]) -> None:
    """What holds for all recordings: the screen's file (R̂, t̂ and k̂ of Eq. 3) and each person's eyeballs."""
    texts = {data / calibration.SCREEN_FILE: calibration.screen_text(*screen)}
    for person, eyes in eyeballs.items():
        texts[data / calibration.EYES_FOLDER / f"eyes_position_{person}.txt"] = calibration.eyes_text(eyes)
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, text.encode())


def _check(recording: Recording, pictures: Mapping[str, object]) -> None:
    """A recording of our own that does not hold together is a fault of whoever made it."""
    count = len(recording.target)
    parts = (recording.rotations, recording.translations, recording.eyes, recording.available)
    if any(len(part) != count for part in (*parts, recording.screen, recording.states) if part is not None):
        raise ValueError(f"{recording.name}: parts of different lengths")
    if (recording.screen is not None) != recording.name.on_screen:
        raise ValueError(f"{recording.name}: a screen's pixels are for DS and CS alone")
    if set(recording.cameras) != set(VIDEOS) or set(pictures) - set(VIDEOS):
        raise ValueError(f"{recording.name}: the cameras and videos are {', '.join(VIDEOS)}")
    if set(recording.states or ()) - set(STATES):
        raise ValueError(f"{recording.name}: the states are {', '.join(STATES)}")


# --- tables


def _tables(recording: Recording) -> dict[Tracking, Floats]:
    """The numbers of each tracking file, without the frames'; zeros where nothing is known."""
    head = np.hstack([recording.rotations.reshape(-1, 9), recording.translations])
    seen = [_projected(recording, camera, recording.eyes) for camera in PROJECTED]
    eyes = np.hstack([*seen, recording.eyes.reshape(-1, 6)])
    tracked, found = recording.available[:, None], np.isfinite(recording.target).all(axis=1, keepdims=True)
    tables: dict[Tracking, Floats] = {
        "head_pose": np.where(tracked, head, 0.0),
        "eye_tracking": np.where(tracked, eyes, 0.0),
    }
    if recording.screen is None:
        ball = [_projected(recording, camera, recording.target[:, None]) for camera in PROJECTED]
        tables["ball_tracking"] = np.where(found, np.hstack([*ball, recording.target]), 0.0)
    else:
        before = KINECT_TO_WORLD.back()(World(recording.target))
        tables["screen_coordinates"] = np.where(found, np.hstack([recording.screen, before]), 0.0)
    if not all(np.isfinite(table).all() for table in tables.values()):
        raise ValueError(f"{recording.name}: something is not finite, or not before a camera that should see it")
    return tables


def _projected(recording: Recording, camera: str, points: Floats) -> Floats:
    """(n, 2·points): where a camera sees points of each frame."""
    return np.asarray(recording.cameras[camera].project(World(points))).reshape(len(points), -1)


def _rows(table: Floats) -> str:
    """Polars writes the shortest decimals that read back as the same bits."""
    frame = pl.arange(0, len(table), dtype=pl.Int32, eager=True).alias("frame")
    return pl.from_numpy(table).insert_column(0, frame).write_csv(separator=";", include_header=False)


def _write_states(data: Path, name: Name, states: Sequence[str]) -> None:
    file = data / STATE_FOLDER / str(name) / STATE_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(file, "".join(f"{frame}\t{state}\n" for frame, state in enumerate(states)).encode())


@contextlib.contextmanager
def _whole_folder(place: Path) -> Iterator[Path]:
    """A folder to fill; it takes its name when it is whole, and is gone if it never is."""
    fresh = place.with_name(f".{place.name}.{os.getpid()}.new")
    fresh.mkdir(parents=True)
    try:
        yield fresh
        if place.exists():
            shutil.rmtree(place)
        fresh.replace(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


# --- videos


def _write_videos(folder: Path, count: int, pictures: Mapping[str, Iterable[NDArray[Any]]]) -> None:
    sources = {which: iter(frames) for which, frames in pictures.items()}
    with contextlib.ExitStack() as stack:
        files = {which: stack.enter_context(VideoFile(folder / f"{which}.mov", which == "depth")) for which in sources}
        for index in range(count):
            for which, source in sources.items():
                picture = next(source, None)
                if picture is None:
                    raise ValueError(f"{which}: {index} pictures for {count} frames")
                files[which].add(picture)
        if any(next(source, None) is not None for source in sources.values()):
            raise ValueError(f"more pictures than the {count} frames")


class VideoFile:
    """A video that grows frame by frame, with each frame's number in its corner."""

    def __init__(self, file: Path, is_depth: bool) -> None:
        self._is_depth = is_depth
        # PyAV puts zlib into .avi alone; players and readers look at what is inside, not at the name.
        self._container = av.open(str(file), "w", format="avi" if is_depth else "mov")
        self._stream: Any = None
        self._count = 0

    def add(self, picture: NDArray[Any]) -> None:
        rgb = rgb_of(picture) if self._is_depth else np.array(picture, np.uint8)  # a copy: it is drawn into
        draw_index(rgb, self._count, on_black=not self._is_depth)
        if self._stream is None:
            self._stream = self._opened(*rgb.shape[:2])
        self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(rgb, format="rgb24")))
        self._count += 1

    def _opened(self, height: int, width: int) -> Any:
        stream = self._container.add_stream("zlib" if self._is_depth else "mpeg4", rate=RATE_HZ)
        stream.height, stream.width = height, width
        stream.pix_fmt = "bgr24" if self._is_depth else "yuv420p"
        context = stream.codec_context
        context.thread_count = 1  # so that the bytes do not depend on the machine
        if self._is_depth:
            context.options = {"compression_level": "1"}
        else:
            context.qmin = context.qmax = 2  # as fine as the codec goes without waste
            context.gop_size, context.max_b_frames = 15, 0
        return stream

    def __enter__(self) -> VideoFile:
        return self

    def __exit__(self, *failed: object) -> None:
        try:
            if self._stream is not None and failed[0] is None:
                self._container.mux(self._stream.encode())
        finally:
            self._container.close()
