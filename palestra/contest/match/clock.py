"""A clock in whole milliseconds of the server's time: when it was started, and what it had run before."""

from __future__ import annotations

import msgspec


class Clock(msgspec.Struct, array_like=True):
    """Nothing ticks: how long it ran is a function of this and of now, so a restart of the server costs nothing."""

    since: int | None = None  # when it was last started; null while it stands
    ran_ms: int = 0  # before that

    def elapsed(self, now: int) -> int:
        return self.ran_ms + (max(now - self.since, 0) if self.since is not None else 0)

    def start(self, now: int) -> None:
        if self.since is None:
            self.since = now

    def stop(self, now: int) -> None:
        self.ran_ms, self.since = self.elapsed(now), None

    @property
    def running(self) -> bool:
        return self.since is not None


def shown(ms: int) -> str:
    """Minutes and seconds, rounded down, as results are compared."""
    minutes, seconds = divmod(ms // 1000, 60)
    return f"{minutes}:{seconds:02}"
