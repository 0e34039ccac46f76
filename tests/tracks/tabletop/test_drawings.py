"""Layouts of the manual, to scale."""

import re

import pytest

from palestra.tracks.tabletop.case_catalogue import catalogue
from palestra.tracks.tabletop.drawings import LAYOUT_SCALE, Sheet, layout, overview


def test_drawings_are_to_scale(cases):
    """A block of 40 mm is 8 mm on paper at 1:5, and the bar of 200 mm is 40."""
    known = catalogue(cases)
    case = next(case for case in cases if any(thing.kind == "block" for thing in case.scene.things))
    drawn = layout(case.scene, known)
    width, box = re.match(r'<svg width="([\d.]+)mm" height="[\d.]+mm" viewBox="0 0 ([\d.]+)', drawn).groups()
    assert width == box, "a unit of the drawing is a millimetre"
    bars = [float(value) for value in re.findall(r'<rect [^>]* width="([\d.]+)"', drawn)]
    assert bars == [20.0, 20.0]
    block = next(thing for thing in case.scene.things if thing.kind == "block")
    sides = [_longest(points) for points in re.findall(r'<polygon points="([^"]+)"', drawn)]
    assert any(abs(side - 1000 * block.size[0] / LAYOUT_SCALE) < 0.02 for side in sides)


def _longest(points: str) -> float:
    (ax, ay), (bx, by) = (tuple(map(float, pair.split(","))) for pair in points.split()[:2])
    return float(((ax - bx) ** 2 + (ay - by) ** 2) ** 0.5)


def test_left_of_the_arm_is_left_and_far_from_it_is_up():
    sheet = Sheet(LAYOUT_SCALE, (-0.2, -0.3), (0.4, 0.3))
    (left, _), (right, _) = sheet.at(0, 0.1), sheet.at(0, -0.1)
    (_, far), (_, near) = sheet.at(0.3, 0), sheet.at(-0.1, 0)
    assert left < right and far < near
    assert right - left == pytest.approx(40.0)


def test_the_whole_table_has_its_measures():
    assert all(f">{number}<" in overview() for number in ("1500", "1000", "420", "80"))
