"""One source while it is captured: a thread that reads it, one that writes its files, and a queue between them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from palestra.errors import PalestraError, text_of
from palestra.studio.capture.backlog import Backlog
from palestra.studio.capture.layout import Captured
from palestra.studio.capture.picture_segment import form_of
from palestra.studio.capture.source import Frame, Item, Source, notice, now_ns
from palestra.studio.capture.writer import SourceWriter

ENDING_S = 10.0  # that a source is given to come to its end
TICK_S = 1.0  # between two times that what is written is brought to the disk: at most so much is lost


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


class Line:
    """One source with its two threads."""

    def __init__(self, captured: Captured, source: Source, writer: SourceWriter, tap: Callable[[Item], None]) -> None:
        self._captured, self._source, self._writer, self._tap = captured, source, writer, tap
        self._backlog = Backlog()
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
                self._tap(item)
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
    def name(self) -> str:
        return self._captured.name

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
