"""Some seconds of pictures: the video or the PNG files, and the rows. Closed, the rows are a Parquet file."""

import hashlib
import io
import os
from pathlib import Path

import polars as pl

from palestra.formats import write_bytes
from palestra.studio.capture import lossless, rows
from palestra.studio.capture.layout import Segment
from palestra.studio.capture.picture_files import PictureFile, PngFolder, VideoFile, ending_of, png_file, video_name
from palestra.studio.capture.source import Frame


class PictureSegment:
    """One segment while it is written."""

    def __init__(self, folder: Path, number: int, parts: list[str], first: Frame, png: bool) -> None:
        self._folder, self._number, self._parts = folder, number, parts
        self.form = form_of(first)
        self.began_ns = first.arrived_ns
        self._rows = rows.RowFile(folder / f"{number:06d}.rows", parts)
        self._files: list[PictureFile] = []
        self._first = self._dropped = self._last_ns = 0
        try:
            for part, image in zip(parts, first.images, strict=True):
                self._files.append(self._new_file(part, image, png))
        except OSError:
            self.abandon()
            self._rows.file.unlink()
            for part in parts:
                (folder / video_name(number, part, parts)).unlink(missing_ok=True)
            raise

    def _new_file(self, part: str, image: lossless.Image, png: bool) -> PictureFile:
        if png:
            return PngFolder(self._folder / f"{self._number:06d}", ending_of(part, self._parts))
        return VideoFile(self._folder / video_name(self._number, part, self._parts), image)

    def fits(self, frame: Frame) -> bool:
        return form_of(frame) == self.form

    @property
    def count(self) -> int:
        return self._rows.count

    def write(self, frame: Frame, number: int) -> int:
        """Write a frame and its row, or neither; the bytes that it took."""
        places: list[int] = []
        begun: list[PictureFile] = []
        try:
            for file, image in zip(self._files, frame.images, strict=True):
                begun.append(file)
                places += file.append(image, number, frame.arrived_ns - self.began_ns)
            taken_ns = rows.NO_TIME if frame.taken_ns is None else frame.taken_ns
            crc = rows.checksum(frame.images)
            self._rows.append((number, taken_ns, frame.arrived_ns, min(frame.lost, rows.MOST_DROPPED), crc, *places))
        except OSError:
            for file in begun:
                file.undo()
            raise
        for file in self._files:
            file.keep()
        self._first = number if self.count == 1 else self._first
        self._dropped += frame.lost
        self._last_ns = frame.arrived_ns
        return sum(places[1::2])

    def sync(self) -> None:
        for file in self._files:
            file.sync()
        self._rows.sync()

    def close(self) -> Segment:
        """Make the Parquet file, and say what is in the segment. The rows stay until the segment is listed."""
        self.sync()
        table = rows.as_table(rows.read_rows(self._rows.file, self._parts))
        write_table(self._folder / f"{self._number:06d}.parquet", table)
        digests = dict(zip(names_of(self._folder, self._number, self._parts), self._close_files(), strict=True))
        digests |= digest_of_table(self._folder, self._number)
        return Segment(
            self._number, self._first, self.count, self._dropped, self.began_ns, self._last_ns, self.form, digests
        )

    def abandon(self) -> None:
        """Let go of the files as they are. What is in them is put in order when the recording is next opened."""
        self._close_files()

    def _close_files(self) -> list[str]:
        self._rows.close()
        return [file.close() for file in self._files]


def form_of(frame: Frame) -> str:
    return ", ".join(lossless.shown(image) for image in frame.images)


def write_table(file: Path, table: pl.DataFrame) -> None:
    """A Parquet file, whole or not at all."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    write_bytes(file, buffer.getvalue())


def is_png(folder: Path, number: int) -> bool:
    return (folder / f"{number:06d}").is_dir()


def names_of(folder: Path, number: int, parts: list[str]) -> list[str]:
    """What the digests of a segment's pictures are called: files, or folders of PNG with what ends their names."""
    if is_png(folder, number):
        return [f"{number:06d}/*{ending_of(part, parts)}.png" for part in parts]
    return [video_name(number, part, parts) for part in parts]


def digest_of_table(folder: Path, number: int) -> dict[str, str]:
    name = f"{number:06d}.parquet"
    return {name: digest_of(folder / name)}


def digest_of(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def digests_of(folder: Path, number: int, parts: list[str], numbers: list[int]) -> dict[str, str]:
    """The digests of a segment's pictures, from what lies on disk."""
    names = names_of(folder, number, parts)
    if not is_png(folder, number):
        return {name: digest_of(folder / name) for name in names}
    found = {}
    for name, part in zip(names, parts, strict=True):
        digest = hashlib.sha256()
        for one in numbers:
            digest.update(png_file(folder / f"{number:06d}", one, ending_of(part, parts)).read_bytes())
        found[name] = digest.hexdigest()
    return found


def cut_videos(folder: Path, number: int, parts: list[str], known: rows.Rows) -> int:
    """Cut off what lies behind the last row in a segment's videos, or remove its PNG files; the bytes that went."""
    gone = 0
    for part in parts:
        if is_png(folder, number):
            wanted = {png_file(folder, one, ending_of(part, parts)).name for one in known["number"].tolist()}
            for file in sorted((folder / f"{number:06d}").glob(f"*{ending_of(part, parts)}.png")):
                if file.name not in wanted:
                    gone += file.stat().st_size
                    file.unlink()
            continue
        video = folder / video_name(number, part, parts)
        end = int(known[-1][f"{part}_at"]) + int(known[-1][f"{part}_size"])
        gone += video.stat().st_size - end
        os.truncate(video, end)
    return gone
