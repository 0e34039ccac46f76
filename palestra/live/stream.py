"""Answers from a live stream: ticks go out on one clock to any number of entrants, whatever these do.

The loop is open: the stimulus never waits for an entrant. What an entrant has not taken yet queues on its own line and
touches no other. A decision counts from when its tick was due; how much later the host really sent it is measured and
never charged. Past its deadline a decision is closed, and an answer that still comes is dropped. A tick without a
deadline is a rule without one: the stream then waits for everybody (lock-step), and its clock with it.

Nothing here knows a model, a metric or a data format, and time comes from outside.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from palestra.live.waiting import Wait
from palestra.records import Reply, Tick
from palestra.text import Text, Words, say, say_as

LOOK_S = 0.004  # between two looks whether the next tick of a person who is captured is there
CATCHING_UP = 0.95  # of the planned time between two ticks that passes at least, where they came later than planned


class Decision(msgspec.Struct, frozen=True):
    """One decision that was asked of one entrant, and what became of it. Times are since the start of the run."""

    entrant: str
    trial: str
    due_s: float
    sent_s: float
    answered_s: float | None  # null where no answer came in time
    deadline_s: float | None
    answer: Any
    note: Text  # empty, or why there is no answer
    wait: Wait | None = None  # what a program beside others got of the processors, in real time

    @property
    def host_late_s(self) -> float:
        return self.sent_s - self.due_s

    @property
    def latency_s(self) -> float | None:
        """How long the entrant took: from the due time, less what the host was late."""
        return None if self.answered_s is None else self.answered_s - self.due_s - self.host_late_s


class Line(Protocol):
    """How one entrant is spoken to. Neither call waits."""

    name: str

    def post(self, tick: Tick) -> None:
        """Queue a tick for the entrant."""

    def replies(self) -> Iterable[Reply]:
        """What has come since the last call."""

    def dead(self) -> Text:
        """Why nothing will ever come again; empty while something may."""

    def fileno(self) -> int:
        """What to wait on for its replies; below 0 where there is nothing."""


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float: ...

    def heard(self) -> float:
        """The earliest time at which what can be taken now may have come: the host may have been busy since."""

    def wait(self, until: float, lines: Sequence[Line]) -> None:
        """Return at that time, or earlier if a line may have something to say."""


class Log(Protocol):
    """Where everything that happens is written down, as it happens. Times are since the start of the run."""

    def sent(self, tick: Tick, at_s: float) -> None:
        """A tick went out, first to the first line."""

    def decided(self, decision: Decision) -> None:
        """A decision was closed."""

    def strayed(self, entrant: str, reply: Reply, at_s: float) -> None:
        """A reply answers nothing that is open: it is late, double, or to something that was never asked."""

    def resting(self) -> None:
        """Nothing is open, and a person who is captured has not come to the next tick: there is time for a screen."""


def run(ticks: Iterable[Tick | None], lines: Sequence[Line], clock: Clock, log: Log, captured: bool = False) -> None:
    """Send every tick to every line when it is due, and log each decision once, as it is closed."""
    desks = [_Desk(line, log) for line in lines]
    start = clock.now()
    for tick in _as_they_come(ticks, desks, clock, log) if captured else cast(Iterable[Tick], ticks):
        if captured:
            start = clock.now() - tick.due_s
        else:
            _serve(desks, clock, start, start + tick.due_s)
        log.sent(tick, clock.now() - start)
        _send(desks, tick, clock, start)
        if tick.trial is not None and tick.deadline_s is None:
            start += _wait_for_all(desks, clock, start)
    last = max((desk.last_deadline for desk in desks), default=start)
    _serve(desks, clock, start, last)
    for desk in desks:
        desk.close(math.inf)


def _as_they_come(ticks: Iterable[Tick | None], desks: Sequence["_Desk"], clock: Clock, log: Log) -> Iterator[Tick]:
    """Ticks of a person who is captured now: each goes out when it is there. Of several that came at once, each waits
    nearly as long after the one before it as was planned, so that nobody is asked many things at a time."""
    before: Tick | None = None
    sent = clock.now()
    for tick in ticks:
        if tick is None:
            _serve(desks, clock, sent, clock.now() + LOOK_S)
            if not any(desk.open for desk in desks):
                log.resting()
            continue
        if before is not None:
            _serve(desks, clock, sent, sent + CATCHING_UP * (tick.due_s - before.due_s))
        before, sent = tick, clock.now()
        yield tick


def _send(desks: Sequence["_Desk"], tick: Tick, clock: Clock, start: float) -> None:
    """Send a tick to everybody. Who has it first may answer while others still get it, and is seen to do so."""
    for desk in desks:
        desk.send(tick, clock, start)
        if len(desks) > 1:
            for other in desks:
                other.take(clock.now(), clock.heard(), start)


def _serve(desks: Sequence["_Desk"], clock: Clock, start: float, until: float) -> None:
    """Take answers and close decisions until it is time for something else."""
    lines = [desk.line for desk in desks]
    while True:
        now, next_at = clock.now(), until
        for desk in desks:
            desk.take(clock.now(), clock.heard(), start)
            if desk.open:
                desk.close(now)
                next_at = min(next_at, desk.next_close)
        if now >= until or (until == math.inf and not any(desk.open for desk in desks)):
            return
        clock.wait(next_at, lines)


def _wait_for_all(desks: Sequence["_Desk"], clock: Clock, start: float) -> float:
    """Wait until nothing is open that has no deadline; how long that took is how far the stream's clock is set back."""
    before = clock.now()
    while any(desk.waits for desk in desks):
        clock.wait(math.inf, [desk.line for desk in desks])
        for desk in desks:
            desk.take(clock.now(), clock.heard(), start)
    return clock.now() - before


