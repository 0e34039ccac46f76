"""One entrant in one world: it acts until the case ends, and what is left is the decision that is scored."""

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec
import numpy as np

from palestra.entrants import Entry
from palestra.errors import PalestraError
from palestra.live import episode
from palestra.live.episode import Log, Rhythm
from palestra.live.recording import Recording
from palestra.live.stream import Clock, Decision, Line
from palestra.records import Case, Sitting
from palestra.text import say


def sitting_of(case: Case) -> Sitting:
    """A case as a stretch of a run: every period is a tick, and what is left at the end the one decision."""
    return Sitting(case.name, lambda: (), round(case.seconds / case.period_s), 1, case.seconds)


def act(case: Case, entry: Entry, line: Line, clock: Clock, log: Log) -> Decision:
    """Let an entrant act. A program that died before, or dies on the way, leaves the world as it is then."""
    with closing(case.open()) as world:
        if entry.sit:
            entry.sit(world)
        seconds = episode.run(case.name, world, line, Rhythm(case.period_s, case.seconds, case.waits), clock, log)
        left = {**world.end(), "seconds": seconds}
    return Decision(entry.name, case.name, 0.0, 0.0, seconds, None, left, "")


def require_same(run: Recording, cases: Sequence[Case]) -> None:
    """See that what was done leads to what was left, in every case: the same bytes."""
    for who in run.head.entrants:
        done: dict[int, list[list[float] | None]] = {}
        for moved in run.steps(who.name):
            done.setdefault(moved.sitting, []).append(moved.step.action)
        for record in run.decisions(who.name):
            case, answer = cases[record.sitting], record.decision.answer
            left = _left(case, done.get(record.sitting, []))
            if _encoded({**left, "seconds": answer.get("seconds")}) != _encoded(answer):
                raise PalestraError(
                    say(
                        "{name}, {name2}: the recorded actions do not lead to what was recorded. Another "
                        "version of the physics, or another data set?",
                        name=who.name,
                        name2=case.name,
                    )
                )


def _left(case: Case, actions: Sequence[list[float] | None]) -> dict[str, Any]:
    with closing(case.open()) as world:
        for action in actions:
            world.move(None if action is None else np.array(action))
        return dict(world.end())


def _encoded(answer: Any) -> bytes:
    return msgspec.json.encode(answer, order="deterministic")
