"""PNG files from strangers, checked before any decoder sees them."""

import struct
import zlib
from collections.abc import Iterator

from palestra.errors import clip, refuse

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = {0: "grey", 2: "colours (RGB)", 3: "a palette", 4: "grey with transparency", 6: "colours with transparency"}
MOST_BYTES = 16  # of the file for each pixel: no mask has so many


def check_png(data: bytes, where: str, shape: tuple[int, int]) -> bytes:
    """The same picture with nothing but its header and pixels, once it is known to be whole, grey and of that shape.

    Decoders fill up what is cut off and say nothing, so checksums and the length of the pixels are checked here. What
    else a PNG may carry (profiles, texts, animations) is left out: some of it unpacks to far more than the picture.
    """
    if len(data) > MOST_BYTES * shape[0] * shape[1] + 65536:
        refuse(where, f"a PNG file of {len(data):,} bytes", f"a mask of {shape[0]} × {shape[1]}")
    if data[:8] != SIGNATURE:
        refuse(where, f"a file that begins {clip(data[:8])}", "a PNG file")
    chunks = list(_chunks(data, where, shape))
    pixels = b"".join(body for kind, body in chunks if kind == b"IDAT")
    _check_pixels(pixels, where, shape)
    return SIGNATURE + _chunk(b"IHDR", chunks[0][1]) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunks(data: bytes, where: str, shape: tuple[int, int]) -> Iterator[tuple[bytes, bytes]]:
    """Each chunk's kind and body, from the header to the end, with its checksum verified."""
    at, kind = 8, b""
    while kind != b"IEND":
        length = int.from_bytes(data[at : at + 4], "big")
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if len(check) < 4:
            refuse(where, "a PNG that is cut short", "a whole PNG file")
        if zlib.crc32(body, zlib.crc32(kind)) != int.from_bytes(check, "big"):
            refuse(
                where, f"a wrong checksum of the part {clip(kind)} at byte {at + 1:,}", "a PNG file as it was written"
            )
        if at == 8:
            _check_header(kind, body, where, shape)
        yield kind, body
        at += 12 + length
    if at != len(data):
        refuse(where, f"{len(data) - at:,} bytes after the end of the PNG", "nothing after it")


def _check_header(kind: bytes, body: bytes, where: str, shape: tuple[int, int]) -> None:
    if kind != b"IHDR" or len(body) != 13:
        refuse(where, f"a PNG that begins with the part {clip(kind)}", "the header IHDR")
    width, height, depth, colour, compression, filtering, interlaced = struct.unpack(">IIBBBBB", body)
    if (height, width) != shape:
        refuse(where, f"{height} × {width} pixels (height × width)", f"{shape[0]} × {shape[1]}")
    if colour != 0:
        refuse(
            where, f"a PNG with {COLOURS.get(colour, 'an unknown kind of colour')}", "grey values that are the classes"
        )
    if depth != 8:
        refuse(where, f"{depth} bits for each pixel", "8 bits")
    if compression or filtering or interlaced:
        refuse(where, "an interlaced or unusual PNG", "a plain one")


def _check_pixels(pixels: bytes, where: str, shape: tuple[int, int]) -> None:
    size = shape[0] * (shape[1] + 1)  # each line begins with the number of its filter
    unpacking = zlib.decompressobj()
    try:
        lines = unpacking.decompress(pixels, size + 1)
    except zlib.error as error:
        refuse(where, f"pixels that cannot be unpacked ({error})", "a whole PNG file")
    if len(lines) != size or not unpacking.eof:
        found = "more" if len(lines) > size else f"{len(lines):,}"
        refuse(where, f"{found} bytes of pixels or no end to them", f"{size:,} bytes")
    if max(lines[:: shape[1] + 1]) > 4:
        refuse(where, "a line with an unknown filter", "the filters 0 to 4")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
