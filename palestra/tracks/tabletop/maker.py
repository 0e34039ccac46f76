"""A synthetic data set for the table: cases to practise on, hidden ones, and their sub-goals apart."""

from functools import partial
from pathlib import Path

from palestra.datasets import write_made
from palestra.records import Order, Part, Plan
from palestra.tracks.tabletop import format as on_disk

TRACK = "tabletop-manip-v1"
WEIGHT = 1  # of a case


def plan(order: Order) -> Plan:
    from palestra.tracks.tabletop.simulator.case import GROUPS
    from palestra.tracks.tabletop.simulator.case_generator import SIZES

    numbers = range(1, SIZES[order.size] + 1)
    chosen = [(group, hidden, number) for group in GROUPS for hidden in (False, True) for number in numbers]
    parts = [_part(order, *case) for case in chosen]
    return Plan(parts, parts[0], partial(_finish, order))


def _part(order: Order, group: str, hidden: bool, number: int) -> Part:
    from palestra.tracks.tabletop.simulator.case_generator import case_id

    return Part(case_id(group, hidden, number), WEIGHT, partial(_write, order, group, hidden, number))


def _write(order: Order, group: str, hidden: bool, number: int, folder: Path) -> None:
    from palestra.tracks.tabletop.simulator.case_generator import draw_case

    for name in ("cases", "hidden", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    on_disk.write_case(draw_case(order.seed, hidden, group, number), folder)


def _finish(order: Order, folder: Path) -> None:
    """What needs all cases: drawn once more, which takes less than reading them with care."""
    from palestra.tracks.tabletop.simulator.case_generator import draw_cases

    on_disk.write_cases([*draw_cases(order.size, order.seed, False), *draw_cases(order.size, order.seed, True)], folder)
    write_made(order, TRACK, folder)
