"""Pictures with their times, whether they come from a video file or from a source of a recording."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.capture.layout import HEAD
from palestra.studio.capture.recording import Recording
from palestra.text import say

Grey = NDArray[np.uint8]
LUMA_FIRST = ("yuv", "nv1", "gray", "gbrp")  # layouts of 8 bits whose first plane is brightness, or green
STILL = ("tty", "_pipe", "image2", "gif")  # formats in which a library sees moving pictures where nobody does
WIDER = ("10", "12", "14", "16", "le", "be")  # the same with more bits


@dataclass(frozen=True)
class Shot:
    """One picture: its time in seconds from the first, and its brightness."""

    at_s: float
    grey: Grey  # (h, w); only until the next one is taken


def in_recording(path: Path) -> tuple[Path, str] | None:
    """The recording and the source that `session-1/left` names, if it does."""
    return (path.parent, path.name) if (path.parent / HEAD).is_file() else None


def shots(path: Path) -> Iterator[Shot]:
    """All pictures of a video or of a recording's source, decoded once."""
    recorded = in_recording(path)
    yield from _of_recording(*recorded) if recorded else _of_file(path)


def started_ns(path: Path) -> int | None:
    """When the first picture was taken on the recording's clock; None for a video file, which has none."""
    recorded = in_recording(path)
    if not recorded:
        return None
    times = Recording(recorded[0]).times(recorded[1])["at_ns"]
    return int(times[0]) if len(times) else None


def frame_times(path: Path) -> NDArray[np.float64]:
    """When each frame was taken, in seconds from the first, without decoding any."""
    recorded = in_recording(path)
    if recorded:
        at_ns = Recording(recorded[0]).times(recorded[1])["at_ns"].to_numpy()
        found: NDArray[np.float64] = (at_ns - at_ns[0]) / 1e9
        return found
    with _opened(path) as container:
        stream = container.streams.video[0]
        stamps = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
        return np.sort(np.array(stamps, np.float64) - min(stamps, default=0)) * float(stream.time_base or 0)


def colours(path: Path) -> Iterator[tuple[float, av.VideoFrame]]:
    """All pictures with their colours, and their times in seconds from the first."""
    recorded = in_recording(path)
    if not recorded:
        yield from _timed(path)
        return
    first: int | None = None
    for frame in Recording(recorded[0]).frames(recorded[1]):
        first = frame.at_ns if first is None else first
        image: Any = frame.images[0]
        form = "bgr24" if image.ndim == 3 else ("gray" if image.dtype == np.uint8 else "gray16le")
        yield (frame.at_ns - first) / 1e9, av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format=form)


def _of_recording(folder: Path, name: str) -> Iterator[Shot]:
    first: int | None = None
    for frame in Recording(folder).frames(name):
        first = frame.at_ns if first is None else first
        image: Any = frame.images[0]
        if image.dtype != np.uint8:
            raise PalestraError(say("{name} has pictures of 16 bits: name a camera, not depth.", name=name))
        yield Shot((frame.at_ns - first) / 1e9, image if image.ndim == 2 else image[:, :, 1])


def _of_file(path: Path) -> Iterator[Shot]:
    for at_s, frame in _timed(path):
        yield Shot(at_s, _brightness(frame))


def _timed(path: Path) -> Iterator[tuple[float, av.VideoFrame]]:
    with _opened(path) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        period = 1 / float(stream.average_rate or 30)
        first: float | None = None
        for number, frame in enumerate(container.decode(stream)):
            at_s = number * period if frame.time is None else float(frame.time)
            first = at_s if first is None else first
            yield at_s - first, frame


@contextmanager
def _opened(path: Path) -> Iterator[av.container.InputContainer]:
    """A video file; what is none is said."""
    if path.is_dir():
        raise PalestraError(say("{path} is a folder. Of a recording, name a source too, as session-1/left.", path=path))
    if not path.is_file():
        raise PalestraError(say("{path}: there is no such file.", path=path))
    try:
        with av.open(str(path)) as container:
            if not container.streams.video or container.format.name.endswith(STILL):
                raise PalestraError(say("{path} is not a video: it has no pictures.", path=path))
            yield container
    except (av.FFmpegError, OSError) as error:
        raise PalestraError(
            say("{path} is not a video that can be read ({error}). Play it in a player first.", path=path, error=error)
        ) from None


def _brightness(frame: av.VideoFrame) -> Grey:
    """The plane that has it, without a copy where there is one."""
    name = frame.format.name
    if not name.startswith(LUMA_FIRST) or name.endswith(WIDER):
        frame = frame.reformat(format="gray")
    plane: Any = frame.planes[0]
    rows: Grey = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return rows[: frame.height, : frame.width]
