"""The policy that sees: cameras, its own body and the instruction are all that it knows of the table.

It looks from home, where the arm hides nothing, brings about one wish, and looks again; what failed, it tries again.
"""

import math
from collections.abc import Generator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.objects import (
    CABINET_LENGTH,
    DRAWER_TRAVEL,
    FLOOR,
    HANDLE_REACH,
    KINDS,
    Thing,
    half_extents,
    height_of,
)
from palestra.tracks.tabletop.solutions.detector import Sighted, reach_in_hand
from palestra.tracks.tabletop.solutions.instruction_parser import Named, Wish, understand
from palestra.tracks.tabletop.solutions.motions import (
    CARRY_Z,
    PADS_BELOW,
    SLOW,
    Arm,
    Grasp,
    Motion,
    choose_grasp,
    grip_width,
)
from palestra.tracks.tabletop.solutions.scene_memory import Memory, surface

Array = npt.NDArray[np.float64]
Acting = Generator[list[Array], None, None]  # chunks of actions; when it goes on, a new observation is there

ROUNDS, TRIES = 2, 3  # through all wishes, and at one wish
CHUNK = 20  # actions at once: a second, so that thinking stays short
HANDLE_Z = 0.045
ABOVE = 0.003  # m, from where something is let go
SLIPPED = 0.010  # m, by which the fingers are closer than what they should hold
SLIP = 0.015  # m, the most that is believed
AT_HOME = 0.02  # rad


