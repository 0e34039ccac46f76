"""What a case must be like before it is laid on the table; each fault is told with its field."""

import math
from collections.abc import Iterable

from palestra.errors import clip
from palestra.formats import FileFaults
from palestra.text import joined, say
from palestra.tracks.tabletop.simulator.arm import BASE, HIGH, JOINTS, LOW
from palestra.tracks.tabletop.simulator.case import GROUPS, Case
from palestra.tracks.tabletop.simulator.goals import RULES, SubGoal
from palestra.tracks.tabletop.simulator.language import LANGUAGES
from palestra.tracks.tabletop.simulator.objects import (
    COLOURS,
    ID,
    KINDS,
    MOST_THINGS,
    Scene,
    Thing,
    on_the_table,
    overlap,
)

MOST_WORDINGS, MOST_LETTERS, MOST_GOALS, MOST_WAYS = 10, 500, 12, 8
BASE_RADIUS = 0.09
MOVED_M, SUNK_M, LEANING = 0.01, 0.02, 0.999  # how far a thing may settle from where it was put
OWN_NAMES = ("world", "hand", "arm", "table", "floor", "arm_base", "finger_left", "finger_right")


def check_case(case: Case, faults: FileFaults) -> None:
    """Note all that is wrong with a case."""
    if case.group not in GROUPS:
        faults.add(faults.at("group"), clip(case.group), say("one of {groups}", groups=", ".join(GROUPS)))
    for language in sorted({*LANGUAGES, *case.instruction}):
        _check_wordings(language, case.instruction.get(language, ()), faults)
    if _check_things(case.scene.things, faults):
        _check_layout(case.scene.things, faults)
        _check_settled(case.scene, faults)
    _check_arm(case.scene.arm, faults)
    if case.goals or not case.hidden:
        check_goals(case.goals, case.scene, faults, "goals")


def check_goals(goals: tuple[SubGoal, ...], scene: Scene, faults: FileFaults, place: str) -> None:
    """Note all that is wrong with sub-goals, which must be about the scene's things."""
    if not 1 <= len(goals) <= MOST_GOALS:
        faults.add(
            faults.at(place),
            say("{number} sub-goals", number=len(goals)),
            say("1 to {most_goals}", most_goals=MOST_GOALS),
        )
    kinds = {thing.id: thing.kind for thing in scene.things}
    for number, goal in enumerate(goals):
        where = f"{place}[{number}]"
        if not ID.fullmatch(goal.id) or goal.id in {other.id for other in goals[:number]}:
            faults.add(faults.at(f"{where}.id"), clip(goal.id), say("a name of its own, like g1"))
        for language in LANGUAGES:
            if not _is_text(getattr(goal, language)):
                faults.add(faults.at(f"{where}.{language}"), clip(getattr(goal, language)), say("one line of text"))
        if not 1 <= len(goal.any_of) <= MOST_WAYS or not all(1 <= len(way) <= MOST_WAYS for way in goal.any_of):
            faults.add(
                faults.at(f"{where}.any_of"),
                say("no or too many conditions"),
                say("1 to {most_ways} ways of 1 to {most_ways}", most_ways=MOST_WAYS),
            )
        for way in goal.any_of:
            for condition in way:
                _check_condition(condition.rule, condition.of, kinds, faults, f"{where}.any_of")


def _check_condition(rule: str, of: tuple[str, ...], kinds: dict[str, str], faults: FileFaults, place: str) -> None:
    if rule not in RULES:
        faults.add(
            faults.at(place), say("the rule {rule}", rule=clip(rule)), say("one of {rules}", rules=", ".join(RULES))
        )
        return
    allowed, most = RULES[rule].kinds, RULES[rule].most
    if not len(allowed) <= len(of) <= most or len(set(of)) != len(of):
        count = str(most) if most == len(allowed) else f"{len(allowed)} to {most}"
        faults.add(
            faults.at(place),
            say("{rule} of {clip}", rule=rule, clip=clip(", ".join(of))),
            say("{count} different things", count=count),
        )
        return
    for number, name in enumerate(of):
        fitting = allowed[min(number, len(allowed) - 1)]
        if name not in kinds:
            faults.add(
                faults.at(place),
                say("a thing {name} in {rule}", name=clip(name), rule=rule),
                say("one of {value}", value=", ".join(kinds) or "no things"),
            )
        elif kinds[name] not in fitting:
            faults.add(
                faults.at(place),
                say("{name}, a {clip}, in {rule}", name=clip(name), clip=clip(kinds[name]), rule=rule),
                say("one of {fitting}", fitting=", ".join(fitting)),
            )


def _check_wordings(language: str, wordings: tuple[str, ...], faults: FileFaults) -> None:
    where = faults.at(f"instruction.{clip(language)}")
    if language not in LANGUAGES:
        faults.add(where, say("a language that nobody here speaks"), joined(LANGUAGES, say(" and ")))
    elif not 1 <= len(wordings) <= MOST_WORDINGS:
        faults.add(
            where,
            say("{number} wordings", number=len(wordings)),
            say("1 to {most_wordings}", most_wordings=MOST_WORDINGS),
        )
    elif bad := [text for text in wordings if not _is_text(text)]:
        faults.add(where, clip(bad[0]), say("one line of 1 to {most_letters} letters", most_letters=MOST_LETTERS))


def _is_text(text: str) -> bool:
    return text.isprintable() and 1 <= len(text) <= MOST_LETTERS and bool(text.strip())


