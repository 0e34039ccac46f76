"""Layouts of the table as drawings to scale: SVG whose unit is the millimetre on paper, seen from above.

The arm is at the bottom of the sheet. World x points up the sheet and y to its left, as the arm sees it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from palestra.tracks.tabletop.case_catalogue import Catalogue, is_round
from palestra.tracks.tabletop.simulator.arm import BASE
from palestra.tracks.tabletop.simulator.cameras import CAMERAS
from palestra.tracks.tabletop.simulator.objects import (
    COLOURS,
    DRAWER_TRAVEL,
    HANDLE_REACH,
    SOCKET_RIM,
    TABLE_LENGTH,
    TABLE_WIDTH,
    VESSELS,
    WALL,
    Scene,
    Thing,
    footprint,
    half_extents,
    rotation,
)

LAYOUT_SCALE, TABLE_SCALE = 5, 10  # 1:5 and 1:10
GRID_M = 0.1
EDGE_M = 0.03  # of table around what lies on it
LEFT_MM, BOTTOM_MM, TOP_MM, RIGHT_MM = 9.0, 15.0, 3.0, 3.0  # for numbers and the scale bar
BASE_RADIUS_M = 0.09
LABEL_MM = 2.6  # radius of a number's circle
INK, SOFT, GRID, TABLE_FILL = "#14202b", "#5d6b78", "#d5dce2", "#faf8f4"


class Sheet:
    """A part of the table on paper. Methods add to it; `svg` gives what was drawn."""

    def __init__(self, scale: int, low: tuple[float, float], high: tuple[float, float]) -> None:
        self.scale = scale
        self.low, self.high = low, high  # x and y, in metres
        self.parts: list[str] = []

    @property
    def width_mm(self) -> float:
        return LEFT_MM + self.mm(self.high[1] - self.low[1]) + RIGHT_MM

    @property
    def height_mm(self) -> float:
        return TOP_MM + self.mm(self.high[0] - self.low[0]) + BOTTOM_MM

    def mm(self, metres: float) -> float:
        return metres * 1000 / self.scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A place of the table on the paper."""
        return LEFT_MM + self.mm(self.high[1] - y), TOP_MM + self.mm(self.high[0] - x)

    def line(self, a: tuple[float, float], b: tuple[float, float], **how: object) -> None:
        self.parts.append(f'<line x1="{a[0]:.2f}" y1="{a[1]:.2f}" x2="{b[0]:.2f}" y2="{b[1]:.2f}"{_how(how)}/>')

    def polygon(self, places: Sequence[Sequence[float]], **how: object) -> None:
        corners = " ".join("{:.2f},{:.2f}".format(*self.at(x, y)) for x, y in places)
        self.parts.append(f'<polygon points="{corners}"{_how(how)}/>')

    def circle(self, place: Sequence[float], radius_m: float, **how: object) -> None:
        x, y = self.at(*place)
        self.parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{self.mm(radius_m):.2f}"{_how(how)}/>')

    def text(self, place: tuple[float, float], said: str, size_mm: float = 2.8, **how: object) -> None:
        """Figures and short marks alone: nothing that anybody wrote, and nothing that has a language."""
        attributes = {"fill": SOFT, "text_anchor": "middle", **how}
        x, y = place
        self.parts.append(f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size_mm}"{_how(attributes)}>{said}</text>')

    def svg(self) -> str:
        size = f'width="{self.width_mm:.1f}mm" height="{self.height_mm:.1f}mm"'
        box = f'viewBox="0 0 {self.width_mm:.1f} {self.height_mm:.1f}"'
        return f'<svg {size} {box} aria-hidden="true" font-family="sans-serif">{"".join(self.parts)}</svg>'


def _how(attributes: dict[str, object]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())


def layout(scene: Scene, known: Catalogue) -> str:
    """A case's table at 1:5, cropped to what lies on it, with a grid of 100 mm."""
    corners = [corner for thing in scene.things for corner in footprint(thing, EDGE_M)]
    low_x, low_y = (min(min(corner[axis] for corner in corners), -0.03) for axis in (0, 1))
    high_x, high_y = (max(max(corner[axis] for corner in corners), 0.03) for axis in (0, 1))
    edge_x, edge_y = TABLE_LENGTH / 2, TABLE_WIDTH / 2
    low = max(_down(low_x), -edge_x), max(_down(low_y), -edge_y)
    high = min(-_down(-high_x), edge_x), min(-_down(-high_y), edge_y)
    sheet = Sheet(LAYOUT_SCALE, low, high)
    _ground(sheet)
    for thing in scene.things:
        _thing(sheet, thing)
    numbers = known.numbers(scene)
    for thing in scene.things:
        _number(sheet, thing, numbers[thing.id])
    _scale_bar(sheet, 200)
    return sheet.svg()


def _down(metres: float) -> float:
    """To a whole centimetre."""
    return math.floor(round(metres * 100, 6)) / 100


