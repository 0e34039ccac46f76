"""Orders that are drawn from a seed, so that anyone can draw them again; and equal slots for debugging."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise

from palestra.contest.match.events import Slot
from palestra.contest.match.rules import Draw
from palestra.errors import PalestraError
from palestra.text import say


def shuffled(names: Sequence[str], seed: str) -> tuple[str, ...]:
    """In the order of SHA-256 of "seed/name": no library's generator, so it can be checked with any tool."""
    return tuple(sorted(names, key=lambda name: hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()))


def group_orders(mode: Draw, seed: str, groups: Sequence[str], teams: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The order of groups for each team."""
    if mode == "fixed":
        return {team: tuple(groups) for team in teams}
    if mode == "all":
        return dict.fromkeys(teams, shuffled(groups, seed))
    return {team: shuffled(groups, f"{seed}/{team}") for team in teams}


def equal_slots(teams: Sequence[str], opens: int, length_ms: int, gap_ms: int = 0) -> tuple[Slot, ...]:
    """One slot for each team, one after the other."""
    starts = [opens + number * (length_ms + gap_ms) for number in range(len(teams))]
    return tuple(Slot(team, start, start + length_ms) for team, start in zip(teams, starts, strict=True))


def check_slots(slots: Sequence[Slot], names: Mapping[str, str], excused: bool = False) -> None:
    """All teams have as many slots, as long ones, and nobody has the table at the same time as another. A team may have
    fewer only where there is a reason for it."""
    lengths = {slot.closes - slot.opens for slot in slots}
    if len(lengths) > 1 or min(lengths, default=1) <= 0 or not (slots or excused):
        raise PalestraError(say("Debugging slots are equally long for all teams."))
    had = {sum(slot.team == team for slot in slots) for team in names}
    if len(had) > 1 and not excused:
        raise PalestraError(say("Every team has as many debugging slots as the others."))
    for one, two in pairwise(sorted(slots, key=lambda slot: slot.opens)):
        if two.opens < one.closes:
            first, second = (names.get(slot.team, slot.team) for slot in (one, two))
            raise PalestraError(say("The slots of {first} and {second} overlap.", first=first, second=second))
