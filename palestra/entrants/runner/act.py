"""The contract of a program that acts in a world, inside the sandbox.

class MyAlgorithm:
    def reset(self, about): ...             # a case begins: about["instruction"], about["case"], …
    def act(self, observation):             # arrays by name, and what else is told ("instruction", "step")
        return action                       # one action, several (n × 8), or {"actions": …, "done": True}
"""

import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from palestra.entrants import MOST_NUMBERS, Frame
from palestra.errors import brief


def acted(algorithm: Any, frame: Frame) -> dict[str, Any]:
    """What the contestant's object does on what it sees, or a note of why it does nothing."""
    about = frame.header.data.get("about", {})
    names = frame.header.data.get("names", [])
    try:
        if about.get("step") == 0:
            algorithm.reset(dict(about))
        return wanted(algorithm.act({**dict(zip(names, frame.arrays, strict=True)), **about}))
    except Exception as error:
        traceback.print_exc()
        return {"note": brief(error)}


def wanted(value: Any) -> dict[str, Any]:
    """Actions as lists of numbers. Whether they are ones that are wanted, others judge."""
    done = False
    if isinstance(value, Mapping):
        value, done = value.get("actions", []), value.get("done") is True
    try:
        if value is None:  # numpy would take it for a number
            raise TypeError
        actions = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return {"returned": ["not an array", type(value).__name__[:40]]}
    if actions.size > MOST_NUMBERS:
        return {"returned": ["too many", f"{actions.size:,}"]}
    return {"answer": {"actions": actions.tolist(), "done": done}}
