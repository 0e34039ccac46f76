"""The ready contest files: complete, in both languages, and true to the documents."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from palestra import registry
from palestra.contest.rules import calendar, reader
from palestra.contest.rules.calendar import DAY_MS
from palestra.contest.rules.checks import track_problems
from palestra.contest.rules.model import Promotion, Quota, Rules, Verification
from palestra.text import Words
from tests import ROOT

FOLDER = ROOT / "contests"
FILES = sorted(FOLDER.glob("*.toml"))
COMING = {"tabletop-manip-v1", "remote-gaze-v1"}  # tracks that files may name before they are installed


def contest(name: str) -> Rules:
    return reader.read(FOLDER / f"{name}.toml")


def words_in(value: Any, where: str = "") -> list[tuple[str, Words]]:
    """Every text of the rules, with its place."""
    if isinstance(value, Words):
        return [(where, value)]
    if isinstance(value, tuple):
        return [found for i, item in enumerate(value) for found in words_in(item, f"{where}[{i}]")]
    if isinstance(value, msgspec.Struct):
        return [
            found for name in value.__struct_fields__ for found in words_in(getattr(value, name), f"{where}.{name}")
        ]
    return []


def ms(text: str) -> int:
    return calendar.as_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))


def test_every_competition_has_a_file():
    assert [file.stem for file in FILES] == ["emotional-bci", "eyediap", "manip", "near-eye-2022", "openeds-2020"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_read_and_named_after_its_contest(file):
    assert reader.read(file).id == file.stem


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_text_has_both_languages(file):
    for where, words in words_in(reader.read(file)):
        assert bool(words.en) == bool(words.zh), where
        assert not any("\u4e00" <= letter <= "\u9fff" for letter in words.en), where


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_everything_that_people_read_is_there(file):
    rules = reader.read(file)
    assert rules.about.en
    assert rules.organiser.en
    assert all(phase.about.en and phase.data for phase in rules.phases)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_tracks_that_are_installed_have_nothing_against_it(file):
    rules = reader.read(file)
    tracks = {phase.track for phase in rules.phases}
    assert tracks <= registry.tracks().keys() | COMING
    problems = list(track_problems(rules, registry.tracks()))
    assert all(problem.path[-1] == "track" for problem in problems)
    assert bool(problems) == bool(tracks - registry.tracks().keys())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_page_lists_it_with_its_tracks(file):
    (row,) = [line for line in (FOLDER / "README.md").read_text().splitlines() if f"({file.name})" in line]
    assert all(f"`{phase.track}`" in row for phase in reader.read(file).phases)


def test_near_eye_follows_its_document():
    rules = contest("near-eye-2022")
    preliminary, final = rules.phases
    assert rules.registration_opens == ms("2022-05-31T16:00")
    assert (preliminary.track, preliminary.quota, preliminary.board) == ("near-eye-gaze-v1", Quota(1, "week"), "best")
    assert preliminary.promotion == Promotion("final", 15)
    assert preliminary.verification == Verification(5, "{team}_Test.zip", 200_000_000, 0.01)
    name = calendar.expected_name(preliminary.file_name, "Alpha", ms("2022-08-03T17:00"), rules.zone)
    assert name == "Alpha_Test_20220804.csv"
    assert preliminary.licence.zh
    assert rules.declaration.zh
    assert (final.track, final.pace, final.entry) == ("near-eye-live-v1", "real", "promoted")
    assert [(award.phase, award.count) for award in rules.awards] == [("final", 1), ("final", 3), ("final", 6)]


def test_near_eye_lets_a_team_upload_once_in_each_of_eight_weeks():
    rules = contest("near-eye-2022")
    phase = rules.phase("preliminary")
    sent: list[int] = []
    at = phase.opens
    while at < phase.closes:
        sent.append(at)
        at = calendar.next_free(phase.quota, rules.zone, sent, at) or at
    assert len(sent) == 8
    assert at == phase.closes


def test_near_eye_bundles_have_time_until_after_the_national_holiday():
    rules = contest("near-eye-2022")
    confirmed = ms("2022-09-28T02:00")  # Wednesday: Thursday, Friday, then the holiday
    without = calendar.working_days_after(confirmed, 5, rules.zone, rules.holidays)
    assert without == ms("2022-10-12T16:00")  # Monday to Wednesday
    due = calendar.working_days_after(confirmed, 5, rules.zone, rules.holidays, rules.working_weekends)
    assert due == ms("2022-10-10T16:00")  # Saturday and Sunday were worked, then Monday


def test_openeds_has_two_boards_from_april_to_july():
    rules = contest("openeds-2020")
    assert [phase.track for phase in rules.phases] == ["gaze-prediction-v1", "eye-segmentation-v1"]
    for phase in rules.phases:
        assert (phase.opens, phase.closes) == (ms("2020-04-01T00:00"), ms("2020-08-01T00:00"))
        assert (phase.access, phase.board_for) == ("requested", "everyone")
        assert [award.count for award in rules.awards if award.phase == phase.id] == [1, 1, 1]


def test_emotional_bci_limits_decisions_in_the_final_only():
    preliminary, final = contest("emotional-bci").phases
    assert (preliminary.settings, final.settings) == ({"rule": "preliminary"}, {"rule": "final"})
    tracks = [registry.track(phase.track, phase.settings) for phase in (preliminary, final)]
    assert [track.setting_values["rule"] for track in tracks] == ["preliminary", "final"]
    assert final.entry == "promoted"


def test_manip_weighs_online_and_on_site_forty_to_sixty():
    rules = contest("manip")
    assert rules.weights == {"online": 0.4, "onsite": 0.6}
    assert rules.phase("onsite").pace == "real"


def test_eyediap_is_one_board_that_stays_open():
    (phase,) = contest("eyediap").phases
    assert phase.closes - phase.opens > 5 * 365 * DAY_MS
    assert phase.quota == Quota(2, "window", 7 * DAY_MS)
    assert not contest("eyediap").awards
