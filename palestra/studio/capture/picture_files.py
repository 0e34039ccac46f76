"""The files that the pictures of one segment go to: a lossless video, or a folder of PNG."""

import hashlib
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from palestra.studio.capture import lossless
from palestra.studio.capture.layout import sync_folder
from palestra.studio.capture.matroska import MatroskaFile
from palestra.studio.capture.source import Image

PNG_LEVEL = 1  # sensor noise does not compress, and higher levels cost five times the time for a few per cent


class PictureFile(Protocol):
    """Takes the pictures of one part, all of one size."""

    def append(self, image: Image, number: int, at_ns: int) -> tuple[int, int]:
        """Write a picture; where it begins and how many bytes it has."""

    def keep(self) -> None:
        """The newest picture has its row: it counts."""

    def undo(self) -> None:
        """Forget the newest picture, which got no row."""

    def sync(self) -> None: ...

    def close(self) -> str:
        """The SHA-256 of what counts."""


class VideoFile:
    """One lossless video."""

    def __init__(self, file: Path, first: Image) -> None:
        self._encoder = lossless.Encoder(first)
        size = (first.shape[1], first.shape[0])
        self._file = MatroskaFile(file, size, self._encoder.codec.matroska, self._encoder.private)
        self._digest = hashlib.sha256(self._file.head)
        self._kept = self._file.end
        self._newest = b""

    def append(self, image: Image, number: int, at_ns: int) -> tuple[int, int]:
        self._newest, start = self._file.append(self._encoder.encode(image), at_ns)
        return start, len(self._newest)

    def keep(self) -> None:
        self._digest.update(self._newest)
        self._kept, self._newest = self._file.end, b""

    def undo(self) -> None:
        self._file.cut(self._kept)

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> str:
        self._file.close()
        return self._digest.hexdigest()


class PngFolder:
    """One PNG for each picture."""

    def __init__(self, folder: Path, ending: str) -> None:
        self._folder, self._ending = folder, ending
        self._digest = hashlib.sha256()
        self._newest: tuple[Path, bytes] | None = None
        folder.mkdir(exist_ok=True)

    def append(self, image: Image, number: int, at_ns: int) -> tuple[int, int]:
        data = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, PNG_LEVEL])[1].tobytes()
        file = png_file(self._folder, number, self._ending)
        self._newest = file, data
        file.write_bytes(data)
        return 0, len(data)

    def keep(self) -> None:
        if self._newest:
            self._digest.update(self._newest[1])
            self._newest = None

    def undo(self) -> None:
        if self._newest:
            self._newest[0].unlink(missing_ok=True)

    def sync(self) -> None:
        sync_folder(self._folder)  # what is in so many small files follows when the system writes it

    def close(self) -> str:
        return self._digest.hexdigest()


def png_file(folder: Path, number: int, ending: str) -> Path:
    return folder / f"{number:08d}{ending}.png"


def read_png(file: Path) -> Image:
    """A picture as it was written; a ValueError if it is damaged."""
    image = cv2.imdecode(np.frombuffer(file.read_bytes() or b"\0", np.uint8), cv2.IMREAD_UNCHANGED)
    if image is None:
        raise ValueError("no picture")
    found: Image = image  # type: ignore[assignment]
    return found


def ending_of(part: str, parts: list[str]) -> str:
    """What a part's files have in their names, where there are several parts."""
    return f"-{part}" if len(parts) > 1 else ""


def video_name(number: int, part: str, parts: list[str]) -> str:
    return f"{number:06d}{ending_of(part, parts)}.mkv"
