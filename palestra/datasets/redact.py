"""The contestant's view of a data set as one archive: everything but what is hidden."""

import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from palestra.errors import PalestraError
from palestra.formats import replacing
from palestra.records import Track
from palestra.text import say

COMPRESSED = (".png", ".mov")
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is packed; and times tell nothing


def shown(track: Track, data: Path) -> list[Path]:
    """What a contestant may see: files, and folders that are empty."""
    left_out = {data / place for place, content in shown_in_part(track, data).items() if content is None}
    paths = (path for path in data.rglob("*") if path.is_file() or not any(path.iterdir()))
    seen = (path for path in paths if path not in left_out and not _is_hidden(track, path.relative_to(data)))
    return sorted(seen, key=str)


def shown_in_part(track: Track, data: Path) -> Mapping[Path, bytes | None]:
    """What a contestant gets of files that hold truth beside what may be seen, by their paths in the data set."""
    return track.dataset.in_part(data) if track.dataset.in_part else {}


def _is_hidden(track: Track, path: Path) -> bool:
    return any(path.is_relative_to(hidden) for hidden in track.dataset.hidden)


def require_zip(archive: Path) -> None:
    if archive.suffix.lower() != ".zip":
        raise PalestraError(say("{archive}: a pack is a .zip; name a file that ends in it.", archive=archive))


def pack(track: Track, data: Path, archive: Path, advance: Callable[[int], None]) -> None:
    """Write a zip. Pictures and films are stored as they are: they are compressed already."""
    require_zip(archive)
    paths, partly = shown(track, data), shown_in_part(track, data)
    with replacing(archive) as fresh, zipfile.ZipFile(fresh, "w") as out:
        for path in paths:
            name = str(path.relative_to(data)) + ("/" if path.is_dir() else "")
            member = zipfile.ZipInfo(name, LONG_AGO)
            member.external_attr = (0o755 if path.is_dir() else 0o644) << 16
            member.compress_type = zipfile.ZIP_STORED if path.suffix in COMPRESSED else zipfile.ZIP_DEFLATED
            _put(out, member, path, partly.get(path.relative_to(data)))
            advance(1)


def _put(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, in_part: bytes | None) -> None:
    """A file, piece by piece: a film may be larger than memory."""
    if path.is_dir() or in_part is not None:
        archive.writestr(member, in_part or b"", member.compress_type)
        return
    member.file_size = path.stat().st_size
    with path.open("rb") as source, archive.open(member, "w") as target:
        shutil.copyfileobj(source, target, 1 << 20)
