"""Pairs of colour and depth, from what `palestra studio capture` recorded or from a folder of pictures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError, UnknownName
from palestra.studio.capture.layout import HEAD
from palestra.studio.capture.recording import Recording
from palestra.studio.capture.source import Image
from palestra.studio.capture.sources.depth import COLOUR, PARTS
from palestra.studio.capture.sources.played import pictures_in, read_picture
from palestra.text import say

Picture = NDArray[np.uint8]
Depth = NDArray[np.uint16]


@dataclass(frozen=True)
class Pair:
    """One frame."""

    number: int  # from 0, without a gap: the row of EYEDIAP's files
    colour: Picture  # blue, green, red
    depth: Depth


class Frames:
    """All pairs of a recording, in order, as often as they are asked for."""

    def __init__(self, folder: Path, source: str = "") -> None:
        self.folder = folder
        if not folder.is_dir():
            raise PalestraError(say("{folder}: there is no such folder.", folder=folder))
        self._recording = Recording(folder) if (folder / HEAD).is_file() else None
        if self._recording is not None:
            self._name = _source_of(self._recording, source)
            self.count = len(self._recording.times(self._name))
        else:
            self._pairs = _pairs_in(folder)
            self.count = len(self._pairs)
        if not self.count:
            raise PalestraError(say("{folder} has no frames.", folder=folder))

    def __iter__(self) -> Iterator[Pair]:
        return self.chosen(range(self.count))

    def chosen(self, numbers: Iterable[int]) -> Iterator[Pair]:
        """Some of them, in order."""
        wanted = set(numbers)
        if self._recording is None:
            for number in sorted(wanted):
                colour, depth = self._pairs[number]
                yield self._checked(number, read_picture(colour), read_picture(depth))
            return
        for number, frame in enumerate(self._recording.frames(self._name)):
            if number in wanted:
                yield self._checked(number, frame.images[0], frame.images[1])

    def _checked(self, number: int, colour: Image, depth: Image) -> Pair:
        if depth.ndim != 2 or depth.dtype != np.uint16:
            raise PalestraError(
                say("{folder}, frame {number}: found a depth of {dtype} with {axes} axes, expected 16 bits for each "
                    "pixel.", folder=self.folder, number=number, dtype=depth.dtype, axes=depth.ndim)
            )  # fmt: skip
        if colour.ndim != 3 or colour.dtype != np.uint8:
            raise PalestraError(
                say("{folder}, frame {number}: found a colour picture of {dtype} with {axes} axes, expected three "
                    "colours of 8 bits.", folder=self.folder, number=number, dtype=colour.dtype, axes=colour.ndim)
            )  # fmt: skip
        return Pair(number, np.asarray(colour, np.uint8), np.asarray(depth, np.uint16))


def _source_of(recording: Recording, source: str) -> str:
    known = [one.name for one in recording.head.sources if one.about.parts == PARTS]
    if source:
        if source not in known:
            raise UnknownName(say("source of colour and depth"), source, known)
        return source
    if len(known) != 1:
        names = ", ".join(recording.names)
        if known:
            raise PalestraError(
                say("{folder} has several sources of colour and depth ({names}): name one by --source.",
                    folder=recording.folder, names=", ".join(known))
            )  # fmt: skip
        raise PalestraError(
            say("{folder} has no depth: none of its sources ({names}) gives colour and depth together. Record one with "
                "`depth:…`.", folder=recording.folder, names=names)
        )  # fmt: skip
    return known[0]


def _pairs_in(folder: Path) -> list[tuple[Path, Path]]:
    colour = next((folder / name for name in COLOUR if (folder / name).is_dir()), None)
    if colour is None or not (folder / "depth").is_dir():
        there = ", ".join(sorted(one.name for one in folder.iterdir() if one.is_dir())) or "–"
        raise PalestraError(
            say("{folder}: found the folders {there}, expected one of colour ({names}) and one named depth, or what "
                "`palestra studio capture` recorded.", folder=folder, there=there, names=", ".join(COLOUR))
        )  # fmt: skip
    depths = {file.stem: file for file in pictures_in(folder / "depth")}
    colours = pictures_in(colour)
    if alone := sorted(depths.keys() ^ {file.stem for file in colours}):
        raise PalestraError(
            say("{folder}: {count} pictures have no other half, the first of them {name!r}. Colour and depth pair up "
                "by the names of their files.", folder=folder, count=len(alone), name=alone[0])
        )  # fmt: skip
    return [(file, depths[file.stem]) for file in colours]
