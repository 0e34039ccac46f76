"""EYEDIAP's videos, frame by frame: picture n is frame n, whether one comes to it in order or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from palestra.errors import refuse
from palestra.formats import regular_file
from palestra.text import OR, joined, say
from palestra.tracks.remote_gaze.eyediap.calibration import camera
from palestra.tracks.remote_gaze.eyediap.digits import drawn_index
from palestra.tracks.remote_gaze.eyediap.names import Name, Which, existing_file
from palestra.tracks.remote_gaze.eyediap.tracking import frame_count

# MPEG-4, which is the name of two codecs; depth means something only as long as no bit is lost.
CODECS = {"rgb_vga": ("mpeg4", "h264"), "rgb_hd": ("mpeg4", "h264"), "depth": ("zlib",)}
MAX_BYTES = 1 << 40

Picture = NDArray[np.uint8]


def video(data: Path, name: Name, which: Which) -> Video:
    """One of a recording's videos; refused where it does not fit the recording's other files."""
    file = existing_file(data, name, f"{which}.mov")
    opened, seen_by = Video(file, CODECS[which]), camera(data, name, which)
    frames, size = frame_count(data, name), (seen_by.width, seen_by.height)
    try:
        if (opened.width, opened.height) != size:
            refuse(
                str(file),
                say("pictures of {width} × {height}", width=opened.width, height=opened.height),
                say("{size} × {size2}, as calibrated", size=size[0], size2=size[1]),
            )
        if len(opened) != frames:
            refuse(
                str(file),
                say("{number:,} frames", number=len(opened)),
                say("{frames:,}, as in head_pose.txt", frames=frames),
            )
    except BaseException:
        opened.close()
        raise
    return opened


def verify_index(pictures: Video, every: int = 1) -> None:
    """Refuse a video in whose corners other numbers stand than its frames have. It knows our own digits alone."""
    for index in range(0, len(pictures), every):
        drawn = drawn_index(pictures[index])
        if drawn != index:
            found = "no number that can be read" if drawn is None else f"the number {drawn}"
            refuse(
                say("{file}, frame {index}", file=pictures.file, index=index),
                say("{found} in its corner", found=found),
                f"{index}",
            )


class Video:
    """Frames as RGB: `video[i]`, or one after the other. Used in a `with`, it is closed after."""

    def __init__(self, file: Path, codecs: Sequence[str]) -> None:
        self.file = regular_file(file, MAX_BYTES)
        try:
            self._container = av.open(str(file))
        except av.FFmpegError as error:
            refuse(
                str(file),
                say("no video that can be opened ({strerror})", strerror=error.strerror),
                say("a whole one: was it cut off?"),
            )
        try:
            self._stream = _stream(file, self._container, codecs)
            check_whole(file)
            self._times, self._keys = _order(file, self._container, self._stream)
        except BaseException:
            self.close()
            raise
        self._index_of = {time: index for index, time in enumerate(self._times)}
        entries = self._stream.index_entries if self._container.format.name == "avi" else ()
        self._sizes = {entry.timestamp: entry.size for entry in entries}
        self._colours = VideoReformatter()  # one for all frames: making it takes as long as using it
        self._decoded: Iterator[Any] = iter(())
        self._next = len(self)  # what the decoder gives next: nothing, before the first seek

    @property
    def width(self) -> int:
        return int(self._stream.codec_context.width)

    @property
    def height(self) -> int:
        return int(self._stream.codec_context.height)

    def __len__(self) -> int:
        return len(self._times)

    def __getitem__(self, index: int) -> Picture:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.file}: frame {index} of {len(self)}")
        if not self._comes(index):
            self._seek(index)
        frame, at = self._step(index)
        if at > index:  # the pictures before it lean on an earlier group
            self._seek(0)
            frame, at = self._step(index)
        while at < index:
            frame, at = self._step(index)
        if at != index:
            refuse(
                say("{file}, frame {index}", file=self.file, index=index), say("no picture"), say("one for every frame")
            )
        return _rgb(self._colours.reformat(frame, format="rgb24"))

    def __iter__(self) -> Iterator[Picture]:
        return (self[index] for index in range(len(self)))

    def _comes(self, index: int) -> bool:
        """Whether decoding on is the shortest way: no picture that stands for itself is nearer."""
        nearest = self._keys[int(np.searchsorted(self._keys, index, side="right")) - 1]
        return self._next <= index and (self._next == index or nearest < self._next)

    def _seek(self, index: int) -> None:
        self._container.seek(self._times[index], stream=self._stream)
        self._decoded = self._frames()

    def _frames(self) -> Iterator[Any]:
        """What the decoder gives from here on. Where an .avi is damaged, a frame takes the place of the one before."""
        for packet in self._container.demux(self._stream):
            if packet.size != self._sizes.get(packet.dts, packet.size):
                found = say(
                    "{size:,} bytes at the place of frame {get}", size=packet.size, get=self._index_of.get(packet.pts)
                )
                refuse(str(self.file), found, say("{sizes:,}: it is damaged", sizes=self._sizes[packet.dts]))
            yield from packet.decode()

    def _step(self, wanted: int) -> tuple[Any, int]:
        """The next picture that the decoder gives, and which one it is."""
        self._next = len(self)  # whatever fails, the next one asked for is sought anew
        try:
            frame = next(self._decoded)
        except (StopIteration, av.FFmpegError) as error:
            said = f" ({error.strerror})" if isinstance(error, av.FFmpegError) else ""
            refuse(
                say("{file}, frame {wanted}", file=self.file, wanted=wanted),
                say("no picture{said}", said=said),
                say("{number:,} frames: is it damaged?", number=len(self)),
            )
        at = self._index_of.get(frame.pts, -1)
        self._next = at + 1 if at >= 0 else len(self)
        return frame, at

    def close(self) -> None:
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rgb(frame: Any) -> Picture:
    """A frame's pixels where they are: they live as long as somebody looks at them."""
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(frame.height, plane.line_size)
    return rows[:, : 3 * frame.width].reshape(frame.height, frame.width, 3)


