"""Processor time in a real-time run: who was kept waiting for it, and who had it meanwhile.

An entrant was starved of a decision that it missed when three things hold, over the time since the decision before was
sent: it was kept waiting for longer than a share of the deadline; it had less than its equal part of the processors,
which did not stand idle; and somebody had more than an equal part, or other work on the machine a good deal. What an
entrant's own processes take from each other is its own affair.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from palestra.text import Text, Words, joined, say

WAITED = 0.2  # of the deadline, at least: see docs/live.md for what was measured
IDLE = 0.2  # of all processors' time, at most
OUTSIDE = 0.2  # of it, at least, for other work on the machine to be to blame


class Wait(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one entrant got of the processors, from when the decision before was sent until this one was closed."""

    window_s: float
    waited_s: float  # it could have run, and something else did
    used_s: float  # by all of its processes
    # The rest is told of a missed decision alone.
    cores: int = 0  # that programs may use
    idle_s: float = 0.0  # of all these cores
    outside_s: float = 0.0  # used by what is neither an entrant nor ourselves
    others: Mapping[str, float] = {}  # used by the other entrants, by name

    @property
    def part_s(self) -> float:
        """An equal part for each entrant."""
        return self.cores * self.window_s / (1 + len(self.others))

    @property
    def to_blame(self) -> dict[str, float]:
        """The other entrants that had more than an equal part."""
        return {name: used_s for name, used_s in self.others.items() if used_s > self.part_s}

    @property
    def crowded(self) -> bool:
        """Whether other work on the machine is to blame."""
        return self.outside_s > OUTSIDE * self.cores * self.window_s


class Asked(Protocol):
    """A decision that was closed."""

    @property
    def answered_s(self) -> float | None: ...
    @property
    def deadline_s(self) -> float | None: ...
    @property
    def wait(self) -> Wait | None: ...


def starved(decisions: Iterable[Asked]) -> Words:
    """Why a run does not count for one entrant, since others had the processors; empty if it does."""
    hits = list(_hits(decisions))
    if not hits:
        return Words()
    worst, deadline_s = max(hits, key=lambda hit: hit[0].waited_s)
    return say(
        "it was kept waiting for a processor and missed {count} decisions (at worst it waited {waited:.0f} ms of a "
        "deadline of {deadline:.0f} ms); meanwhile {others}",
        count=len(hits),
        waited=1000 * worst.waited_s,
        deadline=1000 * deadline_s,
        others=joined(_blamed([wait for wait, _ in hits]), ", "),
    )


def _hits(decisions: Iterable[Asked]) -> Iterator[tuple[Wait, float]]:
    for one in decisions:
        wait = one.wait
        if one.answered_s is None and one.deadline_s is not None and wait and is_starved(wait, one.deadline_s):
            yield wait, one.deadline_s


def is_starved(wait: Wait, deadline_s: float) -> bool:
    return bool(
        wait.waited_s > WAITED * deadline_s
        and wait.used_s < wait.part_s
        and wait.idle_s < IDLE * wait.cores * wait.window_s
        and (wait.to_blame or wait.crowded)
    )


def _blamed(waits: list[Wait]) -> list[Text]:
    """Who had the processors, and how many of them on average; who had most comes first."""
    window_s, cores = sum(wait.window_s for wait in waits), waits[0].cores
    used_s: dict[str, float] = {}
    for wait in waits:
        for name, seconds in wait.to_blame.items():
            used_s[name] = used_s.get(name, 0.0) + seconds
    named: list[Text] = [
        say("{name} used {used:.1f} of {cores} cores", name=name, used=seconds / window_s, cores=cores)
        for name, seconds in sorted(used_s.items(), key=lambda pair: -pair[1])
    ]
    if any(wait.crowded for wait in waits):
        outside = sum(wait.outside_s for wait in waits) / window_s
        named.append(
            say("work on the machine that is no entrant's used {used:.1f} of {cores} cores", used=outside, cores=cores)
        )
    return named
