"""From a stimulus file to a plan: every event of a run with its onset, before anything is shown."""

from typing import Literal

import msgspec

from palestra.studio.present.plans.geometry import Place, Screen

Shows = Literal["target", "capture", "blank", "cross", "video", "sliders", "rest", "sums"]
Ends = Literal["time", "answer", "video"]
Sum = tuple[int, Literal["+", "−"], int]


class Path(msgspec.Struct, frozen=True):
    """Where a target is from its onset to its end."""

    shape: Literal["still", "line", "arc", "bezier"]
    points: tuple[Place, ...]  # mm. still: place; line: both ends; bezier: three controls; arc: middle and both ends


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happens at a time."""

    number: int  # from 0, in the whole run
    block: int
    onset_s: float  # from the start of the block, if everything before it takes as long as planned
    length_s: float
    shows: Shows
    path: Path | None = None
    trigger: int | None = None
    ends: Ends = "time"  # what ends otherwise moves all onsets after it
    again: int | None = None  # a run that stops before this has ended goes on from that event, else from the next
    video: int | None = None  # a film's number
    sums: tuple[Sum, ...] = ()


class BlockPlan(msgspec.Struct, frozen=True):
    """A part of a run that the person starts with a key."""

    kind: str
    title: str
    first: int  # the number of its first event
    events: int
    length_s: float  # as planned
    sliders: tuple[tuple[str, str], ...] = ()  # name and title


class Plan(msgspec.Struct, frozen=True):
    """All that a run shows."""

    seed: int
    screen: Screen
    target_mm: float
    patch_mm: float
    blocks: tuple[BlockPlan, ...]
    events: tuple[Event, ...]


def next_event(plan: Plan, last: int | None, has_ended: bool) -> int:
    """Where a run goes on whose last event was `last`; the number of all events if that was the last one."""
    if last is None:
        return 0
    again = plan.events[last].again
    return last + 1 if again is None or has_ended else again


def nominal_s(plan: Plan) -> float:
    """How long the whole run takes at least."""
    return sum(block.length_s for block in plan.blocks)