def _stream(file: Path, container: Any, codecs: Sequence[str]) -> Any:
    if not container.streams.video:
        refuse(str(file), say("no pictures"), say("a video"))
    stream = container.streams.video[0]
    found = stream.codec_context.name
    if found not in codecs:
        why = "; another one may have lost bits of depth" if "zlib" in codecs else ""
        refuse(
            str(file),
            say("a video encoded anew as {found}", found=found),
            say("{codecs}, as it was released{why}", codecs=joined(codecs, OR), why=why),
        )
    stream.thread_type = "AUTO"
    return stream


def _order(file: Path, container: Any, stream: Any) -> tuple[list[int], NDArray[np.int64]]:
    """When each frame is shown, in order, and which of them stand for themselves."""
    entries = list(stream.index_entries)
    if entries and not stream.codec_context.has_b_frames:
        shown = [(entry.timestamp, entry.is_keyframe) for entry in entries]
    else:  # pictures are stored in another order than they are shown in, or nothing says where they are
        shown = [(packet.pts, packet.is_keyframe) for packet in container.demux(stream) if packet.pts is not None]
    shown.sort()
    times = [time for time, _ in shown]
    if not times or len(set(times)) != len(times):
        refuse(
            str(file),
            say("{number} frames at {number2} times", number=len(set(times)), number2=len(times)),
            say("one frame at each time"),
        )
    if stream.frames and stream.frames != len(times):
        refuse(
            str(file),
            say("{number:,} frames", number=len(times)),
            say("{frames:,}, as it says itself: was it cut off?", frames=stream.frames),
        )
    return times, np.flatnonzero([key for _, key in shown])


def check_whole(file: Path) -> None:
    """Refuse a file that ends before what it says it has: the boxes of a .mov, the lists of an .avi."""
    size = file.stat().st_size
    end = 0
    with file.open("rb") as stream:
        while end + 8 <= size:
            stream.seek(end)
            end += _box_bytes(stream.read(16), size - end)
    if end > size:
        refuse(str(file), say("{size:,} bytes", size=size), say("{end:,}: it was cut off", end=end))


def _box_bytes(head: bytes, left: int) -> int:
    """How long the part of a file is that begins so; all that is left, where nothing says it."""
    if head[:4] == b"RIFF":
        length = int.from_bytes(head[4:8], "little")
        return 8 + length + length % 2
    length = int.from_bytes(head[:4], "big")
    if not head[4:8].isalnum() or length == 0:
        return left
    return int.from_bytes(head[8:16], "big") if length == 1 else max(length, 8)
