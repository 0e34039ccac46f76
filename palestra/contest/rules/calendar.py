"""Days, weeks, quotas and deadlines in the zone of a contest. Times are milliseconds since 1970, UTC.

A day, a week and a window begin with their first millisecond and end before the first one of the next.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from palestra.contest.rules.model import Quota
from palestra.errors import clean, refuse
from palestra.text import Words, joined, say, say_count

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
NEVER: Final = 253_402_300_800_000  # the year 10000: what is used up for a whole phase does not come back
UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')  # letters of a team's name that files cannot have everywhere

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def as_ms(moment: datetime) -> int:
    """A moment that knows its offset, in milliseconds; exact, which `timestamp()` is not."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def local(at: int, zone: str) -> datetime:
    """What clocks in the zone show."""
    return (_EPOCH + timedelta(milliseconds=at)).astimezone(ZoneInfo(zone))


def start_of(day: date, zone: str) -> int:
    """The first moment at which clocks in the zone show this day, or a later one where the day was skipped."""
    midnight = datetime.combine(day, time(), ZoneInfo(zone))
    after, before = as_ms(midnight.astimezone(UTC)), as_ms(midnight.replace(fold=1).astimezone(UTC))
    if before >= after:  # a midnight that there was, once or twice: the first one
        return after
    while before + 1 < after:  # clocks were put forward over midnight: the moment when it was done
        middle = (before + after) // 2
        before, after = (before, middle) if local(middle, zone).date() >= day else (middle, after)
    return after


def day_of(at: int, zone: str) -> date:
    """The day that a moment belongs to, such that days follow one another even where clocks go back over midnight."""
    day = local(at, zone).date()
    while at >= start_of(day + timedelta(days=1), zone):
        day += timedelta(days=1)
    return day


# Quotas


def window(quota: Quota, zone: str, at: int) -> tuple[int, int]:
    """The stretch of time, from its first moment to the one after it, whose uses count against a use at this moment."""
    if quota.per == "window":
        return at - quota.window_ms + 1, at + 1
    if quota.per == "phase":
        return 0, NEVER
    first = day_of(at, zone)
    length = 1
    if quota.per == "week":
        first -= timedelta(days=first.weekday())
        length = 7
    return start_of(first, zone), start_of(first + timedelta(days=length), zone)


def used(quota: Quota, zone: str, times: Iterable[int], at: int) -> int:
    """How much of the quota is used at this moment; what comes later is not counted."""
    start, end = window(quota, zone, at)
    return sum(start <= moment < end and moment <= at for moment in times)


def next_free(quota: Quota, zone: str, times: Collection[int], at: int) -> int | None:
    """When one more will be allowed; null: now. `NEVER` where the quota is for the whole phase."""
    if used(quota, zone, times, at) < quota.count:
        return None
    if quota.per == "window":
        return sorted(moment for moment in times if moment <= at)[-quota.count] + quota.window_ms
    return window(quota, zone, at)[1]


# Working days


def working_days_after(
    start_ms: int, days: int, zone: str, holidays: Collection[str], working_weekends: Collection[str] = ()
) -> int:
    """The end of the last of so many working days, the first of them being after the day of the start."""
    day = day_of(start_ms, zone)
    left = days
    while left > 0:
        day += timedelta(days=1)
        left -= day.isoformat() in working_weekends or (day.weekday() < 5 and day.isoformat() not in holidays)
    return start_of(day + timedelta(days=1), zone)


# In words


def told(at: int, zone: str, closing: bool = False) -> Words:
    """A time in words. With `closing`, midnight is told as the end of the day before: Sun 25 Sep 2022, 24:00."""
    moment = local(at, zone)
    offset = _offset(moment)
    clock = f"{moment:%H:%M}"
    if closing and clock == "00:00":
        moment, clock = moment - timedelta(days=1), "24:00"
    day = day_told(moment)
    return say("{day}, {clock} ({offset})", day=day, clock=clock, offset=offset)


def day_told(moment: datetime) -> Words:
    """Sun 25 Sep 2022, 2022年9月25日（周日）."""
    weekday = say("Mon Tue Wed Thu Fri Sat Sun")
    month = say("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
    return say(
        "{weekday} {day} {month} {year}",
        weekday=Words(*(name.split()[moment.weekday()] for name in (weekday.en, weekday.zh))),
        day=moment.day,
        month=Words(*(name.split()[moment.month - 1] for name in (month.en, month.zh))),
        year=moment.year,
    )


def duration(ms: int) -> Words:
    """A length of time in its two largest units: 3 days 4 hours, 3 天 4 小时."""
    days, hours, minutes, seconds = _split(max(ms, 0))
    parts = [
        say_count("{count} day", "{count} days", days) if days else Words(),
        say_count("{count} hour", "{count} hours", hours) if hours else Words(),
        say_count("{count} minute", "{count} minutes", minutes) if minutes else Words(),
        say_count("{count} second", "{count} seconds", seconds) if seconds else Words(),
    ]
    first = next((i for i, part in enumerate(parts) if part), None)
    if first is None:
        return say("less than a second")
    # "3 days 5 minutes" would claim more than it tells
    return joined((part for part in parts[first : first + 2] if part), " ")


def _split(ms: int) -> tuple[int, int, int, int]:
    return ms // DAY_MS, ms % DAY_MS // HOUR_MS, ms % HOUR_MS // MINUTE_MS, ms % MINUTE_MS // SECOND_MS


def quota_told(quota: Quota) -> Words:
    """A quota in words: at most 1 per calendar week, 每个自然周最多 1 次."""
    match quota.per:
        case "day":
            return say("at most {count} per calendar day", count=quota.count)
        case "week":
            return say("at most {count} per calendar week (from Monday)", count=quota.count)
        case "phase":
            return say("at most {count} in the whole phase", count=quota.count)
        case _:
            return say("at most {count} in any {time}", count=quota.count, time=duration(quota.window_ms))


def _offset(moment: datetime) -> str:
    """UTC+8, UTC−3:30."""
    minutes = round((moment.utcoffset() or timedelta()).total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'−' if minutes < 0 else '+'}{hours}" + (f":{rest:02d}" if rest else "") if minutes else "UTC"


# Names of files


def expected_name(pattern: str, team: str, at: int, zone: str) -> str:
    """The name that the rules ask of a file of this team on this day."""
    parts = {"{team}": UNSAFE.sub("_", team).strip(), "{date}": f"{local(at, zone):%Y%m%d}"}
    return re.sub(r"\{team\}|\{date\}", lambda found: parts[found[0]], pattern)


def require_name(pattern: str, name: str, team: str, at: int, zone: str) -> None:
    """Refuse a file whose name is not what the rules ask; no pattern asks nothing."""
    expected = expected_name(pattern, team, at, zone)
    # A Mac may send é as two letters: that is the same name.
    if pattern and unicodedata.normalize("NFC", name) != unicodedata.normalize("NFC", expected):
        dated = say("{name!r}, with today's date in {zone}", name=expected, zone=zone)
        refuse(say("the file's name"), repr(clean(name)), dated if "{date}" in pattern else repr(expected))
