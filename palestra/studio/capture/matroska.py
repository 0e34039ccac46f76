"""A Matroska file that is whole after each frame: every frame is a cluster of its own, written at once.

Video libraries keep a cluster in memory until the next one begins, so that a program which is killed loses what it
took last. What is written here, any player reads.
"""

import os
import struct
from pathlib import Path

HEAD_BYTES = 27  # of a cluster, before its frame
UNKNOWN_SIZE = b"\x01" + 7 * b"\xff"
US = 1000  # nanoseconds of a tick of the file's clock


class MatroskaFile:
    """One video track, written frame by frame."""

    def __init__(self, file: Path, size: tuple[int, int], codec: str, private: bytes) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self.end = 0
        self.head = _file_head(size, codec, private)
        try:
            self._write(self.head)
        except OSError:
            self.close()
            file.unlink()
            raise

    def append(self, frame: bytes, at_ns: int) -> tuple[bytes, int]:
        """Write one frame with its time since the file's beginning; what was written, and where it begins."""
        block = b"\x81\x00\x00\x80"  # track 1, no time of its own, a key frame
        body = b"\xe7\x88" + struct.pack(">Q", at_ns // US) + b"\xa3" + _size4(len(block) + len(frame)) + block
        data = b"\x1f\x43\xb6\x75" + _size4(len(body) + len(frame)) + body + frame
        start = self.end
        self._write(data)
        return data, start

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            self.cut(self.end)
            raise
        self.end += len(data)

    def cut(self, end: int) -> None:
        """Forget what was written after this place."""
        os.ftruncate(self._descriptor, end)
        os.lseek(self._descriptor, end, os.SEEK_SET)
        self.end = end

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def frame_in(cluster: bytes) -> bytes:
    """The frame of a cluster that `append` wrote."""
    return cluster[HEAD_BYTES:]


def _file_head(size: tuple[int, int], codec: str, private: bytes) -> bytes:
    width, height = size
    ebml = _element(
        0x1A45DFA3,
        _number(0x4286, 1)
        + _number(0x42F7, 1)
        + _number(0x42F2, 4)
        + _number(0x42F3, 8)
        + _element(0x4282, b"matroska")
        + _number(0x4287, 4)
        + _number(0x4285, 2),
    )
    info = _element(0x1549A966, _number(0x2AD7B1, US) + _element(0x4D80, b"palestra") + _element(0x5741, b"palestra"))
    video = _element(0xE0, _number(0xB0, width) + _number(0xBA, height))
    track = _number(0xD7, 1) + _number(0x73C5, 1) + _number(0x83, 1) + _number(0x9C, 0)
    track += _element(0x86, codec.encode()) + _element(0x63A2, private) + video
    tracks = _element(0x1654AE6B, _element(0xAE, track))
    return ebml + b"\x18\x53\x80\x67" + UNKNOWN_SIZE + info + tracks


def _element(name: int, content: bytes) -> bytes:
    return name.to_bytes((name.bit_length() + 7) // 8, "big") + _size4(len(content)) + content


def _number(name: int, value: int) -> bytes:
    return _element(name, value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big"))


def _size4(size: int) -> bytes:
    return struct.pack(">I", 0x10000000 | size)


SEGMENT, TRACKS, TRACK, VIDEO = 0x18538067, 0x1654AE6B, 0xAE, 0xE0
CODEC, PRIVATE, WIDTH, HEIGHT = 0x86, 0x63A2, 0xB0, 0xBA
ENTERED = frozenset({SEGMENT, TRACKS, TRACK, VIDEO})  # elements with others in them that are looked for
MOST_HEAD = 4096


def read_file_head(file: Path) -> tuple[str, tuple[int, int], bytes]:
    """Codec, width and height, and the codec's settings; ValueError for a file that MatroskaFile did not write."""
    with file.open("rb") as opened:
        data = opened.read(MOST_HEAD)
    found: dict[int, bytes] = {}
    wanted = {CODEC, PRIVATE, WIDTH, HEIGHT}
    at = 0
    while at < len(data) and not wanted <= found.keys():
        name_bytes = 9 - data[at].bit_length()
        name = int.from_bytes(data[at : at + name_bytes], "big")
        at += name_bytes
        size_bytes = 9 - data[at].bit_length()
        size = int.from_bytes(data[at : at + size_bytes], "big") & ((1 << 7 * size_bytes) - 1)
        at += size_bytes
        if name not in ENTERED:
            found[name] = data[at : at + size]
            at += size
    if not wanted <= found.keys():
        raise ValueError("no head")
    width, height = (int.from_bytes(found[one], "big") for one in (WIDTH, HEIGHT))
    return found[CODEC].decode(), (width, height), found[PRIVATE]
