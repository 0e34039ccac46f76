"""What must fit together in a contest file: told with its line, all of it at once."""

import re

import pytest

from palestra import registry
from palestra.contest.rules.checks import track_problems
from palestra.errors import Refused
from tests.contest.rules.test_reader import SMALL, closing_at, fault_of, faults_of, parse

LATER = """
[[phase]]
id = "second"
title = "Second"
track = "near-eye-live-v1"
opens = 2022-10-01
closes = 2022-10-02
entry = "promoted"
"""
PROMOTION = '[phase.promotion]\nto = "second"\ntop = 15\n'
OPEN_TO_ALL = LATER.replace('entry = "promoted"', "")
VERIFICATION = '[phase.verification]\nwithin = "5 working days"\n'
CASES = [
    (SMALL.replace('"cup"', '"The Cup"'), "line 2, contest.id: found 'The Cup', expected small letters"),
    (SMALL.replace("Zurich", "Zürich"), "line 4, contest.zone: found 'Europe/Zürich'"),
    (SMALL.replace('name = "Cup"\n', ""), "line 1, contest: found no name, expected name"),
    (
        SMALL.replace("\n[[", "working_weekends = [2022-10-08, 2022-10-10]\n[["),
        "line 5, contest.working_weekends: found 2022-10-10, which is neither, expected Saturdays and Sundays",
    ),
    (
        SMALL.replace("\n[[", "holidays = [2022-10-08]\nworking_weekends = [2022-10-08]\n[["),
        "line 6, contest.working_weekends: found 2022-10-08, which is among the holidays",
    ),
    (SMALL.replace("[[phase]]", "[phase]"), "line 6, phase: found [phase], expected [[phase]]"),
    (SMALL.replace('"First"', '{ en = "First", fr = "Un" }'), "line 8, phase.title: found the language 'fr'"),
    (SMALL.replace('"First"', '{ en = " ", zh = "" }'), "line 8, phase.title: found an empty text"),
    (SMALL.replace('"First"', '""'), "line 8, phase.title: found '', expected a text"),
    (SMALL + "quta = 3", "line 12, phase.quta: found 'quta', expected a key of phase. Did you mean 'quota'?"),
    (SMALL + "quota = 3", "line 12, phase.quota: found 3, expected"),
    (SMALL + 'limit = "200"', "line 12, phase.limit: found '200', expected \"200 MB\""),
    (SMALL + "allow_missing = 1", "line 12, phase.allow_missing: found 1, expected true or false"),
    (SMALL + 'board = "worst"', 'line 12, phase.board: found \'worst\', expected "best" or "last"'),
    (SMALL + "split = 1", "line 12, phase.split: found 1, expected a share between 0 and 1"),
    (SMALL + "split = nan", "line 12, phase.split: found nan"),
    (SMALL + "freeze = 2022-09-01", "line 12, phase.freeze: found a time outside the phase"),
    (SMALL + 'freeze_own = "shown"', "line 12, phase.freeze_own: found no freeze"),
    (SMALL + 'file_name = "{team}_{day}.csv"', "line 12, phase.file_name: found {day} in"),
    (SMALL + 'file_name = "{team!r}.csv"', "line 12, phase.file_name"),
    (SMALL + 'file_name = "../{team}.csv"', "line 12, phase.file_name"),
    (SMALL + 'file_name = "{team.csv"', "line 12, phase.file_name"),
    (SMALL + 'data = "/srv/data"', "line 12, phase.data: found '/srv/data', expected a folder beside"),
    (SMALL + 'data = "a/../../b"', "line 12, phase.data"),
    (SMALL + 'ties = ["earlier", "misses"]', "line 12, phase.ties"),
    (SMALL + 'entry = "promoted"', 'line 12, phase.entry: found "promoted", and no phase that promotes to it'),
    (closing_at("2022-07-31"), "line 11, phase.closes: found an end that is not after the start"),
    (SMALL + SMALL[SMALL.index("[[") :], "line 13, phase.id: found 'first', which an earlier phase has"),
    (
        SMALL + PROMOTION.replace("second", "secnd") + OPEN_TO_ALL,
        "line 13, phase.promotion.to: found the phase 'secnd', expected a later phase. Did you mean 'second'?",
    ),
    (
        SMALL + PROMOTION.replace("second", "first"),
        "line 13, phase.promotion.to: found the phase 'first', which does not come after",
    ),
    (SMALL + PROMOTION + OPEN_TO_ALL, "line 13, phase.promotion.to: found the phase 'second', which everyone may"),
    (
        SMALL + PROMOTION + LATER.replace("10-01", "08-15"),
        "line 13, phase.promotion.to: found the phase 'second', which opens before",
    ),
    (SMALL + PROMOTION.replace("15", "0") + LATER, "line 14, phase.promotion.top: found 0"),
    (SMALL + VERIFICATION, "line 12, phase.verification: found verification without promotion"),
    (
        SMALL + PROMOTION + VERIFICATION.replace('"5 working days"', "5") + LATER,
        'line 16, phase.verification.within: found 5, expected "5 working days"',
    ),
    (SMALL + "[weights]\nfirst = 0.9", "line 12, weights: found weights that sum to 0.9"),
    (SMALL + "[weights]\nfrist = 1.0", "line 13, weights.frist: found the phase 'frist', expected the id of a phase"),
    (SMALL + "[weights]\nfirst = -1", "line 13, weights.first: found -1"),
    (SMALL + '[[award]]\nphase = "last"\ntitle = "A"\ncount = 1', "line 13, award.phase: found the phase 'last'"),
    (SMALL + '[[award]]\ntitle = "A"\ncount = 1', "line 12, award: found an award for no phase"),
    (SMALL + "[registration]\nopens = 2022-02-01\ncloses = 2022-01-01", "line 14, registration.closes: found an end"),
    (SMALL + "[contst]\n", "line 12, contst: found 'contst', expected a table of the file. Did you mean 'contest'?"),
    (SMALL[: SMALL.index("[[")], "line 1: found no [[phase]], expected one"),
    (SMALL[SMALL.index("[[") :], "line 1: found no [contest], expected a table [contest]"),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[expected.split(":")[0] for _, expected in CASES])
