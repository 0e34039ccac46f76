"""Pupil diameters in mm, 50 a second: a width that sways a little, noise, and blinks, in which nothing is measured."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.datasets import write_made
from palestra.records import Order, Part, Plan

RATE_HZ = 50
PEOPLE = {"tiny": 6, "small": 12, "paper": 40}
CLIPS = {"tiny": 4, "small": 20, "paper": 50}  # of each person, a second each


def plan(order: Order, track: str, write: Callable[[Order, str, Path], None]) -> Plan:
    """A data set of people, each written on their own."""
    names = [f"p{number:02d}" for number in range(1, PEOPLE[order.size] + 1)]
    parts = [Part(name, weight=1, write=partial(write, order, name)) for name in names]
    return Plan(parts, sample=parts[0], finish=partial(write_made, order, track))


def measured(widths_mm: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float32]:
    """What a camera sees of a pupil that is so wide."""
    sway = 0.1 * np.sin(np.arange(len(widths_mm)) * rng.uniform(0.05, 0.2) + rng.uniform(0, 6))
    seen = widths_mm + sway + rng.normal(0, 0.05, len(widths_mm))
    blink = rng.integers(0, len(seen) - 8)
    seen[blink : blink + 8] = 0.0
    return seen.astype(np.float32)
