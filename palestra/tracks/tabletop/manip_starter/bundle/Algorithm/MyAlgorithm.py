"""A first program to change: finds two coloured things from above, takes the first and lets go of it over the second.

It understands colours and nothing else: no "left of", no drawers, no second sentence. The class and its two methods
keep their names.
"""

import re

import numpy as np

FOCAL, MIDDLE = 393.943492758, 128.0  # of the top camera; data/cameras.json has all three
COLOURS = {
    "red": (0.82, 0.13, 0.12), "green": (0.16, 0.58, 0.22), "blue": (0.12, 0.32, 0.78), "yellow": (0.95, 0.78, 0.10),
    "orange": (0.95, 0.45, 0.08), "purple": (0.46, 0.20, 0.62), "pink": (0.95, 0.50, 0.68),
    "turquoise": (0.10, 0.72, 0.70), "brown": (0.40, 0.23, 0.12),
}  # fmt: skip
CARRY_Z, STEP_M = 0.26, 0.02  # how high things are carried; how far the hand moves in 50 ms
GAIN = 0.3  # of what is missing: the hand lags behind, and who asks for all of it at once overshoots
OPEN, SHUT = 1.0, 0.0


def places(observation, colour):
    """The points (n, 3) of the table's things that have this colour, in the world. Change me: shadows are dark."""
    rgb, depth = observation["rgb_top"] / 255.0, observation["depth_top"]
    hues = rgb / rgb.sum(axis=2, keepdims=True).clip(0.05)
    wanted = np.array([np.array(value) / sum(value) for value in COLOURS.values()])
    nearest = np.linalg.norm(hues[:, :, None] - wanted, axis=3).argmin(axis=2) == list(COLOURS).index(colour)
    rows, columns = np.nonzero(nearest & (rgb.max(axis=2) - rgb.min(axis=2) > 0.25))
    z = depth[rows, columns]
    points = np.stack([(columns - MIDDLE) / FOCAL * z, (rows - MIDDLE) / FOCAL * z, z, np.ones_like(z)])
    found = (observation["pose_top"] @ points)[:3].T
    return found[(found[:, 2] > 0.003) & (np.abs(found[:, 1]) < 0.7)]


class MyAlgorithm:
    """Lives through all cases, one after the other."""

    def reset(self, about):
        """A case begins. The instruction is in both languages; this program reads the English one."""
        words = re.findall("|".join(COLOURS), about["instruction"].lower())
        self.colours = list(dict.fromkeys(words))[:2]
        self.plan = None

    def act(self, observation):
        """One action: the hand's move (metres) and turn (rotation vector) in world axes, and the gripper, 0 to 1."""
        if self.plan is None:
            self.plan = self.planned(observation)
        hand = observation["hand_pose"][:3, 3]
        while self.plan and np.linalg.norm(self.plan[0][:3] - hand) < 0.006 and self.plan[0][4] <= 0:
            self.plan.pop(0)
        if not self.plan:
            return {"actions": [], "done": True}
        goal = self.plan[0]
        goal[4] -= 1  # how many more actions it takes to open or shut
        move = GAIN * (goal[:3] - hand)
        move *= min(1.0, STEP_M / max(np.linalg.norm(move), 1e-9))
        return np.array([*move, 0, 0, 0, goal[3]])

    def planned(self, observation):
        """Where the hand goes: x, y, z, gripper, and how many actions it stays there at least."""
        found = [places(observation, colour) for colour in self.colours]
        if len(found) < 2 or min(map(len, found)) < 5:
            return []
        taken, goal = (np.median(points, axis=0) for points in found)
        top, under = found[0][:, 2].max(), np.percentile(found[1][:, 2], 90)
        grip = max(top - 0.02, 0.012)
        drop = under + grip + 0.012
        stops = [
            (*taken[:2], CARRY_Z, OPEN, 0), (*taken[:2], grip, OPEN, 4), (*taken[:2], grip, SHUT, 12),
            (*taken[:2], CARRY_Z, SHUT, 2), (*goal[:2], CARRY_Z, SHUT, 8), (*goal[:2], drop, SHUT, 6),
            (*goal[:2], drop, OPEN, 12), (*goal[:2], CARRY_Z, OPEN, 10),
        ]  # fmt: skip
        return [np.array(stop, float) for stop in stops]
