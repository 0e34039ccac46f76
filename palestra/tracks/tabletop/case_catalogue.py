"""The simulated table's cases as referees and teams read them: a numbered catalogue, groups, criteria in words."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from palestra.contest.match import Case, Goal, Group, Sheet, Thing
from palestra.text import Words, joined
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.criteria import condition_text
from palestra.tracks.tabletop.groups import GROUP_TITLES
from palestra.tracks.tabletop.reference_layout import recorded
from palestra.tracks.tabletop.simulator import case as table_case
from palestra.tracks.tabletop.simulator.goals import Condition, SubGoal
from palestra.tracks.tabletop.simulator.language import AND, COLOUR_WORDS, KIND_WORDS, LANGUAGES, OR, name_of, sentence
from palestra.tracks.tabletop.simulator.objects import CLEARANCE, COLOURS, KINDS, Scene, half_extents, height_of
from palestra.tracks.tabletop.simulator.objects import Thing as Placed

AND_WORDS, OR_WORDS = (Words(*(each[name] for name in LANGUAGES)) for each in (AND, OR))
_Key = tuple[str, str, tuple[float, ...], int]  # kind, colour, size, and which of those alike in one scene


class Catalogue(msgspec.Struct, frozen=True):
    """All objects that cases use, each with its number."""

    keys: dict[_Key, int]
    things: tuple[Thing, ...]

    def numbers(self, scene: Scene) -> dict[str, int]:
        """Of a scene's things, by their ids."""
        return {thing.id: self.keys[key] for thing, key in zip(scene.things, _keys(scene), strict=True)}


def catalogue(*sets: Iterable[table_case.Case]) -> Catalogue:
    """Numbered set by set, so that what was published keeps its numbers when hidden cases come to it."""
    keys: dict[_Key, int] = {}
    things: list[Thing] = []
    for cases in sets:
        found = {key: thing for case in cases for key, thing in zip(_keys(case.scene), case.scene.things, strict=True)}
        for key, thing in sorted(found.items(), key=lambda pair: _place(pair[0])):
            if key not in keys:
                keys[key] = len(keys) + 1
                things.append(_described(keys[key], thing))
    return Catalogue(keys, tuple(things))


def _keys(scene: Scene) -> list[_Key]:
    """One object may stand in many scenes; a scene with two alike needs both. How far a drawer is open is no matter."""
    keys: list[_Key] = []
    for thing in scene.things:
        alike = (thing.kind, thing.colour, () if thing.kind == "drawer" else thing.size)
        keys.append((*alike, sum(key[:3] == alike for key in keys)))
    return keys


def _place(key: _Key) -> tuple[int, int, tuple[float, ...], int]:
    kind, colour, size, which = key
    return list(KINDS).index(kind), list(COLOURS).index(colour), size, which


def _described(number: int, thing: Placed) -> Thing:
    name = Words(sentence(name_of(thing, "en").removeprefix("the "), "en").rstrip("."), name_of(thing, "zh"))
    return Thing(number, name, thing.kind, extent_mm(thing), colour=thing.colour)


def extent_mm(thing: Placed) -> tuple[int, ...]:
    """Length, width and height; of round things diameter and height."""
    half_x, half_y = half_extents(thing)
    across = (half_x,) if is_round(thing.kind) else (half_x, half_y)
    return (*(round(2000 * half) for half in across), round(1000 * height_of(thing)))


def is_round(kind: str) -> bool:
    return KINDS[kind].round and kind != "round_socket"  # whose block is square


def size_text(thing: Thing) -> str:
    """As drawings write it: ⌀60 × 80, 44 × 44 × 44."""
    return ("⌀" if is_round(thing.model) else "") + " × ".join(map(str, thing.size_mm))


def hole_text(thing: Placed) -> str:
    """Of a socket: what it takes, with the room around it."""
    width = round(1000 * (thing.size[0] * (2 if thing.kind == "round_socket" else 1) + 2 * CLEARANCE))
    return f"⌀{width}" if thing.kind == "round_socket" else f"{width} × {width}"


def kind_words(kind: str) -> Words:
    return Words(*KIND_WORDS[kind])


def colour_words(colour: str) -> Words:
    return Words(*COLOUR_WORDS[colour])


# What must hold


def criterion(goal: SubGoal, scene: Scene) -> Words:
    """When a sub-goal is met, in words about the scene's own things."""
    things = {thing.id: thing for thing in scene.things}
    ways = [joined([_said(each, things) for each in way], AND_WORDS) for way in goal.any_of]
    found = joined(ways, OR_WORDS)
    return Words(sentence(found.en, "en"), sentence(found.zh, "zh"))


def _said(condition: Condition, things: dict[str, Placed]) -> Words:
    placed = [things[each] for each in condition.of]
    return condition_text(condition.rule, [Words(name_of(one, "en"), name_of(one, "zh")) for one in placed])


# A match


def read_sheet(data: Path, hidden: bool) -> Sheet:
    """Of a data set: its hidden cases with their sub-goals, where it has any and they are asked for, else those to
    practise on. Numbers that were published with the latter stay."""
    practice, secret = on_disk.read_cases(data, False), []
    if hidden:
        unknown = on_disk.read_cases(data, True)
        goals = on_disk.read_goals(data, unknown)
        secret = [replace(case, goals=goals[case.id]) for case in unknown]
    return sheet(secret or practice, catalogue(practice, secret))


def sheet(cases: Sequence[table_case.Case], known: Catalogue) -> Sheet:
    """What is played, in the groups that the rules name."""
    laid = {case.id: recorded(case, list(known.numbers(case.scene).values())) for case in cases}
    digests = {name: hashlib.sha256(layout).hexdigest() for name, layout in laid.items()}
    groups = tuple(
        Group(name, title, tuple(_case(case, known, digests[case.id]) for case in cases if case.group == name))
        for name, title in GROUP_TITLES.items()
        if any(case.group == name for case in cases)
    )
    return Sheet(groups, known.things, {digests[name]: layout for name, layout in laid.items()})


def _case(case: table_case.Case, known: Catalogue, layout: str) -> Case:
    goals = tuple(Goal(goal.id, Words(goal.en, goal.zh), criterion(goal, case.scene)) for goal in case.goals)
    numbers = tuple(sorted(known.numbers(case.scene).values()))
    return Case(case.id, Words(case.said("en"), case.said("zh")), goals, numbers, layout)
