"""Lossless pictures: MagicYUV for 8 bits, which costs a seventh of the processor's time that FFV1 takes on pictures of
eyes and an eighth more room; FFV1 for depth of 16 bits, which MagicYUV does not have.

Each frame stands for itself. That a frame is as it was taken is told by the checksum of its pixels (rows.py).
"""

import struct
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext

from palestra.errors import PalestraError
from palestra.studio.capture.source import Image
from palestra.text import say

MOST_PIXELS = 64_000_000
FOURCC_CODEC = "V_MS/VFW/FOURCC"  # Matroska's way to name a codec by four letters
BITMAP_HEAD = struct.Struct("<IiiHH4sIiiII")  # what such a codec's settings begin with


@dataclass(frozen=True)
class Codec:
    """How pictures of one kind are written."""

    name: str  # of the library's codec
    pixels: str  # how it lays them out
    array: str  # how arrays do
    fourcc: bytes = b""  # in Matroska; empty for a codec with a name of its own there
    matroska: str = FOURCC_CODEC
    options: dict[str, str] = field(default_factory=dict)


FFV1 = {"level": "3", "slices": "4", "slicecrc": "1", "g": "1"}
CODECS = {
    "gray8": Codec("magicyuv", "gray", "gray", b"M8G0", options={"pred": "median"}),
    "bgr8": Codec("magicyuv", "gbrp", "bgr24", b"M8RG", options={"pred": "median"}),
    "gray16": Codec("ffv1", "gray16le", "gray16le", matroska="V_FFV1", options=FFV1),
}
ARRAYS = {codec.pixels: codec.array for codec in CODECS.values()}


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
        self.codec = CODECS[form_of(image)]
        self._context = cast(VideoCodecContext, av.CodecContext.create(self.codec.name, "w"))
        self._context.height, self._context.width = image.shape[:2]
        self._context.pix_fmt = self.codec.pixels
        self._context.time_base = Fraction(1, 1_000_000)
        self._context.thread_count = 1
        self._context.options = self.codec.options
        self._context.open()

    @property
    def private(self) -> bytes:
        """The codec's settings, as Matroska has them."""
        own = bytes(self._context.extradata or b"")
        if not self.codec.fourcc:
            return own
        width, height = self._context.width, self._context.height
        size = BITMAP_HEAD.size + len(own)
        return BITMAP_HEAD.pack(size, width, height, 1, 24, self.codec.fourcc, 3 * width * height, 0, 0, 0, 0) + own

    def encode(self, image: Image) -> bytes:
        pixels: Any = np.ascontiguousarray(image)
        frame = av.VideoFrame.from_ndarray(pixels, format=self.codec.array)
        if self.codec.pixels != self.codec.array:
            frame = frame.reformat(format=self.codec.pixels)
        (packet,) = self._context.encode(frame)
        return bytes(packet)


class Decoder:
    """Decodes frames one by one, in any order."""

    def __init__(self, matroska: str, private: bytes, size: tuple[int, int]) -> None:
        has_head = matroska == FOURCC_CODEC
        codec = "magicyuv" if has_head else "ffv1"
        self._context = cast(VideoCodecContext, av.CodecContext.create(codec, "r"))
        self._context.width, self._context.height = size
        self._context.extradata = private[BITMAP_HEAD.size :] if has_head else private
        self._context.thread_count = 1

    def decode(self, data: bytes) -> Image:
        """One picture; a ValueError if it is damaged."""
        try:
            frames = self._context.decode(av.Packet(data))
        except av.FFmpegError as error:
            raise ValueError(str(error)) from None
        if len(frames) != 1 or frames[0].format.name not in ARRAYS:
            raise ValueError("no picture")
        return array_of(frames[0], ARRAYS[frames[0].format.name])


def array_of(frame: av.VideoFrame, form: str) -> Image:
    """A frame's pixels."""
    found: Any = frame.to_ndarray(format=form)
    image: Image = found
    return image