def _check_things(things: tuple[Thing, ...], faults: FileFaults) -> bool:
    """Whether each thing by itself is one that we know."""
    before = faults.count
    if not 1 <= len(things) <= MOST_THINGS:
        faults.add(
            faults.at("scene.things"),
            say("{number} things", number=len(things)),
            say("1 to {most_things}", most_things=MOST_THINGS),
        )
        return False
    for number, thing in enumerate(things):
        where = f"scene.things[{number}]"
        if not ID.fullmatch(thing.id) or thing.id in OWN_NAMES or thing.id.startswith(("arm_", "joint_", "finger_")):
            faults.add(faults.at(f"{where}.id"), clip(thing.id), say("small letters, digits and _, like red_block"))
        elif thing.id in {other.id for other in things[:number]}:
            faults.add(faults.at(f"{where}.id"), say("{id} again", id=clip(thing.id)), say("each id once"))
        if thing.colour not in COLOURS:
            faults.add(
                faults.at(f"{where}.colour"), clip(thing.colour), say("one of {colours}", colours=", ".join(COLOURS))
            )
        if not all(map(math.isfinite, (*thing.position, thing.yaw))) or abs(thing.yaw) > math.pi:
            faults.add(
                faults.at(where),
                say("a position or yaw beyond all bounds"),
                say("metres, and a yaw from -3.1416 to 3.1416"),
            )
        if thing.kind not in KINDS:
            faults.add(faults.at(f"{where}.kind"), clip(thing.kind), say("one of {kinds}", kinds=", ".join(KINDS)))
        else:
            _check_size(thing, faults, f"{where}.size")
    return faults.count == before


def _check_size(thing: Thing, faults: FileFaults, place: str) -> None:
    sizes = KINDS[thing.kind].sizes
    if len(thing.size) != len(sizes):
        faults.add(
            faults.at(place),
            say("{number} numbers", number=len(thing.size)),
            say("{number} for a {kind}: {sizes}", number=len(sizes), kind=thing.kind, sizes=", ".join(sizes)),
        )
        return
    for value, (name, (low, high)) in zip(thing.size, sizes.items(), strict=True):
        if not low <= value <= high:
            faults.add(
                faults.at(place),
                say("a {kind} with {name} {value:g}", kind=thing.kind, name=name, value=value),
                say("{low:g} to {high:g} m", low=low, high=high),
            )


def _check_layout(things: tuple[Thing, ...], faults: FileFaults) -> None:
    base = Thing("base", "can", "red", (BASE_RADIUS, 0.1), BASE[:2])
    for number, thing in enumerate(things):
        where = faults.at(f"scene.things[{number}].position")
        if not on_the_table(thing):
            faults.add(
                where,
                say("{id} beyond the table's edge", id=thing.id),
                say("all of it on the table, 1.0 m along x and 1.5 m along y"),
            )
        elif overlap(thing, base):
            faults.add(
                where,
                say("{id} where the arm stands", id=thing.id),
                say(
                    "{base_radius} m or more from ({base}, {base2})",
                    base_radius=BASE_RADIUS,
                    base=BASE[0],
                    base2=BASE[1],
                ),
            )
        for other in things[:number]:
            if overlap(thing, other):
                faults.add(
                    where, say("{id} overlapping {id2}", id=thing.id, id2=other.id), say("things that do not touch")
                )


def _check_settled(scene: Scene, faults: FileFaults) -> None:
    free = {thing.id: thing for thing in scene.things if not KINDS[thing.kind].fixed}
    for name in sorted({*free, *scene.settled}):
        where, pose = faults.at(f"scene.settled.{clip(name)}"), scene.settled.get(name)
        if name not in free:
            faults.add(
                where,
                say("a pose of something that is not there or does not move"),
                say("one of {free}", free=", ".join(free)),
            )
        elif pose is None:
            faults.add(where, say("no pose"), say("where every thing that moves came to rest"))
        elif len(pose) != 7 or not all(map(math.isfinite, pose)):
            faults.add(
                where,
                say("{number} numbers", number=len(pose)),
                say("7 finite ones: x, y, z and a quaternion w, x, y, z"),
            )
        elif not _rests_where_put(pose, free[name]):
            faults.add(
                where,
                say("a pose that leans, hovers or is elsewhere"),
                say("upright, on the table, at the thing's position and yaw"),
            )


def _rests_where_put(pose: Iterable[float], thing: Thing) -> bool:
    x, y, z, *quaternion = pose
    w, i, j, k = quaternion
    upright = 1 - 2 * (i * i + j * j)
    turn = math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k)) - thing.yaw
    return (
        math.hypot(x - thing.position[0], y - thing.position[1]) <= MOVED_M
        and abs(z) <= SUNK_M
        and abs(math.hypot(*quaternion) - 1) < 1e-3
        and upright >= LEANING
        and abs(math.remainder(turn, 2 * math.pi)) < 0.1
    )


def _check_arm(joints: tuple[float, ...], faults: FileFaults) -> None:
    inside = len(joints) == JOINTS and all(
        low <= joint <= high for joint, low, high in zip(joints, LOW, HIGH, strict=True)
    )
    if not inside:
        limits = ", ".join(f"{low:g} to {high:g}" for low, high in zip(LOW, HIGH, strict=True))
        faults.add(
            faults.at("scene.arm"), clip(list(joints)), say("{joints} angles: {limits}", joints=JOINTS, limits=limits)
        )
