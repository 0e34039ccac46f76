"""The readings of the on-site rules: presets, and the settings that an organiser may change."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import msgspec

from palestra.contest.match.cases import Group
from palestra.contest.rules import MatchPlan, Phase, Rules
from palestra.errors import PalestraError
from palestra.text import say

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


def weights_of(rules: MatchRules) -> tuple[Fraction, Fraction]:
    """Of the online and the on-site score."""
    return Fraction(rules.online), Fraction(rules.onsite)


def check_shape(rules: MatchRules, groups: tuple[Group, ...]) -> None:
    """A preset with an exact shape has so many groups of so many cases."""
    found = [len(group.cases) for group in groups]
    if rules.shape == "exact" and found != [rules.cases] * rules.groups:
        raise PalestraError(
            say(
                "These rules have {groups} groups of {cases} cases; found groups of {found}. Set "
                'shape to "about" if that is meant.',
                groups=rules.groups,
                cases=rules.cases,
                found=found,
            )
        )


def match_rules(rules: Rules, phase_id: str, plan: MatchPlan | None = None) -> MatchRules:
    """The readings by which a phase's match is played: those of the contest file, where no others are given."""
    plan = plan or rules.phase(phase_id).match or MatchPlan()
    preset = PRESETS[plan.preset]
    onsite = weight_of(rules, phase_id)
    return msgspec.structs.replace(
        preset,
        draw=plan.draw or preset.draw,
        counts=plan.counts,
        mean=plan.mean,
        retries=plan.retries,
        restarts=plan.restarts,
        referees=plan.referees,
        appeal_ms=plan.appeal_ms,
        online=str(1 - onsite),
        onsite=str(onsite),
    )


def weight_of(rules: Rules, phase_id: str) -> Fraction:
    """Of a phase in the final standing, as it is written: 0.6 is 3/5. Where nothing is weighted, it is all there is."""
    return Fraction(str(rules.weights.get(phase_id, 0 if rules.weights else 1)))


def phase_of_match(rules: Rules, asked: str = "") -> Phase:
    """The phase that is asked for, else the first that is played at a table."""
    phases = [rules.phase(asked)] if asked else rules.phases
    found = next((phase for phase in phases if phase.match), None)
    if found is None:
        if asked:
            raise PalestraError(
                say("No match is planned in {phase}: it needs [phase.match] in the contest file.", phase=asked)
            )
        raise PalestraError(say("No match is planned: a phase needs [phase.match] in the contest file."))
    return found