def test_a_fault_names_its_line_and_what_was_expected(text, expected):
    assert f"contest.toml: {expected}" in fault_of(text)


def test_all_faults_are_told_at_once_in_the_order_of_their_lines():
    text = (
        SMALL.replace('"cup"', "3").replace("Zurich", "Zuerich") + 'quota = "often"\nbored = "best"\n[weights]\nx = 0.5'
    )
    lines = [int(re.findall(r"line (\d+)", fault)[0]) for fault in faults_of(text)]
    assert lines == [2, 4, 12, 13, 14, 15]


def test_more_faults_than_are_shown_are_counted():
    text = SMALL + "".join(f"bad{i} = 1\n" for i in range(30))
    with pytest.raises(Refused) as refusal:
        parse(text)
    assert refusal.value.count == 30
    assert "and 10 more" in str(refusal.value)


# Tracks


def test_a_track_that_is_not_installed_leaves_a_file_readable():
    rules = parse(SMALL.replace("near-eye-gaze-v1", "near-eye-gaze-v9"))
    (problem,) = track_problems(rules, registry.tracks())
    assert problem.path == ("phase", 0, "track")
    assert "Did you mean 'near-eye-gaze-v1'?" in str(problem.expected)


def test_where_a_contest_is_served_its_tracks_are_checked_with_lines():
    text = SMALL.replace("near-eye-gaze-v1", "near-eye-gaze-v9")
    assert "line 9, phase.track: found 'near-eye-gaze-v9'" in fault_of(text, tracks=["near-eye-gaze-v1"])
    text = SMALL + 'settings = { score_calibration = "perhaps" }\nties = ["misses", "earlier"]\n'
    settings, ties = faults_of(text, tracks=["near-eye-gaze-v1"])
    assert "line 12, phase.settings" in settings
    assert "expected true or false" in settings
    assert "line 13, phase.ties: found 'misses'" in ties


def test_a_track_that_takes_files_has_no_pace():
    (problem,) = track_problems(parse(SMALL + 'pace = "real"'), registry.tracks())
    assert "takes files" in str(problem.expected)


def test_degrees_and_shares_are_not_weighted_together():
    other = LATER.replace("near-eye-live-v1", "emotion-eeg-v1").replace('entry = "promoted"', "")
    rules = parse(SMALL + other + "[weights]\nfirst = 0.5\nsecond = 0.5\n")
    (problem,) = track_problems(rules, registry.tracks())
    assert problem.path == ("weights",)


def test_errors_are_not_weighted_since_who_missed_a_phase_would_be_the_best_in_it():
    other = LATER.replace("second", "again").replace("near-eye-live-v1", "near-eye-gaze-v1")
    rules = parse(SMALL + other.replace('entry = "promoted"', "") + "[weights]\nfirst = 0.4\nagain = 0.6\n")
    (problem,) = track_problems(rules, registry.tracks())
    assert problem.path == ("weights",) and "first (pe_deg), again (pe_deg)" in str(problem.found)
    assert "more is better" in str(problem.expected)


def test_phases_in_which_more_is_better_are_weighted():
    texts = [SMALL.replace("near-eye-gaze-v1", "emotion-eeg-v1"), LATER.replace("near-eye-live-v1", "emotion-eeg-v1")]
    text = "".join(texts).replace('entry = "promoted"', "") + "[weights]\nfirst = 0.5\nsecond = 0.5\n"
    assert list(track_problems(parse(text), registry.tracks())) == []


def test_good_settings_and_ties_raise_nothing():
    text = SMALL + 'settings = { score_calibration = true }\nties = ["p95_deg", "earlier"]\n'
    assert parse(text, tracks=["near-eye-gaze-v1"]).phases[0].ties == ("p95_deg", "earlier")
