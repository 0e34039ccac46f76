"""How certain each quantity of a reading is: the probability that it is right, by what speaks for and against it.

A quantity's certainty is a logistic function of its checks in which none speaks for what is worse, brought to
frequencies by a curve. Weights and curve are in eye_certainty.json, fitted on drawn people by
train/certainty.py, which is run again for every new network.
"""

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from palestra.eyes.reader.checks import Check

FILE = Path(__file__).parent / "eye_certainty.json"
MASK, PUPIL, IRIS, GAZE = QUANTITIES = ("mask", "pupil", "iris", "gaze")
SURE = 0.8  # from here on a quantity is sure
GATE = 0.1  # the share of a check below which nothing is sure, whatever else speaks for it
UNSURE = 0.49  # and the certainty that it then has at most
# What says nothing about a quantity: a gaze that is uncertain takes no pupil away.
IGNORED: Mapping[str, frozenset[str]] = {
    MASK: frozenset({"same gaze", "gaze spread"}),
    PUPIL: frozenset({"same gaze", "gaze spread", "iris seen", "iris filled"}),
    IRIS: frozenset({"same gaze", "gaze spread"}),
    GAZE: frozenset({"iris filled"}),
}
FEATURES = ("there", "upright", "clear", "eye clear", "same iris", "same pupil", "same eye", "pupil seen", "iris seen",
            "middles", "iris ratio", "pupil ratio", "sizes", "pupil filled", "iris filled", "near", "lids even",
            "step", "focus", "small", "same gaze", "gaze spread")  # fmt: skip
HINGES = (1.0, 0.75, 0.5)  # each check counts by its share, and more below these


@dataclass(frozen=True)
class Curve:
    """Of one quantity."""

    weights: Mapping[str, tuple[float, ...]]  # check → one for each hinge
    bias: float
    raw: tuple[float, ...]  # knots of the curve: what the logistic function says …
    told: tuple[float, ...]  # … and how often it is right then

    def certainty(self, shares: Mapping[str, float]) -> float:
        total = self.bias
        for name, weights in self.weights.items():
            # An older fit has fewer hinges, and is read by while a new one is made.
            total += sum(map(operator.mul, weights, hinged(shares.get(name, 1.0))))
        return float(np.interp(1 / (1 + np.exp(-np.clip(total, -50, 50))), self.raw, self.told))


def hinged(share: float) -> tuple[float, ...]:
    return tuple(min(share, hinge) for hinge in HINGES)


@lru_cache
def curves() -> dict[str, Curve]:
    known = json.loads(FILE.read_text(encoding="utf-8"))["quantities"]
    return {
        name: Curve(
            {check: tuple(weights) for check, weights in one["weights"].items()},
            float(one["bias"]),
            tuple(one["raw"]),
            tuple(one["told"]),
        )
        for name, one in known.items()
    }


def shares_of(checks: Iterable[Check]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for check in checks:
        shares[check.name] = min(check.share, shares.get(check.name, 1.0))
    return shares


def concerns(quantity: str, check: Check) -> bool:
    return check.name not in IGNORED[quantity]


def certainty_of(quantity: str, checks: Sequence[Check]) -> float:
    own = [check for check in checks if concerns(quantity, check)]
    certainty = curves()[quantity].certainty(shares_of(own))
    return min(certainty, UNSURE) if any(check.share < gate(quantity, check.name) for check in own) else certainty


def gate(quantity: str, check: str) -> float:
    """The share of a check below which nothing else counts. An eye that is upside down looks the other way."""
    return 0.5 if (quantity, check) == (GAZE, "upright") else GATE


def reasons(quantity: str, checks: Sequence[Check]) -> tuple[str, ...]:
    """What is wrong where a quantity is not sure: every check below its middle, else the weakest one."""
    if quantity == GAZE:
        turned = [check.words for check in checks if check.name == "upright" and check.share < 0.5]
        return tuple(turned) or ("gaze uncertain",)
    own = sorted((check for check in checks if concerns(quantity, check)), key=lambda check: check.share)
    poor = [check for check in own if check.share < 0.5] or own[:1]
    return tuple(dict.fromkeys(check.words for check in poor))
