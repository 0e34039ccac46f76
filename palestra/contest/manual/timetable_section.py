"""When who has the table: debugging slots, equal for all, and the running order of the teams."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.contest.manual.blocks import Block, Cell, Grid, Heading, Prose, Section
from palestra.contest.match import Match, Slot, timetable_of
from palestra.contest.rules import MatchPlan, Phase, Rules, local, told
from palestra.text import Words

HEAD = (Words("day", "日期"), Words("time", "时间"), Words("team", "队伍"))


def times(rules: Rules, phase: Phase, match: Match | None) -> Section:
    """As the match has it once it was settled there, else as the contest file makes it."""
    plan = phase.match or MatchPlan()
    teams = _teams(rules, phase, match)
    found = timetable_of(phase, rules.zone, teams, match.setup.slots if match else ())
    names = {one.team: one.name for one in match.opened.teams} if match else {}
    blocks: list[Block] = [
        Prose(_opens(phase, rules.zone)),
        Heading(Words("Debugging slots", "调试时段")),
        Prose(_slots(plan, match)),
        _table(found.slots, rules.zone, names),
        Heading(Words("Running order", "出场顺序")),
        Prose(_order(match, plan)),
        _table(found.turns, rules.zone, names),
    ]
    if found.late_ms:
        minutes = -(-found.late_ms // 60_000)
        late = Words(
            f"This does not fit: the last turn ends {minutes} minutes after the phase. Plan fewer teams or more time.",
            f"时间不足：最后一场在赛段结束后 {minutes} 分钟才完成。请减少队伍或延长时间。",
        )
        blocks.append(Prose(late))
    return Section("timetable", Words("Timetable", "日程"), tuple(blocks))


def _teams(rules: Rules, phase: Phase, match: Match | None) -> list[str]:
    """Those of the match in their order; before it is opened, as many places as the phase has."""
    if match:
        return list(match.setup.order or [one.team for one in match.opened.teams])
    top = next((one.promotion.top for one in rules.phases if one.promotion and one.promotion.to == phase.id), 1)
    return [f"#{number}" for number in range(1, top + 1)]


def _opens(phase: Phase, zone: str) -> Words:
    opens, closes = ([told(at, zone, name) for name in ("en", "zh")] for at in (phase.opens, phase.closes))
    return Words(f"From {opens[0]} to {closes[0]}.", f"{opens[1]} 至 {closes[1]}。")


def _slots(plan: MatchPlan, match: Match | None) -> Words:
    if match and match.setup.slots:
        minutes = (match.setup.slots[0].closes - match.setup.slots[0].opens) // 60_000
        return Words(
            f"{minutes} minutes each, with the robot, the table and practice scenes.",
            f"每个时段 {minutes} 分钟，使用机器人、桌面和练习场景。",
        )
    minutes = plan.slot_ms // 60_000
    return Words(
        f"One slot of {minutes} minutes for each team, with the robot, the table and practice scenes.",
        f"每队一个 {minutes} 分钟的调试时段，使用机器人、桌面和练习场景。",
    )


def _order(match: Match | None, plan: MatchPlan) -> Words:
    gap = plan.gap_ms // 60_000
    if match and match.setup.order:
        return Words(
            f"The order was set in public. 55 minutes for each team, {gap} minutes between two.",
            f"出场顺序已公开确定。每队 55 分钟，队间间隔 {gap} 分钟。",
        )
    return Words(
        f"55 minutes for each team, {gap} minutes between two. Which team has which place is drawn in public.",
        f"每队 55 分钟，队间间隔 {gap} 分钟。各队的出场顺序当众抽签决定。",
    )


def _table(slots: Sequence[Slot], zone: str, names: dict[str, str]) -> Grid:
    return Grid(HEAD, tuple(_row(slot, zone, names) for slot in slots), figures=(1,))


def _row(slot: Slot, zone: str, names: dict[str, str]) -> tuple[Cell, ...]:
    day = Words(*(_day(slot.opens, zone, language) for language in ("en", "zh")))
    opens, closes = (f"{local(at, zone):%H:%M}" for at in (slot.opens, slot.closes))
    return day, f"{opens}–{closes}", names.get(slot.team, slot.team)


def _day(at: int, zone: str, language: str) -> str:
    """Without the clock, which stands beside it."""
    said = told(at, zone, language)
    return said.partition("）")[0] + "）" if language == "zh" else said.partition(",")[0]
