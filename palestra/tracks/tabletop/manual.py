"""What a match's manual says of the table: criteria, equipment and objects, layouts, cameras, interfaces."""

import math
from pathlib import Path

from palestra.contest.manual import Block, Cell, Drawing, Grid, Heading, Prose, Section
from palestra.text import Words
from palestra.tracks.tabletop import format as on_disk
from palestra.tracks.tabletop.case_catalogue import (
    GROUP_TITLES,
    Catalogue,
    catalogue,
    colour_words,
    criterion,
    general,
    hole_text,
    is_round,
    kind_words,
    size_text,
)
from palestra.tracks.tabletop.drawings import LAYOUT_SCALE, TABLE_SCALE, layout, overview
from palestra.tracks.tabletop.interfaces import interfaces
from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.arm import CONTROL_HZ
from palestra.tracks.tabletop.simulator.cameras import CAMERAS, calibration
from palestra.tracks.tabletop.simulator.goals import ALWAYS_EN, ALWAYS_ZH, RULES
from palestra.tracks.tabletop.simulator.objects import CLEARANCE, TABLE_LENGTH, TABLE_WIDTH, Thing

CAMERA_WORDS = {"top": Words("top", "顶部"), "side": Words("side", "侧面"), "wrist": Words("wrist", "腕部")}


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
    always = Words(
        f"For every sub-goal: {ALWAYS_EN} It is judged at the end.", f"所有子目标：{ALWAYS_ZH}以结束时的状态判定。"
    )
    rows = tuple((Words(name), general(name)) for name in RULES)
    blocks: list[Block] = [
        Prose(always),
        Grid((Words("condition", "条件"), Words("holds when", "成立标准")), rows),
        Heading(Words("Practice cases", "练习用例")),
        Prose(
            Words(
                "Cases of the match have other layouts, colours, objects and wordings. Their sub-goals use the "
                "conditions above.",
                "正式比赛用例的布局、颜色、物体和措辞均不同，其子目标使用上述条件。",
            )
        ),
    ]
    for case in cases:
        blocks += _case(case)
    return Section("criteria", Words("Sub-goals and their criteria", "子目标及判定标准"), tuple(blocks))


def _case(case: on_disk.Case) -> list[Block]:
    title = GROUP_TITLES[case.group]
    rows = tuple((Words(goal.en, goal.zh), criterion(goal, case.scene)) for goal in case.goals)
    return [
        Heading(Words(f"{case.id} · {title.en}", f"{case.id} · {title.zh}")),
        Prose(Words(f"“{case.said('en')}”", f"“{case.said('zh')}”")),
        Grid((Words("sub-goal", "子目标"), Words("met when", "判定标准")), rows),
    ]


# Equipment


def _equipment(cases: list[on_disk.Case], known: Catalogue) -> Section:
    blocks: list[Block] = [
        Grid((), _machines()),
        Heading(Words("Numbered objects", "物品目录")),
        Prose(
            Words(
                "Of the practice cases, the same for all teams. Sizes in millimetres: length × width × height, or "
                "⌀ diameter × height.",
                "练习用例所用物品，各队相同。尺寸单位为毫米：长 × 宽 × 高，或 ⌀ 直径 × 高。",
            )
        ),
        _objects(cases, known),
    ]
    return Section("equipment", Words("Equipment and objects", "设备与物品"), tuple(blocks))


def _machines() -> tuple[tuple[Cell, ...], ...]:
    low, high = (", ".join(f"{math.degrees(value):.0f}" for value in limits) for limits in (arm.LOW, arm.HIGH))
    base = ", ".join(f"{1000 * value:.0f}" for value in arm.BASE[:2])
    clear, opens = f"{1000 * CLEARANCE:.0f}", f"{1000 * arm.OPEN_WIDTH:.0f}"
    return (
        (Words("table", "桌面"), f"{1000 * TABLE_WIDTH:.0f} × {1000 * TABLE_LENGTH:.0f} mm"),
        (Words("axes", "坐标系"), Words("origin: the middle of its surface; x away from the arm, y to its left, z up",
                                     "原点为桌面中心；x 远离机械臂，y 指向其左侧，z 向上")),
        (Words("arm", "机械臂"), Words(f"7 joints; base at ({base}) mm", f"7 个关节；基座位于 ({base}) mm")),
        (Words("joint limits", "关节范围"), f"{low}° … {high}°"),
        (Words("joint speed", "关节速度"), f"≤ {arm.SPEED:g} rad/s"),
        (Words("gripper", "夹爪"), Words(f"two fingers, opens to {opens} mm", f"两指，最大张开 {opens} mm")),
        (Words("control", "控制"), f"{CONTROL_HZ} Hz"),
        (Words("cameras", "相机"), Words("three RGB-D cameras: top, side, wrist", "三台 RGB-D 相机：顶部、侧面、腕部")),
        (Words("pegs and sockets", "插销与孔座"), Words(f"{clear} mm of room on each side", f"单边间隙 {clear} mm")),
    )  # fmt: skip


