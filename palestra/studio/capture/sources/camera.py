"""A camera that OpenCV opens: by its number, an address that it streams from, or a video file.

Tried with files and streams over the network; a camera that is plugged in was not there to be tried.
"""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2

from palestra.errors import PalestraError
from palestra.studio.capture.source import AGAIN_S, About, Frame, Image, Item, notice, now_ns
from palestra.text import Text, say

TIMEOUT_MS = 3000  # to open a stream, and for a frame of it
DRIVER_CLOCK = "V4L2"  # the one way to a camera in which OpenCV tells the driver's own time of each frame


def source_of(rest: str) -> "Camera":
    return Camera(rest)


class Camera:
    """One camera. When it is lost, it is tried again until the recording ends."""

    def __init__(self, rest: str) -> None:
        self.spec = f"camera:{rest}"
        self._what = rest
        self.waits = self._is_file = "://" not in rest and Path(rest).is_file()
        self._device: Any = None

    def open(self) -> About:
        self._device = self._opened()
        if self._device is None:
            raise PalestraError(self._not_there())
        size = [int(self._device.get(one)) for one in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)]
        rate = float(self._device.get(cv2.CAP_PROP_FPS))
        clock = "the driver's, of each frame" if self._has_clock() else ""
        return About("pictures", rate_hz=rate if 0 < rate < 100_000 else None, size=size, own_clock=clock)

    def _not_there(self) -> Text:
        if self._what.isdecimal():
            there = ", ".join(sorted(str(file) for file in Path("/dev").glob("video*"))) or say("none")
            return say(
                "There is no camera {number} that can be opened (this machine has: {there}). Plug it in, or name "
                "another.",
                number=self._what,
                there=there,
            )
        if "://" not in self._what:
            return say("{what}: there is no such video file, or none that OpenCV reads.", what=self._what)
        return say(
            "{what}: no camera or video answers there. Open the same address in a browser to see whether it does.",
            what=self._what,
        )

    def _opened(self) -> Any:
        """The device; None if there is none."""
        before = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)  # we say it in our own words
        os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
        try:
            if self._what.isdecimal():
                device = cv2.VideoCapture(int(self._what))
            else:
                limits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, TIMEOUT_MS, cv2.CAP_PROP_READ_TIMEOUT_MSEC, TIMEOUT_MS]
                device = cv2.VideoCapture(self._what, cv2.CAP_FFMPEG, limits)
        finally:
            cv2.utils.logging.setLogLevel(before)
        if device.isOpened():
            return device
        device.release()
        return None

    def _has_clock(self) -> bool:
        return bool(self._device.getBackendName() == DRIVER_CLOCK)

    def items(self, stop: threading.Event) -> Iterator[Item]:
        while not stop.is_set():
            if self._device.grab():
                arrived_ns = now_ns()
                taken_ns = round(1e6 * self._device.get(cv2.CAP_PROP_POS_MSEC)) if self._has_clock() else None
                there, image = self._device.retrieve()
                if there:
                    yield Frame((_recorded(image),), arrived_ns, taken_ns)
                    continue
            if self._is_file:
                return
            yield from self._lost(stop)

    def _lost(self, stop: threading.Event) -> Iterator[Item]:
        """Say so, and try until it is there again."""
        yield notice(say("The camera gives no more pictures: unplugged, or its stream was cut. It is tried again."))
        self._device.release()
        while not stop.wait(AGAIN_S):
            if found := self._opened():
                self._device = found
                yield notice(say("The camera is there again."))
                return

    def close(self) -> None:
        if self._device is not None:
            self._device.release()


def _recorded(image: Any) -> Image:
    """A picture whose driver gives one channel in a third dimension is grey."""
    found: Image = image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image
    return found