class _Open(NamedTuple):
    """A decision that was asked, and what time began for its stream: a later tick's may have begun anew."""

    tick: Tick
    sent_s: float
    start: float


@dataclass
class _Desk:
    """One entrant's open decisions."""

    line: Line
    log: Log
    open: dict[str, _Open] = field(default_factory=dict)  # by trial
    last_deadline: float = -math.inf

    def send(self, tick: Tick, clock: Clock, start: float) -> None:
        self.line.post(tick)
        now = clock.now()  # only now it has it: that is the host's time, and not its own
        if tick.trial is not None:
            self.open[tick.trial] = _Open(tick, now - start, start)
            if tick.deadline_s is not None:
                self.last_deadline = max(self.last_deadline, now + tick.deadline_s)

    def take(self, now: float, heard: float, start: float) -> None:
        """What came is judged by when it may have come, `heard`, and recorded by when it was seen; of what came too
        late, only that it came is told."""
        for reply in self.line.replies():
            found = self.open.get(reply.trial)
            if found is None:
                if not reply.note:  # else it has no answer: it was open when its program died, and has been closed
                    self.log.strayed(self.line.name, reply, now - start)
                continue
            tick, sent_s, began = self.open.pop(reply.trial)
            limit_s = math.inf if tick.deadline_s is None else sent_s + tick.deadline_s
            if max(heard - began, sent_s) - sent_s > limit_s - sent_s:
                self._close(tick, sent_s, _late())
                self.log.strayed(self.line.name, reply, now - start)
            else:
                answer = None if reply.note else reply.answer
                self._decide(tick, sent_s, min(now - began, limit_s), answer, reply.note)

    def close(self, now: float) -> None:
        """Close what is past its deadline, and everything of an entrant that is gone."""
        gone = self.line.dead()
        for trial, (tick, sent_s, began) in list(self.open.items()):
            over = tick.deadline_s is not None and now - began - sent_s > tick.deadline_s
            if gone or over or now == math.inf:
                del self.open[trial]
                self._close(tick, sent_s, gone or not_in_time())

    def _close(self, tick: Tick, sent_s: float, why: Text) -> None:
        self._decide(tick, sent_s, None, None, why)

    def _decide(self, tick: Tick, sent_s: float, answered_s: float | None, answer: Any, note: Text) -> None:
        assert tick.trial is not None
        name, trial = self.line.name, tick.trial
        self.log.decided(Decision(name, trial, tick.due_s, sent_s, answered_s, tick.deadline_s, answer, note))

    @property
    def waits(self) -> bool:
        """Whether something is open that only an answer, or the entrant's end, can close."""
        return not self.line.dead() and any(one.tick.deadline_s is None for one in self.open.values())

    @property
    def next_close(self) -> float:
        """When the next open decision is past its deadline: just after it, since an answer on the dot counts."""
        ends = [
            one.start + math.nextafter(one.sent_s + one.tick.deadline_s, math.inf)
            for one in self.open.values()
            if one.tick.deadline_s is not None
        ]
        return min(ends, default=math.inf)


