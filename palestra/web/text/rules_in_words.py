"""Rules in words, in both languages: what each key of a contest file says, for people who never saw the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from palestra.contest.rules import (
    CONTEST,
    MATCH,
    PHASE,
    PROMOTION,
    REGISTRATION,
    VERIFICATION,
    Key,
    Phase,
    Rules,
    calendar,
    held_on_stage,
    track_of,
    value_parsers,
)
from palestra.text import Words, joined, said, said_count, say, say_as, say_count, words_of
from palestra.web.models import RuleRow, RuleSection
from palestra.web.text import numbers
from palestra.web.text.choices import CHOICES

NOT_TOLD = {
    "contest": ("id", "name"),
    "phase": ("id", "title", "data", "rehearsal"),
}  # in headings, or nobody's business
LONG = ("about", "declaration", "licence")
TIMES = (value_parsers.opening, value_parsers.closing)
OF_PROGRAMS = ("pace", "timing", "held", "changes")  # say nothing where files are handed in
PARTS = {"promotion": PROMOTION, "verification": VERIFICATION, "match": MATCH}


def sections(rules: Rules) -> list[RuleSection]:
    """All that rules say."""
    contest = [*_rows(rules, CONTEST, "contest", rules), *_rows(rules, REGISTRATION, "registration", rules)]
    found = [RuleSection(id="contest", title=rules.name, rows=tuple(contest))]
    found += [
        RuleSection(id=f"phase-{phase.id}", title=phase.title, rows=tuple(_phase(rules, phase)))
        for phase in rules.phases
    ]
    found += [RuleSection(id="weights", title=say("Final standing"), rows=tuple(_weights(rules)))] * bool(rules.weights)
    found += [RuleSection(id="awards", title=say_as("rule", "Awards"), rows=tuple(_awards(rules)))] * bool(rules.awards)
    return found


def _phase(rules: Rules, phase: Phase) -> Iterator[RuleRow]:
    yield from _rows(phase, PHASE, "phase", rules, f"phase.{phase.id}")
    for name, keys in PARTS.items():
        if (table := getattr(phase, name)) is not None:
            yield from _rows(table, keys, name, rules, f"phase.{phase.id}.{name}")


def _rows(table: Any, keys: Mapping[str, Key], kind: str, rules: Rules, place: str = "") -> Iterator[RuleRow]:
    for name, key in keys.items():
        value = _value(table, name, key)
        if name in NOT_TOLD.get(kind, ()) or value in (None, "", (), {}, Words()) or _is_idle(table, name, value):
            continue
        label = say(CHOICES[f"rule_{kind}"][name])
        where = f"{place or kind}.{name}"
        if key.read in TIMES:
            yield RuleRow(key=where, label=label, at=value)
        else:
            yield RuleRow(key=where, label=label, value=_told(table, kind, name, key, rules), long=name in LONG)


def _value(table: Any, name: str, key: Key) -> Any:
    """What a key says; where programs are played also where the file leaves it to the default."""
    if name == "held" and not table.match:  # there, every other rule says so
        return "on-stage" if held_on_stage(table) else "online"
    return getattr(table, key.field or name)


def _is_idle(table: Any, name: str, value: Any) -> bool:
    """Whether a rule has nothing to say beside the others."""
    if name == "notice":
        return not value
    if name == "freeze_own":
        return table.freeze is None
    return name in OF_PROGRAMS and not track_of(table).live


def _weights(rules: Rules) -> Iterator[RuleRow]:
    for name, share in rules.weights.items():
        told = numbers.share(share)
        yield RuleRow(key=f"weights.{name}", label=rules.phase(name).title, value=Words(told, told))


def _awards(rules: Rules) -> Iterator[RuleRow]:
    for number, award in enumerate(rules.awards):
        whose = rules.phase(award.phase).title if award.phase else say("Final standing")
        told = say_count("for {count} team, by {board}", "for {count} teams, by {board}", award.count, board=whose)
        yield RuleRow(key=f"awards.{number}", label=award.title, value=told)


# Values


def _told(table: Any, kind: str, name: str, key: Key, rules: Rules) -> Words:
    value = _value(table, name, key)
    if isinstance(value, Words):
        return value
    if name == "track":
        return words_of(track_of(table).title)
    if (kind, name) == ("promotion", "to"):
        return rules.phase(value).title
    if key.read in _HOW:
        return Words(_HOW[key.read]("en", value), _HOW[key.read]("zh", value))
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    chosen = CHOICES.get(f"rule_choice_{name}", {}).get(value)
    return say(chosen) if chosen else Words.same(f"{value:g}" if isinstance(value, float) else str(value))


def _metric(language: str, name: str) -> str:
    if name == "earlier":
        return said(language, "who was earlier")
    known = CHOICES["metric"].get(name)
    return said(language, known) if known else name


def _scores(language: str, value: str | float) -> str:
    if isinstance(value, str):
        return said(language, CHOICES["rule_choice_scores"][value])
    return said(language, "rounded to {step}", step=f"{value:g}")


def _listed(language: str, names: Any) -> str:
    return joined(names).in_language(language)


_HOW: dict[value_parsers.Reader, Callable[[str, Any], str]] = {
    value_parsers.quota: numbers.quota,
    value_parsers.size: lambda _, value: numbers.size(value),
    value_parsers.length: lambda language, value: calendar.duration(value).in_language(language),
    value_parsers.working_days: lambda language, value: said_count(
        language, "{count} working day", "{count} working days", value
    ),
    value_parsers.share: lambda _, value: numbers.share(value),
    value_parsers.scores: _scores,
    value_parsers.days: _listed,
    value_parsers.weekend_days: _listed,
    value_parsers.ties: lambda language, value: _listed(language, [_metric(language, name) for name in value]),
    value_parsers.settings: lambda language, value: _listed(
        language, [f"{name} = {text}" for name, text in value.items()]
    ),
}


def as_public(rules: Rules) -> Rules:
    """Rules without where the data lies on the organiser's machine."""
    return msgspec.structs.replace(
        rules, phases=tuple(msgspec.structs.replace(phase, data="", rehearsal="") for phase in rules.phases)
    )
