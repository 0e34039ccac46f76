"""The signal of a person who is shown films: packets as they come, with the trigger of each sample."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.records import PersonSignal, Tick
from palestra.studio.capture.capture import Tap
from palestra.studio.capture.source import About, now_ns
from palestra.studio.present.reports import Report
from palestra.studio.present.run import Run
from palestra.studio.present.triggers import LATE_S
from palestra.studio.sitting.capture_file import read_capture_file
from palestra.studio.sitting.newest import NewestSamples, Piece
from palestra.studio.sitting.session import Session, session
from palestra.text import say

HOLD_NS = int((LATE_S + 0.05) * 1e9)  # until a trigger at a sample is known, if there will be one
SILENT_NS = 5_000_000_000


class Marks:
    """Triggers of the presenter, with the moment that each marks."""

    def __init__(self, rate_hz: float) -> None:
        self._half_ns = int(0.5e9 / rate_hz)
        self._waiting: deque[tuple[int, int]] = deque()
        self._lock = threading.Lock()

    def hear(self, run: Run, report: Report) -> None:
        code = run.plan.events[report.event].trigger if report.event is not None else None
        at_s = run.clocks.on_host(report.page, report.frame_ms or report.at_ms)
        if code is not None:
            with self._lock:
                self._waiting.append((now_ns() if at_s is None else int(at_s * 1e9), code))

    def on(self, at_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The trigger of each of these samples; 0 for none. One that found its sample taken comes on the next."""
        row = np.zeros(len(at_ns), np.int64)
        free = 0
        with self._lock:
            while self._waiting and free < len(row) and self._waiting[0][0] <= at_ns[-1] + self._half_ns:
                marked_ns, code = self._waiting.popleft()
                place = max(int(np.searchsorted(at_ns, marked_ns - self._half_ns)), free)
                place = min(place, len(row) - 1)
                row[place] = code
                free = place + 1
        return row


@dataclass(frozen=True)
class Channels:
    """Which columns of a stream are what a data set has."""

    columns: list[int]
    trigger: int | None  # null where the presenter gives triggers

    @classmethod
    def of(cls, about: About, person: PersonSignal, trigger: str) -> Self:
        wanted = [*person.channels, *([trigger] if trigger else [])]
        missing = [name for name in wanted if name not in about.channels]
        if missing:
            raise PalestraError(
                say("The stream has no channel {missing}; it has {found}. Expected {wanted}.",
                    missing=", ".join(missing), found=", ".join(about.channels) or say("none with a name"),
                    wanted=", ".join(wanted))
            )  # fmt: skip
        if about.rate_hz != person.rate_hz:
            found = say("no rate") if about.rate_hz is None else f"{about.rate_hz:g} Hz"
            raise PalestraError(
                say("The stream has {found}, expected {wanted} Hz. Set the amplifier so.",
                    found=found, wanted=person.rate_hz)
            )  # fmt: skip
        places = [about.channels.index(name) for name in wanted]
        return cls(places[: len(person.channels)], places[-1] if trigger else None)

    def signal(self, piece: Piece) -> NDArray[Any]:
        return piece.values[:, self.columns]

    def triggers(self, piece: Piece, marks: Marks) -> NDArray[np.int64]:
        if self.trigger is None:
            return marks.on(piece.at_ns)
        return np.rint(piece.values[:, self.trigger].astype(np.float64)).astype(np.int64)


@dataclass(frozen=True)
class SignalSitting:
    """One person's sitting, played as it is recorded."""

    data: Path
    person: PersonSignal
    name: str
    people: Sequence[str]

    def ticks(self) -> Iterator[Tick | None]:
        """Packets, until the experiment is over."""
        packets = self.person.packets(self.data, self.name, self.people)
        marks, newest = Marks(self.person.rate_hz), dict[str, NewestSamples]()
        abouts: dict[str, About] = {}

        def taps(found: Mapping[str, About]) -> Mapping[str, Tap]:
            abouts.update(found)
            newest[self.person.source] = NewestSamples(found[self.person.source])
            return {self.person.source: newest[self.person.source].hear}

        def on_onset(run: Run, report: Report) -> None:
            marks.hear(run, report)

        with session(self.data, self.name, on_onset, taps) as one:
            chosen = Channels.of(abouts[self.person.source], self.person, read_capture_file(self.data).triggers)
            heard_ns = now_ns()
            while not packets.is_over:
                piece = newest[self.person.source].take(now_ns() - HOLD_NS)
                if piece is None:
                    self._require_heard(one, heard_ns)
                    yield None
                    continue
                heard_ns = now_ns()
                yield from packets.take(chosen.signal(piece), chosen.triggers(piece, marks))
            packets.finish()

    def _require_heard(self, one: Session, heard_ns: int) -> None:
        one.require_going(self.name)
        if now_ns() - heard_ns > SILENT_NS:
            raise PalestraError(
                say("{person}: no samples of {source} for {seconds} s. See that the amplifier runs, then play again: "
                    "this person begins anew.",
                    person=self.name, source=self.person.source, seconds=SILENT_NS // 1_000_000_000)
            )  # fmt: skip
