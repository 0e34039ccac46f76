"""Captures several sources at once: for each a thread that reads it and one that writes its files, on one clock."""

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from palestra.errors import PalestraError
from palestra.studio.capture import repair
from palestra.studio.capture.layout import EVENTS, Captured, Event, Head, Journal, locked, write_head
from palestra.studio.capture.line import Line, State
from palestra.studio.capture.source import About, Item, Notice, Source, now_ns
from palestra.studio.capture.writer import How, SourceWriter
from palestra.text import Text, say, words_of

Hear = Callable[[str, Text], None]
Tap = Callable[[Item], None]  # hears what a source gives, before it is written
Taps = Callable[[Mapping[str, About]], Mapping[str, Tap]]  # by source, once all are open


class Capture:
    """A recording while it is made."""

    def __init__(
        self, folder: Path, sources: Mapping[str, Source], how: How, hear: Hear, taps: Taps = lambda abouts: {}
    ) -> None:
        self.folder, self._sources, self._how, self._hear, self._taps = folder, sources, how, hear, taps
        self._open = ExitStack()
        self._stop = threading.Event()
        self._writing = threading.Lock()  # of recording.json and events.jsonl
        self.lines: list[Line] = []

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
        taps = self._taps(abouts)
        for one in captured:
            self.lines.append(self._line(one, taps.get(one.name, _unheard)))
        for line in self.lines:
            line.start(self._stop)

    def _line(self, one: Captured, tap: Tap) -> Line:
        writer = SourceWriter(
            self.folder / one.name, one, self._how, lambda found: self.tell(one.name, found), self.changed
        )
        return Line(one, self._sources[one.name], writer, tap)

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


def _unheard(item: Item) -> None:
    """Nobody listens."""


def require_new(folder: Path) -> None:
    """A recording is never written into what is there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(
            say("{folder} is there already. Name another folder: a recording is never written over.", folder=folder)
        )


def _utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
