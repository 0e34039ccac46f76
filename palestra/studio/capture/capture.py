"""Captures several sources at once: for each a thread that reads it and one that writes its files, on one clock."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from palestra.errors import PalestraError, text_of
from palestra.studio.capture import repair
from palestra.studio.capture.backlog import Backlog
from palestra.studio.capture.layout import EVENTS, Captured, Event, Head, Journal, locked, write_head
from palestra.studio.capture.picture_segment import form_of
from palestra.studio.capture.source import About, Frame, Notice, Source, notice, now_ns
from palestra.studio.capture.writer import How, SourceWriter
from palestra.text import Text, say, words_of

ENDING_S = 10.0  # that a source is given to come to its end
TICK_S = 1.0  # between two times that what is written is brought to the disk: at most so much is lost
Hear = Callable[[str, Text], None]


@dataclass(frozen=True)
class State:
    """How one source stands."""

    name: str
    count: int  # frames or samples that are written
    dropped: int
    waiting: int  # in the queue
    delay_ms: float  # the longest from arrival to the disk since the last look
    bytes: int
    is_over: bool


class Capture:
    """A recording while it is made."""

    def __init__(self, folder: Path, sources: Mapping[str, Source], how: How, hear: Hear) -> None:
        self.folder, self._sources, self._how, self._hear = folder, sources, how, hear
        self._open = ExitStack()
        self._stop = threading.Event()
        self._writing = threading.Lock()  # of recording.json and events.jsonl
        self.lines: list[_Line] = []

    def start(self) -> None:
        """Open all sources, make the folder and begin. Where one cannot be opened, nothing is written."""
        require_new(self.folder)
        abouts: dict[str, About] = {}
        with ExitStack() as opened:
            for name, source in self._sources.items():
                opened.callback(source.close)  # also what opened only half
                abouts[name] = source.open()
            self._begin(abouts)
            self._open.push(opened.pop_all())

    def _begin(self, abouts: dict[str, About]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._open.enter_context(locked(self.folder))
        captured = [Captured(name, self._sources[name].spec, about) for name, about in abouts.items()]
        pictures = "png" if self._how.png else "video"
        self.head = Head(_utc(), now_ns(), captured, version("palestra"), pictures=pictures)
        write_head(self.folder, self.head)
        self._events = Journal(self.folder / EVENTS)
        for one in captured:
            self.lines.append(_Line(self, one, self._sources[one.name], self._how))
        for line in self.lines:
            line.start(self._stop)

    @property
    def is_over(self) -> bool:
        """Whether every source has come to its end."""
        return all(line.is_over for line in self.lines)

    def states(self) -> list[State]:
        """How each source stands."""
        return [line.state() for line in self.lines]

    def wait(self, within_s: float) -> None:
        """Until all sources have ended, or so long."""
        end_ns = now_ns() + int(within_s * 1e9)
        for line in self.lines:
            line.wait(max((end_ns - now_ns()) / 1e9, 0))

    def finish(self) -> Head:
        """End all sources, write what has come, and close the recording."""
        self._stop.set()
        for line in self.lines:
            line.end()
        for line, one in zip(self.lines, self.head.sources, strict=True):
            state = line.state()
            one.frames, one.dropped = state.count, state.dropped
        self.head.ended_at, self.head.ended_ns = _utc(), now_ns()
        try:
            self._put_in_order()
        finally:
            self._events.close()
            self._open.close()
        for line in self.lines:
            if line.fault:
                raise line.fault
        return self.head

    def _put_in_order(self) -> None:
        try:
            for told in repair.repair(self.folder, self.head):  # what a full disk did not let be closed; signals' XDF
                self._hear("", told)
            write_head(self.folder, self.head)
        except OSError as error:
            raise PalestraError(
                say(
                    "{folder} could not be brought to its end: {why}. What is recorded is whole. Make room, then call "
                    "`palestra studio check {folder}`.",
                    folder=self.folder,
                    why=error.strerror or str(error),
                )
            ) from None

    def changed(self) -> None:
        """Something in recording.json is to be written anew; where the disk is full, at the end."""
        with self._writing:
            try:
                write_head(self.folder, self.head)
            except OSError as error:
                self._hear("", say("recording.json could not be written yet: {why}.", why=error.strerror))

    def tell(self, name: str, one: Notice) -> None:
        """Note what happened to a source, and say it."""
        words = words_of(one.text)
        with self._writing:
            self._events.append(Event(one.at_ns, name, words.en, words.zh))
        self._hear(name, one.text)


class _Line:
    """One source with its two threads."""

    def __init__(self, capture: Capture, captured: Captured, source: Source, how: How) -> None:
        self._capture, self._captured, self._source = capture, captured, source
        self._backlog = Backlog()
        self._writer = SourceWriter(
            capture.folder / captured.name, captured, how, lambda one: capture.tell(captured.name, one), capture.changed
        )
        self.fault: Exception | None = None
        # Waited for instead of the threads: a join that Ctrl-C interrupts takes a thread for ended that is not.
        self._is_read, self._is_kept = threading.Event(), threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True, name=f"read {captured.name}")
        self._keeping = threading.Thread(target=self._keep, daemon=True, name=f"write {captured.name}")

    def start(self, stop: threading.Event) -> None:
        self._stop = stop
        self._keeping.start()
        self._reading.start()

    def _read(self) -> None:
        try:
            for item in self._source.items(self._stop):
                if isinstance(item, Frame):
                    form_of(item)  # a picture that cannot be kept ends its source, and no other
                self._backlog.put(item, self._source.waits)
        except PalestraError as error:
            self._ended(error)
        except Exception as error:  # another source's recording goes on; this one's fault is told at the end
            self.fault = error
            self._ended(error)
        finally:
            self._backlog.end()
            self._is_read.set()

    def _ended(self, error: Exception) -> None:
        told = text_of(error)
        self._captured.ended = str(told)
        self._backlog.put(notice(told), False)

    def _keep(self) -> None:
        try:
            ticked_ns = now_ns()
            while not self._backlog.is_done:
                if item := self._backlog.take(TICK_S / 4):
                    self._writer.take(item)
                if now_ns() - ticked_ns > TICK_S * 1e9:
                    self._writer.tick()
                    ticked_ns = now_ns()
            self._writer.finish()
        except Exception as error:
            self.fault = error
            self._stop.set()  # nothing can be kept any more: that is no recording
            self._backlog.end()
        finally:
            self._is_kept.set()

    @property
    def is_over(self) -> bool:
        return self._is_kept.is_set()

    def wait(self, within_s: float) -> None:
        self._is_kept.wait(within_s)

    def end(self) -> None:
        if not self._is_read.wait(ENDING_S):  # a driver that never returns: what it gave is kept
            self._captured.ended = "did not stop"
            self._backlog.end()
        self._is_kept.wait()

    def state(self) -> State:
        writer = self._writer
        delay_ns, writer.delay_ns = writer.delay_ns, 0
        dropped = writer.dropped + self._backlog.dropped
        return State(
            self._captured.name,
            writer.count,
            dropped,
            len(self._backlog),
            delay_ns / 1e6,
            writer.bytes,
            self.is_over,
        )


def require_new(folder: Path) -> None:
    """A recording is never written into what is there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(
            say("{folder} is there already. Name another folder: a recording is never written over.", folder=folder)
        )


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