def overview() -> str:
    """The whole table at 1:10, with its measures, the arm's base and the cameras that stand beside it."""
    side = CAMERAS["side"].place
    low, high = (-TABLE_LENGTH / 2, min(-TABLE_WIDTH / 2, side[1]) - 0.12), (side[0] + 0.08, TABLE_WIDTH / 2 + 0.12)
    sheet = Sheet(TABLE_SCALE, (low[0] - 0.12, low[1]), high)
    half_x, half_y = TABLE_LENGTH / 2, TABLE_WIDTH / 2
    rim = [(-half_x, -half_y), (half_x, -half_y), (half_x, half_y), (-half_x, half_y)]
    sheet.polygon(rim, fill=TABLE_FILL, stroke=INK, stroke_width=0.5)
    _axes(sheet)
    sheet.circle(BASE[:2], BASE_RADIUS_M, fill="#ffffff", stroke=INK, stroke_width=0.4)
    _labelled(sheet, BASE[:2], "A")
    for name, letter in (("top", "T"), ("side", "S")):
        place = CAMERAS[name].place[:2]
        sheet.circle(place, 0.025, fill=INK)
        _labelled(sheet, (place[0], place[1] - 0.06), letter)
    _dimension(sheet, (-half_x - 0.07, -half_y), (-half_x - 0.07, half_y), f"{TABLE_WIDTH * 1000:.0f}")
    _dimension(sheet, (-half_x, half_y + 0.06), (half_x, half_y + 0.06), f"{TABLE_LENGTH * 1000:.0f}")
    _dimension(sheet, (-half_x, 0.16), (BASE[0], 0.16), f"{(BASE[0] + half_x) * 1000:.0f}")
    _dimension(sheet, (BASE[0], 0.16), (0.0, 0.16), f"{-BASE[0] * 1000:.0f}")
    _scale_bar(sheet, 500)
    return sheet.svg()


def _ground(sheet: Sheet) -> None:
    (low_x, low_y), (high_x, high_y) = sheet.low, sheet.high
    rim = [(low_x, low_y), (high_x, low_y), (high_x, high_y), (low_x, high_y)]
    sheet.polygon(rim, fill=TABLE_FILL, stroke=GRID, stroke_width=0.3)
    for y in _steps(low_y, high_y):
        sheet.line(sheet.at(low_x, y), sheet.at(high_x, y), stroke=GRID, stroke_width=0.15)
        x_mm, y_mm = sheet.at(low_x, y)
        sheet.text((x_mm, y_mm + 3.4), f"{y * 1000:.0f}", 2.3)
    for x in _steps(low_x, high_x):
        sheet.line(sheet.at(x, low_y), sheet.at(x, high_y), stroke=GRID, stroke_width=0.15)
        x_mm, y_mm = sheet.at(x, high_y)
        sheet.text((x_mm - 1, y_mm + 0.8), f"{x * 1000:.0f}", 2.3, text_anchor="end")
    _axes(sheet)


def _steps(low: float, high: float) -> Iterator[float]:
    first, last = math.ceil(round(low / GRID_M, 6)), math.floor(round(high / GRID_M, 6))
    return (number * GRID_M for number in range(first, last + 1))


def _axes(sheet: Sheet) -> None:
    """The origin, which is the middle of the table, and where x and y point."""
    origin = sheet.at(0, 0)
    length = sheet.mm(0.08 if sheet.scale == LAYOUT_SCALE else 0.14)
    for tip, name in (((origin[0], origin[1] - length), "x"), ((origin[0] - length, origin[1]), "y")):
        sheet.line(origin, tip, stroke=SOFT, stroke_width=0.35)
        across = 0.9 if name == "x" else 0.0
        back = (tip[0] + (0.0 if name == "x" else 2.0), tip[1] + (2.0 if name == "x" else 0.0))
        for sign in (-1, 1):  # an arrow's head
            barb = back[0] + sign * across, back[1] + sign * (0.9 - across)
            sheet.line(tip, barb, stroke=SOFT, stroke_width=0.35)
        sheet.text((tip[0] - 2.0, tip[1] + (2.4 if name == "x" else -1.2)), name, 3.0, font_style="italic")
    sheet.circle((0, 0), 0.9 * sheet.scale / 1000, fill=SOFT)


