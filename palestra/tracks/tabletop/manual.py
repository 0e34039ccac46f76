"""What a match's manual says of the table: criteria, equipment and objects, layouts, cameras, interfaces."""

import math
from pathlib import Path

from palestra.contest.manual import Block, Cell, Drawing, Grid, Heading, Prose, Section
from palestra.text import Words, say
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.case_catalogue import (
    GROUP_TITLES,
    Catalogue,
    catalogue,
    colour_words,
    criterion,
    hole_text,
    is_round,
    kind_words,
    size_text,
)
from palestra.tracks.tabletop.criteria import always, general
from palestra.tracks.tabletop.drawings import LAYOUT_SCALE, TABLE_SCALE, layout, overview
from palestra.tracks.tabletop.interfaces import interfaces
from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.arm import CONTROL_HZ
from palestra.tracks.tabletop.simulator.cameras import CAMERAS, calibration
from palestra.tracks.tabletop.simulator.goals import RULES
from palestra.tracks.tabletop.simulator.objects import CLEARANCE, TABLE_LENGTH, TABLE_WIDTH, Thing

CAMERA_WORDS = {"top": say("top"), "side": say("side"), "wrist": say("wrist")}


def sections(data: Path, size: int) -> list[Section]:
    """From the practice cases alone: no hidden file is opened. `size`: of the cameras' pictures."""
    cases = on_disk.read_cases(data, hidden=False)
    known = catalogue(cases)
    return [
        _criteria(cases),
        _equipment(cases, known),
        _layouts(cases, known),
        _cameras(size),
        interfaces(size, CONTROL_HZ),
    ]


# When a sub-goal is met


def _criteria(cases: list[on_disk.Case]) -> Section:
    rows = tuple((Words(name), general(name)) for name in RULES)
    blocks: list[Block] = [
        Prose(always()),
        Grid((say("condition"), say("holds when")), rows),
        Heading(say("Practice cases")),
        Prose(
            say(
                "Cases of the match have other layouts, colours, objects and wordings. Their "
                "sub-goals use the conditions above."
            )
        ),
    ]
    for case in cases:
        blocks += _case(case)
    return Section("criteria", say("Sub-goals and their criteria"), tuple(blocks))


def _case(case: on_disk.Case) -> list[Block]:
    title = GROUP_TITLES[case.group]
    rows = tuple((Words(goal.en, goal.zh), criterion(goal, case.scene)) for goal in case.goals)
    return [
        Heading(Words(f"{case.id} · {title.en}", f"{case.id} · {title.zh}")),
        Prose(Words(f"“{case.said('en')}”", f"“{case.said('zh')}”")),
        Grid((say("sub-goal"), say("met when")), rows),
    ]


# Equipment


def _equipment(cases: list[on_disk.Case], known: Catalogue) -> Section:
    blocks: list[Block] = [
        Grid((), _machines()),
        Heading(say("Numbered objects")),
        Prose(
            say(
                "Of the practice cases, the same for all teams. Sizes in millimetres: length × "
                "width × height, or ⌀ diameter × height."
            )
        ),
        _objects(cases, known),
    ]
    return Section("equipment", say("Equipment and objects"), tuple(blocks))


def _machines() -> tuple[tuple[Cell, ...], ...]:
    low, high = (", ".join(f"{math.degrees(value):.0f}" for value in limits) for limits in (arm.LOW, arm.HIGH))
    base = ", ".join(f"{1000 * value:.0f}" for value in arm.BASE[:2])
    clear, opens = f"{1000 * CLEARANCE:.0f}", f"{1000 * arm.OPEN_WIDTH:.0f}"
    return (
        (say("table"), f"{1000 * TABLE_WIDTH:.0f} × {1000 * TABLE_LENGTH:.0f} mm"),
        (say("axes"), say("origin: the middle of its surface; x away from the arm, y to its left, z up")),
        (say("arm"), say("7 joints; base at ({base}) mm", base=base)),
        (say("joint limits"), f"{low}° … {high}°"),
        (say("joint speed"), f"≤ {arm.SPEED:g} rad/s"),
        (say("gripper"), say("two fingers, opens to {opens} mm", opens=opens)),
        (say("control"), f"{CONTROL_HZ} Hz"),
        (say("cameras"), say("three RGB-D cameras: top, side, wrist")),
        (say("pegs and sockets"), say("{clear} mm of room on each side", clear=clear)),
    )  # fmt: skip


