"""Pictures to calibrate with: a folder of them, or a source of a recording that `palestra studio capture` wrote."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import cv2
import numpy as np

from palestra.errors import PalestraError
from palestra.formats import folder as checked_folder
from palestra.studio.capture import layout
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.source import Image
from palestra.studio.capture.sources.played import pictures_in, read_picture
from palestra.text import say

MOST = 60  # pictures that are taken from a recording, evenly over it: more of them look alike


@dataclass(frozen=True)
class Picture:
    """A picture and what to call it."""

    name: str  # pictures of two cameras that belong together have the same
    image: Image


def pictures(place: Path, most: int = MOST) -> Iterator[Picture]:
    """All pictures of a folder; of a recording's source (RECORDING/SOURCE), some over all of it."""
    folder = checked_folder(place)
    if _is_source(folder):
        recording = Recording(folder.parent)
        times = recording.times(folder.name)["at_ns"].to_numpy()
        for at_ns in times[_spread(len(times), most)]:
            yield _recorded(recording, folder.name, int(at_ns), str(at_ns))
        return
    for file in pictures_in(folder):
        yield Picture(file.stem, read_picture(file))


def picture_pairs(first: Path, second: Path, most: int = MOST) -> Iterator[tuple[Picture, Picture]]:
    """Pictures of two cameras that were taken together: of the same name, or at the same time of one recording."""
    one, other = checked_folder(first), checked_folder(second)
    if _is_source(one) and _is_source(other) and one.parent.resolve() == other.parent.resolve():
        yield from _recorded_pairs(Recording(one.parent), one.name, other.name, most)
        return
    files = [{file.stem: file for file in pictures_in(folder)} for folder in (one, other)]
    common = [name for name in files[0] if name in files[1]]
    if not common:
        raise PalestraError(
            say("{first} and {second} have no pictures of the same name. Those that were taken together must be called "
                "alike, as left/01.png and right/01.png.", first=first, second=second)
        )  # fmt: skip
    for name in common:
        yield Picture(name, read_picture(files[0][name])), Picture(name, read_picture(files[1][name]))


def _recorded_pairs(recording: Recording, one: str, other: str, most: int) -> Iterator[tuple[Picture, Picture]]:
    """Nearest frames, no further apart than half a frame of the slower camera."""
    times = [recording.times(name)["at_ns"].to_numpy() for name in (one, other)]
    if min(map(len, times)) < 2:
        raise PalestraError(say("{folder}: too few frames to pair them by time.", folder=recording.folder))
    within = max(float(np.median(np.diff(each))) for each in times) / 2
    gaps = np.array([np.abs(times[1] - at).min() for at in times[0]])
    together = times[0][gaps <= within]
    for at_ns in together[_spread(len(together), most)]:
        yield (_recorded(recording, one, int(at_ns), str(at_ns)), _recorded(recording, other, int(at_ns), str(at_ns)))


def _recorded(recording: Recording, source: str, at_ns: int, name: str) -> Picture:
    return Picture(name, recording.nearest(source, at_ns).images[0])


def _is_source(folder: Path) -> bool:
    return (folder.parent / layout.HEAD).is_file()


def _spread(count: int, most: int) -> list[int]:
    return sorted({round(at) for at in np.linspace(0, count - 1, min(count, most))}) if count else []


def grey(image: Image) -> Image:
    """8 bits of grey; infra-red of 16 bits is stretched to them."""
    if image.ndim == 3:
        image = cast(Image, cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
    if image.dtype != np.uint8:
        most = float(np.percentile(image, 99.5)) or 1.0
        image = np.clip(image.astype(np.float32) * (255 / most), 0, 255).astype(np.uint8)
    return image
