"""A case on the simulated table as a world that entrants act in, and what is left of it as an answer."""

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.live import Action, Wish
from palestra.text import say
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.simulator.goals import Facts
from palestra.tracks.tabletop.simulator.table import Table

REST_PERIODS = 20  # after the last action, for things to come to rest: a second
MOST_ACTIONS = 256  # at once
LARGEST = 1e6  # any number beyond is a slip, and no joint is there
LENGTHS = (7, 8)


class TableWorld:
    """One case, from its beginning. Nothing that it shows tells whether anything is met."""

    def __init__(self, case: on_disk.Case, number: int, size: int = 256) -> None:
        self.case = case
        self.table = Table(case.scene)
        self._about: dict[str, int | bool | str] = {
            "case": number,
            "instruction": case.said("en"),
            "instruction_zh": case.said("zh"),
        }
        self._size = size
        self.blind = False  # whether nobody looks: pictures take longer than the physics

    def look(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, int | bool | str]]:
        seen = {} if self.blind else self.table.observe(size=self._size)
        return {name: seen[name] for name in seen if name != "step"}, {**self._about, "step": self.table.steps}

    def hear(self, answer: Any) -> Wish:
        return heard(answer)

    def move(self, action: Action | None) -> None:
        self.table.step(self.table.target if action is None else action)

    def end(self) -> dict[str, Any]:
        for _ in range(REST_PERIODS):
            self.table.step(self.table.target)
        return written(self.table.facts())

    def close(self) -> None:
        self.table.close()


def heard(answer: Any) -> Wish:
    """What an entrant wants: an action of 7 or 8 numbers, some of them, or {"actions": …, "done": …}."""
    done = False
    if isinstance(answer, Mapping):
        answer, done = answer.get("actions", []), answer.get("done") is True
    try:
        actions = np.asarray(answer, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            say("answered {value}, expected actions: lists of 7 or 8 numbers", value=reprlib.repr(answer))
        ) from None
    if actions.size == 0:
        return Wish((), done)
    actions = actions[None] if actions.ndim == 1 else actions
    if actions.ndim != 2 or actions.shape[1] not in LENGTHS or len(actions) > MOST_ACTIONS:
        raise ValueError(
            say(
                "answered an array of the shape {shape}, expected 7 or 8 numbers, or up to {most} such actions",
                shape=actions.shape,
                most=MOST_ACTIONS,
            )
        )
    if not (np.abs(actions) <= LARGEST).all():  # of NaN, nothing is true
        raise ValueError(
            say("answered actions with numbers that are not finite, or beyond {largest:g}", largest=LARGEST)
        )
    return Wish(list(actions), done)


def written(facts: Facts) -> dict[str, Any]:
    """What is so on the table, in numbers and names: all that sub-goals are judged by."""
    names = list(facts.poses)
    touching = sorted({tuple(sorted(pair)) for pair in facts.touching})
    return {
        "things": names,
        "poses": [[round(float(value), 6) for value in facts.poses[name][:3].ravel()] for name in names],
        "touching": [list(pair) for pair in touching],
        "lift_n": [[*pair, round(force, 5)] for pair, force in sorted(facts.lift_n.items()) if force > 1e-5],
        "weight_n": [round(facts.weight_n[name], 6) for name in names],
        "still": sorted(facts.still),
        "opening_m": {name: round(value, 6) for name, value in facts.opening_m.items()},
    }


def read(left: Mapping[str, Any], case: on_disk.Case) -> Facts:
    """The facts that were written."""
    names = left["things"]
    pairs = [tuple(pair) for pair in left["touching"]]
    return Facts(
        things={thing.id: thing for thing in case.scene.things},
        poses={
            name: np.vstack([np.reshape(row, (3, 4)), [0, 0, 0, 1]])
            for name, row in zip(names, left["poses"], strict=True)
        },
        touching=frozenset([*pairs, *((second, first) for first, second in pairs)]),
        lift_n={(below, above): force for below, above, force in left["lift_n"]},
        weight_n=dict(zip(names, left["weight_n"], strict=True)),
        still=frozenset(left["still"]),
        opening_m=dict(left["opening_m"]),
    )
