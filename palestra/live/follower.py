"""Who follows a run while it is under way, such as a screen: what it is told, and that it may end the run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from palestra.errors import PalestraError
from palestra.live.standings import Standing
from palestra.records import Sitting
from palestra.text import Text

TOLD_EVERY_S = 0.25  # a follower is told no more often, however fast decisions come


class Stopped(PalestraError):
    """Whoever follows the run wants it to end."""


@dataclass(frozen=True)
class Moment:
    """How things stand at one moment of a run, when everybody has decided what was asked."""

    sitting: int  # from 0
    at_s: float  # since the start of the sitting
    standings: Sequence[Standing]  # best first; they go on counting, so what is to be kept is copied
    deadline_s: float | None  # of the newest decision


Keep = Callable[[str, Path], None]  # another version of an entrant's program, by its name


class Follower(Protocol):
    """Someone who is told how a run goes, between two ticks. No call may wait, but for `hand_in`: the stream would be
    late."""

    def begin(self, sittings: Sequence[Sitting], names: Sequence[str], refused: Mapping[str, Text]) -> None:
        """Who plays, and who cannot take part and why."""

    def stood(self, moment: Moment) -> None:
        """After each round of decisions, but not more often than TOLD_EVERY_S; and after each sitting."""

    def window(self, sitting: str, closes_in_s: float) -> None:
        """From now on entrants may change their program, for so long, before this sitting."""

    def hand_in(self, sitting: str, keep: Keep) -> None:
        """The window before a sitting has closed: keep what was handed in. No clock runs meanwhile."""

    def took(self, sitting: str, refused: Mapping[str, Text]) -> None:
        """All that was kept for this sitting plays from now on, but for what could not, and why."""

    def stopped(self) -> bool:
        """Whether the run is to end now. What was recorded until then stays."""
