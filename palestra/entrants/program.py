"""A contestant's program in its sandbox, as a line of the stream: started, asked, and started again when it dies.

Ending a program and starting another takes a while. It is done beside the stream, in a thread, so that one that dies
holds up nobody. Packets that fall into that gap are lost to it; from then on they queue, though it is still loading.
"""

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from palestra.entrants import sandbox
from palestra.entrants.bell import Bell
from palestra.entrants.bundle import Bundle
from palestra.entrants.frames import BadFrame, Frame, Header, Receiver, Sender
from palestra.entrants.remote import clean
from palestra.entrants.running import Running
from palestra.entrants.sandbox import Backend, Limits
from palestra.errors import PalestraError
from palestra.formats.files import human_bytes
from palestra.records import Reply, Tick

COMMAND = (sandbox.PYTHON, "-m", "palestra.entrants.inside")
REPLY_BYTES = 65_536  # of one reply: numbers, or a note
READY_S = 120.0  # to load a model
ENDING_S = 2.0  # between closing its socket and being gone, on a busy host
QUEUE_BYTES = 64 << 20  # that may wait for a program that takes nothing: half an hour of EEG
SPIN_S = 0.0001  # to be woken takes longer than to look a little more; only where nobody else waits
HELD = 16  # packets that are sent together at most, in virtual time
LEAVING_S = 0.5  # to end by itself once nothing more comes
STARTS = 20  # of one program in one run; one that dies more often stays dead
FRAMES, SPARE_FRAMES = 2, 100  # that it may say to one packet (taken, done); and beyond that in all


@dataclass
class _Process:
    """One start of the program: it has its own socket, and knows nothing of the one before it."""

    sock: socket.socket
    running: Running
    sender: Sender
    receiver: Receiver
    bell: Bell  # rings when it has said something, or takes more
    asked: dict[int, Tick] = field(default_factory=dict)  # by number, the packets under way that ask something
    since: float | None = None  # when the oldest of them was posted
    may_say: int = SPARE_FRAMES  # so many frames; one that talks without end would be listened to without end


