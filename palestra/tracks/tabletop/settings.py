"""The readings of the rules of tabletop-manip-v1 that an organiser may change, and how often a program acts."""

from typing import Literal

import msgspec

PERIOD_S = 0.05  # 20 Hz


class Settings(msgspec.Struct, frozen=True):
    """Readings of the rules that an organiser may change."""

    limit_s: float = 90.0  # of a case, in the world's own time
    waits: bool = False  # lock-step, for debugging: the world stands still while a program thinks
    cases: Literal["hidden", "practice"] = "hidden"  # which are played; where nothing is hidden, those to practise on
    size: int = 256  # pixels of the cameras' pictures, each way
    physics: str = ""  # the version of MuJoCo; another one gives other end states
