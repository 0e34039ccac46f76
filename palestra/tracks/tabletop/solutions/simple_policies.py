"""Policies to compare with, which see what an entrant sees: nothing done, chance, and hovering."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.solutions.camera_policy import Acting, Camera
from palestra.tracks.tabletop.solutions.motions import SLOW

RANDOM_CHUNK, RANDOM_STEP = 10, 0.06  # actions at once; rad that a joint moves in one of them, in the mean
HOVER_S = 2.0


class DoNothing:
    """Stays where it is, and says at once that it is done."""

    def reset(self, about: Mapping[str, Any]) -> None:
        pass

    def act(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        return {"actions": np.array([[*observation["joints"], *observation["gripper"]]]), "done": True}


class Random:
    """Moves its joints and its gripper by chance, the same way each time; it is never done."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def reset(self, about: Mapping[str, Any]) -> None:
        self._chance = np.random.default_rng(self._seed)

    def act(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        steps = self._chance.normal(0.0, RANDOM_STEP, (RANDOM_CHUNK, arm.JOINTS)).cumsum(axis=0)
        joints = np.clip(np.asarray(observation["joints"]) + steps, arm.LOW, arm.HIGH)
        gripper = np.full((RANDOM_CHUNK, 1), self._chance.random())
        return {"actions": np.hstack([joints, gripper]), "done": False}


class Hover(Camera):
    """Takes what the first wish names to where it belongs, and never lets go of it: no rule may count that."""

    def _play(self) -> Acting:
        yield from self._look()
        wish = next((wish for wish in self._wishes if len(wish.of) == 2 and not self._memory.missing(wish)), None)
        if wish is None:
            return
        grasp = self._grasp(wish.of[0])
        yield from self._do(self._arm.take(grasp))
        place, yaw = self._hand_at(wish, grasp)
        yaw = self._arm.nearest_yaw(place, yaw, half_turns=False)
        yield from self._do(self._arm.go_above(place, yaw))
        yield from self._do(chain(self._arm.line(place, yaw, SLOW), self._arm.wait(round(HOVER_S * arm.CONTROL_HZ))))
