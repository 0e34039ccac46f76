"""A case: an instruction with its scene and what it asks for. Needs numpy alone."""

from dataclasses import dataclass

from palestra.tracks.tabletop.simulator.goals import SubGoal
from palestra.tracks.tabletop.simulator.objects import Scene

GROUPS = ("pick", "place", "stack", "insert", "long")  # as the rules name them


@dataclass(frozen=True)
class Case:
    """One instruction with its scene and what it asks for."""

    id: str
    group: str  # of GROUPS
    hidden: bool
    instruction: dict[str, tuple[str, ...]]  # language → the same wish in several wordings
    scene: Scene
    goals: tuple[SubGoal, ...]  # empty where they are not to be known

    def said(self, language: str, wording: int = 0) -> str:
        """The instruction in a language."""
        return self.instruction[language][wording]
