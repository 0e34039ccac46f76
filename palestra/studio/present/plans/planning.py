"""A stimulus file becomes a plan. The same file and seed give the same plan; a block does not depend on the others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palestra.studio.present.plans import patterns
from palestra.studio.present.plans.emotion import emotion
from palestra.studio.present.plans.patterns import Step
from palestra.studio.present.plans.plan import BlockPlan, Event, Plan, Shows
from palestra.studio.present.plans.stimuli import (
    AnyBlock,
    Curve,
    Emotion,
    Points,
    Pursuit,
    Saccades,
    Stimuli,
    Targets,
    kind_of,
)

_STEPS: dict[type, Callable[..., Iterator[Step]]] = {
    Targets: patterns.targets,
    Curve: patterns.curve,
    Pursuit: patterns.pursuit,
    Saccades: patterns.saccades,
    Points: patterns.points,
}


def plan_of(stimuli: Stimuli) -> Plan:
    """Every event of a run."""
    blocks: list[BlockPlan] = []
    events: list[Event] = []
    for index, block in enumerate(stimuli.blocks):
        random = np.random.default_rng([stimuli.seed, index])
        made = _events(block, stimuli, index, len(events), random)
        length_s = round(made[-1].onset_s + made[-1].length_s, 6)
        blocks.append(BlockPlan(kind_of(block), block.title, len(events), len(made), length_s, _sliders(block)))
        events += made
    return Plan(stimuli.seed, stimuli.screen, stimuli.target_mm, stimuli.patch_mm, tuple(blocks), tuple(events))


def _events(block: AnyBlock, stimuli: Stimuli, index: int, first: int, random: np.random.Generator) -> list[Event]:
    if isinstance(block, Emotion):
        return emotion(block, index, first, random)
    made: list[Event] = []
    onset_s = 0.0
    steps: Any = _STEPS[type(block)](block, stimuli, random)
    for length_s, shows, path, trigger in steps:
        number = first + len(made)
        again = _again(block, shows, number)
        made.append(Event(number, index, round(onset_s, 6), round(length_s, 6), shows, path, trigger, again=again))
        onset_s += length_s
    return made


def _again(block: AnyBlock, shows: Shows, number: int) -> int | None:
    """A point that is to be captured is shown from its onset again: nobody looks there at once after a pause."""
    if not isinstance(block, Points) or shows == "blank":
        return None
    return number - 1 if shows == "capture" else number


def _sliders(block: AnyBlock) -> tuple[tuple[str, str], ...]:
    return tuple((one.name, one.title) for one in block.sliders) if isinstance(block, Emotion) else ()
