"""Claps, and all else that is suddenly loud, in the sound of a video or a sound file."""

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from palestra.errors import PalestraError
from palestra.studio.sync.events import MOST, Events
from palestra.text import say

Floats = NDArray[np.float64]
RATE_HZ, HOP = 8000, 8  # one value of loudness each ms
RISE_MS, BEFORE_MS, APART_MS = 4, 60, 200
RISE = 2.0  # of the logarithm of power: 9 dB


def claps(path: Path) -> Events:
    """When it was suddenly louder; the loudest of them, where there are many."""
    start_s, sound = _sound(path)
    count = len(sound) // HOP
    steps = np.diff(sound, prepend=sound[:1])  # rumble is taken off
    power = (steps[: count * HOP].reshape(count, HOP) ** 2).mean(axis=1)
    power = power + 1e-10 + 1e-3 * np.median(power)
    now = uniform_filter1d(power, RISE_MS, origin=-(RISE_MS // 2))
    before = uniform_filter1d(power, BEFORE_MS, origin=BEFORE_MS // 2 - 1)
    rise = np.log(now[1:]) - np.log(before[:-1])
    peaks = np.flatnonzero((rise > RISE) & (rise == maximum_filter1d(rise, APART_MS)))
    peaks = np.sort(peaks[np.argsort(-power[peaks] * rise[peaks], kind="stable")][:MOST])
    return Events(str(path), start_s + (peaks + 1) * HOP / RATE_HZ).require_many()


def _sound(path: Path) -> tuple[float, Floats]:
    """When the sound begins after the first picture, and all of it on one channel."""
    if not path.is_file():
        raise PalestraError(say("{path}: there is no such file.", path=path))
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise PalestraError(
                    say("{path} has no sound. Align it by LEDs or by light, or name a sound file.", path=path)
                )
            stream = container.streams.audio[0]
            zero = 0.0
            if container.streams.video:
                picture = container.streams.video[0]
                zero = float((picture.start_time or 0) * (picture.time_base or 0))
            first, parts = None, []
            for at_s, part in _parts(container, stream):
                first = at_s if first is None else first
                parts.append(part)
    except (av.FFmpegError, OSError) as error:
        raise PalestraError(say("{path}: no sound that can be read ({error}).", path=path, error=error)) from None
    if first is None:
        raise PalestraError(say("{path} has no sound. Align it by LEDs or by light, or name a sound file.", path=path))
    return first - zero, np.concatenate(parts)


def _parts(container: av.container.InputContainer, stream: av.AudioStream) -> Iterator[tuple[float, Floats]]:
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE_HZ)
    for frame in container.decode(stream):
        at_s = float(frame.pts * frame.time_base) if frame.pts is not None and frame.time_base else 0.0
        for part in resampler.resample(frame):
            yield at_s, part.to_ndarray()[0].astype(np.float64)
    for part in resampler.resample(None):
        yield 0.0, part.to_ndarray()[0].astype(np.float64)
