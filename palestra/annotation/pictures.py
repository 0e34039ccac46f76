"""Pictures from strangers: measured before they are decoded, and refused in words."""

from pathlib import Path

import cv2
import numpy as np
from cv2.utils import logging
from numpy.typing import NDArray

from palestra.annotation.image_size import size_of
from palestra.errors import Refused
from palestra.formats import read_bytes

MOST_PIXELS = 64_000_000
LONGEST = 8  # times as long as wide, or the other way round
MOST_BYTES = 8 * MOST_PIXELS + 1_000_000  # four channels of 16 bits, and what else a file holds
Picture = NDArray[np.generic]


def decoded(file: Path) -> Picture | str:
    """The picture, or why there is none."""
    try:
        data = read_bytes(file, MOST_BYTES, may_be_empty=True)
    except (Refused, OSError) as error:
        return f"cannot be read: {error.faults[0].found if isinstance(error, Refused) else error.strerror}"
    size = size_of(data)
    if not data or size is None:
        return "empty file" if not data else "not a picture"
    if why := unfit(size, MOST_PIXELS):
        return why
    # Photographs may say which side is up; only the other kinds have transparency, and are read as they are.
    jpeg = data.startswith(b"\xff\xd8")
    level = logging.setLogLevel(logging.LOG_LEVEL_SILENT)  # the table tells what it would tell on the terminal
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR if jpeg else cv2.IMREAD_UNCHANGED)
    except cv2.error:
        image = None
    finally:
        logging.setLogLevel(level)
    return "damaged file" if image is None else image


def unfit(size: tuple[int, int], most_pixels: int) -> str:
    """Why pictures of that width and height are not read, if they are not."""
    if size[0] * size[1] > most_pixels:
        return f"too large: {size[0]} × {size[1]} pixels, at most {most_pixels // 1_000_000} million"
    if max(size) > LONGEST * min(size):
        return f"too narrow: {size[0]} × {size[1]} pixels"
    return ""
