"""Contest files: what is written is what is meant, and what is wrong is told with its line."""

import re
import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.rules import calendar, new_file, reader
from palestra.contest.rules import keys as rule_keys
from palestra.contest.rules.calendar import DAY_MS, HOUR_MS
from palestra.contest.rules.model import Promotion, Quota, Rules, Verification, decode, encode
from palestra.errors import PalestraError, Refused
from palestra.text import Words
from tests import ROOT
from tests.contest.rules.test_toml_lines import toml

SMALL = """\
[contest]
id = "cup"
name = "Cup"
zone = "Europe/Zurich"

[[phase]]
id = "first"
title = "First"
track = "near-eye-gaze-v1"
opens = 2022-08-01
closes = 2022-08-31
"""


def parse(text: str, **given: Any) -> Rules:
    return reader.parse(text, "contest.toml", **given)


def faults_of(text: str, **given: Any) -> list[str]:
    with pytest.raises(Refused) as refusal:
        parse(text, **given)
    return [str(fault) for fault in refusal.value.faults]


def fault_of(text: str, **given: Any) -> str:
    (fault,) = faults_of(text, **given)
    return fault


def ms(text: str) -> int:
    return calendar.as_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))


# What is written is what is meant


def test_a_small_file_has_the_defaults_of_the_rules():
    phase = parse(SMALL).phase("first")
    assert phase.quota == Quota(5, "day")
    assert phase.title == Words(en="First")
    assert phase.limit_bytes == 200_000_000
    assert phase.promotion is None


def test_every_key_arrives_in_the_rules():
    rules = parse(
        """
        weights = { first = 0.4, second = 0.6 }
        [contest]
        id = "cup"
        name = { en = "Cup", zh = "杯" }
        about = "About"
        organiser = "We"
        zone = "Asia/Shanghai"
        team_limit = 4
        declaration.zh = "独立"
        holidays = [2022-10-03, 2022-10-04]
        working_weekends = [2022-10-08, 2022-10-09]
        notice = "3 days"
        [registration]
        opens = 2022-06-01
        closes = 2022-07-31
        [[phase]]
        id = "first"
        title = "First"
        about = "Task"
        track = "near-eye-gaze-v1"
        settings = { score_calibration = true }
        data = "data/first"
        opens = 2022-08-01T09:00:00
        closes = 2022-08-31
        quota = "1 per week"
        fault_quota = "3 per 24 h"
        limit = "1.5 GB"
        file_name = "{team}_Test_{date}.csv"
        allow_missing = true
        board = "last"
        board_for = "teams"
        history_for = "organisers"
        freeze = 2022-08-30
        freeze_own = "shown"
        split = 0.3
        ties = ["p95_deg", "earlier"]
        licence = "Terms"
        access = "open"
        [phase.promotion]
        to = "second"
        top = 15
        [phase.verification]
        within = "5 working days"
        name = "{team}.zip"
        limit = "10 MiB"
        tolerance = 0.5
        [[phase]]
        id = "second"
        title = "Second"
        track = "near-eye-live-v1"
        opens = 2022-10-01T00:00:00Z
        closes = 2022-10-02T08:00:00+08:00
        entry = "promoted"
        pace = "real"
        timing = "lockstep"
        [[award]]
        title = "Best of all"
        count = 3
        [[award]]
        phase = "second"
        title = "Best in the hall"
        count = 1
        """
    )
    first, second = rules.phases
    assert (rules.name.zh, rules.declaration, rules.team_limit) == ("杯", Words(zh="独立"), 4)
    assert (rules.holidays, rules.notice_ms) == (("2022-10-03", "2022-10-04"), 3 * DAY_MS)
    assert rules.working_weekends == ("2022-10-08", "2022-10-09")
    assert (rules.registration_opens, rules.registration_closes) == (ms("2022-05-31T16:00"), ms("2022-07-31T16:00"))
    assert (first.opens, first.closes, first.freeze) == (
        ms("2022-08-01T01:00"),
        ms("2022-08-31T16:00"),
        ms("2022-08-29T16:00"),
    )
    assert (first.settings, first.ties, first.split) == ({"score_calibration": "true"}, ("p95_deg", "earlier"), 0.3)
    assert (first.quota, first.fault_quota) == (Quota(1, "week"), Quota(3, "window", 24 * HOUR_MS))
    assert (first.limit_bytes, first.file_name, first.allow_missing) == (1_500_000_000, "{team}_Test_{date}.csv", True)
    assert (first.board, first.board_for, first.history_for, first.freeze_own, first.access) == (
        "last",
        "teams",
        "organisers",
        "shown",
        "open",
    )
    assert first.promotion == Promotion("second", 15)
    assert first.verification == Verification(5, "{team}.zip", 10 * 2**20, 0.5)
    assert (second.opens, second.closes) == (ms("2022-10-01T00:00"), ms("2022-10-02T00:00"))
    assert (second.entry, second.pace, second.timing) == ("promoted", "real", "lockstep")
    assert [(award.phase, award.count) for award in rules.awards] == [("", 3), ("second", 1)]
    assert rules.weights == {"first": 0.4, "second": 0.6}
    assert decode(encode(rules)) == rules


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("1 per week", Quota(1, "week")),
        ("3 per day", Quota(3, "day")),
        ("10 per phase", Quota(10, "phase")),
        ("5 per 24 h", Quota(5, "window", DAY_MS)),
        ("2 per 7 days sliding", Quota(2, "window", 7 * DAY_MS)),
        ("1 per 1 week", Quota(1, "window", 7 * DAY_MS)),
        ("1 per 30 min", Quota(1, "window", HOUR_MS // 2)),
    ],
)
def test_quotas_are_read(text, quota):
    assert parse(f'{SMALL}quota = "{text}"').phases[0].quota == quota


