"""The closed loop: what is done when, whatever the entrant does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from palestra.live.episode import Rhythm, Step, Wish, run
from palestra.live.stream import FastLine, VirtualClock
from palestra.records import Reply, Tick

PERIOD_S = 0.05


class Counter:
    """A world that only counts: it is seen as a number, and remembers what was done in each period."""

    def __init__(self) -> None:
        self.done: list[float | None] = []
        self.shown: list[int] = []

    def look(self):
        self.shown.append(len(self.done))
        return {"count": np.array([len(self.done)])}, {"step": len(self.done)}

    def hear(self, answer: Any) -> Wish:
        if not isinstance(answer, list):
            raise ValueError(f"answered {answer!r}, expected a list")
        return Wish([np.array([value], float) for value in answer if value != "done"], "done" in answer)

    def move(self, action) -> None:
        self.done.append(None if action is None else float(action[0]))


class Steps:
    def __init__(self) -> None:
        self.all: list[Step] = []

    def moved(self, entrant: str, step: Step) -> None:
        self.all.append(step)


def play(say: Callable[[int], tuple[Any, float]], steps: int = 6, waits: bool = False, gone: str = ""):
    """`say` is what an entrant answers to a count, and the seconds that it takes."""
    clock, world, log = VirtualClock(), Counter(), Steps()

    def ask(tick: Tick) -> tuple[list[Reply], float]:
        answer, seconds = say(int(tick.payload["count"][0]))
        return ([] if answer is None else [Reply(tick.trial or "", answer)]), seconds

    line = FastLine("one", ask, clock, lambda: gone)
    seconds = run("case", world, line, Rhythm(PERIOD_S, steps * PERIOD_S, waits), clock, log)
    return world, log, seconds


def test_what_is_said_within_a_period_is_done_in_the_next():
    world, _, seconds = play(lambda count: ([float(count)], 0.01))
    assert world.done == [None, 0.0, 1.0, 2.0, 3.0, 4.0]
    assert seconds == pytest.approx(0.3)


def test_the_world_does_not_wait_and_the_last_action_is_held():
    world, _, _ = play(lambda count: ([float(count)], 0.12), steps=8)
    assert world.shown == [0, 3, 6]  # 0.12 s are three periods
    assert world.done == [None, None, None, 0.0, 0.0, 0.0, 3.0, 3.0]


def test_actions_said_together_are_done_one_after_the_other_without_a_gap():
    world, _, _ = play(lambda count: ([count + 0.1, count + 0.2, count + 0.3], 0.01), steps=7)
    assert world.done == [None, 0.1, 0.2, 0.3, 3.1, 3.2, 3.3]
    assert world.shown == [0, 3, 6]


def test_in_lock_step_the_world_stands_still_while_the_entrant_thinks():
    world, log, seconds = play(lambda count: ([float(count)], 7.0), steps=3, waits=True)
    assert world.done == [0.0, 1.0, 2.0]
    assert [step.thought_s for step in log.all] == pytest.approx([7.0, 7.0, 7.0])
    assert seconds == pytest.approx(0.15)


def test_who_is_done_ends_the_case_and_is_charged_what_passed():
    world, _, seconds = play(lambda count: ([1.0, "done"], 0.01), steps=100)
    assert world.done == [None, 1.0]
    assert seconds == pytest.approx(2 * PERIOD_S)


def test_an_answer_that_cannot_be_read_is_noted_and_changes_nothing():
    world, log, _ = play(lambda count: (5.0 if count else "nonsense", 0.01), steps=3)
    assert world.done == [None, None, None]
    assert [step.note for step in log.all] == [
        "",
        "answered 'nonsense', expected a list",
        "answered 5.0, expected a list",
    ]


def test_who_never_answers_leaves_the_world_to_itself_until_time_is_up():
    world, _, seconds = play(lambda count: (["never"], 1e9), steps=5)
    assert world.done == [None] * 5
    assert world.shown == [0]
    assert seconds == pytest.approx(0.25)


def test_who_is_gone_is_charged_the_whole_time():
    world, _, seconds = play(lambda count: ([1.0], 0.01), steps=5, gone="killed")
    assert world.done == []
    assert seconds == pytest.approx(0.25)
    world, _, seconds = play(lambda count: ([1.0], 0.01), steps=5, waits=True, gone="killed")
    assert seconds == pytest.approx(0.25)
