"""Reads the frames of one segment in any order, also while it is still written."""

from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import polars as pl

from palestra.studio.capture import lossless, matroska, rows
from palestra.studio.capture.picture_files import ending_of, png_file, read_png, video_name
from palestra.studio.capture.picture_segment import is_png
from palestra.studio.capture.source import Image


class PictureReader:
    """One segment's pictures, by their rows."""

    def __init__(self, folder: Path, number: int, parts: list[str]) -> None:
        self._folder, self._number, self._parts = folder, number, parts
        self._is_png = is_png(folder, number)
        self._open: dict[str, tuple[BinaryIO, lossless.Decoder]] = {}

    def images(self, row: rows.Rows) -> tuple[Image, ...]:
        """The pictures of a row; ValueError if they are damaged, OSError if they are not there."""
        return tuple(self._image(part, row) for part in self._parts)

    def _image(self, part: str, row: rows.Rows) -> Image:
        if self._is_png:
            number = int(row["number"])
            return read_png(png_file(self._folder / f"{self._number:06d}", number, ending_of(part, self._parts)))
        if part not in self._open:
            file = self._folder / video_name(self._number, part, self._parts)
            codec, size, private = matroska.read_file_head(file)
            self._open[part] = file.open("rb"), lossless.Decoder(codec, private, size)
        data, decoder = self._open[part]
        data.seek(int(row[f"{part}_at"]))
        return decoder.decode(matroska.frame_in(data.read(int(row[f"{part}_size"]))))

    def is_as_taken(self, row: rows.Rows) -> bool:
        """Whether the pictures of a row are there and have the checksum of what was taken."""
        try:
            return rows.checksum(self.images(row)) == int(row["crc"])
        except (ValueError, OSError):
            return False

    def close(self) -> None:
        for data, _ in self._open.values():
            data.close()
        self._open.clear()

    def __enter__(self) -> "PictureReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def rows_of(folder: Path, number: int, parts: list[str]) -> rows.Rows:
    """The rows of a segment, closed or not; it may be closed while we look."""
    closed, growing = folder / f"{number:06d}.parquet", folder / f"{number:06d}.rows"
    if not closed.exists():
        try:
            return rows.read_rows(growing, parts)
        except FileNotFoundError:
            pass  # it was closed just now
    return rows.as_rows(pl.read_parquet(closed), parts)


def numbers_in(folder: Path) -> list[int]:
    """The segments of a source, in order."""
    kinds = (".parquet", ".rows", ".chunks")
    return sorted({int(file.stem) for file in folder.iterdir() if file.suffix in kinds and file.stem.isdecimal()})
