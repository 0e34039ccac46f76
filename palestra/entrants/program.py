"""A contestant's program in its sandbox, as a line of the stream: started, asked, and started again when it dies.

Ending a program and starting another takes a while. It is done beside the stream, in a thread, so that one that dies
holds up nobody. In real time packets that fall into that gap are lost to it; from then on they queue, though it is
still loading.
"""

import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from palestra.entrants.bundle import Bundle
from palestra.entrants.poller import Bell
from palestra.entrants.socket_frames import LONGEST_TEXT, MOST_NUMBERS, BadFrame, Frame, Header, Receiver, Sender
from palestra.errors import PalestraError, clean
from palestra.records import Reply, Tick
from palestra.sandbox import launch
from palestra.sandbox.launch import Backend, Limits
from palestra.sandbox.running_program import Running
from palestra.text import Text, Words, human_bytes, message, say

COMMAND = (launch.PYTHON, "-m", "palestra.entrants.runner.__main__")
REPLY_BYTES = 65_536  # of one reply: numbers, or a note
READY_S = 120.0  # to load a model
ENDING_S = 2.0  # between closing its socket and being gone, on a busy host
QUEUE_BYTES = 64 << 20  # that may wait for a program that takes nothing: a quarter of an hour of EEG or more
SPIN_S = 0.0001  # to be woken takes longer than to look a little more; only where nobody else waits
LEAVING_S = 0.5  # to end by itself once nothing more comes
STARTS = 20  # of one program in one run; one that dies more often stays dead
RETURNED = {  # what a runner says of a value that cannot be sent
    "no answer": message("returned {value}, expected a number, a text, a boolean or a list of these"),
    "too long": message("returned texts of {value} letters; at most {longest} are taken"),
    "not an array": message("returned {value}, and no array of numbers"),
    "too many": message("returned {value} numbers; at most {most} are taken"),
}
FRAMES, SPARE_FRAMES = 2, 100  # that it may say to one packet (taken, done); and beyond that in all


@dataclass(frozen=True)
class _Asked:
    """What is decided on a packet under way."""

    trial: str
    deadline_s: float | None
    posted_at: float


@dataclass
class _Process:
    """One start of the program: it has its own socket, and knows nothing of the one before it."""

    sock: socket.socket
    running: Running
    sender: Sender
    receiver: Receiver
    bell: Bell  # rings when it has said something, or takes more
    asked: dict[int, _Asked] = field(default_factory=dict)  # by the number of the packet, what is open
    may_say: int = SPARE_FRAMES  # so many frames; one that talks without end would be listened to without end

    def forget_closed(self, now: float) -> None:
        """Forget what is past its deadline: nobody waits for it any longer."""
        while self.asked:
            number, oldest = next(iter(self.asked.items()))
            if oldest.deadline_s is None or now <= oldest.posted_at + oldest.deadline_s:
                return
            del self.asked[number]

    def waited_s(self) -> float:
        """How long an answer is waited for that has no deadline."""
        waited_for = [one.posted_at for one in self.asked.values() if one.deadline_s is None]
        return time.monotonic() - min(waited_for) if waited_for else 0.0