class Program:
    """One contestant's program. `close` ends it and everything it started."""

    def __init__(
        self, name: str, bundle: Bundle, backend: Backend, limits: Limits | None = None, patience_s: float | None = None
    ) -> None:
        self.name, self._bundle, self._backend, self._limits = name, bundle, backend, limits or Limits()
        self._patience_s = patience_s  # for one answer, where the rules have no deadline
        self._number = 0
        self._ahead: deque[int] = deque()  # packets that are not dealt with, for `ask`
        self._held: list[Tick] = []  # packets that go out with the next
        self._lost: list[Reply] = []  # what was open when it died, with why
        self._outputs: list[str] = []  # of earlier starts
        self.deaths: list[str] = []  # why each start ended, for the organiser
        self._why = ""
        self._renewal: threading.Thread | None = None
        self._process = self._start()

    def _start(self) -> _Process:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        bundle = self._bundle
        running = sandbox.start(self._backend, COMMAND, bundle.folder, self._limits, theirs, site=bundle.site)
        theirs.close()
        bell = Bell()
        bell.watch(ours)
        return _Process(ours, running, Sender(ours), Receiver(ours, REPLY_BYTES, SPIN_S), bell)

    def require_ready(self, within_s: float = READY_S) -> None:
        """Wait until its object is made; refuse it in words if it cannot be."""
        deadline = time.monotonic() + within_s
        process = self._process
        try:
            frame = process.receiver.receive(deadline)
        except TimeoutError:
            raise PalestraError(f"{self.name}: not ready after {within_s:g} s. Loading must not take longer.") from None
        except BadFrame as error:
            raise PalestraError(f"{self.name}: said what cannot be read before it was ready: {error}") from None
        except (EOFError, OSError):
            why = process.running.why() if process.running.wait(ENDING_S) else "it closed its socket"
            raise PalestraError(f"{self.name}: ended before it was ready: {why}") from None
        if frame.header.kind != "ready":
            raise PalestraError(f"{self.name}: {_note(frame) or 'said something else than ready'}")

    def post(self, tick: Tick) -> None:
        """Queue a packet; what the program does not take yet waits here and holds up nobody."""
        self._post([tick])

    def _post(self, ticks: Sequence[Tick]) -> None:
        """Queue packets that go out together, of which only the last may ask something."""
        self._tend()
        tick = ticks[-1]
        if self._why or self._renewal:
            self._lose(tick.trial)
            return
        process = self._process
        self._number += len(ticks)
        process.may_say += FRAMES * len(ticks)
        if tick.trial is not None:
            process.asked[self._number] = tick
            process.since = process.since or time.monotonic()
        about = {"ask": tick.trial is not None, "packets": [[len(one.payload), dict(one.about)] for one in ticks]}
        try:
            arrays = [array for one in ticks for array in one.payload.values()]
            process.sender.post(Header("packets", self._number, about), arrays)
        except OSError:
            self._end()
            return
        process.bell.watch(process.sock, bool(process.sender.waiting))
        if process.sender.waiting_bytes > QUEUE_BYTES:
            self._end(f"killed: {human_bytes(QUEUE_BYTES)} of packets wait that it does not take")

    def replies(self) -> Iterator[Reply]:
        """What has come. A packet that nothing was asked of is only ticked off."""
        while (frame := self._next(deadline=0.0)) is not None:
            yield from self._reply(frame)
        self._tend()
        while self._lost:
            yield self._lost.pop(0)

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], list[float]]:
        """Give a packet: the replies, and the seconds that each packet took which is dealt with by now.

        Only where something is asked it is waited for. Others are held, sent together and settled then, in order. A
        program tells of each that took long, and we do nothing but listen by then, so that time is charged where it
        belongs; a program that tells of none is charged for all of them where it is asked.
        """
        self._held.append(tick)
        waits = tick.trial is not None or bool(self._why or self._renewal)
        return self._settle(within_s, waits) if waits or len(self._held) >= HELD else ([], [])

    def _settle(self, within_s: float, waits: bool) -> tuple[list[Reply], list[float]]:
        """Send what is held, and wait until everything is dealt with, for each at most so long."""
        replies, spent, free_at = list[Reply](), list[float](), time.monotonic()
        self._post(self._held)
        self._ahead.extend(range(self._number - len(self._held) + 1, self._number + 1))
        self._held.clear()
        while self._ahead and not self._why and not self._renewal:
            frame = self._next(free_at + within_s if waits else 0.0, send_by=free_at + within_s)
            if frame is not None:
                replies += self._reply(frame)
                done = self._dealt_with(frame)
                if done:
                    now = time.monotonic()
                    spent += [*[0.0] * (done - 1), now - free_at]
                    free_at = now
            elif not waits:
                return replies, spent
            elif not self._renewal:
                self._end(f"killed: it took longer than {within_s:g} s over one packet")
        if self._renewal:  # here nobody else waits, so it may be waited for; loading is on its own time
            self._renewal.join()
        if self._renewal or self._lost:
            replies += self.replies()
        if self._ahead:  # it died over one of them, and nobody knows over which
            spent += [*[0.0] * (len(self._ahead) - 1), time.monotonic() - free_at]
            self._ahead.clear()
        return replies, spent

    def _dealt_with(self, frame: Frame) -> int:
        """How many packets a frame settles: one that is done is so with those before it."""
        last, count = frame.header.number, 0
        if frame.header.kind in ("done", "taken") and last <= self._number:
            while self._ahead and self._ahead[0] <= last:
                self._ahead.popleft()
                count += 1
        return count

    def _next(self, deadline: float, send_by: float = 0.0) -> Frame | None:
        """The next frame that comes by then, if any does; what waits to be sent may take longer."""
        if self._why or self._renewal:
            return None
        process = self._process
        try:
            _send_on(process, max(deadline, send_by))
            frame = process.receiver.receive(deadline)
            process.may_say -= 1
            if process.may_say >= 0:
                return frame
            self._end("killed: it says more than it is asked")
        except TimeoutError:
            if self._patience_s and process.since and time.monotonic() - process.since > self._patience_s:
                self._end(f"killed: it took longer than {self._patience_s:g} s over one answer")
        except (EOFError, OSError):
            self._end()
        except BadFrame as error:
            self._end(f"killed: it said what cannot be read: {error}")
        return None

    def _reply(self, frame: Frame) -> list[Reply]:
        """A frame as the reply that it is. What answers nothing that is asked is handed on, to be recorded."""
        kind, number, data = frame.header.kind, frame.header.number, frame.header.data
        if kind == "refused":
            self._end(_note(frame) or "it could not be made again")
        tick = self._process.asked.get(number)
        if tick is None or tick.trial is None:
            return [Reply(f"(packet {number})", data["answer"])] if kind == "done" and "answer" in data else []
        # One that is `taken` may be answered later, but where everybody waits for it while it waits for the next.
        if kind != "done" and (kind != "taken" or tick.deadline_s is not None):
            return []
        del self._process.asked[number]
        self._process.since = time.monotonic() if self._process.asked else None
        if kind == "taken":
            return [Reply(tick.trial, None, "took the next packet without an answer")]
        return [Reply(tick.trial, data.get("answer"), _note(frame))]

    def _end(self, why: str = "") -> None:
        """End this start of it, for the first reason that was found, and begin the next."""
        if not self._renewal and not self._why:
            self._renewal = threading.Thread(target=self._renew, args=(self._process, why), daemon=True)
            self._renewal.start()

    def _renew(self, old: _Process, why: str) -> None:
        if not why:
            old.running.wait(ENDING_S)  # it is ending by itself: how it does is the reason
        self._let_go(old)
        why = why or _ended(old.running)
        try:
            if len(self.deaths) < STARTS - 1:
                self._process = self._start()
            else:
                self._why = f"{why}; it was started {STARTS} times, and no more"
        except (OSError, PalestraError) as error:
            self._why = f"{why}; it cannot be started again: {error}"
        self._lost += [Reply(tick.trial, None, why) for tick in old.asked.values() if tick.trial is not None]
        self.deaths.append(why)

    def _let_go(self, process: _Process) -> None:
        process.running.kill()
        self._outputs.append(process.running.output)
        process.running.close()
        process.bell.close()
        process.sock.close()

    def _tend(self) -> None:
        """Take over from the thread, once it is done."""
        if self._renewal is not None and not self._renewal.is_alive():
            self._renewal.join()
            self._renewal = None

    def _lose(self, trial: str | None) -> None:
        if trial is not None:
            self._lost.append(Reply(trial, None, self._why or "it is being started again"))

    def dead(self) -> str:
        return self._why

    @property
    def output(self) -> str:
        """What it printed, for the organiser."""
        return "\n".join([*self._outputs, self._process.running.output]).strip("\n")

    def fileno(self) -> int:
        return -1 if self._why or self._renewal else self._process.bell.fileno()

    def close(self) -> None:
        """End it. What is held goes out first: a program that heard of everything ends by itself, and in order."""
        if self._renewal:
            self._renewal.join()
        if self._process.sock.fileno() >= 0:
            if self._held:
                self._post(self._held)
                self._held.clear()
            self._say_that_it_is_over()
            self._let_go(self._process)

    def _say_that_it_is_over(self) -> None:
        process = self._process
        with suppress(OSError):  # it may be gone already
            if process.sender.flush():
                process.sock.shutdown(socket.SHUT_WR)
                process.running.wait(LEAVING_S)


def _send_on(process: _Process, deadline: float) -> None:
    """Send what waits, as the program takes it, until then or until it says something."""
    while not process.sender.flush():
        process.bell.watch(process.sock, writing=True)
        poll = select.poll()
        poll.register(process.sock, select.POLLIN | select.POLLOUT)
        left_ms = (deadline - time.monotonic()) * 1e3
        found = poll.poll(left_ms) if left_ms > 0 else []
        if not found or found[0][1] & select.POLLIN:
            return
    process.bell.watch(process.sock)


def _note(frame: Frame) -> str:
    """What a program noted itself: a stranger's text, cut and printable."""
    note = frame.header.data.get("note", "")
    return clean(note) if isinstance(note, str) else "said nonsense"


def _ended(running: Running) -> str:
    """How one ended that closed its socket: most do so by ending."""
    stayed = running.report is not None and running.report.cause == "killed"
    return "killed: it closed its socket" if stayed else running.why()
