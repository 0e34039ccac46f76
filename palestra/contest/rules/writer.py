"""Rules written as a contest file: what is read from the text are the same rules again.

What stands in the rules and how it is read are in keys.py; here is the way back. Comments of the file that the
rules came from are not in the log, so they are not here either; editor.py changes a file that has some. What is as it
would be without a word is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from palestra.contest.rules import calendar, value_parsers
from palestra.contest.rules.keys import AWARD, CONTEST, MATCH, PHASE, PROMOTION, REGISTRATION, VERIFICATION, Key
from palestra.contest.rules.model import Phase, Quota, Rules
from palestra.text import Words

PARTS = {"promotion": PROMOTION, "verification": VERIFICATION, "match": MATCH}  # tables within a phase
LENGTHS = (
    ("week", 7 * calendar.DAY_MS),
    ("day", calendar.DAY_MS),
    ("h", calendar.HOUR_MS),
    ("min", calendar.MINUTE_MS),
)
SIZES = ("TB", "GB", "MB", "kB", "B", "TiB", "GiB", "MiB", "KiB")

Writer = Callable[[Any, str], str]  # a value and the contest's zone; the same as TOML


def written(rules: Rules) -> str:
    """A contest file that says these rules."""
    parts = [table_text("[contest]", rules, CONTEST, rules.zone)]
    if (rules.registration_opens, rules.registration_closes) != (None, None):
        parts.append(table_text("[registration]", rules, REGISTRATION, rules.zone))
    parts += [phase_text(phase, rules.zone) for phase in rules.phases]
    if rules.weights:
        parts.append(weights_text(rules.weights))
    parts += [table_text("[[award]]", award, AWARD, rules.zone) for award in rules.awards]
    return "\n".join(parts)


def phase_text(phase: Phase, zone: str) -> str:
    tables = [table_text("[[phase]]", phase, PHASE, zone)]
    for name, keys in PARTS.items():
        if (part := getattr(phase, name)) is not None:
            tables.append(table_text(f"[phase.{name}]", part, keys, zone))
    return "\n".join(tables)


def weights_text(weights: Mapping[str, float]) -> str:
    return "\n".join(["[weights]", *(f"{name} = {share!r}" for name, share in weights.items()), ""])


def table_text(header: str, table: msgspec.Struct, keys: Mapping[str, Key], zone: str) -> str:
    """A line for each key whose value is another one than it has without."""
    usual, lines = usual_values(table), [header]
    for name, key in keys.items():
        value = getattr(table, key.field or name)
        if (key.needed or value != usual[key.field or name]) and (text := value_text(key, value, zone)):
            lines.append(f"{name} = {text}")
    return "\n".join([*lines, ""])


def usual_values(table: msgspec.Struct) -> dict[str, Any]:
    """What each field has where the file says nothing."""
    return {field.name: field.default for field in msgspec.structs.fields(table)}


def value_text(key: Key, value: Any, zone: str) -> str:
    """A value as TOML; empty where a file says it by saying nothing."""
    if value in (None, "", (), {}, Words()) or (key.read is value_parsers.length and not value):
        return ""
    return WRITERS.get(key.read, _plain)(value, zone)


# Values, each the other way round than value_parsers.py has them


def _plain(value: Any, zone: str = "") -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_plain(one) for one in value) + "]"
    return repr(value)


def _text(value: str) -> str:
    """In quotes; what has several lines between three of them, so that it can be read."""
    if "\n" not in value or "\r" in value:
        return _escaped(json.dumps(value, ensure_ascii=False))
    lines = [json.dumps(line, ensure_ascii=False)[1:-1] for line in value.split("\n")]
    return _escaped('"""\n' + "\n".join(lines) + '"""')


def _escaped(quoted: str) -> str:
    """JSON leaves some invisible letters as they are, which TOML does not take."""
    return re.sub(r"[\x7f\x80-\x9f\u2028\u2029\ufeff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def in_toml(value: Words) -> str:
    """A text in both languages; in one where it has no other."""
    if not value.zh:
        return _text(value.en)
    both = ((language, getattr(value, language)) for language in value_parsers.LANGUAGES)
    return "{ " + ", ".join(f"{language} = {_text(text)}" for language, text in both if text) + " }"


def _settings(value: Mapping[str, str], zone: str) -> str:
    return "{ " + ", ".join(f"{_name(name)} = {_text(text)}" for name, text in value.items()) + " }"


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _escaped(json.dumps(name, ensure_ascii=False))


def _days(value: tuple[str, ...], zone: str) -> str:
    return "[" + ", ".join(value) + "]"


def _moment(read: value_parsers.Reader, day_adds: timedelta) -> Writer:
    """A day where the time is the one that a day stands for; else a time on the clocks of the zone, with its offset
    where clocks showed it twice."""

    def write(value: int, zone: str) -> str:
        there = calendar.local(value, zone)
        for candidate in ((there - day_adds).date(), there.replace(tzinfo=None)):
            if reads_as(read, candidate, zone) == value:
                return candidate.isoformat()
        return there.isoformat()

    return write


def reads_as(read: value_parsers.Reader, candidate: Any, zone: str) -> Any:
    """What is read from a value of the file; nothing where it would be refused."""
    try:
        return read(candidate, zone)
    except value_parsers.Unfit:
        return None


def _length(value: int, zone: str = "") -> str:
    name, unit_ms = next(pair for pair in LENGTHS if value % pair[1] == 0)
    count = value // unit_ms
    return _text(f"{count} {name}{'s' if count > 1 and name in ('week', 'day') else ''}")


def _quota(value: Quota, zone: str) -> str:
    stretch = value.per if value.per != "window" else _length(value.window_ms).strip('"')
    return _text(f"{value.count} per {stretch}")


def _size(value: int, zone: str) -> str:
    """By the first unit of which it is one or more, and with which it reads back as the same."""
    for unit in SIZES:
        count = value / value_parsers.size(f"1 {unit}", zone)
        amount = f"{count:.3f}".rstrip("0").rstrip(".")
        if count >= 1 and reads_as(value_parsers.size, f"{amount} {unit}", zone) == value:
            return _text(f"{amount} {unit}")
    return _text(f"{value} B")


def _working_days(value: int, zone: str) -> str:
    return _text(f"{value} working day{'s' if value > 1 else ''}")


WRITERS: dict[value_parsers.Reader, Writer] = {
    value_parsers.words: lambda value, zone: in_toml(value),
    value_parsers.settings: _settings,
    value_parsers.days: _days,
    value_parsers.weekend_days: _days,
    value_parsers.opening: _moment(value_parsers.opening, timedelta()),
    value_parsers.closing: _moment(value_parsers.closing, timedelta(milliseconds=1)),
    value_parsers.length: _length,
    value_parsers.quota: _quota,
    value_parsers.size: _size,
    value_parsers.working_days: _working_days,
}
