"""The readings of the on-site rules: presets, and the settings that an organiser may change."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from palestra.contest.match_sheet import Group
from palestra.errors import Told, UnknownName

TOTAL_MS = 55 * 60_000  # of a team, preparation and switching included: in every preset, and no setting
Draw = Literal["all", "team", "fixed"]


class MatchRules(msgspec.Struct, frozen=True, kw_only=True):
    """How a match is played and scored."""

    preset: Literal["seed", "english", "literal"] = "seed"
    groups: int = 5
    cases: int = 5  # of each group
    shape: Literal["about", "exact"] = "about"  # whether there may be more or fewer of them
    limit_per: Literal["group", "case"] = "group"
    limit_ms: int = 600_000
    retries: int = 2  # of a case
    counts: Literal["last", "best"] = "last"  # which attempt
    restarts: int = 1  # of a hung program, for a team
    draw: Draw = "team"  # of the order of groups: one for each team, one for all, or as they are listed
    mean: Literal["cases", "groups"] = "cases"  # a team's score: over all cases, or of the groups' means
    referees: int = 2  # at least, who mark independently
    appeal_ms: int = 1_800_000  # how long after publication a team may appeal
    online: str = "2/5"  # weight of the online score in the final one
    onsite: str = "3/5"

    def case_ms(self, cases: int) -> Fraction:
        """What an abandoned or unreached case is charged, in a group of so many."""
        return Fraction(self.limit_ms) if self.limit_per == "case" else Fraction(self.limit_ms, cases)


PRESETS = {
    "seed": MatchRules(),
    "english": MatchRules(preset="english", cases=2, shape="exact", limit_per="case", limit_ms=300_000, draw="all"),
    "literal": MatchRules(preset="literal", limit_per="case"),
}


def rules_from(settings: Mapping[str, str]) -> MatchRules:
    """Rules from a phase's settings: a preset, and what differs from it."""
    name = settings.get("preset", "seed")
    if name not in PRESETS:
        raise UnknownName("preset of match rules", name, PRESETS)
    fields = MatchRules.__struct_fields__
    for key in settings:
        if key not in fields:
            raise UnknownName("setting of match rules", key, fields)
    asked = {**msgspec.to_builtins(PRESETS[name]), **settings}
    try:
        rules = msgspec.convert(asked, MatchRules, strict=False)
    except msgspec.ValidationError as error:
        raise Told(
            f"A setting of the match rules cannot be read: {error}.", f"比赛规则的设置无法读取：{error}。"
        ) from None
    _check(rules)
    return rules


def _check(rules: MatchRules) -> None:
    if not 0 < rules.limit_ms <= TOTAL_MS:
        raise Told(
            f"limit_ms is {rules.limit_ms}; expected more than 0 and at most {TOTAL_MS}, which is 55 minutes.",
            f"limit_ms 为 {rules.limit_ms}；应大于 0 且不超过 {TOTAL_MS}（55 分钟）。",
        )
    if min(rules.retries, rules.restarts, rules.appeal_ms) < 0 or rules.referees < 2:
        raise Told(
            "Retries, restarts and the appeal window cannot be below 0, and it takes 2 referees or more.",
            "重试次数、重启次数和申诉时限不能为负，裁判不得少于 2 名。",
        )
    if sum(weights_of(rules)) != 1:
        raise Told(
            f"The weights {rules.online} and {rules.onsite} do not add up to 1.",
            f"线上与线下权重 {rules.online} 和 {rules.onsite} 之和不为 1。",
        )


def weights_of(rules: MatchRules) -> tuple[Fraction, Fraction]:
    """Of the online and the on-site score."""
    try:
        online, onsite = Fraction(rules.online), Fraction(rules.onsite)
    except (ValueError, ZeroDivisionError):
        raise Told(
            f"The weights {rules.online!r} and {rules.onsite!r} are not fractions such as 2/5 or 0.4.",
            f"权重 {rules.online!r} 和 {rules.onsite!r} 不是 2/5 或 0.4 这样的分数。",
        ) from None
    if min(online, onsite) < 0:
        raise Told("A weight cannot be below 0.", "权重不能为负。")
    return online, onsite


def check_shape(rules: MatchRules, groups: tuple[Group, ...]) -> None:
    """A preset with an exact shape has so many groups of so many cases."""
    found = [len(group.cases) for group in groups]
    if rules.shape == "exact" and found != [rules.cases] * rules.groups:
        raise Told(
            f"These rules have {rules.groups} groups of {rules.cases} cases; found groups of {found}. "
            'Set shape to "about" if that is meant.',
            f"本规则为 {rules.groups} 组、每组 {rules.cases} 个用例；现有各组用例数为 {found}。"
            '如确需如此，请将 shape 设为 "about"。',
        )
