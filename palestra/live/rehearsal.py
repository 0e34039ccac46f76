"""A short rehearsal of one program: whether it answers at all, and how fast. Needs no truth, and gives no score."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from palestra.entrants import Entry
from palestra.live import episode_run, stream
from palestra.live.answers import hear
from palestra.live.episode import Step
from palestra.live.live_data import sittings_and_cases
from palestra.live.run import line_of
from palestra.live.stream import Decision, VirtualClock
from palestra.records import Reply, Sitting, Tick, Track
from palestra.text import Text, say

MOST_ASKED = 20  # decisions; more would only take longer
MOST_MISSED = 5  # a program that hangs holds up the check of others
WORLD_S = 20.0  # of a case


@dataclass
class Rehearsed:
    """What a program was asked, and what came of it."""

    asked: int = 0
    answered: int = 0
    latencies_s: list[float] = field(default_factory=list)
    first_miss: Text = ""  # why it has no answer

    @property
    def latency_s(self) -> float | None:
        return statistics.median(self.latencies_s) if self.latencies_s else None

    def count(self, latency_s: float | None, note: Text) -> None:
        self.asked += 1
        if latency_s is not None and not note:
            self.answered += 1
            self.latencies_s.append(latency_s)
        else:
            self.first_miss = self.first_miss or note or say("no answer")


def rehearse(track: Track, data: Path, entry: Entry, patience_s: float) -> Rehearsed:
    """Play the beginning of a data set to a program, in virtual time and under the deadlines of the track."""
    sittings, cases = sittings_and_cases(track, data)
    clock, log = VirtualClock(), _Log(track)
    line = line_of(entry, clock, patience_s)
    if cases:
        episode_run.act(replace(cases[0], seconds=min(cases[0].seconds, WORLD_S)), entry, line, clock, log)
        if not log.rehearsed.asked:
            log.rehearsed.count(None, line.dead())
    elif sittings:
        stream.run(_beginning(sittings, log.rehearsed), [line], clock, log)
    return log.rehearsed


def _beginning(sittings: Sequence[Sitting], so_far: Rehearsed) -> Iterator[Tick]:
    """Of the first sitting, up to its last decision that is rehearsed."""
    asked = 0
    for tick in sittings[0].planned():
        yield tick
        asked += tick.trial is not None
        if asked == MOST_ASKED or so_far.asked - so_far.answered >= MOST_MISSED:
            return


@dataclass
class _Log:
    track: Track
    rehearsed: Rehearsed = field(default_factory=Rehearsed)

    def sent(self, tick: Tick, at_s: float) -> None:
        """Nothing is kept of what was sent."""

    def decided(self, decision: Decision) -> None:
        heard = hear(self.track, decision)
        self.rehearsed.count(decision.latency_s if heard.said is not None else None, heard.note)

    def strayed(self, entrant: str, reply: Reply, at_s: float) -> None:
        """What answers nothing counts for nothing."""

    def resting(self) -> None:
        """No screen shows a rehearsal."""

    def moved(self, entrant: str, step: Step) -> None:
        if step.thought_s is not None:
            self.rehearsed.count(step.thought_s, step.note)