@pytest.mark.parametrize("text", ["0 per day", "per day", "1 a day", "1 per year", "1 per day sliding", "1 per 0 h",
                                  "-1 per day", "1 per 900 days", "1 per ", "1.5 per day"])  # fmt: skip
def test_other_quotas_are_refused(text):
    assert "expected \"3 per day\"" in fault_of(f'{SMALL}quota = "{text}"')  # fmt: skip


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path):
    file = tmp_path / "contest.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert reader.read(file) == parse(SMALL)
    file.write_bytes((SMALL + "qouta = 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(Refused, match=r"contest\.toml: line 12, phase\.qouta"):
        reader.read(file)


# Times


def closing_at(text: str) -> str:
    return SMALL.replace("closes = 2022-08-31", f"closes = {text}")


def test_a_time_that_a_clock_change_skips_is_refused():
    fault = fault_of(closing_at("2023-03-26T02:30:00"))
    assert "line 11, phase.closes: found 2023-03-26T02:30:00, which in Europe/Zurich does not exist" in fault


def test_a_time_that_a_clock_change_doubles_is_refused_and_its_offset_mends_it():
    fault = fault_of(closing_at("2022-10-30T02:30:00"))
    assert "comes twice" in fault
    (suggestion,) = re.findall(r"such as (\S+)", fault)
    assert parse(closing_at(suggestion)).phases[0].closes == ms("2022-10-30T00:30")


def test_a_day_closes_at_its_end_even_if_clocks_change_on_it():
    assert parse(closing_at("2022-10-30")).phases[0].closes == ms("2022-10-30T23:00")


def test_a_time_in_quotes_is_told_to_go_without():
    assert fault_of(closing_at('"2022-08-31"')).endswith("without quotes")


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "9999-12-31T23:59:59Z", "12:00:00", "3"])
def test_times_that_cannot_be_are_refused(text):
    assert "phase.closes" in fault_of(closing_at(text))


# What is wrong; more of it in test_checks.py


def test_large_files_and_other_encodings_are_refused(tmp_path):
    file = tmp_path / "contest.toml"
    file.write_text("#" * 1_000_001)
    with pytest.raises(Refused, match="more than 1,000,000 bytes"):
        reader.read(file)
    file.write_bytes('[contest]\nname = "眼"'.encode("gbk"))
    with pytest.raises(Refused, match="line 2: found bytes that are not UTF-8"):
        reader.read(file)
    with pytest.raises(PalestraError, match="cannot be read"):
        reader.read(tmp_path / "none.toml")


