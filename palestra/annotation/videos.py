"""Frames of videos from strangers, one at a time: nothing but the file itself is opened, and sizes are looked at first.

The kind of a file is that of its ending: left to guess, the library would also take a list of other files, or of
addresses, for a video.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from palestra.annotation.pictures import unfit
from palestra.errors import Refused
from palestra.formats import regular_file

FORMATS = {".mp4": "mov", ".m4v": "mov", ".mov": "mov", ".avi": "avi", ".mkv": "matroska", ".webm": "matroska"}
MOST_PIXELS = 16_000_000
MOST_FRAMES = 5_000_000
MOST_BYTES = 1 << 40
DAMAGED = "damaged file"


@dataclass(frozen=True)
class Frame:
    number: int  # from 0
    time_s: float
    image: NDArray[np.uint8]  # grey


class Unreadable(Exception):
    """Why a video, or the rest of it, cannot be read."""


def frame_count(file: Path) -> int:
    """How many frames a video says that it holds, without decoding them."""
    with _opened(file) as (container, stream):
        return min(sum(packet.size > 0 for packet in container.demux(stream)), MOST_FRAMES)


def frames(file: Path, wanted: set[int]) -> Iterator[Frame]:
    """Those frames, in order, as far as the file goes."""
    last = max(wanted, default=-1)
    for number, frame in _decoded(file):
        if number in wanted:
            yield Frame(number, float(frame.time or 0.0), np.asarray(frame.to_ndarray(format="gray"), np.uint8))
        if number >= last:
            return


def _decoded(file: Path) -> Iterator[tuple[int, av.VideoFrame]]:
    with _opened(file) as (container, stream):
        for number, frame in enumerate(container.decode(stream)):
            _require_size(frame.width, frame.height)
            if number >= MOST_FRAMES:
                return
            yield number, frame


@contextmanager
def _opened(file: Path) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The file's first video, once its size was looked at."""
    try:
        if regular_file(file, MOST_BYTES, may_be_empty=True).stat().st_size == 0:
            raise Unreadable("empty file")
        with file.open("rb") as data, av.open(data, format=FORMATS[file.suffix.lower()]) as container:
            if not isinstance(container, InputContainer) or not container.streams.video:
                raise Unreadable("not a picture")
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1
            _require_size(stream.codec_context.width, stream.codec_context.height)
            yield container, stream
    except (av.FFmpegError, ValueError, OverflowError, EOFError) as error:  # some of them are an OSError too
        raise Unreadable(DAMAGED) from error
    except (Refused, OSError) as error:
        why = error.faults[0].found if isinstance(error, Refused) else error.strerror
        raise Unreadable(f"cannot be read: {why}") from None


def _require_size(width: int, height: int) -> None:
    if min(width, height) < 1:
        raise Unreadable(DAMAGED)
    if why := unfit((width, height), MOST_PIXELS):
        raise Unreadable(why)
