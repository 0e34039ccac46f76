"""The clock of a contest: that of the wall, watched. What the log has once it keeps, and it never goes back in time: an
event of next year would close every phase until next year.

A clock that is set back does no harm. One that is set far ahead while a server runs is found out by a second clock,
which nobody can set: the time since the machine was started, sleep included.
"""

import os
import secrets
import time
from collections.abc import Callable

from palestra.contest.rules import duration, told
from palestra.errors import PalestraError
from palestra.text import say

Now = Callable[[], int]  # ms
AHEAD_MS = 3_600_000  # more than any correction of a clock that was about right
BEHIND_MS = 60_000  # that clocks of several machines may differ without a word
BASE = "PALESTRA_CLOCK"  # tells the processes that a server starts what the wall showed when the machine was started


_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is taken for something else when it is read aloud


class ClockSet(PalestraError):
    """The clock was set far ahead: nothing is written until a person has looked."""


def since_boot() -> int:
    kind = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the second one does not count a laptop's sleep
    return time.clock_gettime_ns(kind) // 1_000_000


class Watched:
    """The wall clock; what it shows is written only where it was not set far ahead since `base`."""

    def __init__(self, wall: Now, steady: Now = since_boot, base: int | None = None) -> None:
        self.wall, self.steady = wall, steady
        self.base = wall() - steady() if base is None else base

    def __call__(self) -> int:
        return self.wall()

    def for_writing(self) -> int:
        now = self.wall()
        ahead = now - self.steady() - self.base
        if ahead > AHEAD_MS:
            raise ClockSet(
                say(
                    "This machine's clock was set ahead by {time} while the server ran, and what is written keeps its "
                    "time for ever: so nothing is written. Organisers: set the clock right; or, if it is right now, "
                    "start the server again.",
                    time=duration(ahead),
                )
            )
        return now


def watched(wall: Now) -> Watched:
    """By what the server that started us began with, or from now on."""
    base = os.environ.get(BASE)
    return Watched(wall, base=int(base) if base else None)


def hand_down(clock: Now) -> None:
    """Let the processes that are started from here on watch the clock from where this one began: one that is started
    again must not take the wrong time for granted."""
    if isinstance(clock, Watched):
        os.environ[BASE] = str(clock.base)


def handed_down() -> str:
    """What a process that was started before needs to be told of the clock."""
    return os.environ.get(BASE, "")


def take_over(told: str) -> None:
    """Watch the clock as whoever told this does."""
    if told:
        os.environ[BASE] = told


def for_writing(clock: Now) -> int:
    return clock.for_writing() if isinstance(clock, Watched) else clock()


def log_is_ahead(log_at: int, now: int, zone: str) -> str:
    """What an organiser must know of a log that is ahead of the clock; nothing where it is not."""
    if log_at - now < BEHIND_MS:
        return ""
    return (
        f"The log's last event is of {told(log_at, zone)}, {duration(log_at - now)} ahead of this "
        "machine's clock. Until the clock gets there, all that happens counts as of that time: phases, quotas, "
        "freezes. If the clock was wrong then, go back to the last backup before it; docs/hosting.md tells how."
    )


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


def new_id(prefix: str) -> str:
    """A name for a new thing, that nobody can guess and everybody can type."""
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(12))
