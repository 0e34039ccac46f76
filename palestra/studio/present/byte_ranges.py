"""A part of a file, as a browser asks for it when it plays a film."""

import re
from collections.abc import Iterator
from pathlib import Path

from litestar import Response
from litestar.response import Stream

PIECE = 256 * 1024
TYPES = {".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".vtt": "text/vtt; charset=utf-8"}


def part_of(file: Path, wanted: str | None) -> Response[bytes] | Stream:
    """The whole file, or the bytes that a Range header names; 416 where there are none."""
    size = file.stat().st_size
    kind = TYPES[file.suffix.lower()]
    found = re.fullmatch(r"bytes=(\d{0,18})-(\d{0,18})", wanted or "")
    if not found or not (found[1] or found[2]):
        headers = {"Accept-Ranges": "bytes", "Content-Length": str(size)}
        return Stream(_pieces(file, 0, size), media_type=kind, headers=headers)
    first = int(found[1]) if found[1] else max(size - int(found[2]), 0)
    last = min(int(found[2]), size - 1) if found[1] and found[2] else size - 1
    if first > last:
        return Response(b"", status_code=416, headers={"Content-Range": f"bytes */{size}"})
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Range": f"bytes {first}-{last}/{size}",
        "Content-Length": str(last - first + 1),
    }
    return Stream(_pieces(file, first, last + 1), status_code=206, media_type=kind, headers=headers)


def _pieces(file: Path, first: int, end: int) -> Iterator[bytes]:
    with file.open("rb") as source:
        source.seek(first)
        while (left := end - source.tell()) > 0 and (piece := source.read(min(PIECE, left))):
            yield piece
