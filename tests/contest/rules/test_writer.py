"""Rules written as a contest file read back as the same rules."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.rules import value_parsers
from palestra.contest.rules.keys import TABLES
from palestra.contest.rules.model import Award, MatchPlan, Promotion, Quota, Rules, Verification
from palestra.contest.rules.reader import parse
from palestra.contest.rules.writer import written
from palestra.text import Words
from tests import ROOT
from tests.contest.story import DAY, HOUR, START, a_phase, some_rules, two_phases

LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(str.strip).filter(bool)
ZONES = ("Asia/Shanghai", "Europe/Zurich", "America/St_Johns", "UTC")


def again(rules: Rules) -> Rules:
    return parse(written(rules), "contest.toml")


@pytest.mark.parametrize("file", sorted((ROOT / "contests").glob("*.toml")), ids=lambda file: file.stem)
def test_the_ready_contests_read_back_as_they_were(file: Path) -> None:
    rules = parse(file.read_text("utf-8"), file.name)
    assert again(rules) == rules


def full_rules() -> Rules:
    """With something in every key that a contest file may have."""
    first = a_phase(
        track="near-eye-live-v1",
        about=Words("Of eyes.\n\nAnd of \"what\" they see \\o/", "关于眼睛。"),
        settings={"deadline_s": "1.0"},
        data="data/first", entry="everyone", quota=Quota(3, "window", 24 * HOUR),
        fault_quota=Quota(9, "week"), limit_bytes=1_610_612_736, file_name="{team}_{date}.zip", allow_missing=True,
        board="last", board_for="teams", history_for="organisers", freeze=START + DAY, freeze_own="shown", scores=0.1,
        split=0.3, allow_starving=True, ties=("misses", "earlier"), pace="real", timing="lockstep", held="on-stage",
        rehearsal="data/open", changes="weights", licence=Words(zh="仅限比赛。"), access="open",
        promotion=Promotion("second", 4), verification=Verification(1, "{team}.zip", 123_456_789, 0.5),
        match=MatchPlan(draw="all", counts="best", retries=0, appeal_ms=5_400_000, slot_ms=HOUR, gap_ms=60_000),
    )  # fmt: skip
    second = a_phase("second", entry="promoted", opens=START + 11 * DAY, closes=START + 12 * DAY, match=MatchPlan())
    return some_rules(
        first, second, about=Words("A", "甲"), organiser=Words("We"), registration_opens=START,
        registration_closes=START + DAY, team_limit=3, declaration=Words("Alone.", "独立。"), notice_ms=3 * DAY,
        holidays=("2022-10-03",), working_weekends=("2022-10-08",), weights={"first": 0.25, "second": 0.75},
        awards=(Award("", Words("First", "一等奖"), 1), Award("second", Words("Other"), 2)),
    )  # fmt: skip


def test_every_key_is_written_and_reads_back() -> None:
    rules, text = full_rules(), written(full_rules())
    assert again(rules) == rules
    lines = {line.partition(" = ")[0] for line in text.splitlines()}
    left_out = {"entry", "preset", "mean", "restarts", "referees"}  # as they are without a word
    assert {name for keys in TABLES.values() for name in keys} - lines <= left_out


def test_what_is_as_usual_is_left_out() -> None:
    usual = a_phase(quota=Quota(5, "day"), fault_quota=Quota(20, "day"), scores="rounded")
    assert written(some_rules(usual)).splitlines() == [
        "[contest]", 'id = "test"', 'name = "Test"', 'zone = "Asia/Shanghai"', "", "[[phase]]", 'id = "first"',
        'title = "first"', 'track = "near-eye-gaze-v1"', "opens = 2022-11-09T21:20:00", "closes = 2022-11-19T21:20:00",
    ]  # fmt: skip


def test_days_sizes_and_lengths_are_written_as_people_do() -> None:
    midnight = value_parsers.opening(date(2022, 12, 1), "Asia/Shanghai")
    text = written(some_rules(a_phase(opens=midnight, closes=midnight + DAY, limit_bytes=10**10), notice_ms=14 * DAY))
    assert "opens = 2022-12-01\ncloses = 2022-12-01\n" in text
    assert 'limit = "10 GB"' in text
    assert 'notice = "2 weeks"' in text


@given(text=LINES, more=LINES, at=st.integers(200_000, 2_000_000_000), zone=st.sampled_from(ZONES))
def test_any_text_and_any_time_read_back(text: str, more: str, at: int, zone: str) -> None:
    phase = a_phase(opens=at * 1000, closes=at * 1000 + DAY, title=Words(text, more), licence=Words(f"{text}\n{more}"))
    rules = some_rules(phase, zone=zone, about=Words(zh=more))
    assert again(rules) == rules


@given(st.integers(1, 999_999), st.sampled_from(("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")))
def test_any_size_that_can_be_written_reads_back(count: int, unit: str) -> None:
    rules = some_rules(a_phase(limit_bytes=value_parsers.size(f"{count} {unit}", "UTC")))
    assert again(rules) == rules


@given(st.integers(1, 999_999))
def test_any_length_reads_back(minutes: int) -> None:
    window = Quota(1, "window", min(minutes, 366 * 24 * 60) * 60_000)
    rules = some_rules(a_phase(quota=window), notice_ms=minutes * 60_000)
    assert again(rules) == rules


@given(st.dictionaries(LINES, LINES, max_size=3))
def test_any_settings_read_back(settings: dict[str, str]) -> None:
    rules = some_rules(a_phase(settings=settings))
    assert again(rules) == rules


def test_two_phases_read_back() -> None:
    rules = two_phases()
    assert again(rules) == rules
