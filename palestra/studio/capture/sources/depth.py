"""Colour and depth, taken together: a folder of pairs played as live, or an OpenNI device.

Tried with folders alone: no OpenNI device was there to be tried, and OpenCV must have been built for it.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from palestra.errors import PalestraError
from palestra.studio.capture.source import AGAIN_S, About, Frame, Image, Item, Source, notice, now_ns
from palestra.studio.capture.sources.played import pace_of, paced, pictures_in, read_picture
from palestra.text import say

PARTS = ["colour", "depth"]
COLOUR = ("colour", "color", "rgb")  # what a folder of colour pictures may be called
DEVICE = "openni"


def source_of(rest: str) -> Source:
    return OpenNi() if rest == DEVICE else PlayedPairs(rest)


class PlayedPairs:
    """A folder with the folders `colour` (or `color`, `rgb`) and `depth`, whose files pair up by their names."""

    def __init__(self, rest: str) -> None:
        self.spec = f"depth:{rest}"
        self._pace = pace_of(rest)
        self.waits = self._pace.fast

    def open(self) -> About:
        folder = self._pace.path
        colour = next((folder / name for name in COLOUR if (folder / name).is_dir()), None)
        if colour is None or not (folder / "depth").is_dir():
            raise PalestraError(
                say("{folder}: expected a folder of colour pictures ({names}) and one of depth.",
                    folder=folder, names=", ".join(COLOUR))
            )  # fmt: skip
        if self._pace.rate_hz is None and not self._pace.fast:
            raise PalestraError(say("{folder}: say how fast its pairs are played, as {folder}@30 (Hz).", folder=folder))
        self._pairs = _pairs(pictures_in(colour), pictures_in(folder / "depth"), folder)
        fast = self._pace.fast
        own_clock = "" if fast else "planned times, from 0"
        return About("pictures", PARTS, None if fast else self._pace.rate_hz, own_clock=own_clock)

    def items(self, stop: threading.Event) -> Iterator[Frame]:
        return paced(self._images(), None if self._pace.fast else self._pace.rate_hz, stop)

    def _images(self) -> Iterator[tuple[Image, ...]]:
        while True:
            yield from ((read_picture(colour), _depth(depth)) for colour, depth in self._pairs)
            if not self._pace.loop:
                return

    def close(self) -> None:
        pass  # files are opened when they are read


def _pairs(colour: list[Path], depth: list[Path], folder: Path) -> list[tuple[Path, Path]]:
    """Files of the same name; one that has no other is said, as a pair would be missing from the data."""
    depths = {file.stem: file for file in depth}
    colours = {file.stem: file for file in colour}
    if alone := sorted(colours.keys() ^ depths.keys()):
        raise PalestraError(
            say("{folder}: {count} pictures have no other half, the first of them {name!r}. Colour and depth pair up "
                "by the names of their files.", folder=folder, count=len(alone), name=alone[0])
        )  # fmt: skip
    return [(file, depths[file.stem]) for file in colour]


def _depth(file: Path) -> Image:
    image = read_picture(file)
    if image.ndim != 2 or image.dtype != np.uint16:
        raise PalestraError(say("{file}: found {dtype} with {axes} axes, expected 16 bits of depth for each pixel.",
                                file=file, dtype=image.dtype, axes=image.ndim))  # fmt: skip
    return image


class OpenNi:
    """A device that OpenCV reads by OpenNI 2."""

    spec = f"depth:{DEVICE}"
    waits = False

    def __init__(self) -> None:
        self._device: Any = None

    def open(self) -> About:
        self._device = cv2.VideoCapture(0, cv2.CAP_OPENNI2)
        if not self._device.isOpened():
            raise PalestraError(
                say("No OpenNI device can be opened. Plug it in; OpenCV must have been built with OpenNI 2, which "
                    "those that pip installs are not.")
            )  # fmt: skip
        return About("pictures", PARTS)

    def items(self, stop: threading.Event) -> Iterator[Item]:
        while not stop.is_set():
            if not self._device.grab():
                yield notice(say("The device gives no more pictures. It is tried again."))
                stop.wait(AGAIN_S)
                continue
            arrived_ns = now_ns()
            is_colour, colour = self._device.retrieve(flag=cv2.CAP_OPENNI_BGR_IMAGE)
            is_depth, depth = self._device.retrieve(flag=cv2.CAP_OPENNI_DEPTH_MAP)
            if is_colour and is_depth:
                yield Frame((colour, depth), arrived_ns)

    def close(self) -> None:
        if self._device is not None:
            self._device.release()
