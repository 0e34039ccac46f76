"""How large a picture is, by its first bytes alone: a small file may unfold to more than a machine has room for."""

import re
from collections.abc import Callable

Size = tuple[int, int]  # width, height
# Start of frame: those of all codings, less the tables and reserved ones that lie among them.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ALONE = frozenset(range(0xD0, 0xD9)) | {0x01}  # markers that no length follows
WIDTH_TAG, HEIGHT_TAG, MOST_TAGS = 256, 257, 4096
PNM = re.compile(rb"P[1-6](?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})\s")


def size_of(data: bytes) -> Size | None:
    """Width and height that a PNG, JPEG, BMP, TIFF or PGM file tells of itself; None where it is none of them."""
    for start, measure in _KINDS:
        if data.startswith(start):
            found = measure(data)
            return found if found and min(found) > 0 else None
    return None


def _png(data: bytes) -> Size | None:
    return _pair(data, 16, 4, "big") if data[12:16] == b"IHDR" else None


def _bmp(data: bytes) -> Size | None:
    if int.from_bytes(data[14:18], "little") == 12:  # the oldest header
        return _pair(data, 18, 2, "little")
    found = _pair(data, 18, 4, "little", signed=True)
    return found and (found[0], abs(found[1]))  # a negative height counts rows from the top


def _jpeg(data: bytes) -> Size | None:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker in FRAMES:
            found = _pair(data, at + 5, 2, "big")
            return found and (found[1], found[0])
        at += (
            1 if marker == 0xFF else 2 if marker in ALONE else 2 + max(int.from_bytes(data[at + 2 : at + 4], "big"), 2)
        )
    return None


def _pnm(data: bytes) -> Size | None:
    found = PNM.match(data[:4096])
    return (int(found[1]), int(found[2])) if found else None


def _tiff(data: bytes) -> Size | None:
    """The first page: its tags for width and height, each held in its own entry."""
    order = "little" if data[:2] == b"II" else "big"

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], order)  # type: ignore[arg-type]

    big = number(2, 2) == 43
    wide, entry = (8, 20) if big else (4, 12)
    page = number(8 if big else 4, wide)
    count, first = number(page, 8 if big else 2), page + (8 if big else 2)
    held: dict[int, int] = {}
    for at in range(first, first + entry * min(count, MOST_TAGS), entry):
        held[number(at, 2)] = number(at + 4 + wide, {3: 2, 16: 8}.get(number(at + 2, 2), 4))
    return (held[WIDTH_TAG], held[HEIGHT_TAG]) if {WIDTH_TAG, HEIGHT_TAG} <= held.keys() else None


def _pair(data: bytes, at: int, size: int, order: str, signed: bool = False) -> Size | None:
    if len(data) < at + 2 * size:
        return None
    first, second = data[at : at + size], data[at + size : at + 2 * size]
    return (
        int.from_bytes(first, order, signed=signed),  # type: ignore[arg-type]
        int.from_bytes(second, order, signed=signed),  # type: ignore[arg-type]
    )


_KINDS: tuple[tuple[bytes, Callable[[bytes], Size | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8", _jpeg),
    (b"BM", _bmp),
    (b"II*\0", _tiff),
    (b"MM\0*", _tiff),
    (b"II+\0", _tiff),
    (b"MM\0+", _tiff),
    *((f"P{kind}".encode(), _pnm) for kind in range(1, 7)),
)
