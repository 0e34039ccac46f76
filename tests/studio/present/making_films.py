"""Short films for tests."""

from pathlib import Path

import av
import numpy as np

RATE_HZ = 25


def write_film(file: Path, length_s: float, level: int = 120) -> Path:
    """A grey film that grows brighter, as browsers play it."""
    with av.open(str(file), "w") as out:
        stream = out.add_stream("libvpx" if file.suffix == ".webm" else "libx264", rate=RATE_HZ)
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for i in range(round(length_s * RATE_HZ)):
            picture = np.full((90, 160, 3), min(level + i, 255), np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(stream.encode())
    return file
