"""Pictures from strangers: their size is read before they are decoded, so that a few bytes cannot fill the memory.

Only JPEG and PNG are taken, which is what browsers make.
"""

import cv2
import numpy as np

from palestra.studio.capture.source import Image

MOST_BYTES = 8 << 20  # of one pushed message
MOST_PIXELS = 16_000_000
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
BARE = frozenset({0x01, *range(0xD0, 0xD9)})  # JPEG markers without a length
SIZED = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})  # JPEG markers that tell the size


def decoded(data: bytes) -> Image | None:
    """The picture; None for anything that is no JPEG or PNG of a size that is taken."""
    size = size_of(data)
    if size is None or min(size) < 1 or size[0] * size[1] > MOST_PIXELS:
        return None
    flags = cv2.IMREAD_COLOR if data.startswith(JPEG) else cv2.IMREAD_UNCHANGED
    before = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        found = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error:
        return None
    finally:
        cv2.utils.logging.setLogLevel(before)
    if found is None:
        return None
    image: Image = found  # type: ignore[assignment]
    return image[:, :, :3] if image.ndim == 3 and image.shape[2] == 4 else image


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height, from what stands at the beginning."""
    if data.startswith(PNG):
        if data[12:16] != b"IHDR" or len(data) < 24:
            return None
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return _size_of_jpeg(data) if data.startswith(JPEG) else None


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in SIZED:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        if marker == 0xFF:  # fill
            at += 1
        elif marker in BARE:
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
