"""Values of a contest file as people write them: "1 per week", "200 MB", 2022-08-01, { en = "…", zh = "…" }.

Each reader takes what TOML holds and the contest's zone, and gives what the rules keep. `Unfit` says what else was
expected.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from palestra.contest.rules.calendar import DAY_MS, HOUR_MS, MINUTE_MS, as_ms, start_of
from palestra.contest.rules.model import Quota
from palestra.errors import clip, nearest_name
from palestra.text import LANGUAGES, Message, Text, Words, joined, message, say

Reader = Callable[[Any, str], Any]

QUOTA = message('"3 per day", "1 per week", "10 per phase", "5 per 24 h" or "2 per 7 days sliding"')
LENGTH = message('"90 min", "24 h", "3 days" or "2 weeks"')
SIZE = message('"200 MB", "1.5 GB" or "500 kB"')
DAYS = message("days without quotes, such as [2022-10-03, 2022-10-04]")
ZONE = message('a time zone by its place, such as "Asia/Shanghai", "Europe/Zurich" or "UTC"')
YEARS = (1970, 2999)
PACKAGE = "package:"  # begins the name of a pip package among the places of tracks
MOST_PLACES = 16  # of a contest's tracks

_LENGTHS = {
    **dict.fromkeys(("min", "minute", "minutes"), MINUTE_MS),
    **dict.fromkeys(("h", "hour", "hours"), HOUR_MS),
    **dict.fromkeys(("day", "days"), DAY_MS),
    **dict.fromkeys(("week", "weeks"), 7 * DAY_MS),
}
_DECIMAL = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZES = {**_DECIMAL, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_COUNT = r"([1-9][0-9]{0,5})"


class Unfit(Exception):
    """A value that a key cannot have: what was expected, and what was found where the value alone does not say it."""

    def __init__(self, expected: Text | Message, found: Text = "") -> None:
        self.expected = say(expected) if isinstance(expected, Message) else expected
        self.found = found
        super().__init__(str(self.expected))


# Plain values


def text(value: Any, zone: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unfit(say("a text"))
    return value.strip()


def words(value: Any, zone: str) -> Words:
    """A text in English, or in both languages."""
    expected = say('a text, or {{ en = "…", zh = "…" }}')
    if isinstance(value, str):
        return Words(en=text(value, zone))
    if not isinstance(value, dict) or not value:
        raise Unfit(expected)
    for language, told in value.items():
        if language not in LANGUAGES:
            raise Unfit(expected, say("the language {name}", name=clip(language)))
        if not isinstance(told, str):
            raise Unfit(expected, say("{name} = {value}", name=language, value=shown(told)))
    if not any(told.strip() for told in value.values()):
        raise Unfit(expected, say("an empty text"))
    return Words(**{language: told.strip() for language, told in value.items()})


def identifier(value: Any, zone: str) -> str:
    if not isinstance(value, str) or len(value) > 64 or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value):
        raise Unfit(say('small letters, digits and single hyphens between them, 64 at most, such as "near-eye-2022"'))
    return value


def choice(*options: str) -> Reader:
    """One of these words."""

    def read(value: Any, zone: str) -> str:
        if value not in options:
            raise Unfit(either(options))
        return str(value)

    return read


def truth_value(value: Any, zone: str) -> bool:
    if not isinstance(value, bool):
        raise Unfit(say("true or false"))
    return value


def whole(least: int, most: int) -> Reader:
    """A whole number between these."""

    def read(value: Any, zone: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Unfit(say("a whole number from {least:,} to {most:,}", least=least, most=most))
        return value

    return read


def number(value: Any, zone: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise Unfit(say("a number, 0 or more"))
    return float(value)


def share(value: Any, zone: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise Unfit(say("a share between 0 and 1, such as 0.3"))
    return float(value)


def scores(value: Any, zone: str) -> str | float:
    """How teams see their scores: in a word, or the step that they are rounded to."""
    if value in ("rounded", "exact"):
        return str(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise Unfit(say('"rounded", "exact", or the step that scores are rounded to, such as 0.1'))
    return float(value)


def weight(value: Any, zone: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise Unfit(say("a share above 0, 1 at most, such as 0.4"))
    return float(value)


def settings(value: Any, zone: str) -> dict[str, str]:
    """A track's settings, as text, which is how tracks take them."""
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise Unfit(say('names with a text, a number, true or false, such as {{ rule = "preliminary" }}'))
    return {name: str(item).lower() if isinstance(item, bool) else str(item) for name, item in value.items()}