def _objects(cases: list[on_disk.Case], known: Catalogue) -> Grid:
    numbers = {case.id: known.numbers(case.scene) for case in cases}
    examples = {numbers[case.id][thing.id]: thing for case in cases for thing in case.scene.things}
    head = (
        Words("no.", "编号"), Words("kind", "种类"), Words("colour", "颜色"), Words("size, mm", "尺寸，mm"),
        Words("hole, mm", "孔，mm"), Words("in cases", "用于"),
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
        Words(
            f"The table, 1:{TABLE_SCALE}, from above. A: the arm's base. T: the top camera at ({top}) mm. S: the side "
            f"camera at ({side}) mm. Measures in millimetres.",
            f"桌面俯视图，1:{TABLE_SCALE}。A：机械臂基座；T：顶部相机，位于 ({top}) mm；S：侧面相机，位于 ({side}) mm。"
            "单位：毫米。",
        ),
    )  # fmt: skip
    blocks: list[Block] = [
        Prose(
            Words(
                "Printed at 100 %, drawings are to scale; the bar shows what a printer made of it. A stroke from an "
                "object's number points along its own x axis.",
                "按 100 % 打印时图纸即为标注比例；可用比例尺核对。编号处引出的短线表示物体自身的 x 轴方向。",
            )
        ),
        whole,
    ]
    for case in cases:
        blocks += [Heading(Words(case.id, case.id)), *_layout(case, known)]
    return Section("layouts", Words("Layouts of the practice cases", "练习用例布局图"), tuple(blocks))


def _layout(case: on_disk.Case, known: Catalogue) -> list[Block]:
    caption = Words(
        f"Layout of {case.id}, 1:{LAYOUT_SCALE}, grid 100 mm.", f"{case.id} 布局图，1:{LAYOUT_SCALE}，网格 100 mm。"
    )
    head = (Words("no.", "编号"), Words("object", "物品"), "x, mm", "y, mm", Words("turned, °", "转角，°"))
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
            Words(
                f"Pictures of {size} × {size} pixels, without distortion. Camera axes: x right, y down, z ahead. Pixel "
                "centres are at half numbers. A pose maps camera axes to the world, of the wrist's camera to the hand "
                "(the point between the fingertips, observed as hand_pose). Lengths in metres.",
                f"图像为 {size} × {size} 像素，无畸变。相机坐标系：x 向右，y 向下，z 向前；像素中心位于半整数处。"
                "位姿矩阵把相机坐标变换到世界坐标；腕部相机变换到手部（两指尖中点，即观测中的 hand_pose）。"
                "长度单位为米。",
            )
        )
    ]
    for name, one in found.items():
        where = Words("to the hand", "到手部") if one["relative_to"] == "hand" else Words("to the world", "到世界")
        title = CAMERA_WORDS[name]
        blocks += [
            Heading(Words(f"Camera: {title.en}", f"{title.zh}相机")),
            _matrix(one["intrinsics"], 3, Words("Intrinsics, pixels", "内参，像素")),
            _matrix(one["pose"], 6, Words(f"Extrinsics, {where.en}", f"外参（{where.zh}）")),
        ]
    return Section("cameras", Words("Camera calibration", "相机标定"), tuple(blocks))


def _matrix(rows: list[list[float]], digits: int, caption: Words) -> Grid:
    cells = tuple(tuple(f"{value:.{digits}f}" for value in row) for row in rows)
    return Grid((), cells, figures=tuple(range(len(rows[0]))), caption=caption)
