"""Answers from a closed loop: an entrant sees a world, acts in it, and the world does not wait.

The world moves in equal periods. At the beginning of one, what the entrant said is taken, and what it wants is done for
that period; where it has said nothing new, it goes on wanting what it wanted last. It is shown the world again when
nothing of what it said is left to be done, and what it then says counts from the next period on: thinking takes time.
An entrant may say several actions at once; they are done one after the other.

In lock-step, for debugging, the world stands still until the entrant has answered.
Nothing here knows a robot, and time comes from outside.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from palestra.errors import text_of
from palestra.live.stream import Clock, Line
from palestra.records import Tick
from palestra.text import Text

Action = NDArray[np.float64]


class World(Protocol):
    """What an entrant acts in, from its beginning."""

    def look(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, int | bool | str]]:
        """What is to be seen now: arrays by name, and what else is told."""

    def hear(self, answer: Any) -> "Wish":
        """What an answer wants; ValueError says what is wrong with it."""

    def move(self, action: Action | None) -> None:
        """Let a period pass, doing this; with None, doing what was done before."""

    def end(self) -> Mapping[str, Any]:
        """Let everything come to rest, and tell what is left."""

    def close(self) -> None:
        """Let go of what it holds."""


@dataclass(frozen=True)
class Wish:
    """What an entrant wants: actions for the periods to come, and whether it is done with the case."""

    actions: Sequence[Action] = ()
    done: bool = False  # after these


@dataclass(frozen=True)
class Rhythm:
    """How a world and an entrant go together."""

    period_s: float
    limit_s: float
    waits: bool = False  # whether the world stands still while the entrant thinks


class Step(msgspec.Struct, frozen=True, array_like=True):
    """A period: what was done in it, and what had come."""

    number: int
    action: list[float] | None  # null: as before
    thought_s: float | None  # how long the answer took that came before it, if one did
    late_s: float  # how much later than planned the host began it
    note: Text  # what was wrong with what came


class Log(Protocol):
    """Where everything that happens is written down, as it happens."""

    def moved(self, entrant: str, step: Step) -> None: ...


@dataclass
class _Turn:
    """What was asked of an entrant in a case, and what it wants."""

    line: Line
    case: str
    world: World
    wanted: deque[Action] = field(default_factory=deque)
    last: Action | None = None  # what is done where nothing new is wanted
    asked: str = ""  # what is open
    asked_at: float = 0.0
    thought_s: float | None = None
    note: Text = ""
    done: bool = False

    def ask(self, number: int, due_s: float, now: float) -> None:
        seen, about = self.world.look()
        self.asked, self.asked_at = f"{self.case}/{number}", now
        self.line.post(Tick(due_s, seen, self.asked, None, about))

    def take(self, now: float) -> None:
        """What has come. An answer to a case before is no answer."""
        for reply in self.line.replies():
            if reply.trial != self.asked:
                continue
            self.asked, self.thought_s = "", now - self.asked_at
            self.note = reply.note
            if not reply.note:
                self._hear(reply.answer)

    def _hear(self, answer: Any) -> None:
        try:
            wish = self.world.hear(answer)
        except ValueError as error:
            self.note = text_of(error)
            return
        self.wanted, self.done = deque(wish.actions), wish.done

    def next_action(self) -> Action | None:
        self.last = self.wanted.popleft() if self.wanted else self.last
        return self.last

    @property
    def over(self) -> bool:
        return self.done and not self.wanted

    @property
    def idle(self) -> bool:
        """Whether it is to be shown the world again."""
        return not self.asked and not self.wanted and not self.done

    def told(self) -> tuple[float | None, Text]:
        """What had come since the last period."""
        said = self.thought_s, self.note
        self.thought_s, self.note = None, ""
        return said


def run(case: str, world: World, line: Line, rhythm: Rhythm, clock: Clock, log: Log) -> float:
    """Let an entrant act until it is done, or time is up; the seconds of the world's time that this took."""
    turn = _Turn(line, case, world)
    start, count = clock.now(), round(rhythm.limit_s / rhythm.period_s)
    for number in range(count):
        due_s = number * rhythm.period_s
        late_s = _wait(turn, clock, start + due_s)
        start += late_s  # the host's own lateness is nobody's: the whole plan moves
        if rhythm.waits and turn.idle:
            start += _answered(turn, number, due_s, clock)
        if turn.over:
            return due_s
        if line.dead() and not turn.wanted:
            break  # nothing will ever move again, and it costs the whole time
        action = turn.next_action()
        if turn.idle and not rhythm.waits:
            turn.ask(number, due_s, clock.now())
        thought_s, note = turn.told()
        world.move(action)
        log.moved(line.name, Step(number, None if action is None else action.tolist(), thought_s, late_s, note))
    return count * rhythm.period_s


def _answered(turn: _Turn, number: int, due_s: float, clock: Clock) -> float:
    """Show the world and wait for the answer; how long that holds up the plan."""
    before = clock.now()
    turn.ask(number, due_s, before)
    while turn.asked and not turn.line.dead():
        clock.wait(math.inf, [turn.line])
        turn.take(clock.now())
    return clock.now() - before


def _wait(turn: _Turn, clock: Clock, until: float) -> float:
    """Take what comes until a period is due; how late that is noticed."""
    turn.take(clock.now())
    while clock.now() < until:
        clock.wait(until, [turn.line])
        turn.take(clock.now())
    return max(clock.now() - until, 0.0)
