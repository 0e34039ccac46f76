"""Holds a program to its turns: in virtual time it thinks while it is asked, and at nobody else's expense.

A program that is asked is charged the wall's time. Between two turns it has nothing to do; if it uses processors then,
it is charged for that and frozen from then on. To freeze takes time, so one that plays alone is frozen only when it has
used more than it was charged for; where several play, all are from the start.
"""

import time

from palestra.entrants.socket_frames import SPIN_S
from palestra.sandbox.running_program import Running

LOOK_S = 0.005  # between turns, in all, until we look at what it used
SPARE_S = 0.02  # of processor time beyond what it was charged: its threads may end their work, or collect garbage
PACKET_S = 3 * SPIN_S  # more for each packet: its runner, which is ours, looks out for the next, then goes to sleep


class Turns:
    """The turns of one program."""

    def __init__(self) -> None:
        self.held = False  # whether it is frozen between them
        self._running: Running | None = None
        self._may_use_s = 0.0  # by its counter of processor time
        self._ended_at = self._between_s = 0.0

    def hold(self, running: Running) -> None:
        """It is not alone: from now on it runs only while it is asked."""
        self.held = True
        running.freezer.freeze()

    def begin(self, running: Running) -> float:
        """Its turn begins. The seconds that it owes for what it did since the one before."""
        if self.held:
            running.freezer.thaw()
        if self.held or running is not self._running:
            return 0.0
        self._between_s += time.monotonic() - self._ended_at
        return self._owed_s(running) if self._between_s > LOOK_S else 0.0

    def _owed_s(self, running: Running) -> float:
        used_s = running.processor_time.used_s()
        owed_s = min(used_s - self._may_use_s, self._between_s)
        self._between_s = 0.0
        if owed_s <= 0.0 or not running.freezer.works:
            self._may_use_s = min(self._may_use_s, used_s + SPARE_S)  # what it did not use is not kept for later
            return 0.0
        self.held = True
        return owed_s

    def end(self, running: Running, ready: bool, seconds: float) -> None:
        """Its turn is over, and took so long. One that is loading after its death goes on: that is its own time."""
        if not ready:
            return
        if running is not self._running:
            self._running, self._between_s = running, 0.0
            self._may_use_s = running.processor_time.used_s() + SPARE_S
        else:
            self._may_use_s += seconds + PACKET_S
        if self.held:
            running.freezer.freeze()
        self._ended_at = time.monotonic()
