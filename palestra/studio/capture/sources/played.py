"""A folder of pictures or a video, played as if it were a camera."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np

from palestra.errors import PalestraError
from palestra.studio.capture.lossless import array_of
from palestra.studio.capture.source import About, Frame, Image, now_ns
from palestra.text import say

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm", ".ppm"})
PACE = re.compile(r"(?P<path>.+)@(?:(?P<rate>\d+(?:\.\d+)?)|(?P<fast>fast))(?P<loop>,loop)?", re.DOTALL)
LOOK_S = 0.5  # between two looks whether to stop
MOST_RATE_HZ = 10_000.0


@dataclass(frozen=True)
class Pace:
    """How a source that is not live is played."""

    path: Path
    rate_hz: float | None  # null: the video's own
    fast: bool = False  # as fast as it can be written, and then nothing is dropped
    loop: bool = False


def pace_of(rest: str) -> Pace:
    """PATH, PATH@100, PATH@fast, PATH@100,loop."""
    found = PACE.fullmatch(rest)
    if not found:
        return Pace(Path(rest), None)
    rate = float(found["rate"]) if found["rate"] else None
    if rate is not None and not 0 < rate <= MOST_RATE_HZ:
        raise PalestraError(say("{rest!r}: found {rate:g} Hz, expected more than 0 and at most {most:g}.",
                                rest=rest, rate=rate, most=MOST_RATE_HZ))  # fmt: skip
    return Pace(Path(found["path"]), rate, bool(found["fast"]), bool(found["loop"]))


def source_of(rest: str) -> "Played":
    return Played(rest)


class Played:
    """Pictures in the order of their names, or a video's frames. Its clock is the planned time of each."""

    def __init__(self, rest: str) -> None:
        self.spec = f"played:{rest}"
        self._pace = pace_of(rest)
        self.waits = self._pace.fast

    def open(self) -> About:
        path = self._pace.path
        if path.is_dir():
            self._files = pictures_in(path)
            if self._pace.rate_hz is None and not self._pace.fast:
                raise PalestraError(
                    say("{path}: say how fast its pictures are played, as {path}@100 (Hz) or {path}@fast.", path=path)
                )
        elif not path.is_file():
            raise PalestraError(say("{path}: there is no such folder or video.", path=path))
        else:
            self._files = []
        rate, size = (self._pace.rate_hz, None) if self._files else self._of_video(path)
        self._rate_hz = rate or 30.0
        own_clock = "" if self._pace.fast else "planned times, from 0"
        return About("pictures", rate_hz=None if self._pace.fast else self._rate_hz, size=size, own_clock=own_clock)

    def _of_video(self, path: Path) -> tuple[float | None, list[int]]:
        try:
            with av.open(str(path)) as container:
                if not container.streams.video:
                    raise PalestraError(say("{path}: no video that can be played.", path=path))
                stream = container.streams.video[0]
                rate = self._pace.rate_hz or float(stream.average_rate or 0) or None
                return rate, [stream.codec_context.width, stream.codec_context.height]
        except (av.FFmpegError, OSError) as error:
            raise PalestraError(say("{path}: no video that can be played ({error}).", path=path, error=error)) from None

    def items(self, stop: threading.Event) -> Iterator[Frame]:
        images = self._images()
        yield from paced(((image,) for image in images), None if self._pace.fast else self._rate_hz, stop)

    def _images(self) -> Iterator[Image]:
        while True:
            yield from map(read_picture, self._files) if self._files else video_images(self._pace.path)
            if not self._pace.loop:
                return

    def close(self) -> None:
        pass  # files are opened when they are read


def paced(frames: Iterator[tuple[Image, ...]], rate_hz: float | None, stop: threading.Event) -> Iterator[Frame]:
    """Frames at their planned times; without a rate, as fast as they are taken. One that is late is not left out."""
    started_ns = now_ns()
    for number, images in enumerate(frames):
        taken_ns = None if rate_hz is None else round(number * 1e9 / rate_hz)
        if taken_ns is not None:
            _sleep_until(started_ns + taken_ns, stop)
        if stop.is_set():
            return
        yield Frame(images, now_ns(), taken_ns)


def _sleep_until(due_ns: int, stop: threading.Event) -> None:
    while (left_s := (due_ns - now_ns()) / 1e9) > 0 and not stop.is_set():
        stop.wait(min(left_s, LOOK_S))


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a folder, 2 before 10."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in PICTURES and not file.name.startswith(".")]
    if not found:
        kinds = ", ".join(sorted(kind[1:] for kind in PICTURES))
        raise PalestraError(
            say("{folder} has no pictures: expected files that end in {kinds}.", folder=folder, kinds=kinds)
        )
    return sorted(found, key=lambda file: natural(file.name))


def natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


def read_picture(file: Path) -> Image:
    """A picture as it is recorded: grey of 8 or 16 bits, or colour; transparency is left out."""
    try:
        image = cv2.imdecode(np.fromfile(file, np.uint8), cv2.IMREAD_UNCHANGED)
    except (cv2.error, OSError):
        image = None
    if image is None:
        raise PalestraError(say("{file}: damaged, or no picture.", file=file))
    found: Image = image[:, :, :3] if image.ndim == 3 and image.shape[2] == 4 else image  # type: ignore[assignment]
    return found


def video_images(file: Path) -> Iterator[Image]:
    """The frames of a video, of one kind each: grey of 8 or 16 bits as they are, others as colour."""
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for frame in container.decode(stream):
            grey = {"gray": "gray", "gray16le": "gray16le"}.get(frame.format.name, "bgr24")
            yield array_of(frame, grey)