def _thing(sheet: Sheet, thing: Thing) -> None:
    fill = "#" + "".join(f"{round(255 * part):02x}" for part in COLOURS[thing.colour])
    look: dict[str, object] = {"fill": fill, "fill_opacity": 0.38, "stroke": INK, "stroke_width": 0.35}
    hollow: dict[str, object] = {"fill": "#ffffff", "fill_opacity": 0.55, "stroke": INK, "stroke_width": 0.2}
    half_x, half_y = half_extents(thing)
    if is_round(thing.kind):
        sheet.circle(thing.position, half_x, **look)
        if thing.kind in (*VESSELS, "plate"):
            sheet.circle(thing.position, half_x - (WALL if thing.kind != "plate" else 0.012), **hollow)
    else:
        sheet.polygon(_rectangle(thing, half_x, half_y), **look)
    if thing.kind == "box":
        sheet.polygon(_rectangle(thing, half_x - WALL, half_y - WALL), **hollow)
    if thing.kind == "socket":
        sheet.polygon(_rectangle(thing, half_x - SOCKET_RIM, half_y - SOCKET_RIM), **hollow)
    if thing.kind == "round_socket":
        sheet.circle(thing.position, half_x - SOCKET_RIM, **hollow)
    if thing.kind == "drawer":
        _drawer(sheet, thing)


def _drawer(sheet: Sheet, thing: Thing) -> None:
    """Its front where it stands at the start, and dashed how far it comes out."""
    half_x, half_y = half_extents(thing)
    for out, dash in ((thing.size[0], ""), (DRAWER_TRAVEL, "1.2 0.9")):
        front = _rectangle(thing, half_x, half_y, -out - HANDLE_REACH, -half_x)
        more = {"stroke_dasharray": dash} if dash else {}
        sheet.polygon(front, fill="none", stroke=INK, stroke_width=0.2, **more)


def _rectangle(
    thing: Thing, half_x: float, half_y: float, out: float = 0.0, high_x: float | None = None
) -> list[list[float]]:
    """Corners on the table; `out` moves the front, `high_x` the back."""
    back = half_x if high_x is None else high_x
    local = [(-half_x + out, -half_y), (back, -half_y), (back, half_y), (-half_x + out, half_y)]
    turn = rotation(thing.yaw)
    return [list(map(float, turn @ corner + thing.position)) for corner in local]


def _number(sheet: Sheet, thing: Thing, number: int) -> None:
    """Its number in the catalogue, and a stroke along its own x axis."""
    middle = sheet.at(*thing.position)
    if not is_round(thing.kind):
        far = half_extents(thing)[0] + 0.012
        tip = rotation(thing.yaw) @ (far, 0.0) + thing.position
        sheet.line(middle, sheet.at(float(tip[0]), float(tip[1])), stroke=INK, stroke_width=0.25)
    if sheet.mm(min(half_extents(thing))) < LABEL_MM + 0.6:  # beside it, so that it can be seen
        beside = middle[0] + 6.0, middle[1] - 4.5
        sheet.line(middle, beside, stroke=SOFT, stroke_width=0.2)
        middle = beside
    x, y = middle
    look = _how({"fill": "#ffffff", "stroke": INK, "stroke_width": 0.25})
    sheet.parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{LABEL_MM}"{look}/>')
    sheet.text((x, y + 1.1), str(number), 3.0, fill=INK, font_weight="bold")


def _labelled(sheet: Sheet, place: Sequence[float], letter: str) -> None:
    x, y = sheet.at(place[0], place[1])
    sheet.text((x, y + 1.2), letter, 3.6, fill=INK, font_weight="bold")


def _dimension(sheet: Sheet, low: tuple[float, float], high: tuple[float, float], said: str) -> None:
    """A measure between two places on one axis: a line with strokes at its ends and the millimetres beside it."""
    a, b = sheet.at(*low), sheet.at(*high)
    sheet.line(a, b, stroke=SOFT, stroke_width=0.2)
    upright = abs(a[0] - b[0]) < abs(a[1] - b[1])
    for end in (a, b):
        dx, dy = (1.2, 0.0) if upright else (0.0, 1.2)
        sheet.line((end[0] - dx, end[1] - dy), (end[0] + dx, end[1] + dy), stroke=SOFT, stroke_width=0.3)
    middle = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    if upright:
        turned = f"rotate(-90 {middle[0] - 1.2:.2f} {middle[1]:.2f})"
        sheet.text((middle[0] - 1.2, middle[1]), said, transform=turned)
    else:
        sheet.text((middle[0], middle[1] - 1), said)


def _scale_bar(sheet: Sheet, length_mm: int) -> None:
    """Shows what a printer did to the scale: measured with a ruler, it is `length_mm` ÷ scale."""
    left, top = LEFT_MM, sheet.height_mm - 6.5
    half = length_mm / sheet.scale / 2
    for number, fill in enumerate((INK, "#ffffff")):
        sheet.parts.append(
            f'<rect x="{left + number * half:.2f}" y="{top:.2f}" width="{half:.2f}" height="1.6" fill="{fill}" '
            f'stroke="{INK}" stroke-width="0.2"/>'
        )
    for number in range(3):
        sheet.text((left + number * half, top + 4.6), str(number * length_mm // 2), 2.4)
    sheet.text((left + 2 * half + 3.5, top + 4.6), "mm", 2.4, text_anchor="start")
    sheet.text((left + 2 * half + 3.5, top + 1.5), f"1:{sheet.scale}", 2.8, text_anchor="start", fill=INK)
