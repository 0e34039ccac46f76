"""The contestant's view of a data set as one archive: everything but what is hidden."""

import zipfile
from collections.abc import Callable
from pathlib import Path

from palestra.errors import PalestraError
from palestra.records import Track

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is packed; and times tell nothing


def shown_files(track: Track, data: Path) -> list[Path]:
    """The files that a contestant may see, by name."""
    files = (path for path in data.rglob("*") if path.is_file())
    return sorted(path for path in files if path.relative_to(data).parts[0] not in track.hidden)


def pack(track: Track, data: Path, archive: Path, advance: Callable[[int], None]) -> None:
    """Write a zip. Pictures are stored as they are: they are compressed already."""
    if archive.suffix.lower() != ".zip":
        raise PalestraError(f"{archive}: a pack is a .zip; name a file that ends in it.")
    fresh = archive.with_name(f"{archive.name}.new")
    with zipfile.ZipFile(fresh, "w") as out:
        for path in shown_files(track, data):
            member = zipfile.ZipInfo(str(path.relative_to(data)), LONG_AGO)
            member.external_attr = 0o644 << 16
            stored = zipfile.ZIP_STORED if path.suffix == ".png" else zipfile.ZIP_DEFLATED
            out.writestr(member, path.read_bytes(), stored)
            advance(1)
    fresh.replace(archive)
