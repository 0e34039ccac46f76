"""What pages about the rules are given. See models/public.py."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.text import Words
from palestra.web.models.public import RulesVersion


class RuleRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rule in words."""

    key: str  # by which it is found again in another version: "phase.preliminary.quota"
    label: Words
    value: Words = Words()
    at: int | None = None  # where the value is a time
    long: bool = False  # several sentences


class RuleSection(msgspec.Struct, frozen=True, kw_only=True):
    """Rules about one thing: the contest, a phase, the final standing, the awards."""

    id: str
    title: Words
    rows: tuple[RuleRow, ...]


class RuleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that is another one in a later version."""

    section: Words
    label: Words
    before: RuleRow | None = None  # null: it is new
    after: RuleRow | None = None  # null: it is gone


class Amendment(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the rules, and what it changed in the one before."""

    version: RulesVersion
    changes: tuple[RuleChange, ...] = ()


class RulesPage(msgspec.Struct, frozen=True, kw_only=True):
    number: int  # of the version that is shown
    version: RulesVersion
    standing: Literal["in_force", "coming", "past"]
    sections: tuple[RuleSection, ...]
    amendments: tuple[Amendment, ...]  # newest first
    file: str = ""  # address of the same rules as a contest file


class FileLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a contest file that is compared with another one."""

    kind: Literal["same", "gone", "new", "gap"]
    text: str = ""
