"""The contestant's view of a data set as one archive: everything but what is hidden."""

import zipfile
from collections.abc import Callable
from pathlib import Path

from palestra.errors import PalestraError
from palestra.formats.files import replacing
from palestra.records import Track

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is packed; and times tell nothing


def shown(track: Track, data: Path) -> list[Path]:
    """What a contestant may see: files, and folders that are empty."""
    paths = (path for path in data.rglob("*") if path.is_file() or not any(path.iterdir()))
    return sorted((path for path in paths if not _is_hidden(track, path.relative_to(data))), key=str)


def _is_hidden(track: Track, path: Path) -> bool:
    return any(path.is_relative_to(hidden) for hidden in track.hidden)


def require_zip(archive: Path) -> None:
    if archive.suffix.lower() != ".zip":
        raise PalestraError(f"{archive}: a pack is a .zip; name a file that ends in it.")


def pack(track: Track, data: Path, archive: Path, advance: Callable[[int], None]) -> None:
    """Write a zip. Pictures are stored as they are: they are compressed already."""
    require_zip(archive)
    paths = shown(track, data)
    with replacing(archive) as fresh, zipfile.ZipFile(fresh, "w") as out:
        for path in paths:
            name = str(path.relative_to(data)) + ("/" if path.is_dir() else "")
            member = zipfile.ZipInfo(name, LONG_AGO)
            member.external_attr = (0o755 if path.is_dir() else 0o644) << 16
            stored = zipfile.ZIP_STORED if path.suffix == ".png" else zipfile.ZIP_DEFLATED
            out.writestr(member, b"" if path.is_dir() else path.read_bytes(), stored)
            advance(1)
