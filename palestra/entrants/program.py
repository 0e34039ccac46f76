"""A contestant's program in its sandbox, as a line of the stream: started, asked, and started again when it dies.

Ending a program and starting another takes a while. It is done beside the stream, in a thread, so that one that dies
holds up nobody. In real time packets that fall into that gap are lost to it; from then on they queue, though it is
still loading. In virtual time it is started when it is asked next, and charged for all of its loading.

To load again it has as long as it had at first. It is given no packet before: who died on purpose would get time to
think.
"""

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from palestra.entrants.bundle import Bundle
from palestra.entrants.poller import Bell
from palestra.entrants.socket_frames import (
    LONGEST_TEXT,
    MOST_NUMBERS,
    SPIN_S,
    BadFrame,
    Frame,
    Header,
    Receiver,
    Sender,
)
from palestra.entrants.tracebacks import AGAIN
from palestra.entrants.turns import Turns
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
HELD_BYTES = QUEUE_BYTES // 2  # that are kept for one that loads again: the newest
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
    ready: bool = False  # whether it is loaded
    since: float = field(default_factory=time.monotonic)  # it loads, or is ready
    held: deque[tuple[Tick, float]] = field(default_factory=deque)  # what was posted while it loads, and when
    knows_the_last: bool = False  # whether it was given the last packet of all
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
        """How long an answer is waited for that has no deadline. While it loads, none is."""
        waited_for = [one.posted_at for one in self.asked.values() if one.deadline_s is None]
        return time.monotonic() - max(min(waited_for), self.since) if waited_for else 0.0

    def open(self) -> list[str]:
        """The trials that an answer would still count for."""
        now = time.monotonic()
        self.forget_closed(now)
        held = [tick.trial for tick, at in self.held if tick.trial and _is_open(tick, at, now)]
        return [asked.trial for asked in self.asked.values()] + held


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
        self._turns = Turns()
        self._in_turn = False  # whether it is asked and waited for: in virtual time
        self._process = self._start()

    @property
    def controls(self) -> tuple[str, ...]:
        """What its control group divides and limits."""
        return self._backend.controls

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
        self._begin(process)

    def post(self, tick: Tick) -> None:
        """Queue a packet; what the program does not take yet waits here and holds up nobody."""
        self._tend()
        if self._why or self._renewal:
            self._lose(tick.trial)
            return
        if self._process.ready:
            self._send(self._process, tick, time.monotonic())
        else:
            self._hold(self._process, tick)

    def _hold(self, process: _Process, tick: Tick) -> None:
        """Keep a packet for when it is loaded, and the newest where they are too many."""
        now = time.monotonic()
        process.held.append((tick, now))
        while len(process.held) > 1 and sum(_size(held) for held, _ in process.held) > HELD_BYTES:
            oldest, at = process.held.popleft()
            if _is_open(oldest, at, now):
                self._lose(oldest.trial)

    def _begin(self, process: _Process) -> None:
        """It is loaded: give it what has come meanwhile."""
        process.ready, process.since = True, time.monotonic()
        while process.held and not self._renewal:
            self._send(process, *process.held.popleft())

    def _send(self, process: _Process, tick: Tick, now: float) -> None:
        """Give it a packet that was posted at this time."""
        self._number += 1
        process.may_say += FRAMES
        process.knows_the_last |= tick.about.get("last") is True
        process.forget_closed(now)
        if tick.trial is not None:
            process.asked[self._number] = _Asked(tick.trial, tick.deadline_s, now)
        about = {"ask": tick.trial is not None, "about": dict(tick.about), "names": list(tick.payload)}
        header = Header("packet", self._number, about)
        with suppress(OSError):  # it is gone; what it said last is still to be read, and explains why
            process.sender.post(header, tuple(tick.payload.values()))
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
        self._in_turn = True
        loading_s = self._load_again()
        owed_s = self._turns.begin(self._process.running) if self._runs else 0.0
        replies, seconds = self._ask(tick, within_s)
        if self._runs:
            self._turns.end(self._process.running, self._process.ready, seconds)
        return replies, loading_s + owed_s + seconds

    def _load_again(self) -> float:
        """Start it, if it has ended since it was asked: only now, so that all of its loading is on its own time."""
        started = time.monotonic()
        if not self._gone or self._why:
            return 0.0
        self._start_again()
        return time.monotonic() - started

    def _ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        started, replies = time.monotonic(), list[Reply]()
        self.post(tick)
        while not self._why and not self._renewal:
            process = self._process
            limit_s = max(started, process.since) + within_s if process.ready else process.since + READY_S
            frame = self._next(limit_s)
            if frame is not None:
                replies += self._reply(frame)
                if frame.header.number == self._number and frame.header.kind in ("done", "taken"):
                    return replies, time.monotonic() - started
            elif not self._renewal:
                self._end(say("killed: it took longer than {limit:g} s over one packet", limit=within_s))
        if self._renewal:  # here nobody else waits, so it may be waited for
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
            if not process.ready and time.monotonic() - process.since >= READY_S:
                self._end(say("killed: not ready after {limit:g} s", limit=READY_S))
            elif self._patience_s and process.waited_s() > self._patience_s:
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
        if kind == "ready" and not self._process.ready:
            self._begin(self._process)
        asked = self._process.asked.get(number)
        if asked is None:
            return [Reply(f"(packet {number})", data["answer"])] if kind == "done" and "answer" in data else []
        # One that is `taken` may be answered later, but where everybody waits for it while it waits for the next.
        if kind != "done" and (kind != "taken" or asked.deadline_s is not None):
            return []
        del self._process.asked[number]
        if kind == "taken":
            return [Reply(asked.trial, None, taken_unanswered())]
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
        if not why and old.knows_the_last and _left_in_order(old.running):
            self._why = left_unanswered()
        else:
            why = why or _ended(old.running)
            self.deaths.append(why)
        self._lost += [Reply(trial, None, why or self._why) for trial in old.open()]
        if len(self.deaths) >= STARTS:  # of why it ended, the first time explains the others
            self._why = say("{why}; it was started {count} times, and no more", why=self.deaths[0], count=STARTS)
        elif not self._why and not self._in_turn:
            self._start_again()

    def _start_again(self) -> None:
        try:
            self._process = self._start()
        except (OSError, PalestraError) as error:
            told = {"why": self.deaths[0], "error": _error_told(error)}
            self._why = say("{why}; it cannot be started again: {error}", **told)

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
    def _gone(self) -> bool:
        """Whether this start of it has ended, and nothing is left of it."""
        return self._process.sock.fileno() < 0

    @property
    def _runs(self) -> bool:
        return not (self._why or self._renewal or self._gone)

    def hold(self) -> None:
        """Others play in the same virtual time: it runs only while it is asked."""
        self._turns.hold(self._process.running)

    def pause(self) -> None:
        """Freeze it while others act."""
        if self._runs:
            self._process.running.freezer.freeze()

    def resume(self) -> None:
        if self._runs:
            self._process.running.freezer.thaw()

    def processor_times(self) -> tuple[float, float]:
        """The seconds that this start of it has used, and was kept waiting for."""
        if not self._runs:
            return 0.0, 0.0
        counters = self._process.running.processor_time
        return counters.used_s(), counters.waited_s()

    @property
    def output(self) -> str:
        """What it printed, for the organiser."""
        return AGAIN.join(filter(None, [*self._outputs, self._process.running.output])).strip("\n")

    def fileno(self) -> int:
        return -1 if self._why or self._renewal else self._process.bell.fileno()

    def close(self) -> None:
        """End it. A program that has heard of everything ends by itself, and in order."""
        if self._renewal:
            self._renewal.join()
        if not self._gone:
            self._process.running.freezer.thaw()
            self._say_that_it_is_over()
            self._let_go(self._process)

    def _say_that_it_is_over(self) -> None:
        process = self._process
        with suppress(OSError):  # it may be gone already
            if process.sender.flush():
                process.sock.shutdown(socket.SHUT_WR)
                process.running.wait(LEAVING_S)


def left_unanswered() -> Words:
    """What a decision has on which a program left, after the last packet of all and in order."""
    return say("left at the finish without an answer")


def taken_unanswered() -> Words:
    return say("took the next packet without an answer")


def _is_open(tick: Tick, at: float, now: float) -> bool:
    return tick.deadline_s is None or now <= at + tick.deadline_s


def _size(tick: Tick) -> int:
    return sum(array.nbytes for array in tick.payload.values())


def _left_in_order(running: Running) -> bool:
    report = running.report
    return report is not None and report.cause == "ended" and report.code == 0


def _send_on(process: _Process, deadline: float) -> None:
    """Send what waits, as the program takes it, until then or until it says something."""
    if not process.sender.waiting:  # as after most packets
        return
    with suppress(OSError):  # as above
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
