"""A match as the contest file has it: by which readings of the rules it is played."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from palestra.contest.match_rules import PRESETS, MatchRules
from palestra.contest.rules import MatchPlan, Phase, Rules
from palestra.errors import Told


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
        raise Told(
            f"No match is planned{f' in {asked}' if asked else ''}: a phase needs [phase.match] in the contest file.",
            f"{f'赛段 {asked} ' if asked else ''}没有安排现场比赛：请在比赛文件的赛段中加入 [phase.match]。",
        )
    return found