class Camera:
    """Plays a case with what an entrant sees."""

    def reset(self, about: Mapping[str, Any]) -> None:
        """Begin; the instruction may come here or with the first observation."""
        self._wishes = _wishes(about)
        self._acting: Acting | None = None

    def act(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """The next actions, and whether all is done that can be."""
        self._seen = observation
        if self._acting is None:
            self._wishes = self._wishes or _wishes(observation)
            self._memory = Memory(self._wishes)
            self._arm = Arm(np.array([*observation["joints"], 1.0]))
            self._acting = self._play()
        chunk = next(self._acting, None)
        return {"actions": np.array(chunk or [self._arm.action()]), "done": chunk is None}

    def _play(self) -> Acting:
        for _ in range(ROUNDS):
            for wish in self._wishes:
                yield from self._bring_about(wish)
            yield from self._look()
            if all(self._memory.holds(wish) for wish in self._wishes):
                return

    def _do(self, motion: Motion) -> Acting:
        """Carry out a motion, a chunk at a time."""
        chunk: list[Array] = []
        for action in motion:
            chunk.append(action)
            if len(chunk) == CHUNK:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _look(self) -> Acting:
        """Go out of the camera's way, let everything come to rest, and see."""
        away = float(np.abs(self._arm.joints - arm.HOME).max()) > AT_HOME
        yield from self._do(chain(self._arm.home() if away else (), self._arm.wait(6 if away else 1)))
        self._memory.look(self._seen)

    def _bring_about(self, wish: Wish) -> Acting:
        for _ in range(TRIES):
            yield from self._look()
            if self._memory.missing(wish) or self._memory.holds(wish):
                return
            if wish.rule == "inserted" and wish.of[0] in self._memory.fallen:
                return  # fingers that point down cannot stand it up
            if wish.rule in ("closed", "opened"):
                yield from self._slide(wish.of[0], wish.rule == "opened")
            else:
                yield from self._move(wish)

    def _move(self, wish: Wish) -> Acting:
        name, other = wish.of
        if other.kind == "drawer" and not self._memory.holds(Wish("opened", (other,))):
            yield from self._slide(other, opening=True)
            yield from self._look()
        grasp = self._grasp(name)
        yield from self._do(chain(self._arm.take(grasp), self._arm.wait(2)))
        if not self._holds(name):
            yield from self._do(self._arm.grip(1.0, 2))
            return
        place, yaw = self._hand_at(wish, grasp)
        yaw = self._arm.nearest_yaw(place, yaw, half_turns=False)
        yield from self._do(chain(self._arm.go_above(place, yaw), self._arm.wait(3)))
        place = place - self._slip(name) * arm.pointing_down(place, yaw)[:3, 0]
        yield from self._do(self._arm.put(place, yaw, grip_width(self._memory.known[name].thing)))
        if other.kind == "drawer":
            self._memory.drop_into_drawer(name)

    def _holds(self, name: Named) -> bool:
        """Whether the fingers are as far apart as what they should hold is wide."""
        width = float(self._seen["gripper"][0]) * arm.OPEN_WIDTH
        return width > grip_width(self._memory.known[name].thing) - SLIPPED

    def _slip(self, name: Named) -> float:
        """How far what is held has slipped along the hand's x: the fingers hold it in the middle of their y alone."""
        thing = self._memory.known[name].thing
        ahead = reach_in_hand(self._seen, thing.colour)
        if ahead is None or name in self._memory.fallen:
            return 0.0
        return float(np.clip(ahead - half_extents(thing)[0], -SLIP, SLIP))

    def _hand_at(self, wish: Wish, grasp: Grasp) -> tuple[Array, float]:
        """Where the hand lets go of what it holds: the fingers took it by its middle."""
        place, yaw = self._destination(wish)
        above = grasp.place[2] - self._memory.known[wish.of[0]].bottom
        return place + [0.0, 0.0, above], self._hand_yaw(wish.of[0], yaw)

    def _grasp(self, name: Named) -> Grasp:
        seen = self._memory.known[name]
        return choose_grasp(seen.thing, _pose(seen, name in self._memory.fallen), self._memory.things(without=[name]))

    def _hand_yaw(self, name: Named, yaw: float | None) -> float:
        """How to turn the hand so that what it holds is turned to `yaw`; as it is, where that does not matter."""
        hand = self._arm.pose()
        now = math.atan2(hand[1, 0], hand[0, 0])
        step = {"block": math.pi / 2, "peg": math.pi / 2, "brick": math.pi}.get(name.kind)
        if yaw is None or step is None or name in self._memory.fallen:
            return now
        wrong = yaw - self._memory.known[name].thing.yaw
        return now + wrong - step * round(wrong / step)

    def _destination(self, wish: Wish) -> tuple[Array, float | None]:
        """Where a thing's bottom shall be when it is let go, and how it shall be turned."""
        thing, other = (self._memory.known[name] for name in wish.of)
        x, y = other.thing.position
        if wish.rule == "inserted":
            return np.array([x, y, 0.004 + ABOVE]), other.thing.yaw
        if wish.rule == "inside" and other.thing.kind == "drawer":
            return self._into_drawer(other.thing), None
        if wish.rule == "inside":
            return self._into_vessel(wish, thing, other), None
        if wish.rule in ("on", "either_on"):
            yaw = None if KINDS[other.thing.kind].round else other.thing.yaw
            x, y = self._free_spot(wish)
            return np.array([x, y, other.bottom + surface(other.thing) + ABOVE]), yaw
        return np.array([*self._memory.free_place(wish), ABOVE]), None

    def _into_vessel(self, wish: Wish, thing: Sighted, vessel: Sighted) -> Array:
        kind, spot = vessel.thing.kind, self._free_spot(wish)
        grip = choose_grasp(thing.thing, np.eye(4), []).place[2]
        # In a narrow vessel the fingers must stay above the rim; in a wide one they fit in.
        rim = height_of(vessel.thing) + 0.004 + PADS_BELOW - grip
        low = FLOOR + (0.02 if kind == "bowl" else 0.008)
        return np.array([*spot, vessel.bottom + (max(low, rim) if kind == "cup" else low)])

    def _into_drawer(self, drawer: Thing) -> Array:
        """The part that stands out of the cabinet."""
        out = -(CABINET_LENGTH / 2 + DRAWER_TRAVEL / 2 - 0.006)
        across = (0.0, 0.05, -0.05)[min(self._memory.inside_drawer(), 2)]
        c, s = math.cos(drawer.yaw), math.sin(drawer.yaw)
        return np.array([drawer.position[0] + c * out - s * across, drawer.position[1] + s * out + c * across, 0.03])

    def _free_spot(self, wish: Wish) -> tuple[float, float]:
        """Where to put something on or in another thing: in the middle, or far from the first where two share it."""
        name, other = wish.of
        host = self._memory.known[other].thing
        guests = {each.of[0] for each in self._wishes if each.rule in ("on", "inside") and each.of[1] == other}
        if host.kind not in ("tray", "box") or len(guests) < 2:
            return host.position
        size = max(half_extents(self._memory.known[name].thing))
        half_x, half_y = (half - size - 0.012 for half in half_extents(host))
        c, s = math.cos(host.yaw), math.sin(host.yaw)
        steps = [(x * half_x, y * half_y) for x in (-1, 1) for y in (-1, 1)]
        spots = [(host.position[0] + c * x - s * y, host.position[1] + s * x + c * y) for x, y in steps]
        lying = [each.position for each in self._memory.things(without=[name, other])]
        return max(spots, key=lambda spot: min([math.dist(spot, each) for each in lying], default=0.0))

    def _slide(self, name: Named, opening: bool) -> Acting:
        """Take a drawer by its handle, pull or push it, and let go."""
        drawer, hand = self._memory.known[name].thing, self._arm
        start, goal = drawer.size[0], DRAWER_TRAVEL + 0.004 if opening else -0.004
        yaw = hand.nearest_yaw(np.array([*drawer.position, 0.0]), drawer.yaw + math.pi / 2)
        hand.gripper = 0.55
        yield from self._do(hand.go_above(_handle(drawer, start), yaw, CARRY_Z - 0.06))
        yield from self._do(hand.line(_handle(drawer, start), yaw, SLOW * 1.5))
        yield from self._do(hand.grip(0.0))
        yield from self._do(hand.line(_handle(drawer, goal), yaw, SLOW))
        yield from self._do(chain(hand.wait(4), hand.grip(0.45, 6), hand.raise_to(CARRY_Z)))


def _wishes(about: Mapping[str, Any]) -> tuple[Wish, ...]:
    """What the English or the Chinese instruction asks for, whichever says more."""
    texts = (about.get("instruction"), about.get("instruction_zh"))
    return max((understand(text) for text in texts if isinstance(text, str)), key=len, default=())


def _handle(drawer: Thing, opening: float) -> Array:
    out = CABINET_LENGTH / 2 - 0.004 + HANDLE_REACH - 0.005 + opening
    c, s = math.cos(drawer.yaw), math.sin(drawer.yaw)
    return np.array([drawer.position[0] - out * c, drawer.position[1] - out * s, HANDLE_Z])


def _pose(seen: Sighted, fallen: bool) -> Array:
    """(4, 4) Of the middle of a thing's bottom; the axis of one that fell over is level."""
    c, s = math.cos(seen.thing.yaw), math.sin(seen.thing.yaw)
    pose = np.eye(4)
    pose[:2, 3], pose[2, 3] = seen.thing.position, seen.bottom
    if not fallen:
        pose[:2, :2] = [[c, -s], [s, c]]
        return pose
    pose[:3, :3] = np.array([[0, -s, c], [0, c, s], [-1, 0, 0]])
    pose[:3, 3] -= pose[:3, 2] * height_of(seen.thing) / 2
    pose[2, 3] = grip_width(seen.thing) / 2
    return pose
