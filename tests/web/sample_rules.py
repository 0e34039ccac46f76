"""Sample views of the rules: those of a real contest, and an amendment of them."""

from __future__ import annotations

import msgspec

from palestra.contest.rules.model import Quota, Rules
from palestra.contest.rules.reader import parse
from palestra.text import Words
from palestra.web.models import rules
from palestra.web.text.rules_in_words import sections
from palestra.web.views.rules import changes
from tests import ROOT
from tests.web.sample_contest import HOUR, rules_versions

FILE = ROOT / "contests" / "near-eye-2022.toml"
RULES = parse(FILE.read_text("utf-8"), FILE.name)


def amended() -> Rules:
    """With one more submission, another licence, a later end, and no limit of names."""
    first, final = RULES.phases
    licence = Words("For this contest alone, and for papers about it.", "仅限用于本次比赛及相关论文。")
    first = msgspec.structs.replace(first, quota=Quota(2, "week"), licence=licence, file_name="")
    final = msgspec.structs.replace(final, closes=final.closes + 5 * HOUR, freeze=final.opens + HOUR)
    return msgspec.structs.replace(RULES, phases=(first, final))


AMENDED = amended()


def rules_page() -> rules.RulesPage:
    newest, oldest = rules_versions()
    return rules.RulesPage(
        number=2,
        version=newest,
        standing="in_force",
        sections=tuple(sections(AMENDED)),
        amendments=(
            rules.Amendment(version=newest, changes=tuple(changes(RULES, AMENDED))),
            rules.Amendment(version=oldest),
        ),
        file="/api/rules/2/contest.toml",
    )
