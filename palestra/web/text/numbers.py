"""How pages write numbers, sizes, times and stretches of time, in each language."""

import math
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup

from palestra.contest.rules import Quota
from palestra.records import Estimate
from palestra.text import message, said, said_count, to_step

NONE = "–"
WHOLE = ("points", "blinks", "count")  # units of which there are whole ones
SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1000, 60_000, 3_600_000, 86_400_000
DAY, SECOND = message("{count} d"), message("{count} s")
UNITS = ((DAY, DAY_MS), (message("{count} h"), HOUR_MS), (message("{count} min"), MINUTE_MS), (SECOND, SECOND_MS))
MONTHS = message("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")


def number(value: float | None, unit: str = "", step: Any = None) -> str:
    """A number as boards write it: 3.078°, 0.9512, 12.5 ms, 7 (misses); one that is rounded to a step: 3.1°."""
    if value is None or not math.isfinite(value):
        return NONE
    if isinstance(step, float) and step > 0:
        return to_step(value, unit, step)
    if unit == "deg":
        return f"{value:,.3f}°"
    if unit in WHOLE:
        return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
    if unit == "ms":
        return f"{value:,.1f} ms"
    if unit == "":
        return f"{value:.4f}" if abs(value) <= 1 else f"{value:,.3f}"
    if unit == "s" and value == round(value):  # which are compared as whole ones
        return f"{value:,.0f} s"
    return f"{value:,.3f} {unit}"


def interval(estimate: Estimate | None, unit: str = "") -> str:
    """Its 95 % interval: 2.91–3.24; nothing where there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return " – ".join(number(end, unit, estimate.rounded_to) for end in (estimate.low, estimate.high))


def size(count: int) -> str:
    """Bytes: 200 MB, 1.4 GB, 812 kB."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if amount >= 99.5 or unit == "B" else f"{amount:.3g} {unit}"


def share(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.3g} %"


def milliseconds(seconds: float | None) -> str:
    """A latency: 41 ms."""
    if seconds is None:
        return NONE
    return f"{1000 * seconds:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"


def duration(language: str, ms: int) -> str:
    """A stretch of time by its two largest units: 3 d 4 h."""
    left, parts = max(ms, 0), []
    for unit, length in UNITS:
        count, left = divmod(left, length)
        if count:
            parts.append(said(language, unit, count=count))
        elif parts:
            break
    return " ".join(parts[:2]) if parts else said(language, SECOND, count=0)


def countdown(language: str, until: int, now: int) -> str:
    """What is left until then, as a page's script goes on to count it down: 2 d 05:20:34."""
    days, rest = divmod(max(until - now, 0), DAY_MS)
    if until <= now:
        return said(language, "now")
    clock = f"{rest // HOUR_MS:02}:{rest // MINUTE_MS % 60:02}:{rest // SECOND_MS % 60:02}"
    return f"{said(language, DAY, count=days)} {clock}" if days else clock


def quota(language: str, given: Quota) -> str:
    """How often something may be done, in words."""
    count = given.count
    match given.per:
        case "window":
            time = duration(language, given.window_ms)
            return said_count(
                language, "{count} submission in any {time}", "{count} submissions in any {time}", count, time=time
            )
        case "day":
            return said_count(language, "{count} submission per day", "{count} submissions per day", count)
        case "week":
            return said_count(language, "{count} submission per week", "{count} submissions per week", count)
        case _:
            return said_count(language, "{count} submission in all", "{count} submissions in all", count)


def time_tag(language: str, ms: int | None, zone: str, compact: bool = False) -> Markup:
    """A time in the contest's zone; a script adds the viewer's where that is another one."""
    if ms is None:
        return Markup(NONE)
    then = local(ms, zone)
    shown = _clock(language, then, compact)
    exact = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    minutes = int((then.utcoffset() or timedelta()).total_seconds() // 60)
    label = "" if compact else Markup(' <span class="zone">{}</span>').format(zone_label(minutes))
    return Markup('<time datetime="{}" data-offset="{}"{}>{}{}</time>').format(
        exact, minutes, Markup(" data-compact") if compact else "", shown, label
    )


def day(language: str, ms: int, zone: str) -> str:
    then = local(ms, zone)
    return said(language, "{day} {month} {year}", year=then.year, month=_month(language, then), day=then.day)


def zone_label(minutes: int) -> str:
    """UTC+8, UTC−3:30."""
    hours, rest = divmod(abs(minutes), 60)
    sign = "−" if minutes < 0 else "+"
    return f"UTC{sign}{hours}" + (f":{rest:02}" if rest else "")


def local(ms: int, zone: str) -> datetime:
    return datetime.fromtimestamp(ms / 1000, _zone(zone))


@lru_cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _clock(language: str, then: datetime, compact: bool) -> str:
    shown = message("{day} {month} {clock}") if compact else message("{day} {month} {year}, {clock}")
    return said(language, shown, year=then.year, month=_month(language, then), day=then.day, clock=f"{then:%H:%M}")


def _month(language: str, then: datetime) -> str:
    return said(language, MONTHS).split()[then.month - 1]
