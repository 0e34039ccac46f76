"""Pictures of a person who looks at points: of each source the one taken at the moment of capture."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.records import CAPTURES, PersonPictures, Sitting, Tick
from palestra.studio.capture.capture import Tap
from palestra.studio.capture.source import About, Image, now_ns
from palestra.studio.present.plans.plan import Plan
from palestra.studio.present.reports import Report
from palestra.studio.present.run import Run
from palestra.studio.sitting.newest import NewestPictures
from palestra.studio.sitting.session import Session, session
from palestra.text import say

LATE_NS = 50_000_000  # from the moment of capture to the nearest picture, at most
PATIENCE_NS = 500_000_000  # for a picture to arrive
LAST_WORD_NS = 5_000_000_000  # for the page to come to its end: all is captured then, and somebody may have closed it


def captured_points(plan: Plan) -> list[int]:
    """The events at which something is captured, in order."""
    return [event.number for event in plan.events if event.shows == "capture"]


class Moments:
    """When each point was captured, on our clock. A point that was shown again counts once."""

    def __init__(self) -> None:
        self._at_ns: dict[int, int] = {}
        self._lock = threading.Lock()

    def hear(self, run: Run, report: Report) -> None:
        if report.event is None or run.plan.events[report.event].shows != "capture" or report.frame_ms is None:
            return
        at_s = run.clocks.on_host(report.page, report.frame_ms)
        with self._lock:
            self._at_ns.setdefault(report.event, now_ns() if at_s is None else int(at_s * 1e9))

    def of(self, event: int) -> int | None:
        with self._lock:
            return self._at_ns.get(event)


@dataclass(frozen=True)
class PictureSitting:
    """One person's sitting, played as they look."""

    data: Path
    person: PersonPictures
    sitting: Sitting  # as it is played from files, once they are there

    def ticks(self) -> Iterator[Tick | None]:
        """The ticks that the files give, each as soon as its pictures were taken and kept."""
        name = self.sitting.name
        self._make_room()
        moments, newest = Moments(), dict[str, NewestPictures]()

        def taps(abouts: Mapping[str, About]) -> Mapping[str, Tap]:
            newest.update({source: NewestPictures(abouts[source]) for source in self.person.sources})
            return {source: one.hear for source, one in newest.items()}

        with session(self.data, name, moments.hear, taps) as one:
            stored = iter(self.sitting.ticks())
            for number, event in enumerate(captured_points(one.plan)):
                yield from self._until_kept(one, number, event, moments, newest)
                yield next(stored)
            end_ns = now_ns() + LAST_WORD_NS
            while not one.is_over and now_ns() < end_ns:
                yield None

    def _until_kept(
        self, one: Session, number: int, event: int, moments: Moments, newest: Mapping[str, NewestPictures]
    ) -> Iterator[None]:
        while (at_ns := moments.of(event)) is None:
            one.require_going(self.sitting.name)
            self._require_unfinished(one, number)
            yield None
        while any((seen.newest_ns() or 0) < at_ns for seen in newest.values()) and now_ns() < at_ns + PATIENCE_NS:
            yield None
        found = {source: self._nearest(source, seen, at_ns, number) for source, seen in newest.items()}
        self.person.keep(self.data, self.sitting.name, number, found)

    def _require_unfinished(self, one: Session, number: int) -> None:
        if one.run.is_finished:
            raise PalestraError(
                say("{person}: the page ended before point {number} was captured.",
                    person=self.sitting.name, number=number + 1)
            )  # fmt: skip

    def _nearest(self, source: str, seen: NewestPictures, at_ns: int, number: int) -> NDArray[np.uint8]:
        found = seen.nearest(at_ns)
        if found is None or abs(found[0] - at_ns) > LATE_NS:
            off = say("none came") if found is None else say("{ms:.0f} ms off", ms=abs(found[0] - at_ns) / 1e6)
            raise PalestraError(
                say("{person}, point {number}: no picture of {source} within {most} ms of the moment of capture "
                    "({off}). See that the camera runs, then play again: this person begins anew.",
                    person=self.sitting.name, number=number + 1, source=source, most=LATE_NS // 1_000_000, off=off)
            )  # fmt: skip
        return fitted(found[1], self.person.shape)

    def _make_room(self) -> None:
        """What an unfinished sitting left is put beside its recording."""
        left = self.person.folder(self.data, self.sitting.name)
        if left.exists():
            number = 1
            while (aside := self.data / CAPTURES / f"{self.sitting.name}-unfinished-{number}").exists():
                number += 1
            left.rename(aside)


def fitted(image: Image, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture in grey and of the size that is sent: its middle, as large as it can be in that shape."""
    if image.dtype != np.uint8:
        image = np.right_shift(image, 8).astype(np.uint8)
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    height, width = shape
    scale = min(grey.shape[0] / height, grey.shape[1] / width)
    high, wide = round(height * scale), round(width * scale)
    top, left = (grey.shape[0] - high) // 2, (grey.shape[1] - wide) // 2
    middle = grey[top : top + high, left : left + wide]
    if middle.shape == shape:
        return np.ascontiguousarray(middle, np.uint8)
    how = cv2.INTER_AREA if scale > 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(middle, (width, height), interpolation=how), np.uint8)