def _objects(cases: list[on_disk.Case], known: Catalogue) -> Grid:
    numbers = {case.id: known.numbers(case.scene) for case in cases}
    examples = {numbers[case.id][thing.id]: thing for case in cases for thing in case.scene.things}
    head = (
        say("no."), say("kind"), say("colour"), say("size, mm"),
        say("hole, mm"), say("in cases"),
    )  # fmt: skip
    rows = []
    for thing in known.things:
        used = [name for name, found in numbers.items() if thing.number in found.values()]
        hole = hole_text(examples[thing.number]) if thing.model.endswith("socket") else ""
        kind, colour = kind_words(thing.model), colour_words(thing.colour)
        rows.append((str(thing.number), kind, colour, size_text(thing), hole, ", ".join(used)))
    return Grid(head, tuple(rows), figures=(0, 3, 4))


# Layouts


def _layouts(cases: list[on_disk.Case], known: Catalogue) -> Section:
    side = ", ".join(f"{1000 * value:.0f}" for value in CAMERAS["side"].place)
    top = ", ".join(f"{1000 * value:.0f}" for value in CAMERAS["top"].place)
    whole = Drawing(
        overview(),
        say("The table, 1:{table_scale}, from above. A: the arm's base. T: the top camera at "
"({top}) mm. S: the side camera at ({side}) mm. Measures in millimetres.", table_scale=TABLE_SCALE, top=top, side=side),
    )  # fmt: skip
    blocks: list[Block] = [
        Prose(
            say(
                "Printed at 100 %, drawings are to scale; the bar shows what a printer made of it. A "
                "stroke from an object's number points along its own x axis."
            )
        ),
        whole,
    ]
    for case in cases:
        blocks += [Heading(Words(case.id, case.id)), *_layout(case, known)]
    return Section("layouts", say("Layouts of the practice cases"), tuple(blocks))


def _layout(case: on_disk.Case, known: Catalogue) -> list[Block]:
    caption = say("Layout of {id}, 1:{layout_scale}, grid 100 mm.", id=case.id, layout_scale=LAYOUT_SCALE)
    head = (say("no."), say("object"), "x, mm", "y, mm", say("turned, °"))
    names = {thing.number: thing.name for thing in known.things}
    numbers = known.numbers(case.scene)
    standing = sorted((numbers[thing.id], thing) for thing in case.scene.things)
    rows = [(str(number), names[number], *_place(thing)) for number, thing in standing]
    return [Drawing(layout(case.scene, known), caption), Grid(head, tuple(rows), figures=(0, 2, 3, 4))]


def _place(thing: Thing) -> tuple[str, str, str]:
    x, y = (f"{1000 * value:.1f}" for value in thing.position)
    return x, y, "" if is_round(thing.kind) else f"{math.degrees(thing.yaw):.1f}"


# Cameras


def _cameras(size: int) -> Section:
    found = calibration(size)
    blocks: list[Block] = [
        Prose(
            say(
                "Pictures of {size} × {size} pixels, without distortion. Camera axes: x right, y "
                "down, z ahead. Pixel centres are at half numbers. A pose maps camera axes to the "
                "world, of the wrist's camera to the hand (the point between the fingertips, observed "
                "as hand_pose). Lengths in metres.",
                size=size,
            )
        )
    ]
    for name, one in found.items():
        where = say("to the hand") if one["relative_to"] == "hand" else say("to the world")
        title = CAMERA_WORDS[name]
        blocks += [
            Heading(say("Camera: {title}", title=title)),
            _matrix(one["intrinsics"], 3, say("Intrinsics, pixels")),
            _matrix(one["pose"], 6, say("Extrinsics, {where}", where=where)),
        ]
    return Section("cameras", say("Camera calibration"), tuple(blocks))


def _matrix(rows: list[list[float]], digits: int, caption: Words) -> Grid:
    cells = tuple(tuple(f"{value:.{digits}f}" for value in row) for row in rows)
    return Grid((), cells, figures=tuple(range(len(rows[0]))), caption=caption)
