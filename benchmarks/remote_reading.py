"""EYEDIAP's files: how fast they are read beside bare libraries. `benchmarks/remote.py` runs this with the rest.

python -m benchmarks.remote_reading
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.metrics.transforms import KINECT_TO_WORLD, Camera, Head
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.names import session_file

FRAMES = {"A": 4500, "B": 5400}  # 2.5 and 3 minutes at 30 Hz
TRIES = 5
DECODED = 60  # frames of the videos that are decoded
READING_AT_MOST, DECODING_AT_LEAST, DEPTH_PER_S = 3.0, 0.8, 300.0
FILES = ("head_pose.txt", "eye_tracking.txt", "ball_tracking.txt", "screen_coordinates.txt")


@dataclass(frozen=True)
class Line:
    """One thing that was measured beside what was asked."""

    what: str
    value: float
    asked: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.value >= self.asked if self.at_least else self.value <= self.asked

    def __str__(self) -> str:
        bound = "at least" if self.at_least else "at most"
        return f"{self.what}: {self.value:.4g}; asked: {bound} {self.asked:g}; {'yes' if self.met else 'no'}"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(Path(folder))
    print("\n".join(map(str, lines)))
    return int(not all(line.met for line in lines))


def measure(folder: Path) -> list[Line]:
    """Everything, on data that is made in a folder."""
    write_tracking(folder / "paper")
    reading = reading_ratio(folder / "paper")
    lines = [Line("time of all tracking files of 94 recordings ÷ bare polars", reading, READING_AT_MOST, False)]
    name = write_videos(folder / "videos")
    for which in eyediap.VIDEOS:
        for peer in PEERS:
            pace = decoding_ratio(folder / "videos", name, which, peer)
            lines.append(Line(f"pace of {which}.mov in order ÷ bare {peer}", pace, DECODING_AT_LEAST, True))
    return [*lines, Line("depth pictures to metres a second, one core", depth_rate(), DEPTH_PER_S, True)]


# --- data


def cameras() -> dict[str, Camera]:
    vga = np.array([[530.0, 0, 319.5], [0, 530, 239.5], [0, 0, 1]])
    hd = np.array([[1500.0, 0, 959.5], [0, 1500, 539.5], [0, 0, 1]])
    small = Camera(640, 480, vga, KINECT_TO_WORLD)
    return {"rgb_vga": small, "depth": small, "rgb_hd": Camera(1920, 1080, hd, KINECT_TO_WORLD)}


def model() -> eyediap.DepthModel:
    rows, columns = np.mgrid[0:480, 0:640]
    beta = 0.5 * np.sin(rows / 90) * np.cos(columns / 110)
    return eyediap.DepthModel((3.3309495161, -0.0030711016), (1.0, 0.002), np.round(beta, 4))


def recording(name: eyediap.Name, frames: int, rng: np.random.Generator) -> eyediap.Recording:
    """Numbers as long as real ones; one frame in fifty was not tracked."""
    turns = np.linalg.qr(rng.standard_normal((frames, 3, 3)))[0]
    turns *= np.sign(np.linalg.det(turns))[:, None, None]
    screen = rng.uniform(0, 740, (frames, 2)) if name.on_screen else None
    states = None if name.target == "DS" else ["OK"] * frames
    return eyediap.Recording(
        name, turns, rng.normal(0, 0.02, (frames, 3)), rng.normal(0, 0.03, (frames, 2, 3)),
        rng.normal(0, 0.1, (frames, 3)), screen, states, rng.random(frames) > 0.02, cameras(), model(),
    )  # fmt: skip


def write_tracking(data: Path) -> None:
    """94 recordings of the paper's length without videos."""
    rng = np.random.default_rng(0)
    for name in eyediap.ALL:
        eyediap.write_session(data, recording(name, FRAMES[name.condition], rng), {})


