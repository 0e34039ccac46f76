"""The reference layout of a case: recorded for a match, and drawn for its referees.

Drawings are to scale: one unit is one millimetre, seen from above, the arm below.
"""

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from palestra.tracks.tabletop.simulator.arm import BASE
from palestra.tracks.tabletop.simulator.case import Case
from palestra.tracks.tabletop.simulator.objects import TABLE_LENGTH, TABLE_WIDTH, footprint

PAPER, EDGE = "#f7f4ee", "#4a4f57"
ROOM_MM = 110
Place = tuple[int, int]  # mm from the corner of the table that is far and left
PAINTS = {
    "red": "#d1211f", "green": "#29943a", "blue": "#1f52c7", "yellow": "#f2c71a", "orange": "#f27314",
    "purple": "#75339e", "pink": "#f280ad", "turquoise": "#1ab8b3", "brown": "#663b1f",
}  # fmt: skip


class Laid(msgspec.Struct, frozen=True):
    number: int
    kind: str
    colour: str
    position_m: tuple[float, float]
    outline_m: tuple[tuple[float, float], ...]


class Layout(msgspec.Struct, frozen=True):
    table_m: tuple[float, float]  # away from the arm, and to its sides
    arm_m: tuple[float, float]
    things: tuple[Laid, ...]


def recorded(case: Case, numbers: Sequence[int]) -> bytes:
    """What stands where, in metres, with the ground that each thing covers; `numbers` are those of its things."""
    things = [
        {
            "number": number, "kind": thing.kind, "colour": thing.colour, "size_m": thing.size,
            "position_m": thing.position, "yaw_rad": thing.yaw,
            "outline_m": [[round(float(x), 4), round(float(y), 4)] for x, y in footprint(thing)],
        }
        for thing, number in zip(case.scene.things, numbers, strict=True)
    ]  # fmt: skip
    layout = {"case": case.id, "table_m": [TABLE_LENGTH, TABLE_WIDTH], "arm_m": list(BASE[:2]), "things": things}
    return msgspec.json.encode(layout, order="deterministic")


def drawing(layout: bytes) -> str:
    """An SVG of it. A referee stands behind the arm: what is far from it is above, its left is left."""
    found = msgspec.json.decode(layout, type=Layout)
    deep, wide = (round(1000 * length) for length in found.table_m)

    def place(corner: tuple[float, float]) -> Place:
        return round(wide / 2 - 1000 * corner[1]), round(deep / 2 - 1000 * corner[0])

    outlines = [[place(corner) for corner in thing.outline_m] for thing in found.things]
    arm = place(found.arm_m)
    parts = [_table(wide, deep), *_grid(wide, deep), _arm(*arm)]
    parts += [_thing(thing, corners) for thing, corners in zip(found.things, outlines, strict=True)]
    left, top, right, below = _around([arm, *(corner for corners in outlines for corner in corners)], wide, deep)
    view = Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="{} {} {} {}">')
    return str(view.format(left, top, right - left, below - top) + Markup("").join(parts) + Markup("</svg>"))


def _around(places: list[Place], wide: int, deep: int) -> tuple[int, int, int, int]:
    """What of the table is drawn: all that stands on it, with some room."""
    across, down = [x for x, _ in places], [y for _, y in places]
    return (
        max(min(across) - ROOM_MM, -5),
        max(min(down) - ROOM_MM, -5),
        min(max(across) + ROOM_MM, wide + 5),
        min(max(down) + ROOM_MM, deep + 5),
    )


def _table(wide: int, deep: int) -> Markup:
    rect = Markup('<rect width="{}" height="{}" fill="{}" stroke="{}" stroke-width="6"/>')
    return rect.format(wide, deep, PAPER, EDGE)


def _grid(wide: int, deep: int) -> list[Markup]:
    """Every 10 cm."""
    line = Markup('<path d="M{} {}L{} {}" stroke="#d9d4c8" stroke-width="2"/>')
    across = [line.format(x, 0, x, deep) for x in range(wide // 2 % 100, wide, 100)]
    return [*across, *(line.format(0, y, wide, y) for y in range(100, deep, 100))]


def _arm(x: int, y: int) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="60" fill="#c9ced6" stroke="{}" stroke-width="5"/>').format(x, y, EDGE)


def _thing(thing: Laid, corners: list[Place]) -> Markup:
    """What it covers, and its number of the catalogue beside it."""
    shape = Markup('<polygon points="{}" fill="{}" fill-opacity=".8" stroke="{}" stroke-width="4"{}/>')
    dashes = Markup(' stroke-dasharray="14 10"') if thing.kind == "drawer" else ""
    points = " ".join(f"{x},{y}" for x, y in corners)
    label = Markup(
        '<text x="{}" y="{}" font-size="46" font-weight="700" fill="#1d2127" stroke="#fff" stroke-width="9" '
        'paint-order="stroke" font-family="sans-serif">{}</text>'
    )
    x, y = max(x for x, _ in corners) + 6, min(y for _, y in corners) + 4
    return shape.format(points, PAINTS.get(thing.colour, "#9aa0a6"), EDGE, dashes) + label.format(x, y, thing.number)
