"""A reference solution that may see the world itself: it shows that cases can be solved, and competes with nobody."""

import time
from typing import Any, Protocol

from palestra.errors import brief
from palestra.records import Reply, Tick
from palestra.registry import resolve
from palestra.text import Text


class Knowing(Protocol):
    """What such a solution is."""

    def reset(self, world: Any) -> None:
        """A case begins, in this world."""

    def act(self) -> Any:
        """What it wants to be done next."""


class PrivilegedLine:
    """It runs in the host, and answers at once."""

    version = ""

    def __init__(self, name: str, place: str) -> None:
        self.name = name
        self.deaths: list[Text] = []
        self.output = ""
        self._policy: Knowing = resolve(place)()
        self._come: list[Reply] = []

    def require_ready(self, within_s: float = 0.0) -> None:
        """It always is."""

    def sit(self, world: Any) -> None:
        world.blind = True
        self._policy.reset(world)

    def post(self, tick: Tick) -> None:
        try:
            reply = Reply(tick.trial or "", self._policy.act())
        except Exception as error:  # a fault of ours costs this answer, as anybody's does
            reply = Reply(tick.trial or "", None, brief(error))
            self.deaths = [*self.deaths, reply.note][-100:]
        self._come.append(reply)

    def replies(self) -> list[Reply]:
        come, self._come = self._come, []
        return come

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        started = time.monotonic()
        self.post(tick)
        return self.replies(), time.monotonic() - started

    def dead(self) -> Text:
        return ""

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        """Nothing was started."""
