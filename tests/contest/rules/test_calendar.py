"""Days and quotas: against the clock on the wall, in zones whose clocks change."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palestra.contest.rules import calendar
from palestra.contest.rules.calendar import DAY_MS, HOUR_MS, NEVER
from palestra.contest.rules.model import Quota
from palestra.errors import Refused

DAILY, WEEKLY = Quota(1, "day"), Quota(1, "week")
# Clocks that change at 2 h, at midnight, at a minute past midnight, by half an hour, by a whole day, and never.
ZONES = st.sampled_from(
    ["Asia/Shanghai", "Europe/Zurich", "America/Sao_Paulo", "America/St_Johns", "America/Havana", "Africa/Cairo",
     "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati", "UTC"]
)  # fmt: skip
TIMES = st.integers(0, 2_500_000_000_000)
QUOTAS = st.one_of(
    st.builds(Quota, st.integers(1, 4), st.sampled_from(["day", "week", "phase"])),
    st.builds(Quota, st.integers(1, 4), st.just("window"), st.integers(1, 10 * DAY_MS)),
)


def ms(text: str, zone: str = "Asia/Shanghai") -> int:
    return calendar.as_ms(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))


def test_a_day_lasts_from_midnight_to_midnight_in_the_zone():
    noon = ms("2022-08-03T12:00")
    assert calendar.window(DAILY, "Asia/Shanghai", noon) == (ms("2022-08-03T00:00"), ms("2022-08-04T00:00"))
    assert calendar.window(DAILY, "UTC", noon) != calendar.window(DAILY, "Asia/Shanghai", noon)


def test_a_week_begins_on_monday():
    monday, sunday = ms("2022-08-01T00:00"), ms("2022-08-07T23:59")
    assert calendar.window(WEEKLY, "Asia/Shanghai", sunday) == (monday, ms("2022-08-08T00:00"))
    assert calendar.window(WEEKLY, "Asia/Shanghai", monday)[0] == monday
    assert calendar.window(WEEKLY, "Asia/Shanghai", monday - 1)[1] == monday


@pytest.mark.parametrize(("day", "hours"), [("2022-03-27", 23), ("2022-10-30", 25), ("2022-06-01", 24)])
def test_days_are_longer_or_shorter_when_clocks_change(day, hours):
    start, end = calendar.window(DAILY, "Europe/Zurich", ms(f"{day}T12:00", "Europe/Zurich"))
    assert end - start == hours * HOUR_MS


def test_a_week_with_a_clock_change_has_an_hour_more():
    start, end = calendar.window(WEEKLY, "Europe/Zurich", ms("2022-10-30T12:00", "Europe/Zurich"))
    assert end - start == 7 * DAY_MS + HOUR_MS


def test_a_day_whose_midnight_is_skipped_begins_when_clocks_are_put_forward():
    start, _ = calendar.window(DAILY, "America/Sao_Paulo", ms("2018-11-04T12:00", "America/Sao_Paulo"))
    assert calendar.local(start, "America/Sao_Paulo").hour == 1
    assert calendar.local(start - 1, "America/Sao_Paulo").date() == date(2018, 11, 3)


def test_a_day_that_a_zone_skipped_has_no_length():
    assert calendar.start_of(date(2011, 12, 30), "Pacific/Apia") == calendar.start_of(
        date(2011, 12, 31), "Pacific/Apia"
    )


@given(ZONES, TIMES, st.sampled_from([DAILY, WEEKLY]))
@example("America/St_Johns", ms("2010-11-07T00:00", "America/St_Johns") + 30_000, DAILY)  # clocks go back over midnight
@example("Pacific/Apia", ms("2011-12-29T23:00", "Pacific/Apia"), DAILY)
def test_windows_tile_time(zone, at, quota):
    start, end = calendar.window(quota, zone, at)
    assert start <= at < end
    assert calendar.window(quota, zone, start) == calendar.window(quota, zone, end - 1) == (start, end)
    assert calendar.window(quota, zone, end)[0] == end
    assert calendar.window(quota, zone, start - 1)[1] == start


@given(ZONES, st.dates(date(1971, 1, 1), date(2040, 1, 1)))
def test_a_day_starts_the_moment_clocks_first_show_it(zone, day):
    start = calendar.start_of(day, zone)
    assert calendar.local(start, zone).date() >= day
    assert calendar.local(start - 1, zone).date() < day


def test_any_stretch_of_a_sliding_window_holds_so_many():
    quota, times = Quota(2, "window", 24 * HOUR_MS), [0, 5 * HOUR_MS]
    assert calendar.used(quota, "UTC", times, 24 * HOUR_MS - 1) == 2
    assert calendar.next_free(quota, "UTC", times, 6 * HOUR_MS) == 24 * HOUR_MS
    assert calendar.used(quota, "UTC", times, 24 * HOUR_MS) == 1
    assert calendar.next_free(quota, "UTC", times, 24 * HOUR_MS) is None


def test_a_quota_of_the_phase_does_not_come_back():
    quota = Quota(2, "phase")
    assert calendar.next_free(quota, "UTC", [1], 5) is None
    assert calendar.next_free(quota, "UTC", [1, 2], 5) == NEVER


def test_one_per_week_is_free_again_on_monday():
    sent = [ms("2022-08-03T12:00")]
    assert calendar.next_free(WEEKLY, "Asia/Shanghai", sent, ms("2022-08-05T12:00")) == ms("2022-08-08T00:00")
    assert calendar.next_free(WEEKLY, "Asia/Shanghai", sent, ms("2022-08-08T00:00")) is None


def test_what_comes_later_does_not_count_yet():
    assert calendar.used(Quota(1, "day"), "UTC", [HOUR_MS, 3 * HOUR_MS], 2 * HOUR_MS) == 1


@given(QUOTAS, ZONES, TIMES, st.lists(st.integers(0, 3 * DAY_MS), max_size=20))
def test_a_quota_is_never_exceeded_by_those_who_wait_until_it_is_free(quota, zone, at, waits):
    taken: list[int] = []
    for wait in waits:
        at = max(at + wait, calendar.next_free(quota, zone, taken, at + wait) or 0)
        if at == NEVER:
            break
        assert calendar.next_free(quota, zone, taken, at) is None
        taken.append(at)
    for moment in taken:
        start, end = calendar.window(quota, zone, moment)
        assert sum(start <= other < end for other in taken) <= quota.count


@given(QUOTAS, ZONES, TIMES, st.lists(st.integers(0, 9 * DAY_MS), min_size=1, max_size=6))
def test_nobody_waits_a_moment_too_long(quota, zone, at, ago):
    times = [max(at - each, 0) for each in ago]
    free = calendar.next_free(quota, zone, times, at)
    if free is None:
        assert calendar.used(quota, zone, times, at) < quota.count
    elif free != NEVER:
        assert free > at
        assert calendar.used(quota, zone, times, free - 1) >= quota.count > calendar.used(quota, zone, times, free)


def test_five_working_days_pass_weekends_and_holidays():
    friday = ms("2022-09-30T15:00")
    holidays = ["2022-10-03", "2022-10-04", "2022-10-05", "2022-10-06", "2022-10-07"]
    assert calendar.working_days_after(friday, 5, "Asia/Shanghai", []) == ms("2022-10-08T00:00")
    assert calendar.working_days_after(friday, 5, "Asia/Shanghai", holidays) == ms("2022-10-15T00:00")


def test_working_days_are_counted_in_the_zone():
    sunday_late_in_utc = ms("2022-09-26T01:00")  # Monday in Shanghai, so Tuesday is the first day
    assert calendar.working_days_after(sunday_late_in_utc, 1, "Asia/Shanghai", []) == ms("2022-09-28T00:00")
    assert calendar.working_days_after(sunday_late_in_utc, 1, "UTC", []) == ms("2022-09-27T00:00", "UTC")


@given(TIMES, st.integers(1, 30), ZONES, st.lists(st.dates(date(1971, 1, 1), date(2040, 1, 1)).map(str), max_size=5))
def test_more_working_days_end_later_and_never_on_a_weekend(start, count, zone, holidays):
    end = calendar.working_days_after(start, count, zone, holidays)
    last = calendar.day_of(end - 1, zone)
    assert end > start
    assert last.isoformat() not in holidays
    assert calendar.working_days_after(start, count + 1, zone, holidays) > end


def test_times_are_told_with_their_weekday_and_offset():
    at = ms("2022-09-26T00:00")
    assert calendar.told(at, "Asia/Shanghai").en == "Mon 26 Sep 2022, 00:00 (UTC+8)"
    assert calendar.told(at, "Asia/Shanghai").zh == "2022年9月26日（周一）00:00（UTC+8）"
    assert calendar.told(at, "America/St_Johns").en == "Sun 25 Sep 2022, 13:30 (UTC−2:30)"
    assert calendar.told(at, "UTC").en == "Sun 25 Sep 2022, 16:00 (UTC)"


def test_a_deadline_at_midnight_is_told_as_the_end_of_the_day_before():
    at = ms("2022-09-26T00:00")
    assert calendar.told(at, "Asia/Shanghai", closing=True).en == "Sun 25 Sep 2022, 24:00 (UTC+8)"
    assert calendar.told(at, "Asia/Shanghai", closing=True).zh == "2022年9月25日（周日）24:00（UTC+8）"
    assert calendar.told(at + HOUR_MS, "Asia/Shanghai", closing=True).en == "Mon 26 Sep 2022, 01:00 (UTC+8)"


@pytest.mark.parametrize(
    ("length", "english", "chinese"),
    [
        (3 * DAY_MS + 4 * HOUR_MS + 5_000, "3 days 4 hours", "3 天 4 小时"),
        (DAY_MS + 5 * 60_000, "1 day", "1 天"),
        (61_000, "1 minute 1 second", "1 分钟 1 秒"),
        (999, "less than a second", "不到 1 秒"),
        (-5, "less than a second", "不到 1 秒"),
    ],
)
def test_lengths_are_told_in_their_two_largest_units(length, english, chinese):
    assert (calendar.duration(length).en, calendar.duration(length).zh) == (english, chinese)


def test_quotas_are_told_in_both_languages():
    sliding = Quota(2, "window", 7 * DAY_MS)
    assert calendar.quota_told(WEEKLY).en == "at most 1 per calendar week (from Monday)"
    assert calendar.quota_told(WEEKLY).zh == "每个自然周（周一至周日）最多 1 次"
    assert calendar.quota_told(sliding).en == "at most 2 in any 7 days"
    assert calendar.quota_told(sliding).zh == "任意连续 7 天内最多 2 次"
    assert calendar.quota_told(Quota(10, "phase")).zh == "整个赛段最多 10 次"


def test_a_file_is_named_after_the_team_and_the_day_in_the_zone():
    late = ms("2022-08-03T16:30", "UTC")  # already the 4th in Shanghai
    pattern = "{team}_Test_{date}.csv"
    assert calendar.expected_name(pattern, "眼动队", late, "Asia/Shanghai") == "眼动队_Test_20220804.csv"
    calendar.require_name(pattern, "眼动队_Test_20220804.csv", "眼动队", late, "Asia/Shanghai")
    with pytest.raises(
        Refused, match=r"found '眼动队_Test_20220803.csv', expected '眼动队_Test_20220804.csv'.*Shanghai"
    ):
        calendar.require_name(pattern, "眼动队_Test_20220803.csv", "眼动队", late, "Asia/Shanghai")


def test_any_name_will_do_where_no_rule_is():
    calendar.require_name("", "anything at all.csv", "A", 0, "UTC")


def test_a_team_called_like_a_place_or_a_path_gets_a_name_that_files_can_have():
    assert calendar.expected_name("{team}_{date}.csv", "{date}", 0, "UTC") == "{date}_19700101.csv"
    assert calendar.expected_name("{team}.zip", "../a\\b:c", 0, "UTC") == ".._a_b_c.zip"


def test_the_same_name_written_with_other_code_points_is_the_same():
    calendar.require_name("{team}.csv", "Cafe\u0301.csv", "Café", 0, "UTC")


def test_a_refusal_shows_a_hostile_name_in_one_line():
    with pytest.raises(Refused) as refusal:
        calendar.require_name("{team}.csv", "x\n\x1b[31m" + "y" * 1000, "A", 0, "UTC")
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 400


def test_milliseconds_are_exact():
    moment = datetime(2022, 8, 1, 0, 0, 0, 1_000, UTC)
    assert calendar.as_ms(moment) == calendar.as_ms(moment - timedelta(milliseconds=1)) + 1
    assert calendar.as_ms(calendar.local(1_660_000_000_123, "Asia/Shanghai")) == 1_660_000_000_123
