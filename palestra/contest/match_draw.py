"""Orders that are drawn from a seed, so that anyone can draw them again; and equal slots for debugging."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

from palestra.contest.match_events import Slot
from palestra.contest.match_rules import Draw
from palestra.errors import Told


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


def check_slots(slots: Sequence[Slot], teams: Sequence[str]) -> None:
    """All teams have as many slots, as long ones, and nobody has the table at the same time as another."""
    if len({slot.closes - slot.opens for slot in slots}) != 1 or slots[0].closes <= slots[0].opens:
        raise Told("Debugging slots are equally long for all teams.", "各队的调试时段长度必须相同。")
    had = [sum(slot.team == team for slot in slots) for team in teams]
    if len(set(had)) != 1 or sum(had) != len(slots):
        raise Told("Every team has as many debugging slots as the others.", "各队的调试时段次数必须相同。")
    timed = sorted(slots, key=lambda slot: slot.opens)
    for one, two in pairwise(timed):
        if two.opens < one.closes:
            raise Told(f"The slots of {one.team} and {two.team} overlap.", f"{one.team} 与 {two.team} 的调试时段重叠。")
