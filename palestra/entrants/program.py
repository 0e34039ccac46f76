"""A contestant's program in its sandbox, as a line of the stream: started, asked, and started again when it dies."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

from palestra.entrants import sandbox
from palestra.entrants.frames import BadFrame, Frame, Header, Receiver, Sender
from palestra.entrants.sandbox import Backend, Limits
from palestra.errors import PalestraError
from palestra.records import Reply, Tick

COMMAND = (sandbox.PYTHON, "-m", "palestra.entrants.inside")
REPLY_BYTES = 65_536  # of one reply: a number, or a note
READY_S = 120.0  # to load a model
ENDING_S = 0.5  # between closing its socket and being gone


class Program:
    """One contestant's program. `close` ends it and everything it started."""

    def __init__(self, name: str, bundle: Path, backend: Backend, limits: Limits | None = None) -> None:
        self.name, self._bundle, self._backend, self._limits = name, bundle, backend, limits or Limits()
        self._asked: dict[int, str | None] = {}  # number of a packet under way → the trial that is decided on it
        self._number = 0
        self._why = ""
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock = ours
        self._running = sandbox.start(self._backend, COMMAND, self._bundle, self._limits, theirs)
        theirs.close()
        self._sender, self._receiver = Sender(ours), Receiver(ours, REPLY_BYTES)
        self._asked.clear()

    def require_ready(self, within_s: float = READY_S) -> None:
        """Wait until its object is made; refuse it in words if it cannot be."""
        deadline = time.monotonic() + within_s
        try:
            frame = self._receiver.receive(deadline)
        except TimeoutError:
            raise PalestraError(f"{self.name}: not ready after {within_s:g} s. Loading must not take longer.") from None
        except (EOFError, BadFrame, OSError):
            self._running.wait(5.0)
            raise PalestraError(f"{self.name}: ended before it was ready: {self._running.why()}") from None
        if frame.header.kind != "ready":
            raise PalestraError(f"{self.name}: {frame.header.data.get('note', 'said something else than ready')}")

    def post(self, tick: Tick) -> None:
        """Queue a packet; what the program does not take yet waits here and holds up nobody."""
        if self._why:
            return
        self._number += 1
        self._asked[self._number] = tick.trial
        try:
            self._sender.post(Header("packet", self._number, {"ask": tick.trial is not None}), (tick.payload,))
        except OSError:
            self._lost()

    def replies(self) -> Iterator[Reply]:
        """What has come. A packet that nothing was asked of is only ticked off."""
        while (frame := self._next(deadline=0.0)) is not None:
            reply = self._reply(frame)
            if reply is not None:
                yield reply

    def ask(self, tick: Tick, within_s: float) -> tuple[Reply | None, float]:
        """Give a packet and wait until it is dealt with: the reply, and the seconds that it took."""
        started = time.monotonic()
        self.post(tick)
        while not self._why:
            frame = self._next(started + within_s)
            if frame is not None and frame.header.number == self._number:
                return self._reply(frame), time.monotonic() - started
            if frame is None:
                self._lost(f"took longer than {within_s:g} s over one packet")
        return None, time.monotonic() - started

    def _next(self, deadline: float) -> Frame | None:
        """The next frame that comes by then, if any does."""
        if self._why:
            return None
        try:
            self._sender.flush()
            return self._receiver.receive(deadline)
        except TimeoutError:
            return None
        except (EOFError, OSError):
            self._lost()
        except BadFrame as error:
            self._lost(f"said what cannot be read: {error}")
        return None

    def _reply(self, frame: Frame) -> Reply | None:
        trial = self._asked.pop(frame.header.number, None)
        if trial is None:
            return None
        note = frame.header.data.get("note", "")
        return Reply(trial, frame.header.data.get("answer"), note if isinstance(note, str) else "said nonsense")

    def _lost(self, why: str = "") -> None:
        """End it, for the first reason that was found."""
        if not self._why:
            if not why:
                self._running.wait(ENDING_S)  # it is ending by itself: how it does is the reason
            self._running.kill()
            self._why = why or self._running.why()

    def dead(self) -> str:
        return self._why

    @property
    def output(self) -> str:
        """What it printed, for the organiser."""
        return self._running.output

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._running.close()
        self._sock.close()
