"""Who follows a run while it is under way, such as a screen: what it is told, and that it may end the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


class Follower(Protocol):
    """Someone who is told how a run goes, between two ticks. No call may wait: the stream would be late."""

    def begin(self, sittings: Sequence[Sitting], names: Sequence[str], refused: Mapping[str, Text]) -> None:
        """Who plays, and who cannot take part and why."""

    def stood(self, moment: Moment) -> None:
        """After each round of decisions, but not more often than TOLD_EVERY_S; and after each sitting."""

    def stopped(self) -> bool:
        """Whether the run is to end now. What was recorded until then stays."""
