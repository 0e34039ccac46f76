"""What is remembered of the table: sizes from the first look, places from the last, and what seems to be so."""

import math
from dataclasses import replace

import pytest

from palestra.tracks.tabletop.simulator.arm import HOME
from palestra.tracks.tabletop.simulator.objects import DRAWER_TRAVEL, Scene, Thing, overlap
from palestra.tracks.tabletop.simulator.table import Table, settle
from palestra.tracks.tabletop.solutions.instruction_parser import ANY, Named, Wish
from palestra.tracks.tabletop.solutions.scene_memory import Memory, reachable

BLOCK, BOWL, CAN = Named("red", "block"), Named("blue", "bowl"), Named("green", "can")
PLACED = {
    "block": Thing("red_block", "block", "red", (0.04,), (0.0, 0.0), 0.2),
    "bowl": Thing("blue_bowl", "bowl", "blue", (0.08, 0.05), (0.1, 0.2)),
    "can": Thing("green_can", "can", "green", (0.02, 0.06), (0.1, -0.2)),
}


def seen(*things):
    with Table(settle(Scene(things, HOME))) as table:
        return table.observe(["top"])


def laid(**places):
    """A picture of the table with some things elsewhere."""
    return seen(*(replace(thing, position=places.get(name, thing.position)) for name, thing in PLACED.items()))


def remembering(observation, *wishes):
    memory = Memory(wishes)
    memory.look(observation)
    return memory


@pytest.mark.parametrize(
    ("rule", "step"), [("left_of", (0, 1)), ("right_of", (0, -1)), ("behind", (1, 0)), ("in_front_of", (-1, 0))]
)
def test_sides_are_as_the_arm_sees_them(rule, step):
    wish = Wish(rule, (BLOCK, BOWL))
    x, y = PLACED["bowl"].position
    assert remembering(laid(block=(x + 0.15 * step[0], y + 0.15 * step[1])), wish).holds(wish)
    assert not remembering(laid(block=(x - 0.15 * step[0], y - 0.15 * step[1])), wish).holds(wish)


def test_apart_is_twenty_centimetres():
    wish = Wish("apart", (BLOCK, CAN))
    assert remembering(laid(), wish).holds(wish)
    assert not remembering(laid(block=(0.1, -0.1)), wish).holds(wish)


def test_a_thing_in_a_bowl_is_inside_and_one_beside_it_is_not():
    wish = Wish("inside", (BLOCK, BOWL))
    memory = remembering(laid(), wish)
    assert not memory.holds(wish)
    memory.look(laid(block=PLACED["bowl"].position))
    assert memory.holds(wish)


def test_any_bowl_is_the_nearest_one():
    near = Thing("pink_bowl", "bowl", "pink", (0.08, 0.05), (-0.1, -0.1))
    wish = Wish("inside", (CAN, Named(ANY, "bowl")))
    memory = remembering(seen(*PLACED.values(), near), wish)
    assert memory.known[wish.of[1]].thing.colour == "pink"


def test_what_lies_in_a_drawer_is_still_there_when_the_drawer_is_closed():
    drawer = Thing("d", "drawer", "pink", (DRAWER_TRAVEL,), (0.25, 0.0))
    inside, closed = Wish("inside", (BLOCK, Named("pink", "drawer"))), Wish("closed", (Named("pink", "drawer"),))
    block = replace(PLACED["block"], position=(-0.1, 0.2))
    memory = remembering(seen(drawer, block), inside, closed)
    assert not memory.holds(inside)
    assert not memory.holds(closed)
    memory.look(seen(drawer, replace(block, position=(0.1, 0.0))))
    assert memory.holds(inside)
    memory.look(seen(replace(drawer, size=(0.0,))))
    assert memory.holds(inside)
    assert memory.holds(closed)


def test_a_thing_of_the_same_colour_and_another_kind_is_not_taken_for_it():
    tray = Thing("red_tray", "tray", "red", (0.17, 0.17), (0.1, 0.0))
    things = [tray, replace(PLACED["block"], position=(-0.1, 0.1)), PLACED["can"]]
    memory = remembering(seen(*things), Wish("apart", (BLOCK, CAN)))
    memory.look(seen(tray, replace(PLACED["block"], position=(-0.12, -0.1)), PLACED["can"]))
    assert memory.known[BLOCK].thing.position == pytest.approx((-0.12, -0.1), abs=0.002)
    assert [each.thing.kind for each in memory.others] == ["tray"]


def test_what_was_never_seen_is_missing_and_holds_nothing():
    wish = Wish("on", (Named("yellow", "block"), BOWL))
    memory = remembering(laid(), wish)
    assert memory.missing(wish)
    assert not memory.holds(wish)


def test_a_free_place_is_free_within_reach_and_where_it_was_asked_for():
    wish = Wish("right_of", (BLOCK, BOWL))
    blocking = Thing("pink_block", "block", "pink", (0.04,), (0.1, 0.05))
    memory = remembering(seen(*PLACED.values(), blocking), wish)
    spot = memory.free_place(wish)
    assert reachable(spot)
    assert not overlap(replace(PLACED["block"], position=spot), blocking)
    away = (spot[0] - PLACED["bowl"].position[0], spot[1] - PLACED["bowl"].position[1])
    assert -0.25 < away[1] < -0.1
    assert abs(away[0]) < 0.08


def test_a_can_that_fell_over_is_known_to_lie():
    wish = Wish("apart", (CAN, BLOCK))
    scene = settle(Scene((PLACED["can"], PLACED["block"]), HOME))
    memory = Memory([wish])
    lying = (0.1, -0.2, 0.021, math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # about x, so that its axis is along y
    for settled in (scene.settled, {**scene.settled, "green_can": lying}):
        with Table(replace(scene, settled=settled)) as table:
            memory.look(table.observe(["top"]))
    assert memory.fallen == {CAN}
    assert abs(math.sin(memory.known[CAN].thing.yaw)) == pytest.approx(1, abs=0.05)