@given(st.text(max_size=200))
def test_any_text_is_rules_or_refused(text):
    with pytest.raises(Refused):
        parse(text)


JSON = st.recursive(
    st.none().map(lambda _: True)
    | st.integers(-5, 5)
    | st.floats()
    | st.text(max_size=5)
    | st.dates()
    | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([(header, key) for header, keys in rule_keys.TABLES.items() for key in keys]), JSON)
def test_any_value_of_any_key_is_taken_or_refused_with_its_line(place, value):
    header, key = place
    name = header.strip("[]")
    tables: dict[str, str] = {"contest": SMALL[: SMALL.index("\n[[")], "phase": SMALL[SMALL.index("[[") :]}
    lines = [line for table in tables.values() for line in table.splitlines()]
    lines = [line for line in lines if not line.startswith(f"{key} =")]
    at = next((i for i, line in enumerate(lines) if line == header), len(lines))
    lines[at : at + 1] = [header, f"{key} = {toml(value)}"]
    text = "\n".join(lines)
    try:
        parse(text)
    except Refused as refusal:
        for fault in refusal.faults:
            line = int(re.findall(r"line (\d+)", fault.where)[0])
            told = fault.where.rsplit(".", 1)[-1] if "." in fault.where.removeprefix("contest.toml") else name
            assert told in lines[line - 1] or "found no" in str(fault) or fault.where.endswith("line 1"), (text, fault)


# A new file


@given(
    st.lists(st.sampled_from(["near-eye-gaze-v1", "near-eye-live-v1", "remote-gaze-v1"]), min_size=1, max_size=5),
    st.integers(DAY_MS, 4_000_000_000_000),
    st.sampled_from(["Asia/Shanghai", "Europe/Zurich", "America/Sao_Paulo", "UTC"]),
)
def test_a_new_file_is_read_and_open_for_thirty_days(tracks, now, zone):
    rules = parse(new_file.template(tracks, now, zone))
    assert [phase.track for phase in rules.phases] == tracks
    for phase in rules.phases:
        assert now - 60_000 < phase.opens <= now
        assert 29 * DAY_MS < phase.closes - phase.opens < 32 * DAY_MS


def test_what_a_new_file_has_in_comments_can_be_used():
    text = new_file.template(["near-eye-gaze-v1"], 1_700_000_000_000, "Asia/Shanghai")
    used = re.sub(r"^# (?=\w+ = |\[registration\])", "", text, flags=re.MULTILINE)
    assert used.count("\n#") < text.count("\n#") - 10
    assert parse(used).phases[0].freeze is not None


def test_a_new_file_needs_a_track_and_a_zone():
    with pytest.raises(PalestraError, match="needs a track"):
        new_file.template([], 0, "UTC")
    with pytest.raises(PalestraError, match="Did you mean 'Asia/Shanghai'"):
        new_file.template(["near-eye-gaze-v1"], 0, "Asia/Shangai")


# The page about it


def test_every_key_is_documented_under_its_table_with_its_default():
    page = (ROOT / "docs" / "contest-file.md").read_text()
    for header, keys in rule_keys.TABLES.items():
        section = re.split(r"^## ", page.split(f"\n## {header}\n")[1], flags=re.MULTILINE)[0]
        told = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|", section, re.MULTILINE))
        assert told.keys() == keys.keys(), header
        assert {name for name, default in told.items() if default == "needed"} == {
            name for name, key in keys.items() if key.needed
        }


def test_the_defaults_that_the_page_tells_are_those_of_the_rules():
    page = (ROOT / "docs" / "contest-file.md").read_text()
    section = page.split("\n## [[phase]]\n")[1].split("\n## ")[0]
    defaults = re.findall(r"^\| `(\w+)` \| .*? \| `(.*?)` \|", section, re.MULTILINE)
    assert len(defaults) > 10
    told = SMALL + "".join(f"{name} = {default}\n" for name, default in defaults if name != "freeze_own")
    assert parse(told) == parse(SMALL)


def test_the_examples_on_the_page_are_rules():
    page = (ROOT / "docs" / "contest-file.md").read_text()
    whole, weights = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert parse(whole).awards[0].count == 1
    assert sum(tomllib.loads(weights)["weights"].values()) == 1
