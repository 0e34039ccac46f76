"""Lossless pictures by FFV1, the archives' codec: each frame stands for itself and carries checksums.

The fast coder, one thread and four slices were chosen by measuring (benchmarks/studio_capture.py).
"""

from fractions import Fraction
from typing import Any

import av
import numpy as np

from palestra.errors import PalestraError
from palestra.studio.capture.source import Image
from palestra.text import say

CODEC = "V_FFV1"
OPTIONS = {"level": "3", "slices": "4", "slicecrc": "1", "coder": "0", "context": "0", "g": "1"}
FORMS = {"gray8": "gray", "gray16": "gray16le", "bgr8": "bgr0"}  # ours → how the codec lays out its pixels
ARRAYS = {"gray8": "gray", "gray16": "gray16le", "bgr8": "bgr24"}  # ours → how arrays do
DECODED = {FORMS[name]: ARRAYS[name] for name in FORMS}
MOST_PIXELS = 64_000_000


def form_of(image: Image) -> str:
    """What kind of picture an array is; said in words where it is none that is kept."""
    if image.size and image.shape[0] * image.shape[1] <= MOST_PIXELS:
        if image.ndim == 2 and image.dtype == np.uint8:
            return "gray8"
        if image.ndim == 2 and image.dtype == np.uint16:
            return "gray16"
        if image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8:
            return "bgr8"
    raise PalestraError(
        say(
            "A picture of {dtype} with the shape {shape} cannot be recorded; expected 8 or 16 bits of grey, or 8 bits "
            "of colour, and at most {most} million pixels.",
            dtype=image.dtype,
            shape="×".join(map(str, image.shape)),
            most=MOST_PIXELS // 1_000_000,
        )
    )


def shown(image: Image) -> str:
    """gray8 640×400, as recording.json and segments have it."""
    return f"{form_of(image)} {image.shape[1]}×{image.shape[0]}"


class Encoder:
    """Encodes pictures of one size and kind."""

    def __init__(self, image: Image) -> None:
        self._form = form_of(image)
        self._codec = av.CodecContext.create("ffv1", "w")
        self._codec.height, self._codec.width = image.shape[:2]
        self._codec.pix_fmt = FORMS[self._form]
        self._codec.time_base = Fraction(1, 1_000_000)
        self._codec.thread_count = 1
        self._codec.options = OPTIONS
        self._codec.open()
        self.private = bytes(self._codec.extradata or b"")

    def encode(self, image: Image) -> bytes:
        pixels: Any = np.ascontiguousarray(image)
        frame = av.VideoFrame.from_ndarray(pixels, format=ARRAYS[self._form])
        if FORMS[self._form] != ARRAYS[self._form]:
            frame = frame.reformat(format=FORMS[self._form])
        (packet,) = self._codec.encode(frame)
        return bytes(packet)


class Decoder:
    """Decodes frames one by one, in any order."""

    def __init__(self, private: bytes, size: tuple[int, int]) -> None:
        self._codec = av.CodecContext.create("ffv1", "r")
        self._codec.width, self._codec.height = size
        self._codec.extradata = private
        self._codec.thread_count = 1
        self._codec.options = {"err_detect": "crccheck+explode"}

    def decode(self, data: bytes) -> Image:
        """One picture; a ValueError if it is damaged."""
        try:
            frames = self._codec.decode(av.Packet(data))
        except av.FFmpegError as error:
            raise ValueError(str(error)) from None
        if len(frames) != 1 or frames[0].format.name not in DECODED:
            raise ValueError("no picture")
        return array_of(frames[0], DECODED[frames[0].format.name])


def array_of(frame: av.VideoFrame, form: str) -> Image:
    """A frame's pixels."""
    found: Any = frame.to_ndarray(format=form)
    image: Image = found
    return image