@cache  # a slow entrant is told of thousands of times
def _late() -> Words:
    return say_as("note", "late")


@cache
def not_in_time() -> Words:
    return say("no answer in time")


def no_answer() -> Words:
    return say("no answer")


LEAST_S = 1e-9


class VirtualClock:
    """Time that passes only by being waited for: for tests, and for running faster than life."""

    def __init__(self) -> None:
        self._now = 0.0
        self._planned: list[float] = []  # when something will have come, soonest first

    def now(self) -> float:
        return self._now

    heard = now

    def plan(self, at: float) -> None:
        """Something will come at that time: whoever waits is woken for it."""
        heapq.heappush(self._planned, at)

    def wait(self, until: float, lines: Sequence[Line]) -> None:
        while self._planned and self._planned[0] <= self._now:
            heapq.heappop(self._planned)
        wake = min(until, self._planned[0] if self._planned else math.inf)
        if wake < math.inf:
            # Always a little further: sums of times are rounded, and who waits for one may fall just short of it.
            self._now = max(self._now + LEAST_S, wake)


Asked = Callable[[Tick], tuple[list[Reply], float]]


class FastLine:
    """An entrant in virtual time: it takes one thing after another, and is charged the real time that each took.

    `ask` gives it a tick and returns its replies, if any, with the seconds that passed meanwhile.
    """

    def __init__(self, name: str, ask: Asked, clock: VirtualClock, gone: Callable[[], Text]) -> None:
        self.name, self._ask, self._clock, self._gone = name, ask, clock, gone
        self._free_at = 0.0  # when it will have done all that was posted so far
        self._coming: list[tuple[float, int, Reply]] = []
        self._count = 0

    def post(self, tick: Tick) -> None:
        if self._gone():
            return
        replies, seconds = self._ask(tick)
        if tick.deadline_s is None and tick.trial and all(reply.trial != tick.trial for reply in replies):
            replies = [*replies, Reply(tick.trial, None, no_answer())]  # everybody waits for it, and it is done
        self._free_at = max(self._free_at, self._clock.now()) + seconds
        for reply in replies:
            self._count += 1
            heapq.heappush(self._coming, (self._free_at, self._count, reply))
            self._clock.plan(self._free_at)

    def replies(self) -> list[Reply]:
        come = []
        while self._coming and self._coming[0][0] <= self._clock.now():
            come.append(heapq.heappop(self._coming)[2])
        return come

    def dead(self) -> Text:
        return "" if self._coming else self._gone()

    def fileno(self) -> int:
        return -1


def spoiled(decisions: Iterable[Decision], most_late: float = 0.1, most_often: float = 0.01) -> Words:
    """Why a run does not count because of the host itself; empty if it does.

    The host spoils a run when it sent more than `most_often` of the decisions later than `most_late` of their deadline.
    """
    limited = [decision for decision in decisions if decision.deadline_s is not None]
    late = [decision for decision in limited if decision.host_late_s > most_late * (decision.deadline_s or 0.0)]
    if len(late) <= most_often * len(limited):
        return Words()
    worst = max(decision.host_late_s for decision in late)
    return say(
        "the host sent {late} of {count} decisions more than {share:.0%} of their deadline late "
        "(at worst {worst:.1f} ms); at most {most:.0%} may be",
        late=len(late),
        count=len(limited),
        share=most_late,
        worst=worst * 1000,
        most=most_often,
    )