def write_videos(data: Path) -> eyediap.Name:
    """One recording with all three videos of something that moves before a grainy wall."""
    name, rng = eyediap.name_of("1_A_FT_M"), np.random.default_rng(0)
    grain = cv2.GaussianBlur(rng.integers(0, 255, (1080, 1920, 3)).astype(np.uint8), (0, 0), 3)

    def colour(width: int, height: int) -> Iterator[NDArray[np.uint8]]:
        for index in range(DECODED):
            picture = grain[:height, :width].copy()
            cv2.circle(picture, (width // 2 + index, height // 2), height // 4, (200, 150, 120), cv2.FILLED)
            yield picture

    def depth() -> Iterator[NDArray[np.uint16]]:
        for index in range(DECODED):
            picture = np.full((480, 640), 800, np.uint16) + rng.integers(0, 3, (480, 640)).astype(np.uint16)
            picture[100:380, 100 + index : 300 + index] -= 200
            yield picture

    eyediap.write_session(
        data,
        recording(name, DECODED, rng),
        {"rgb_vga": colour(640, 480), "rgb_hd": colour(1920, 1080), "depth": depth()},
    )
    eyediap.write_metadata(data, (np.eye(3), np.zeros(3), np.full(2, 0.0004)), {1: Head(np.zeros((2, 3)))})
    return name


# --- what is measured


def best_s(*ways: Callable[[], object], tries: int = TRIES) -> NDArray[np.float64]:
    """The shortest time of each way; they take turns, so that a busy machine is busy for all."""
    return np.min([[_seconds(way) for way in ways] for _ in range(tries)], axis=0)


def _seconds(way: Callable[[], object]) -> float:
    started = time.perf_counter()
    way()
    return time.perf_counter() - started


def reading_ratio(data: Path) -> float:
    """Whole tables of every recording, checked, beside a bare read of the same bytes."""
    spent = [_reading_s(data, name) for name in eyediap.sessions(data)]
    own, theirs = np.sum(spent, axis=0)
    return float(own / theirs)


def _reading_s(data: Path, name: eyediap.Name) -> NDArray[np.float64]:
    """One recording's time, ours and theirs: what is short is measured between what else a machine does."""
    files = [file for kind in FILES if (file := session_file(data, name, kind))]

    def bare() -> None:
        for file in files:
            pl.read_csv(file, separator=";", has_header=False, skip_rows=1)

    return best_s(lambda: eyediap.frames(data, name), bare)


def bare_pyav(file: Path) -> None:
    with av.open(str(file)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for frame in container.decode(video=0):
            frame.to_ndarray(format="rgb24")


def bare_opencv(file: Path) -> None:
    capture = cv2.VideoCapture(str(file))
    while capture.read()[0]:
        pass
    capture.release()


PEERS = {"PyAV": bare_pyav, "OpenCV": bare_opencv}


def decoding_ratio(data: Path, name: eyediap.Name, which: eyediap.Which, peer: str) -> float:
    """How fast frames come in order, as a share of a bare library's pace."""
    file = data / "Data" / str(name) / f"{which}.mov"

    def own() -> None:
        with eyediap.video(data, name, which) as pictures:
            for _ in pictures:
                pass

    ours, theirs = best_s(own, lambda: PEERS[peer](file), tries=3 * TRIES)
    return float(theirs / ours)


def depth_rate() -> float:
    """Pictures of the depth video, decoded, to metres, a second."""
    kept, threads = os.sched_getaffinity(0), cv2.getNumThreads()
    os.sched_setaffinity(0, {min(kept)})
    cv2.setNumThreads(1)
    known = model()
    picture = eyediap.rgb_of(np.random.default_rng(0).integers(400, 1000, (480, 640)).astype(np.uint16))
    (seconds,) = best_s(lambda: eyediap.depth_m(eyediap.disparity_of(picture), known), tries=50 * TRIES)
    os.sched_setaffinity(0, kept)
    cv2.setNumThreads(threads)
    return float(1 / seconds)


if __name__ == "__main__":
    sys.exit(main())
