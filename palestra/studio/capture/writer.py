"""Writes what comes from one source into its folder: segments, offsets, and what happened."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec

from palestra.studio.capture.backlog import Kept
from palestra.studio.capture.clock import SourceClock
from palestra.studio.capture.layout import OFFSETS, SEGMENTS, Captured, Journal, OffsetLine, sync_folder
from palestra.studio.capture.picture_segment import PictureSegment, form_of
from palestra.studio.capture.signal_segment import SignalSegment
from palestra.studio.capture.source import Frame, Notice, Offset, Samples, now_ns
from palestra.text import Text, say

AGAIN_NS = 1_000_000_000  # between two tries to write to a disk that is full
Tell = Callable[[Notice], None]


class How(msgspec.Struct, frozen=True):
    """How a recording is written."""

    segment_s: float = 10.0
    png: bool = False


class SourceWriter:
    """The files of one source. Used by one thread."""

    def __init__(self, folder: Path, captured: Captured, how: How, tell: Tell, changed: Callable[[], None]) -> None:
        folder.mkdir()
        self._folder, self._captured, self._how = folder, captured, how
        self._tell, self._changed = tell, changed
        self._offsets, self._segments = Journal(folder / OFFSETS), Journal(folder / SEGMENTS)
        self._clock = SourceClock(captured.about.measures_offset)
        self._segment: PictureSegment | SignalSegment | None = None
        self._number = 0  # of the next segment
        self._owed = 0  # frames that could not be written since the last that was
        self._again_ns: int | None = None  # when to try to write again
        self.count = self.dropped = self.bytes = 0
        self.delay_ns = 0  # the longest from arrival to the disk, since somebody looked

    def take(self, item: Kept) -> None:
        """Write one item."""
        if isinstance(item, Frame | Samples):
            self._write(item)
        elif isinstance(item, Offset):
            self._note(self._clock.measured(item))
        else:
            self._tell(item)

    def tick(self) -> None:
        """Once a second: what is written is to reach the disk, and a segment of a silent source is to be closed."""
        if self._segment:
            if now_ns() - self._segment.began_ns > self._length_ns():
                self._end_segment()
            else:
                self._segment.sync()
        sync_folder(self._folder)
        self._offsets.flush()
        self._segments.flush()

    def finish(self) -> None:
        """Close the files."""
        self._end_segment()
        self._note(self._clock.finish())
        self._offsets.close()
        self._segments.close()

    def _length_ns(self) -> int:
        return int(self._how.segment_s * 1e9)

    def _note(self, told: list[Offset | Notice]) -> None:
        for one in told:
            if isinstance(one, Offset):
                self._offsets.append(OffsetLine(one.at_ns, one.offset_ns, one.spread_ns))
            else:
                self._tell(one)

    def _write(self, item: Frame | Samples) -> None:
        if self._again_ns is not None and now_ns() < self._again_ns:
            self._lose(item)
            return
        if self._owed:
            item = dataclasses.replace(item, lost=item.lost + self._owed)
        try:
            self.bytes += self._put(item)
        except OSError as error:
            self._refused(item, error)
            return
        self._recovered()
        self.count += item.count
        self.delay_ns = max(self.delay_ns, now_ns() - item.arrived_ns)
        for taken_ns in _times(item):
            self._note(self._clock.seen(taken_ns, item.arrived_ns))

    def _put(self, item: Frame | Samples) -> int:
        """Write it into its segment, a new one if there is none that it belongs to."""
        if self._segment and item.arrived_ns - self._segment.began_ns >= self._length_ns():
            self._end_segment()
        if isinstance(item, Samples):
            if not isinstance(self._segment, SignalSegment):
                self._segment = SignalSegment(self._folder, self._number, self._captured.about, item.arrived_ns)
                self._number += 1
            return self._segment.write(item, self.count)
        if isinstance(self._segment, PictureSegment) and not self._segment.fits(item):
            self._resized(self._segment.form, form_of(item), item.arrived_ns)
            self._end_segment()
        if not isinstance(self._segment, PictureSegment):
            parts = self._captured.about.parts
            self._segment = PictureSegment(self._folder, self._number, parts, item, self._how.png)
            self._number += 1
            self._know_size(self._segment.form)
        return self._segment.write(item, self.count)

    def _know_size(self, form: str) -> None:
        if form not in self._captured.sizes:
            self._captured.sizes.append(form)
            self._changed()

    def _resized(self, before: str, now: str, at_ns: int) -> None:
        self._tell(
            Notice(
                at_ns,
                say("Its pictures changed from {before} to {now}: a new segment begins.", before=before, now=now),
            )
        )

    def _end_segment(self) -> None:
        """Close the segment and list it. What a full disk does not take stays open, and is closed later by repair."""
        segment, self._segment = self._segment, None
        if segment is None:
            return
        if not segment.count:
            segment.abandon()
            return
        try:
            closed = segment.close()
        except OSError as error:
            segment.abandon()
            self._tell(Notice(now_ns(), _not_closed(error)))
            return
        if not self._segments.append(closed):
            return  # the rows stay until it is listed: repair sees to it
        self._segments.sync()
        for kind in (".rows", ".chunks"):
            (self._folder / f"{closed.number:06d}{kind}").unlink(missing_ok=True)

    def _lose(self, item: Frame | Samples) -> None:
        self._owed += item.count
        self.dropped += item.count

    def _refused(self, item: Frame | Samples, error: OSError) -> None:
        """The disk did not take it: what is there stays whole, and it is tried again in a while."""
        self._lose(item)
        if self._again_ns is None:
            self._tell(Notice(item.arrived_ns, _not_written(error)))
        if self._segment and self._segment.count:  # another file may be taken where this one has grown too large
            self._end_segment()
        self._again_ns = now_ns() + AGAIN_NS

    def _recovered(self) -> None:
        if self._again_ns is not None:
            self._tell(Notice(now_ns(), say("It is written again; {count} were dropped meanwhile.", count=self._owed)))
            self._again_ns = None
        self._owed = 0


def _not_written(error: OSError) -> Text:
    return say(
        "It cannot be written: {why}. What is recorded stays whole; what comes now is dropped and counted. Make room: "
        "it goes on by itself.",
        why=error.strerror or str(error),
    )


def _not_closed(error: OSError) -> Text:
    return say(
        "A segment could not be closed: {why}. It is whole, and is closed when the recording is next opened.",
        why=error.strerror or str(error),
    )


def _times(item: Frame | Samples) -> list[int]:
    """Times by the source's own clock that arrivals can be held against: of many samples, the newest."""
    if isinstance(item, Samples):
        return [int(item.taken_ns[-1])] if item.count else []
    return [] if item.taken_ns is None else [item.taken_ns]
