"""One recording on the other's clock: a video with a frame for each frame of the other, or samples with new times."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.sync.alignment import Alignment
from palestra.studio.sync.video import colours
from palestra.text import say

Floats = NDArray[np.float64]
CODECS = {".mov": "mpeg4", ".mp4": "mpeg4", ".avi": "mpeg4", ".mkv": "ffv1"}
FORMATS = {"mpeg4": "yuv420p", "ffv1": "yuv444p"}
QUALITY = {"mpeg4": {"qmin": "1", "qmax": "3", "flags": "+qscale", "global_quality": "236"}, "ffv1": {}}
NEAR_ENOUGH = 0.75  # frames of B that a frame of A may be away from the nearest
UNEVEN_S = 0.002
NONE = -1


def frames_for(aligned: Alignment, a_s: Floats, b_s: Floats) -> NDArray[np.int64]:
    """For each frame of A, the frame of B that was taken nearest to it; −1 where B has none."""
    wanted = aligned.in_b(a_s)
    after = np.clip(np.searchsorted(b_s, wanted), 1, len(b_s) - 1)
    nearest = after - (wanted - b_s[after - 1] < b_s[after] - wanted)
    period_s = float(np.median(np.diff(b_s)))
    is_outside = (wanted < b_s[0] - NEAR_ENOUGH * period_s) | (wanted > b_s[-1] + NEAR_ENOUGH * period_s)
    return np.where(is_outside, NONE, nearest)


def require_video_name(out: Path) -> None:
    """What the file's end says can be written, and nothing is written over."""
    if out.suffix.lower() not in CODECS:
        raise PalestraError(
            say(
                "{out}: expected a name that ends in .mov, .mp4 or .avi (MPEG-4), or in .mkv (lossless, FFV1).", out=out
            )
        )
    require_free(out)


def require_free(out: Path) -> None:
    if out.exists():
        raise PalestraError(say("{out} is there already. Name another file.", out=out))


def write_resampled(
    b: Path, out: Path, shown_s: Floats, numbers: NDArray[np.int64], advance: Callable[[int], None] = lambda done: None
) -> None:
    """Write B with the frames of A: one for each, at A's times, black where B has none."""
    require_video_name(out)
    aside = out.with_name(f".{out.stem}.new{out.suffix}")
    codec = CODECS[out.suffix.lower()]
    try:
        with av.open(str(aside), "w") as container:
            base, stamps = _stamps(shown_s)
            stream = cast(av.VideoStream, container.add_stream(codec, rate=base, options=QUALITY[codec]))
            stream.pix_fmt, stream.codec_context.time_base = FORMATS[codec], 1 / base
            written = 0
            for place, frame in enumerate(_wanted(b, numbers)):
                if not place:
                    stream.width, stream.height = frame.width, frame.height
                made = frame.reformat(stream.width, stream.height, FORMATS[codec])
                made.pts, made.time_base = int(stamps[place]), 1 / base
                made.pict_type = av.video.frame.PictureType.NONE
                container.mux(stream.encode(made))
                written += 1
                advance(1)
            container.mux(stream.encode(None))
        if written != len(numbers):
            raise PalestraError(say("{b} ends before its last frame: its end is damaged.", b=b))
        aside.rename(out)
    except (av.FFmpegError, OSError) as error:
        raise PalestraError(say("{out} cannot be written ({error}).", out=out, error=error)) from None
    finally:
        aside.unlink(missing_ok=True)


def _wanted(b: Path, numbers: NDArray[np.int64]) -> Iterator[av.VideoFrame]:
    """The frames of B that are wanted, in order, each decoded once."""
    source = enumerate(colours(b))
    number, (_, frame) = next(source)
    black = _black(frame)
    for wanted in numbers.tolist():
        while number < wanted:
            found = next(source, None)
            if found is None:
                return
            number, (_, frame) = found
        yield black if wanted == NONE else frame


def _black(frame: av.VideoFrame) -> av.VideoFrame:
    pixels = np.zeros((frame.height, frame.width, 3), np.uint8)
    return av.VideoFrame.from_ndarray(pixels, format="rgb24")


def _stamps(shown_s: Floats) -> tuple[Fraction, NDArray[np.int64]]:
    """Ticks in a second, and each frame's: frame numbers where A's frames come evenly."""
    period_s = float(np.median(np.diff(shown_s)))
    even = np.arange(len(shown_s))
    if np.abs(shown_s - shown_s[0] - even * (shown_s[-1] - shown_s[0]) / even[-1]).max() < UNEVEN_S:
        return Fraction(1 / period_s).limit_denominator(1001), even
    stamps = np.rint((shown_s - shown_s[0]) * 10_000).astype(np.int64)
    return Fraction(10_000), stamps


def write_table(table: pl.DataFrame, aligned: Alignment, at_s: Floats, out: Path) -> None:
    """Write samples or events of B with their time in A."""
    require_free(out)
    timed = table.with_columns(time_in_a_s=pl.Series(aligned.in_a(at_s)))
    if out.suffix == ".csv":
        timed.write_csv(out)
    elif out.suffix == ".parquet":
        timed.write_parquet(out)
    else:
        raise PalestraError(say("{out}: expected a name that ends in .csv or .parquet.", out=out))
