"""Pictures in a row as a film that every player opens."""

from pathlib import Path

import numpy as np

from palestra.errors import PalestraError
from palestra.formats import replacing
from palestra.records import Film
from palestra.text import say


def write_film(film: Film, file: Path) -> int:
    """Write an MP4 (H.264) and tell how many pictures it has."""
    import av

    count = 0
    with replacing(file) as fresh, av.open(str(fresh), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=film.rate_hz, options={"crf": "20", "preset": "veryfast"})
        for picture in film.frames:
            # The usual colour format halves both sides, so they must be even.
            even = picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2]
            if not count:
                stream.height, stream.width, stream.pix_fmt = even.shape[0], even.shape[1], "yuv420p"
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(even), format="rgb24")))
            count += 1
        if not count:
            raise PalestraError(say("{file}: there are no pictures to make a film of.", file=file))
        container.mux(stream.encode())
    return count
