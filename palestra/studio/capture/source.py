"""What every source is, and what it hands on: frames, samples, offsets of its clock, and what happened to it."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.text import Text

Image = NDArray[np.uint8] | NDArray[np.uint16]  # (h, w), (h, w, 3) as BGR, or (h, w) of 16 bits
Values = NDArray[Any] | list[list[str]]  # samples × channels
AGAIN_S = 1.0  # between two tries to open what was lost


@dataclass(frozen=True, slots=True)
class Frame:
    """What a source took at one moment: one picture, or a colour picture and its depth."""

    images: tuple[Image, ...]  # one for each part of the source
    arrived_ns: int  # on our clock
    taken_ns: int | None = None  # on the source's own clock
    lost: int = 0  # frames just before it that the source knows it lost

    @property
    def count(self) -> int:
        return 1

    @property
    def size(self) -> int:
        return sum(image.nbytes for image in self.images)


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of a signal that arrived together."""

    values: Values
    taken_ns: NDArray[np.int64]  # each one's time, on the source's own clock
    arrived_ns: int
    lost: int = 0

    @property
    def count(self) -> int:
        return len(self.taken_ns)

    @property
    def size(self) -> int:
        if isinstance(self.values, list):
            return sum(len(text) for row in self.values for text in row) + self.taken_ns.nbytes
        return int(self.values.nbytes) + self.taken_ns.nbytes


@dataclass(frozen=True, slots=True)
class Offset:
    """How a source's clock stands to ours at one moment: our time = its time + offset, give or take the spread."""

    at_ns: int
    offset_ns: int
    spread_ns: int


@dataclass(frozen=True, slots=True)
class Notice:
    """What happened to a source, in words."""

    at_ns: int
    text: Text


@dataclass(frozen=True, slots=True)
class Lost:
    """Frames that a source lost, where no frame may follow to tell of them."""

    count: int


Item = Frame | Samples | Lost | Offset | Notice


class About(msgspec.Struct, frozen=True):
    """What a source says of itself when it is opened."""

    kind: Literal["pictures", "signal"]
    parts: list[str] = msgspec.field(default_factory=lambda: ["picture"])  # of each frame
    rate_hz: float | None = None  # nominal; null for a source that comes when it likes
    size: list[int] | None = None  # width and height, as far as they are known beforehand
    own_clock: str = ""  # what its times are read from; empty if it has no clock
    measures_offset: bool = False  # whether it measures its clock's offset itself, by round trips
    channels: list[str] = []  # of a signal
    number_kind: str = ""  # of a signal: float32, double64, int8 … int64 or string, as LSL names them
    description: str = ""  # of a signal: the XML that LSL has


class Source(Protocol):
    """One camera, folder, stream or page. It is opened and read in one thread, and may be closed from another."""

    spec: str  # what names it
    waits: bool  # whether it can wait while we write, so that nothing of it need ever be dropped

    def open(self) -> About:
        """Begin; a PalestraError says in words why there is nothing."""

    def items(self, stop: threading.Event) -> Iterator[Item]:
        """What comes, until the source ends or `stop` is set, which is looked at once a second at least."""

    def close(self) -> None:
        """Let go of the device. Called once, whatever happened."""


def now_ns() -> int:
    """Our one clock."""
    return time.monotonic_ns()


def notice(text: Text) -> Notice:
    return Notice(now_ns(), text)