def ties(value: Any, zone: str) -> tuple[str, ...]:
    expected = say('names of metrics, each once, and "earlier" last if at all, such as ["misses", "earlier"]')
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise Unfit(expected)
    if len(set(value)) < len(value) or "earlier" in value[:-1]:
        raise Unfit(expected)
    return tuple(value)


def folder(value: Any, zone: str) -> str:
    """A folder beside the file: the log keeps the rules, and a contest is rebuilt elsewhere from it."""
    expected = say('a folder beside this file, such as "data/preliminary"; a link in it may lead elsewhere')
    given = text(value, zone)
    if re.match(r"[/\\~]|[A-Za-z]:", given) or ".." in re.split(r"[/\\]", given) or not given.isprintable():
        raise Unfit(expected)
    return given


def track_places(value: Any, zone: str) -> tuple[str, ...]:
    """Folders beside the file and pip packages that bring the contest's tracks."""
    expected = say(
        'a folder beside this file with track files, such as "challenges", or a pip package, such as '
        '"package:palestra-blinks"; or a list of those, {most} at most',
        most=MOST_PLACES,
    )
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not 0 < len(given) <= MOST_PLACES:
        raise Unfit(expected)
    for place in given:
        if not isinstance(place, str) or not _is_track_place(place, zone):
            raise Unfit(expected, shown(place))
    return tuple(given)


def _is_track_place(place: str, zone: str) -> bool:
    if place.startswith(PACKAGE):
        return re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", place.removeprefix(PACKAGE)) is not None
    try:
        parts = re.split(r"[/\\]", folder(place, zone))
    except Unfit:
        return False
    return place == place.strip() and ":" not in place and not {"", "."} & set(parts)


def file_name(value: Any, zone: str) -> str:
    """A rule for names of files, with {team} and {date}."""
    expected = say('the name of a file in which {{team}} and {{date}} may stand, such as "{{team}}_Test_{{date}}.csv"')
    given = text(value, zone)
    try:
        parts = [(name, spec, how) for _, name, spec, how in string.Formatter().parse(given) if name is not None]
    except ValueError:
        raise Unfit(expected) from None
    for name, spec, how in parts:
        if name not in ("team", "date") or spec or how:
            raise Unfit(expected, say("{part} in {name}", part=f"{{{name}}}", name=clip(given)))
    if re.search(r'[/\\:*?"<>|]|\{\{|\}\}', given) or not given.isprintable():
        raise Unfit(expected)
    return given


# Amounts


def quota(value: Any, zone: str) -> Quota:
    """`N per day|week|phase` counts calendar days, weeks from Monday, or the whole phase; `N per LENGTH` any stretch
    of time that is so long."""
    found = re.fullmatch(rf"{_COUNT} per (?:(day|week|phase)|(.+?)(?: sliding)?)", value) if _is_text(value) else None
    if not found:
        raise Unfit(QUOTA)
    if found[2]:
        return Quota(int(found[1]), found[2])  # type: ignore[arg-type]
    window_ms = _length(found[3])
    if not window_ms or window_ms > 366 * DAY_MS:
        raise Unfit(QUOTA)
    return Quota(int(found[1]), "window", window_ms)


def length(value: Any, zone: str) -> int:
    """A stretch of time, in ms."""
    found = _length(value) if _is_text(value) else None
    if found is None:
        raise Unfit(LENGTH)
    return found


