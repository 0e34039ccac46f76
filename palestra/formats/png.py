"""PNG files from strangers, checked before any decoder sees them."""

import struct
import zlib
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import clip, refuse
from palestra.text import Text, say

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {0: "grey", 2: "colours (RGB)", 3: "a palette", 4: "grey with transparency", 6: "colours with transparency"}
SUB, PAETH = 1, 4  # filters: the difference to the pixel before; the last of them
MOST_PACKED = 1032  # how many times shorter than its content deflate can be
SMALL_BYTES = 64_000_000  # which may be unpacked without asking how much it is
MOST_BYTES = 16  # of the file for each pixel: no mask has so many


def read_grey_png(data: bytes, where: Text, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """The pixels of a PNG that is whole, grey, 8 bits deep and of that shape.

    Decoders fill up what is cut off and say nothing, so checksums and the length of the pixels are checked here. What
    else a PNG may carry (profiles, texts, animations) is left out: some of it unpacks to far more than the picture.
    """
    if len(data) > MOST_BYTES * shape[0] * shape[1] + 65536:
        refuse(
            where,
            say("a PNG file of {number:,} bytes", number=len(data)),
            say("a mask of {shape} × {shape2}", shape=shape[0], shape2=shape[1]),
        )
    if data[:8] != SIGNATURE:
        refuse(where, say("a file that begins {clip}", clip=clip(data[:8])), say("a PNG file"))
    chunks = list(_chunks(data, where, shape))
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    lines = _unpacked(packed, where, shape)
    if (lines[:, 0] == SUB).all():
        return _summed(lines)
    clean = SIGNATURE + _chunk(b"IHDR", chunks[0][1]) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")
    pixels = cv2.imdecode(np.frombuffer(clean, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.shape != shape or pixels.dtype != np.uint8:
        refuse(where, say("a PNG that cannot be decoded"), say("a whole PNG file"))
    return np.asarray(pixels, np.uint8)


def _unpacked(packed: bytes, where: Text, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """The lines as they are stored: each begins with the number of its filter."""
    size = shape[0] * (shape[1] + 1)
    try:
        lines = _inflated(packed, size)
    except zlib.error as error:
        refuse(where, say("pixels that cannot be unpacked ({error})", error=error), say("a whole PNG file"))
    if len(lines) != size:
        found = "more" if len(lines) > size else f"{len(lines):,}"
        refuse(where, say("{found} bytes of pixels or no end to them", found=found), say("{size:,} bytes", size=size))
    stored = np.frombuffer(lines, np.uint8).reshape(shape[0], shape[1] + 1)
    if stored[:, 0].max() > PAETH:
        refuse(where, say("a line with an unknown filter"), say("the filters 0 to 4"))
    return stored


def _inflated(packed: bytes, size: int) -> bytes:
    """What is packed, or one byte too many of it; less, or an error, where its end is missing."""
    if len(packed) * MOST_PACKED <= SMALL_BYTES:  # cannot be a bomb: in one go, into one buffer
        return zlib.decompress(packed, bufsize=size + 1)
    unpacking = zlib.decompressobj()
    lines = unpacking.decompress(packed, size + 1)
    return lines if unpacking.eof or len(lines) > size else lines[:-1]


def _summed(lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pixels from lines of differences, which is how OpenCV writes them; a mask has few that are not zero.

    The first byte of each line is its filter, 1, and so never zero: it marks where the sum begins anew.
    """
    height, stored = lines.shape
    flat = lines.ravel()
    at = np.flatnonzero(flat != 0)  # comparing first is ten times faster
    begin = np.flatnonzero(at % stored == 0)
    total = np.cumsum(flat[at], dtype=np.int64)
    before = np.repeat(total[begin], _steps(begin, len(at)))
    lengths = _steps(at, len(flat))
    lengths[begin] -= 1  # the filter's byte is no pixel
    return np.repeat((total - before).astype(np.uint8), lengths).reshape(height, stored - 1)


def _steps(starts: NDArray[np.intp], end: int) -> NDArray[np.intp]:
    """How far it is from each to the next, and from the last to the end. np.diff with `append` takes twice as
    long, with Python's lock held."""
    steps = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=steps[:-1])
    steps[-1:] = end - starts[-1:]
    return steps


def _chunks(data: bytes, where: Text, shape: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk's kind and body, from the header to the end, with its checksum verified."""
    at, kind = 8, b""
    while kind != b"IEND":
        length = int.from_bytes(data[at : at + 4], "big")
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if len(check) < 4:
            refuse(where, say("a PNG that is cut short"), say("a whole PNG file"))
        if zlib.crc32(body, zlib.crc32(kind)) != int.from_bytes(check, "big"):
            refuse(
                where,
                say("a wrong checksum of the part {kind} at byte {value:,}", kind=clip(kind), value=at + 1),
                say("a PNG file as it was written"),
            )
        if at == 8:
            _check_header(kind, body, where, shape)
        yield kind, body
        at += 12 + length
    if at != len(data):
        refuse(where, say("{value:,} bytes after the end of the PNG", value=len(data) - at), say("nothing after it"))


def _check_header(kind: bytes, body: bytes, where: Text, shape: tuple[int, int]) -> None:
    if kind != b"IHDR" or len(body) != 13:
        refuse(where, say("a PNG that begins with the part {kind}", kind=clip(kind)), say("the header IHDR"))
    width, height, depth, colour, compression, filtering, interlaced = struct.unpack(">IIBBBBB", body)
    if (height, width) != shape:
        refuse(
            where,
            say("{height} × {width} pixels (height × width)", height=height, width=width),
            f"{shape[0]} × {shape[1]}",
        )
    if colour != 0:
        refuse(
            where,
            say("a PNG with {get}", get=COLOURS.get(colour, "an unknown kind of colour")),
            say("grey values that are the classes"),
        )
    if depth != 8:
        refuse(where, say("{depth} bits for each pixel", depth=depth), say("8 bits"))
    if compression or filtering or interlaced:
        refuse(where, say("an interlaced or unusual PNG"), say("a plain one"))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