class Program:
    """One contestant's program. `close` ends it and everything it started."""

    version = ""  # its bundle's digest tells more

    def __init__(
        self, name: str, bundle: Bundle, backend: Backend, limits: Limits | None = None, patience_s: float | None = None
    ) -> None:
        self.name, self._bundle, self._backend, self._limits = name, bundle, backend, limits or Limits()
        self._patience_s = patience_s  # for one answer, where the rules have no deadline
        self._number = 0
        self._lost: list[Reply] = []  # what was open when it died, with why
        self._outputs: list[str] = []  # of earlier starts
        self.deaths: list[Text] = []  # why each start ended, for the organiser
        self._why = Words()
        self._renewal: threading.Thread | None = None
        self._process = self._start()

    def _start(self) -> _Process:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        bundle = self._bundle
        running = launch.start(self._backend, COMMAND, bundle.folder, self._limits, theirs, site=bundle.site)
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
            raise PalestraError(
                say(
                    "{name}: not ready after {limit:g} s. Loading must not take longer.", name=self.name, limit=within_s
                )
            ) from None
        except BadFrame as error:
            raise PalestraError(
                say("{name}: said what cannot be read before it was ready: {why}", name=self.name, why=error.text)
            ) from None
        except (EOFError, OSError):
            why = process.running.why() if process.running.wait(ENDING_S) else say("it closed its socket")
            raise PalestraError(say("{name}: ended before it was ready: {why}", name=self.name, why=why)) from None
        if frame.header.kind != "ready":
            said = _note(frame) or say("said something else than ready")
            raise PalestraError(say("{name}: {why}", name=self.name, why=said))

    def post(self, tick: Tick) -> None:
        """Queue a packet; what the program does not take yet waits here and holds up nobody."""
        self._tend()
        if self._why or self._renewal:
            self._lose(tick.trial)
            return
        process, now = self._process, time.monotonic()
        self._number += 1
        process.may_say += FRAMES
        process.forget_closed(now)
        if tick.trial is not None:
            process.asked[self._number] = _Asked(tick.trial, tick.deadline_s, now)
        about = {"ask": tick.trial is not None, "about": dict(tick.about), "names": list(tick.payload)}
        header = Header("packet", self._number, about)
        try:
            process.sender.post(header, tuple(tick.payload.values()))
        except OSError:
            self._end()
            return
        process.bell.watch(process.sock, bool(process.sender.waiting))
        if process.sender.waiting_bytes > QUEUE_BYTES:
            self._end(say("killed: {size} of packets wait that it does not take", size=human_bytes(QUEUE_BYTES)))

    def replies(self) -> Iterator[Reply]:
        """What has come. A packet that nothing was asked of is only ticked off."""
        while (frame := self._next(deadline=0.0)) is not None:
            yield from self._reply(frame)
        self._tend()
        while self._lost:
            yield self._lost.pop(0)

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        """Give a packet and wait until it is dealt with: the replies, and the seconds that it took.

        Packets are not sent ahead, though that would be faster: over which of them it spent its time, only the program
        could tell, and it would tell what suits it.
        """
        started = time.monotonic()
        self.post(tick)
        replies: list[Reply] = []
        while not self._why and not self._renewal:
            frame = self._next(started + within_s)
            if frame is not None:
                replies += self._reply(frame)
                if frame.header.number == self._number and frame.header.kind in ("done", "taken"):
                    return replies, time.monotonic() - started
            elif not self._renewal:
                self._end(say("killed: it took longer than {limit:g} s over one packet", limit=within_s))
        if self._renewal:  # here nobody else waits, so it may be waited for; loading is on its own time
            self._renewal.join()
        replies += self.replies()
        return replies, time.monotonic() - started

    def _next(self, deadline: float) -> Frame | None:
        """The next frame that comes by then, if any does."""
        if self._why or self._renewal:
            return None
        process = self._process
        try:
            _send_on(process, deadline)
            frame = process.receiver.receive(deadline)
            process.may_say -= 1
            if process.may_say >= 0:
                return frame
            self._end(say("killed: it says more than it is asked"))
        except TimeoutError:
            if self._patience_s and process.waited_s() > self._patience_s:
                self._end(say("killed: it took longer than {limit:g} s over one answer", limit=self._patience_s))
        except (EOFError, OSError):
            self._end()
        except BadFrame as error:
            self._end(say("killed: it said what cannot be read: {why}", why=error.text))
        return None

    def _reply(self, frame: Frame) -> list[Reply]:
        """A frame as the reply that it is. What answers nothing that is asked is handed on, to be recorded."""
        kind, number, data = frame.header.kind, frame.header.number, frame.header.data
        if kind == "refused":
            self._end(_note(frame) or say("it could not be made again"))
        asked = self._process.asked.get(number)
        if asked is None:
            return [Reply(f"(packet {number})", data["answer"])] if kind == "done" and "answer" in data else []
        # One that is `taken` may be answered later, but where everybody waits for it while it waits for the next.
        if kind != "done" and (kind != "taken" or asked.deadline_s is not None):
            return []
        del self._process.asked[number]
        if kind == "taken":
            return [Reply(asked.trial, None, say("took the next packet without an answer"))]
        return [Reply(asked.trial, data.get("answer"), _note(frame))]

    def _end(self, why: Text = "") -> None:
        """End this start of it, for the first reason that was found, and begin the next."""
        if not self._renewal and not self._why:
            self._renewal = threading.Thread(target=self._renew, args=(self._process, why), daemon=True)
            self._renewal.start()

    def _renew(self, old: _Process, why: Text) -> None:
        if not why:
            old.running.wait(ENDING_S)  # it is ending by itself: how it does is the reason
        self._let_go(old)
        why = why or _ended(old.running)
        self._lost += [Reply(asked.trial, None, why) for asked in old.asked.values()]
        self.deaths.append(why)
        try:
            if len(self.deaths) < STARTS:
                self._process = self._start()
            else:
                self._why = say("{why}; it was started {count} times, and no more", why=why, count=STARTS)
        except (OSError, PalestraError) as error:
            self._why = say("{why}; it cannot be started again: {error}", why=why, error=_error_told(error))

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
            self._lost.append(Reply(trial, None, self._why or say("it is being started again")))

    def dead(self) -> Text:
        return self._why

    @property
    def output(self) -> str:
        """What it printed, for the organiser."""
        return "\n".join([*self._outputs, self._process.running.output]).strip("\n")

    def fileno(self) -> int:
        return -1 if self._why or self._renewal else self._process.bell.fileno()

    def close(self) -> None:
        """End it. A program that has heard of everything ends by itself, and in order."""
        if self._renewal:
            self._renewal.join()
        if self._process.sock.fileno() >= 0:
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


def _note(frame: Frame) -> Text:
    """What a program noted itself: a stranger's text, cut and printable. What its runner noted is in our words."""
    match frame.header.data:
        case {"returned": [str(what), str(value)]} if what in RETURNED:
            return say(RETURNED[what], value=clean(value), most=f"{MOST_NUMBERS:,}", longest=f"{LONGEST_TEXT:,}")
        case {"note": str(note)}:
            return clean(note)
        case {"note": _} | {"returned": _}:
            return say("said nonsense")
        case _:
            return ""


def _ended(running: Running) -> Words:
    """How one ended that closed its socket: most do so by ending."""
    stayed = running.report is not None and running.report.cause == "killed"
    return say("killed: it closed its socket") if stayed else running.why()


def _error_told(error: OSError | PalestraError) -> Text:
    return error.text if isinstance(error, PalestraError) else str(error)