def working_days(value: Any, zone: str) -> int:
    found = re.fullmatch(rf"{_COUNT} working days?", value) if _is_text(value) else None
    if not found or int(found[1]) > 366:
        raise Unfit('"5 working days"')  # as it is written, whatever the language
    return int(found[1])


def size(value: Any, zone: str) -> int:
    """An amount of data, in bytes."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([A-Za-z]{1,3})", value) if _is_text(value) else None
    if not found or found[2] not in _SIZES:
        raise Unfit(SIZE)
    amount = round(float(found[1]) * _SIZES[found[2]])
    if amount < 1:
        raise Unfit(SIZE)
    return amount


def _length(given: str) -> int | None:
    found = re.fullmatch(rf"{_COUNT} ?([a-z]+)", given)
    return int(found[1]) * _LENGTHS[found[2]] if found and found[2] in _LENGTHS else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# Times


def zone_name(value: Any, zone: str) -> str:
    if not isinstance(value, str) or value not in _zones():
        near = nearest_name(value, _zones()) if isinstance(value, str) else ""
        raise Unfit(say("{expected}. {hint}", expected=say(ZONE), hint=near) if near else ZONE)
    return value


@lru_cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def opening(value: Any, zone: str) -> int:
    """A time, or a day, which then begins."""
    return _moment(value, zone, timedelta())


def closing(value: Any, zone: str) -> int:
    """A time, or a day, which then ends."""
    return _moment(value, zone, timedelta(days=1))


def days(value: Any, zone: str) -> tuple[str, ...]:
    """Days, which are no working days."""
    if not isinstance(value, list) or not all(isinstance(day, date) and not isinstance(day, datetime) for day in value):
        raise Unfit(DAYS)
    return tuple(day.isoformat() for day in value)


def weekend_days(value: Any, zone: str) -> tuple[str, ...]:
    """Saturdays and Sundays on which people work, to make up for a holiday."""
    found = days(value, zone)
    if other := next((day for day in found if date.fromisoformat(day).weekday() < 5), None):
        expected = say("Saturdays and Sundays: other days are working days already")
        raise Unfit(expected, say("{day}, which is neither", day=other))
    return found


def _moment(value: Any, zone: str, day_adds: timedelta) -> int:
    if not isinstance(value, date):
        if isinstance(value, str):
            raise Unfit(say("a day such as 2022-08-01 or a time such as 2022-08-01T09:00:00, without quotes"))
        raise Unfit(say("a day such as 2022-08-01 or a time such as 2022-08-01T09:00:00"))
    if not YEARS[0] <= value.year <= YEARS[1]:
        raise Unfit(say("a year from {first} to {last}", first=YEARS[0], last=YEARS[1]))
    if not isinstance(value, datetime):
        return start_of(value + day_adds, zone)
    return as_ms(value) if value.tzinfo else _local_moment(value, zone)


def _local_moment(value: datetime, zone: str) -> int:
    """A time on the clocks of the zone; which must have shown it exactly once."""
    first, second = (value.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return as_ms(first.astimezone(UTC))
    there = first.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) == value
    found = say(
        message("{time}, which in {zone} comes twice, as clocks are put back")
        if there
        else message("{time}, which in {zone} does not exist, as clocks are put forward"),
        time=shown(value),
        zone=zone,
    )
    raise Unfit(say("another time, or one with its offset from UTC, such as {time}", time=first.isoformat()), found)


# In words


def either(options: Sequence[str]) -> Words:
    """One of these words, as they are written in the file."""
    *others, last = (f'"{option}"' for option in options)
    return say("{one} or {other}", one=joined(others), other=last) if others else Words.same(last)


def shown(value: Any) -> Text:
    """A value as it stands in the file, cut to fit in a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return say("a table") if value else say("an empty table")
    if isinstance(value, list) and (not value or not all(isinstance(item, str | int | float) for item in value)):
        return say("a list") if value else say("an empty list")
    return clip(value)
