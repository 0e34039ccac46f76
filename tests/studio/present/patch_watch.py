"""Watches one pixel of an X display from outside of the browser: a process of its own that reads Xvfb's framebuffer.

    python -m tests.studio.present.patch_watch FRAMEBUFFER X Y OUT

Writes each change of the pixel to OUT as `seconds<tab>seconds`: the last look that did not see it yet, and the first
that did, on the clock of time.monotonic. On a busy machine these may be far apart.
"""

import mmap
import struct
import sys
import time
from pathlib import Path

LOOK_S = 0.0005
HALF = 127  # of the brightness
WIDTHS = struct.Struct(">25I")  # the header of an XWD file


class Pixel:
    """One pixel of a framebuffer in XWD's format, 24 or 32 bits deep."""

    def __init__(self, file: Path, x: int, y: int) -> None:
        with file.open("rb") as source:
            self._memory = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ)
        header = WIDTHS.unpack_from(self._memory)
        size, bits, line, colours = header[0], header[11], header[12], header[19]
        self._at = size + colours * 12 + y * line + x * bits // 8

    @property
    def brightness(self) -> int:
        return max(self._memory[self._at : self._at + 3])


def watch(pixel: Pixel, out: Path) -> None:
    """Until it is killed."""
    before, looked = pixel.brightness > HALF, time.monotonic()
    with out.open("w", buffering=1) as log:
        while True:
            now, is_lit = time.monotonic(), pixel.brightness > HALF
            if is_lit != before:
                log.write(f"{looked}\t{now}\n")
            before, looked = is_lit, now
            time.sleep(LOOK_S)


if __name__ == "__main__":
    watch(Pixel(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])), Path(sys.argv[4]))
